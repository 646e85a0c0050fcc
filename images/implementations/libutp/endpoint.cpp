// SPDX-License-Identifier: MIT
/*
 * Sender and receiver over libutp, as docs/reference/implementations.md asks of an endpoint.
 *
 * Each side makes one system call per packet, which sends the answers to the last packet and waits for the next. The
 * next packet comes with its arrival time. The clock is read once per wake-up: everything that libutp does until the
 * next wake-up happens at that instant.
 */
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <string>
#include <sys/random.h>

#include "fail.h"
#include "inspect.h"
#include "payload.h"
#include "udp.h"

namespace {

constexpr uint64_t TICK_NS = NS / 2;	/* how often libutp checks its timers */
constexpr int IP_AND_UDP_BYTES = 28, IPV6_AND_UDP_BYTES = 48;
constexpr uint64_t LINGER_NS = 3 * NS;

struct options {
	bool sends;
	sockaddr_in6 peer;		/* or the shorter one of IPv4 */
	socklen_t peer_length;
	uint16_t port;
	uint64_t bytes;			/* 0: no end */
	uint64_t origin_ns, sample_ns;
	std::string logs;
	const char *payload;		/* file for what a receiver gets; NULL: none */
	int target_us, send_buffer_bytes, receive_buffer_bytes;
	int packet_bytes;		/* 0: what fits the path */
	uint64_t tick_ns;		/* waits end at multiples of this; 0: at once */
};

struct connection {
	options how;
	udp_socket udp;
	uint64_t now_ns = 0;
	utp_socket *socket = nullptr;
	uint64_t moved_bytes = 0;	/* written to or read from libutp */
	payload_bytes bytes = {};
	FILE *trace = nullptr, *payload = nullptr;
	uint64_t next_sample_ns = 0;
	bool connected = false, closing = false;
	uint64_t end_ns = 0;		/* when there is nothing left to do; 0: not known */
};

volatile sig_atomic_t told_to_end;

[[noreturn]] void not_supported(const char *what, const std::string &found)
{
	fprintf(stderr, "%s: not supported: %s\n", what, found.c_str());
	exit(127);
}

/* --- settings --- */

const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

uint64_t number(const char *name)
{
	const char *text = setting(name);
	char *end;

	errno = 0;
	const unsigned long long value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-')
		not_supported(name, text);
	return value;
}

bool set_parameter(options &how, const std::string &name, long long value)
{
	if (value < 0 || value / 1000 > INT_MAX)
		return false;
	if (name == "target_ns")
		how.target_us = value / 1000;
	else if (name == "send_buffer_bytes" && value <= INT_MAX)
		how.send_buffer_bytes = value;
	else if (name == "receive_buffer_bytes" && value <= INT_MAX)
		how.receive_buffer_bytes = value;
	else if (name == "packet_bytes" && value <= INT_MAX)
		how.packet_bytes = value;
	else if (name == "tick_ns")
		how.tick_ns = value;
	else
		return false;
	return true;
}

/* PARAMS: a flat object of whole numbers, {"target_ns": 100000000, ...} */
void read_parameters(options &how)
{
	const char *at = setting("PARAMS");
	char name[32], after = 0;
	long long value;
	int length = 0;

	if (sscanf(at, " { %n", &length), !length)
		not_supported("PARAMS", at);
	at += length;
	if (*at == '}' && !at[1])
		return;
	for (; sscanf(at, " \"%31[a-z_]\" : %lld %c%n", name, &value, &after, &length) == 3; at += length)
		if (!set_parameter(how, name, value) || (after == '}' ? at[length] != 0 : after != ','))
			break;
		else if (after == '}')
			return;
	not_supported("PARAMS", setting("PARAMS"));
}

void read_peer(options &how)
{
	const char *peer = setting("PEER");
	sockaddr_in *four = reinterpret_cast<sockaddr_in *>(&how.peer);

	/* both have family and port at the same places */
	how.peer.sin6_family = strchr(peer, ':') ? AF_INET6 : AF_INET;
	how.peer.sin6_port = htons(how.port);
	how.peer_length = how.peer.sin6_family == AF_INET6 ? sizeof(how.peer) : sizeof(*four);
	if (inet_pton(how.peer.sin6_family, peer,
		      how.peer.sin6_family == AF_INET6 ? static_cast<void *>(&how.peer.sin6_addr) : &four->sin_addr) != 1)
		not_supported("PEER", peer);
}

options read_settings()
{
	options how = {};
	const std::string role = setting("ROLE");

	if (role != "sender" && role != "receiver")
		not_supported("ROLE", role);
	how.sends = role == "sender";
	how.port = number("PORT");
	read_peer(how);
	how.bytes = *setting("BYTES") ? number("BYTES") : 0;
	how.origin_ns = number("ORIGIN_NS");
	how.sample_ns = number("SAMPLE_NS");
	how.logs = setting("LOGDIR");
	how.payload = *setting("PAYLOAD") ? setting("PAYLOAD") : nullptr;
	read_parameters(how);
	return how;
}

/* --- libutp's callbacks --- */

connection &of(utp_callback_arguments *a)
{
	return *static_cast<connection *>(utp_context_get_userdata(a->context));
}

void write_all(connection &c)
{
	if (c.closing)
		return;
	while (!c.how.bytes || c.moved_bytes < c.how.bytes) {
		const uint64_t left = c.how.bytes ? c.how.bytes - c.moved_bytes : c.bytes.AT_ONCE;
		const size_t length = std::min<uint64_t>(left, c.bytes.AT_ONCE);

		/* libutp's argument is not const, but it only reads */
		const ssize_t taken = utp_write(c.socket, const_cast<unsigned char *>(c.bytes.from(c.moved_bytes)), length);
		if (taken < 0)
			fail("utp_write failed");
		if (!taken)
			return;
		c.moved_bytes += taken;
	}
	/* what was written is still delivered */
	c.closing = true;
	utp_close(c.socket);
}

void check(connection &c, const unsigned char *data, size_t length)
{
	if (length > c.bytes.AT_ONCE)
		fail("a packet of %zu bytes", length);
	const unsigned char *expected = c.bytes.from(c.moved_bytes);
	const size_t good = std::mismatch(data, data + length, expected).first - data;

	if (good < length)
		fail("wrong byte at offset %llu: 0x%02x, not 0x%02x", (unsigned long long)(c.moved_bytes + good),
		     data[good], expected[good]);
}

uint64 on_state(utp_callback_arguments *a)
{
	connection &c = of(a);

	switch (a->state) {
	case UTP_STATE_CONNECT:
	case UTP_STATE_WRITABLE:
		c.connected = true;
		if (c.how.sends)
			write_all(c);
		break;
	case UTP_STATE_EOF:
		/* linger, in case the answer to the sender's FIN is lost */
		c.end_ns = c.now_ns + LINGER_NS;
		break;
	case UTP_STATE_DESTROYING:
		c.socket = nullptr;
		c.end_ns = c.now_ns;
		break;
	}
	return 0;
}

uint64 on_accept(utp_callback_arguments *a)
{
	connection &c = of(a);

	if (!c.socket)
		c.socket = a->socket;
	return 0;
}

uint64 on_read(utp_callback_arguments *a)
{
	connection &c = of(a);

	check(c, a->buf, a->len);
	if (c.payload && fwrite(a->buf, 1, a->len, c.payload) != a->len)
		fail_errno("payload");
	c.moved_bytes += a->len;
	utp_read_drained(a->socket);
	return 0;
}

uint64 on_error(utp_callback_arguments *a)
{
	connection &c = of(a);

	if (c.how.sends || a->error_code != UTP_ECONNRESET)
		fail("%s after %llu bytes", utp_error_code_names[a->error_code], (unsigned long long)c.moved_bytes);
	/* a reset: how the sender of an endless flow stops */
	c.end_ns = c.now_ns;
	return 0;
}

uint64 on_send(utp_callback_arguments *a)
{
	of(a).udp.send(a->buf, a->len, a->address, a->address_len, a->flags & UTP_UDP_DONTFRAG);
	return 0;
}

uint64 udp_payload(utp_callback_arguments *a)
{
	const options &how = of(a).how;

	return how.packet_bytes - (how.peer.sin6_family == AF_INET6 ? IPV6_AND_UDP_BYTES : IP_AND_UDP_BYTES);
}

uint64 clock_us(utp_callback_arguments *a)
{
	return of(a).now_ns / 1000;
}

uint64 clock_ms(utp_callback_arguments *a)
{
	return of(a).now_ns / 1000000;
}

uint64 random_number(utp_callback_arguments *)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		fail_errno("getrandom");
	return number;
}

/* --- time and packets --- */

/* State changes only at wake-ups, so each writes the samples due since the last one, before it changes anything. */
void sample(connection &c)
{
	for (; c.next_sample_ns < c.now_ns; c.next_sample_ns += c.how.sample_ns) {
		if (!c.trace || !c.socket || !c.connected)
			continue;
		const utp_inside now = utp_inspect(c.socket);

		fprintf(c.trace, "%llu,%.3f,%.3f,%u,%u,%.3f,,%u,%llu,,",
			(unsigned long long)(c.next_sample_ns - c.how.origin_ns), now.window_bytes / now.packet_bytes,
			now.ssthresh_bytes / now.packet_bytes, 1000 * now.rtt_ms, 1000 * now.rtt_var_ms,
			now.in_flight_bytes / now.packet_bytes, now.retransmitted_pkts,
			(unsigned long long)(c.moved_bytes - now.queued_bytes));
		if (now.has_delays)
			fprintf(c.trace, "%u,%u,%u\n", now.base_delay_us, now.base_delay_us + now.queuing_delay_us,
				now.queuing_delay_us);
		else
			fputs(",,\n", c.trace);
	}
}

void read_clock(connection &c)
{
	timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	c.now_ns = now.tv_sec * NS + now.tv_nsec;
}

/* The longest wait for a packet. */
uint64_t patience_ns(const connection &c)
{
	const uint64_t tick_ns = c.how.tick_ns, end_ns = c.now_ns + TICK_NS;

	return tick_ns ? (end_ns + tick_ns - 1) / tick_ns * tick_ns - c.now_ns : TICK_NS;
}

/* Waits for a packet or for libutp's timers. */
void wake_up(connection &c, utp_context *context)
{
	datagram packet;
	const bool arrived = c.udp.wait(packet, patience_ns(c));

	if (!arrived)
		read_clock(c);
	else if (packet.arrival_ns > c.now_ns)
		c.now_ns = packet.arrival_ns;
	sample(c);
	if (arrived) {
		utp_process_udp(context, packet.data, packet.length, packet.from, packet.from_length);
		utp_issue_deferred_acks(context);
	}
	utp_check_timeouts(context);
}

utp_context *start_libutp(connection &c)
{
	utp_context *context = utp_init(2);

	utp_context_set_userdata(context, &c);
	utp_set_callback(context, UTP_SENDTO, on_send);
	utp_set_callback(context, UTP_ON_STATE_CHANGE, on_state);
	utp_set_callback(context, UTP_ON_ERROR, on_error);
	utp_set_callback(context, UTP_ON_READ, on_read);
	if (!c.how.sends)
		utp_set_callback(context, UTP_ON_ACCEPT, on_accept);
	utp_set_callback(context, UTP_GET_MICROSECONDS, clock_us);
	utp_set_callback(context, UTP_GET_MILLISECONDS, clock_ms);
	utp_set_callback(context, UTP_GET_RANDOM, random_number);
	if (c.how.packet_bytes)
		utp_set_callback(context, UTP_GET_UDP_MTU, udp_payload);
	const std::pair<int, int> chosen[] = {{UTP_TARGET_DELAY, c.how.target_us},
					      {UTP_SNDBUF, c.how.send_buffer_bytes},
					      {UTP_RCVBUF, c.how.receive_buffer_bytes}};
	for (const auto &[option, value] : chosen)
		if (value && utp_context_set_option(context, option, value))
			fail("libutp refuses option %d", option);
	return context;
}

FILE *open_file(const std::string &path)
{
	FILE *file = fopen(path.c_str(), "w");

	if (!file)
		fail_errno(path.c_str());
	setvbuf(file, nullptr, _IOFBF, 1 << 16);
	return file;
}

void close_file(FILE *file)
{
	if (file && fclose(file))
		fail_errno("output");
}

void end(int)
{
	told_to_end = 1;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts(VERSION);
		return 0;
	}
	struct sigaction on_end = {};

	on_end.sa_handler = end;	/* without SA_RESTART: the wait returns */
	sigaction(SIGTERM, &on_end, nullptr);
	const options how = read_settings();
	connection c{how, udp_socket(how.peer.sin6_family, how.sends ? 0 : how.port)};
	read_clock(c);
	c.next_sample_ns = c.how.origin_ns;
	utp_context *context = start_libutp(c);
	if (c.how.sends) {
		c.trace = open_file(c.how.logs + "/cwnd.csv");
		fputs("time_ns,cwnd_pkts,ssthresh_pkts,srtt_us,rttvar_us,unacked_pkts,lost_pkts,retransmitted_pkts,"
		      "bytes_acked,ca_state,base_delay_us,current_delay_us,queuing_delay_us\n", c.trace);
		c.socket = utp_create_socket(context);
		utp_connect(c.socket, reinterpret_cast<sockaddr *>(&c.how.peer), c.how.peer_length);
	} else if (c.how.payload) {
		c.payload = open_file(c.how.payload);
	}

	while (!told_to_end && (!c.end_ns || c.now_ns < c.end_ns))
		wake_up(c, context);

	if (told_to_end && c.how.sends && c.socket)
		utp_reset(c.socket);
	c.udp.flush();
	if (!c.how.sends) {
		FILE *received = open_file(c.how.logs + "/received_bytes");

		fprintf(received, "%llu\n", (unsigned long long)c.moved_bytes);
		close_file(received);
	}
	close_file(c.trace);
	close_file(c.payload);
	if (!c.how.sends && c.how.bytes && c.moved_bytes != c.how.bytes)
		fail("got %llu of %llu bytes", (unsigned long long)c.moved_bytes, (unsigned long long)c.how.bytes);
	return 0;
}
