// SPDX-License-Identifier: MIT
/* One side of a flow over ngtcp2: the contract's bytes as one stream. */
#define _GNU_SOURCE
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include "contract.h"

/* What has not been acknowledged stays here; a power of two. */
#define WINDOW_BYTES (1 << 24)
#define DATAGRAM_BYTES 1452
#define CONNECTION_ID_BYTES 8
#define KEEP_ALIVE (10 * NGTCP2_SECONDS)
#define IDLE (60 * NGTCP2_SECONDS)
#define KEPT_VALID_S 86400
#define P256 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1)
#define GROUPS "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:%DISABLE_TLS13_COMPAT_MODE"

static ngtcp2_conn *conn;
static struct place own, peer;
static int fd;
static int64_t stream = -1;
static uint64_t written, acknowledged, total;
static int answered;
static unsigned char window[WINDOW_BYTES];
static ngtcp2_cc_algo control = NGTCP2_CC_ALGO_CUBIC;

static _Noreturn void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, ngtcp2_strerror(error));
	leave(1);
	abort();
}

static void check(const char *what, int error)
{
	if (error < 0) {
		fprintf(stderr, "%s: %s\n", what, gnutls_strerror(error));
		exit(1);
	}
}

static ngtcp2_tstamp now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NGTCP2_SECONDS + time.tv_nsec;
}

static ngtcp2_path path(void)
{
	return (ngtcp2_path){
		.local = { &own.any, own.length },
		.remote = { &peer.any, peer.length },
	};
}

static void draw(uint8_t *into, size_t length, const ngtcp2_rand_ctx *unused)
{
	(void)unused;
	gnutls_rnd(GNUTLS_RND_NONCE, into, length);
}

static int new_connection_id(ngtcp2_conn *of, ngtcp2_cid *id, uint8_t *token, size_t length, void *user)
{
	(void)of;
	(void)user;
	draw(id->data, length, NULL);
	id->datalen = length;
	draw(token, NGTCP2_STATELESS_RESET_TOKENLEN, NULL);
	return 0;
}

static int came(ngtcp2_conn *of, uint32_t flags, int64_t id, uint64_t offset, const uint8_t *data, size_t length,
		void *user, void *stream_user)
{
	(void)flags;
	(void)offset;
	(void)user;
	(void)stream_user;
	ngtcp2_conn_extend_max_stream_offset(of, id, length);
	ngtcp2_conn_extend_max_offset(of, length);
	stream = id;
	if (is_receiver())
		take(data, length);
	else
		answered = 1;
	return 0;
}

static int arrived(ngtcp2_conn *of, int64_t id, uint64_t offset, uint64_t length, void *user, void *stream_user)
{
	(void)of;
	(void)id;
	(void)user;
	(void)stream_user;
	acknowledged = offset + length;
	return 0;
}

static int opened(ngtcp2_conn *of, uint64_t most, void *user)
{
	(void)most;
	(void)user;
	if (stream < 0)
		ngtcp2_conn_open_bidi_stream(of, &stream, NULL);
	return 0;
}

static const ngtcp2_callbacks callbacks = {
	.client_initial = ngtcp2_crypto_client_initial_cb,
	.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
	.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
	.encrypt = ngtcp2_crypto_encrypt_cb,
	.decrypt = ngtcp2_crypto_decrypt_cb,
	.hp_mask = ngtcp2_crypto_hp_mask_cb,
	.recv_stream_data = came,
	.acked_stream_data_offset = arrived,
	.recv_retry = ngtcp2_crypto_recv_retry_cb,
	.extend_max_local_streams_bidi = opened,
	.rand = draw,
	.get_new_connection_id = new_connection_id,
	.update_key = ngtcp2_crypto_update_key_cb,
	.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
	.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
	.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
	.version_negotiation = ngtcp2_crypto_version_negotiation_cb,
};

/* A certificate of the receiver, which the sender does not check. */
static void certify(gnutls_certificate_credentials_t credentials)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t certificate;
	time_t today = time(NULL);

	check("key", gnutls_x509_privkey_init(&key));
	check("key", gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, P256, 0));
	check("certificate", gnutls_x509_crt_init(&certificate));
	check("certificate", gnutls_x509_crt_set_version(certificate, 3));
	check("certificate", gnutls_x509_crt_set_serial(certificate, "\1", 1));
	check("certificate", gnutls_x509_crt_set_dn(certificate, "CN=testbed", NULL));
	check("certificate", gnutls_x509_crt_set_activation_time(certificate, today));
	check("certificate", gnutls_x509_crt_set_expiration_time(certificate, today + KEPT_VALID_S));
	check("certificate", gnutls_x509_crt_set_key(certificate, key));
	check("certificate", gnutls_x509_crt_sign(certificate, certificate, key));
	check("certificate", gnutls_certificate_set_x509_key(credentials, &certificate, 1, key));
}

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *reference)
{
	(void)reference;
	return conn;
}

static void secure(void)
{
	static ngtcp2_crypto_conn_ref reference = { .get_conn = connection_of };
	static const gnutls_datum_t protocol = { (unsigned char *)"testbed", 7 };
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;

	check("credentials", gnutls_certificate_allocate_credentials(&credentials));
	if (is_receiver())
		certify(credentials);
	check("session", gnutls_init(&session, is_receiver() ? GNUTLS_SERVER : GNUTLS_CLIENT));
	check("session", gnutls_priority_set_direct(session, GROUPS, NULL));
	check("session", is_receiver() ? ngtcp2_crypto_gnutls_configure_server_session(session) :
					 ngtcp2_crypto_gnutls_configure_client_session(session));
	check("session", gnutls_alpn_set_protocols(session, &protocol, 1, GNUTLS_ALPN_MANDATORY));
	check("session", gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials));
	gnutls_session_set_ptr(session, &reference);
	ngtcp2_conn_set_tls_native_handle(conn, session);
	ngtcp2_conn_set_keep_alive_timeout(conn, KEEP_ALIVE);
}

static void describe(ngtcp2_settings *settings, ngtcp2_transport_params *parameters)
{
	ngtcp2_settings_default(settings);
	settings->initial_ts = now();
	settings->cc_algo = control;
	ngtcp2_transport_params_default(parameters);
	parameters->initial_max_streams_bidi = 1;
	parameters->initial_max_stream_data_bidi_local = WINDOW_BYTES;
	parameters->initial_max_stream_data_bidi_remote = WINDOW_BYTES;
	parameters->initial_max_data = WINDOW_BYTES;
	parameters->max_idle_timeout = IDLE;
}

static void drawn(ngtcp2_cid *id)
{
	id->datalen = CONNECTION_ID_BYTES;
	draw(id->data, id->datalen, NULL);
}

static void open_socket(void)
{
	fd = socket(family(), SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, &own.any, own.length)) {
		perror("socket");
		exit(1);
	}
}

static void dial(void)
{
	ngtcp2_settings settings;
	ngtcp2_transport_params parameters;
	ngtcp2_cid to, from;
	ngtcp2_path over;
	int error;

	own = address(NULL);
	*(family() == AF_INET6 ? &own.six.sin6_port : &own.four.sin_port) = 0;
	peer = address(told("PEER"));
	over = path();
	open_socket();
	describe(&settings, &parameters);
	drawn(&to);
	drawn(&from);
	error = ngtcp2_conn_client_new(&conn, &to, &from, &over, NGTCP2_PROTO_VER_V1, &callbacks, &settings,
				       &parameters, NULL, NULL);
	if (error)
		fail("client", error);
	secure();
}

/* Takes the connection of which a packet is the first; nothing happens for other packets. */
static void accept_by(const uint8_t *packet, size_t length)
{
	ngtcp2_settings settings;
	ngtcp2_transport_params parameters;
	ngtcp2_pkt_hd head;
	ngtcp2_cid from;
	ngtcp2_path over = path();
	int error;

	if (ngtcp2_accept(&head, packet, length))
		return;
	describe(&settings, &parameters);
	parameters.original_dcid = head.dcid;
	parameters.original_dcid_present = 1;
	drawn(&from);
	error = ngtcp2_conn_server_new(&conn, &head.scid, &from, &over, head.version, &callbacks, &settings,
				       &parameters, NULL, NULL);
	if (error)
		fail("server", error);
	secure();
}

/* The next bytes to write: of the sender the contract's, of the receiver its answer; and whether they are the last. */
static size_t next(ngtcp2_vec *bytes, int *is_last)
{
	uint64_t end = is_receiver() ? total != UINT64_MAX && received == total : total;
	uint64_t room = acknowledged + WINDOW_BYTES - written;
	uint64_t length = end - written < room ? end - written : room;
	uint64_t place = written % WINDOW_BYTES;

	if (length > DATAGRAM_BYTES)
		length = DATAGRAM_BYTES;
	if (length > WINDOW_BYTES - place)
		length = WINDOW_BYTES - place;
	for (uint64_t i = 0; i < length; i++)
		window[place + i] = expected(written + i);
	*bytes = (ngtcp2_vec){ window + place, length };
	*is_last = length && written + length == end;
	return length;
}

static void write_packets(void)
{
	uint8_t packet[DATAGRAM_BYTES];
	ngtcp2_tstamp at = now();
	size_t quantum = ngtcp2_conn_get_send_quantum(conn), sent = 0;
	ngtcp2_path_storage to;
	ngtcp2_pkt_info info;
	ngtcp2_vec bytes;
	int is_last;

	ngtcp2_path_storage_zero(&to);
	while (sent < quantum) {
		size_t length = stream < 0 ? 0 : next(&bytes, &is_last);
		uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE;
		ngtcp2_ssize taken = -1, size;

		if (length && is_last)
			flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
		size = ngtcp2_conn_writev_stream(conn, &to.path, &info, packet, sizeof(packet), &taken, flags,
						 length ? stream : -1, &bytes, length ? 1 : 0, at);
		if (taken > 0)
			written += taken;
		if (size == NGTCP2_ERR_WRITE_MORE)
			continue;
		if (size == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
			/* what else there is to send, such as acknowledgements */
			size = ngtcp2_conn_write_pkt(conn, &to.path, &info, packet, sizeof(packet), at);
		}
		if (size < 0)
			fail("write", size);
		if (!size)
			break;
		sendto(fd, packet, size, 0, &peer.any, peer.length);
		sent += size;
	}
	ngtcp2_conn_update_pkt_tx_time(conn, at);
}

/* Reads what has come; returns whether the connection goes on. */
static int read_packets(void)
{
	uint8_t packet[1 << 16];
	socklen_t size = sizeof(peer.six);
	ngtcp2_pkt_info info = { 0 };
	ssize_t length;

	while ((length = recvfrom(fd, packet, sizeof(packet), 0, &peer.any, &size)) >= 0) {
		ngtcp2_path over;
		int error;

		peer.length = size;
		over = path();
		if (!conn)
			accept_by(packet, length);
		if (!conn)
			continue;
		error = ngtcp2_conn_read_pkt(conn, &over, &info, packet, length, now());
		if (error == NGTCP2_ERR_DRAINING || error == NGTCP2_ERR_CLOSING)
			return 0;
		if (error)
			fail("read", error);
	}
	return 1;
}

static void close_connection(void)
{
	uint8_t packet[DATAGRAM_BYTES];
	ngtcp2_path_storage to;
	ngtcp2_pkt_info info;
	ngtcp2_ccerr reason;
	ngtcp2_ssize size;

	ngtcp2_ccerr_default(&reason);
	ngtcp2_path_storage_zero(&to);
	size = ngtcp2_conn_write_connection_close(conn, &to.path, &info, packet, sizeof(packet), &reason, now());
	if (size > 0)
		sendto(fd, packet, size, 0, &peer.any, peer.length);
}

static void wait_for_next(void)
{
	struct pollfd for_packets = { .fd = fd, .events = POLLIN };
	ngtcp2_tstamp at = now(), until = conn ? ngtcp2_conn_get_expiry(conn) : UINT64_MAX;
	uint64_t left = until > at ? until - at : 0;
	struct timespec time = { left / NGTCP2_SECONDS, left % NGTCP2_SECONDS };

	ppoll(&for_packets, 1, until == UINT64_MAX ? NULL : &time, NULL);
}

static void run(void)
{
	if (conn)
		write_packets();
	while (!answered) {
		int error;

		wait_for_next();
		if (!read_packets())
			return;
		if (!conn)
			continue;
		if (ngtcp2_conn_get_expiry(conn) <= now()) {
			error = ngtcp2_conn_handle_expiry(conn, now());
			if (error)
				fail("expiry", error);
		}
		write_packets();
	}
	close_connection();
}

static int choose(const char *parameters)
{
	static const struct {
		const char *text;
		ngtcp2_cc_algo control;
	} known[] = {
		{ "{}", NGTCP2_CC_ALGO_CUBIC },
		{ "{\"control\": \"cubic\"}", NGTCP2_CC_ALGO_CUBIC },
		{ "{\"control\": \"reno\"}", NGTCP2_CC_ALGO_RENO },
		{ "{\"control\": \"bbr\"}", NGTCP2_CC_ALGO_BBR },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(parameters, known[i].text)) {
			control = known[i].control;
			return 1;
		}
	return 0;
}

int main(int count, char **words)
{
	if (count == 2 && !strcmp(words[1], "--version")) {
		printf("ngtcp2 %s, GnuTLS %s\n", ngtcp2_version(0)->version_str, gnutls_check_version(NULL));
		return 0;
	}
	if (!choose(told("PARAMS")))
		return NOT_SUPPORTED;
	total = length_of_transfer();
	signal(SIGTERM, leave_when_told);
	if (is_receiver()) {
		own = address(NULL);
		open_socket();
	} else {
		dial();
	}
	run();
	if (is_receiver() && received < total)
		fail("connection", NGTCP2_ERR_DRAINING);
	leave(0);
}
