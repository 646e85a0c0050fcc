// SPDX-License-Identifier: MIT
/* One side of a flow over OpenSSL's QUIC: the contract's bytes as one stream. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/quic.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "contract.h"

#define CHUNK_BYTES (1 << 14)
#define IDLE_MS 60000
#define KEPT_VALID_S 86400

static const unsigned char protocol[] = "\7testbed";

static _Noreturn void fail(const char *what)
{
	unsigned long code = ERR_get_error();

	fprintf(stderr, "%s: %s\n", what, code ? ERR_reason_error_string(code) : "failed");
	exit(1);
}

/* A certificate of the receiver, which the sender does not check. */
static void certify(SSL_CTX *context)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	X509_NAME *name = X509_get_subject_name(certificate);

	X509_set_version(certificate, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
	X509_gmtime_adj(X509_getm_notAfter(certificate), KEPT_VALID_S);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"testbed", -1, -1, 0);
	X509_set_issuer_name(certificate, name);
	X509_set_pubkey(certificate, key);
	if (!X509_sign(certificate, key, EVP_sha256()) || SSL_CTX_use_certificate(context, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey(context, key) != 1)
		fail("certificate");
}

static int choose(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
		  unsigned int offered_length, void *unused)
{
	(void)ssl;
	(void)unused;
	if (SSL_select_next_proto((unsigned char **)chosen, length, protocol, sizeof(protocol) - 1, offered,
				  offered_length) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	return SSL_TLSEXT_ERR_OK;
}

static SSL *connected(void)
{
	SSL_CTX *context = SSL_CTX_new(OSSL_QUIC_client_method());
	SSL *ssl = SSL_new(context);
	struct place peer = address(told("PEER"));
	BIO_ADDR *to = BIO_ADDR_new();
	int fd = socket(family(), SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (family() == AF_INET6)
		BIO_ADDR_rawmake(to, AF_INET6, &peer.six.sin6_addr, sizeof(peer.six.sin6_addr), peer.six.sin6_port);
	else
		BIO_ADDR_rawmake(to, AF_INET, &peer.four.sin_addr, sizeof(peer.four.sin_addr), peer.four.sin_port);
	if (fd < 0 || !SSL_set_fd(ssl, fd) || !SSL_set1_initial_peer_addr(ssl, to) ||
	    SSL_set_alpn_protos(ssl, protocol, sizeof(protocol) - 1) ||
	    !SSL_set_feature_request_uint(ssl, SSL_VALUE_QUIC_IDLE_TIMEOUT, IDLE_MS) || SSL_connect(ssl) != 1)
		fail("connect");
	return ssl;
}

static SSL *accepted(void)
{
	SSL_CTX *context = SSL_CTX_new(OSSL_QUIC_server_method());
	struct place own = address(NULL);
	SSL *listener, *ssl;
	int fd = socket(family(), SOCK_DGRAM | SOCK_NONBLOCK, 0);

	certify(context);
	SSL_CTX_set_alpn_select_cb(context, choose, NULL);
	listener = SSL_new_listener(context, 0);
	if (fd < 0 || bind(fd, &own.any, own.length) || !SSL_set_fd(listener, fd) ||
	    !SSL_listen(listener))
		fail("listen");
	ssl = SSL_accept_connection(listener, 0);
	if (!ssl || SSL_do_handshake(ssl) != 1)
		fail("accept");
	return ssl;
}

static void send_all(uint64_t total)
{
	SSL *ssl = connected();
	unsigned char chunk[CHUNK_BYTES];
	uint64_t sent = 0;
	size_t length, written;

	while (sent < total) {
		for (length = 0; length < CHUNK_BYTES && length < total - sent; length++)
			chunk[length] = expected(sent + length);
		if (!SSL_write_ex(ssl, chunk, length, &written))
			fail("write");
		sent += written;
	}
	if (!SSL_stream_conclude(ssl, 0))
		fail("conclude");
	/* the receiver answers when it has everything */
	if (!SSL_read_ex(ssl, chunk, 1, &length))
		fail("answer");
	SSL_shutdown_ex(ssl, SSL_SHUTDOWN_FLAG_RAPID | SSL_SHUTDOWN_FLAG_NO_BLOCK, NULL, 0);
}

/* Sends what there is to send until the sender, who has heard that everything came, closes. */
static void wait_for_close(SSL *ssl)
{
	SSL_CONN_CLOSE_INFO info;
	struct timeval left = { 0 };
	int is_infinite;

	while (!SSL_get_conn_close_info(ssl, &info, sizeof(info))) {
		struct pollfd for_packets = { .fd = SSL_get_rfd(ssl), .events = POLLIN };

		SSL_get_event_timeout(ssl, &left, &is_infinite);
		poll(&for_packets, 1, is_infinite ? -1 : left.tv_sec * 1000 + left.tv_usec / 1000 + 1);
		SSL_handle_events(ssl);
	}
}

static void receive_all(uint64_t total)
{
	SSL *ssl = accepted();
	unsigned char chunk[CHUNK_BYTES];
	size_t length;

	while (received < total && SSL_read_ex(ssl, chunk, sizeof(chunk), &length))
		take(chunk, length);
	if (received < total)
		fail("read");
	if (!SSL_write_ex(ssl, "", 1, &length) || !SSL_stream_conclude(ssl, 0))
		fail("answer");
	wait_for_close(ssl);
}

int main(int count, char **words)
{
	if (count == 2 && !strcmp(words[1], "--version")) {
		puts(OpenSSL_version(OPENSSL_VERSION));
		return 0;
	}
	if (strcmp(told("PARAMS"), "{}"))
		return NOT_SUPPORTED;
	signal(SIGTERM, leave_when_told);
	if (is_receiver())
		receive_all(length_of_transfer());
	else
		send_all(length_of_transfer());
	leave(0);
}
