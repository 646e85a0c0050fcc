// SPDX-License-Identifier: MIT
/*
 * Bulk TCP endpoint with few system calls per megabyte: in a guest, a call costs several times as much as a packet.
 *
 *   bulk receive 4|6 PORT BUFFER_BYTES WAKE_BYTES [CONTROL]
 *       accepts one connection over this version of IP, discards the data and prints how many bytes came; SIGTERM ends it. With BUFFER_BYTES 0
 *       the kernel sizes the buffer by tcp_rmem; otherwise the receiver wakes once per WAKE_BYTES, with 1 as soon as some
 *       came. With CONTROL the connection has that congestion control from its first segment on, which decides how it
 *       echoes marks
 *   bulk send ADDRESS PORT CONTROL BYTES START_NS STOP_NS SAMPLE_NS ORIGIN_NS TRACE [WRITE_BYTES EVERY_NS]
 *       connects at START_NS with congestion control CONTROL and sends until SIGTERM, or until BYTES have been sent and
 *       acknowledged (0: no end); every SAMPLE_NS up to STOP_NS writes TCP_INFO and the controller's own delays to
 *       TRACE, its times counted from ORIGIN_NS (CLOCK_REALTIME). It writes without a pause or, with the last two
 *       words, WRITE_BYTES at START_NS and every EVERY_NS from then on; what the network did not take yet goes first
 *
 * Exit status: 0 done, 1 failed (one line on stderr), 127 role or congestion control not supported.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_BYTES (1 << 20)

/* tcp_ledbat's answer to TCP_CC_INFO (images/tcp_ledbat/tcp_ledbat.c); no other answer begins with zero. */
struct ledbat_info {
	uint32_t zero;
	uint32_t base_delay_us;
	uint32_t current_delay_us;
	uint32_t queuing_delay_us;
	uint32_t target_us;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "bulk: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long number(const char *text, const char *name)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || *end || end == text) {
		fprintf(stderr, "bulk: %s: not a number: %s\n", name, text);
		exit(127);
	}
	return value;
}

static void sleep_until(long long at_ns)
{
	const struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static volatile sig_atomic_t ended;

/* installed without SA_RESTART, so that a waiting call returns */
static void end_receiver(int signal_number)
{
	(void)signal_number;
	ended = 1;
}

static int choose_control(int socket, const char *control)
{
	if (!setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control)))
		return 0;
	fprintf(stderr, "bulk: congestion control %s: %s\n", control, strerror(errno));
	return 127;
}

/* an address of either version of IP; its length is 0 for what is none */
struct end {
	struct sockaddr_storage address;
	socklen_t length;
};

static struct end end_of(int family, const char *text, int port)
{
	struct end end = {.address.ss_family = family};
	struct sockaddr_in *four = (struct sockaddr_in *)&end.address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&end.address;

	if (family == AF_INET6) {
		six->sin6_port = htons(port);
		end.length = inet_pton(family, text, &six->sin6_addr) == 1 ? sizeof(*six) : 0;
	} else {
		four->sin_port = htons(port);
		end.length = inet_pton(family, text, &four->sin_addr) == 1 ? sizeof(*four) : 0;
	}
	return end;
}

static int receive(int family, int port, int buffer, int low_water, const char *control)
{
	const struct sigaction on_end = {.sa_handler = end_receiver};
	const int one = 1;
	const struct end here = end_of(family, family == AF_INET6 ? "::" : "0.0.0.0", port);
	unsigned long long received = 0;
	ssize_t got = 0;
	int listener, connection;

	sigaction(SIGTERM, &on_end, NULL);
	listener = socket(family, SOCK_STREAM, 0);
	if (listener < 0)
		die("socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (buffer && setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)))
		die("receive buffer");
	if (control && choose_control(listener, control))
		return 127;
	if (bind(listener, (const struct sockaddr *)&here.address, here.length) || listen(listener, 1))
		die("listen");
	connection = accept(listener, NULL, NULL);
	if (connection < 0 && !ended)
		die("accept");
	/* a low-water mark above the buffer would enlarge the buffer */
	if (buffer && low_water > 1 && !ended &&
	    setsockopt(connection, SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof(low_water)))
		die("low-water mark");
	/* MSG_TRUNC on TCP: discard in the kernel, nothing is copied */
	while (!ended && (got = recv(connection, NULL, BLOCK_BYTES, MSG_TRUNC)) > 0)
		received += got;
	if (!ended && got < 0 && errno != ECONNRESET)
		die("recv");
	printf("%llu\n", received);
	return 0;
}

struct sampling {
	int socket;
	long long next_ns, period_ns, stop_ns, origin_ns;
	FILE *trace;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int done;
};

static void sample(const struct sampling *s)
{
	struct tcp_info info;
	union tcp_cc_info controller;
	struct ledbat_info delays;
	socklen_t info_length = sizeof(info), controller_length = sizeof(controller);

	if (getsockopt(s->socket, IPPROTO_TCP, TCP_INFO, &info, &info_length))
		return;
	fprintf(s->trace, "%lld,%u,%u,%u,%u,%u,%u,%u,%llu,%u,", s->next_ns - s->origin_ns, info.tcpi_snd_cwnd,
		info.tcpi_snd_ssthresh, info.tcpi_rtt, info.tcpi_rttvar, info.tcpi_unacked, info.tcpi_lost,
		info.tcpi_total_retrans, (unsigned long long)info.tcpi_bytes_acked, info.tcpi_ca_state);
	memset(&delays, 0, sizeof(delays));
	if (!getsockopt(s->socket, IPPROTO_TCP, TCP_CC_INFO, &controller, &controller_length) &&
	    controller_length == sizeof(delays))
		memcpy(&delays, &controller, sizeof(delays));
	if (delays.zero || !delays.target_us)
		fputs(",,\n", s->trace);
	else
		fprintf(s->trace, "%u,%u,%u\n", delays.base_delay_us, delays.current_delay_us, delays.queuing_delay_us);
}

static void *sample_until_stop(void *argument)
{
	struct sampling *s = argument;

	pthread_mutex_lock(&s->lock);
	for (; s->next_ns < s->stop_ns; s->next_ns += s->period_ns) {
		const struct timespec at = {s->next_ns / 1000000000, s->next_ns % 1000000000};

		while (!s->done && pthread_cond_timedwait(&s->changed, &s->lock, &at) != ETIMEDOUT)
			;
		if (s->done)
			break;
		sample(s);
	}
	pthread_mutex_unlock(&s->lock);
	if (fflush(s->trace))
		die("trace");
	return NULL;
}

static int flow_socket;
static volatile sig_atomic_t connected;

/* end the flow at once with a reset: nothing that is left in the send buffer is sent */
static void stop_flow(int signal_number)
{
	static const char never[] = "bulk: never connected\n";
	const struct linger reset = {1, 0};

	(void)signal_number;
	if (!connected) {
		(void)!write(STDERR_FILENO, never, sizeof(never) - 1);
		_exit(1);
	}
	setsockopt(flow_socket, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(flow_socket);
	_exit(0);
}

/* what the application writes at a time, and when it does next; without `bytes` it never pauses */
struct writes {
	unsigned long long bytes;
	long long every_ns, next_ns;
};

static unsigned long long least(unsigned long long a, unsigned long long b)
{
	return a < b ? a : b;
}

/* sends `bytes` (0: without end) and returns when the other side has all of them */
static void send_bytes(unsigned long long bytes, struct writes writes)
{
	static char block[BLOCK_BYTES];
	const unsigned long long total = bytes ? bytes : ~0ULL;
	unsigned long long sent = 0, due = writes.bytes ? 0 : total;
	ssize_t got;
	char end;

	while (sent < total) {
		if (sent == due) {
			sleep_until(writes.next_ns);
			writes.next_ns += writes.every_ns;
			due = least(total, sent + writes.bytes);
		}
		got = send(flow_socket, block, least(due - sent, BLOCK_BYTES), MSG_NOSIGNAL);
		if (got < 0)
			die("send");
		sent += got;
	}
	/* the receiver closes when it has read everything */
	if (shutdown(flow_socket, SHUT_WR))
		die("shutdown");
	if (recv(flow_socket, &end, 1, 0) < 0)
		die("end of flow");
}

static int send_flow(char **argv, bool pauses)
{
	const int family = strchr(argv[0], ':') ? AF_INET6 : AF_INET;
	const struct end there = end_of(family, argv[0], number(argv[1], "PORT"));
	const char *control = argv[2];
	const long long bytes = number(argv[3], "BYTES");
	const long long start_ns = number(argv[4], "START_NS"), stop_ns = number(argv[5], "STOP_NS");
	const long long period_ns = number(argv[6], "SAMPLE_NS"), origin_ns = number(argv[7], "ORIGIN_NS");
	struct sampling sampling = {.period_ns = period_ns, .stop_ns = stop_ns, .origin_ns = origin_ns,
				    .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	const struct writes writes = {
		.bytes = pauses ? number(argv[9], "WRITE_BYTES") : 0,
		.every_ns = pauses ? number(argv[10], "EVERY_NS") : 0,
		.next_ns = start_ns,
	};
	const int one = 1;
	struct timespec now;
	pthread_t sampler;

	if (!there.length) {
		fprintf(stderr, "bulk: ADDRESS: not an address of IP: %s\n", argv[0]);
		return 127;
	}
	flow_socket = socket(family, SOCK_STREAM, 0);
	if (flow_socket < 0)
		die("socket");
	if (choose_control(flow_socket, control))
		return 127;
	/* the end of a write must not wait for the next one */
	if (pauses && setsockopt(flow_socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
	sampling.trace = fopen(argv[8], "w");
	if (!sampling.trace)
		die(argv[8]);
	setvbuf(sampling.trace, NULL, _IOFBF, 1 << 16);
	fputs("time_ns,cwnd_pkts,ssthresh_pkts,srtt_us,rttvar_us,unacked_pkts,lost_pkts,retransmitted_pkts,bytes_acked,"
	      "ca_state,base_delay_us,current_delay_us,queuing_delay_us\n", sampling.trace);
	signal(SIGTERM, stop_flow);

	sleep_until(start_ns);
	if (connect(flow_socket, (const struct sockaddr *)&there.address, there.length))
		die("connect");
	connected = 1;
	clock_gettime(CLOCK_REALTIME, &now);
	/* samples of all flows fall on the same instants: multiples of the period from the scenario's zero */
	sampling.next_ns = now.tv_sec * 1000000000LL + now.tv_nsec - origin_ns;
	sampling.next_ns = origin_ns + (sampling.next_ns / period_ns + 1) * period_ns;
	sampling.socket = flow_socket;
	if (pthread_create(&sampler, NULL, sample_until_stop, &sampling))
		die("thread");
	send_bytes(bytes, writes);
	pthread_mutex_lock(&sampling.lock);
	sampling.done = 1;
	pthread_cond_signal(&sampling.changed);
	pthread_mutex_unlock(&sampling.lock);
	pthread_join(sampler, NULL);
	if (fclose(sampling.trace))
		die("trace");
	return 0;
}

int main(int argc, char **argv)
{
	if ((argc == 6 || argc == 7) && strcmp(argv[1], "receive") == 0)
		return receive(strcmp(argv[2], "6") ? AF_INET : AF_INET6, number(argv[3], "PORT"),
			       number(argv[4], "BUFFER_BYTES"), number(argv[5], "WAKE_BYTES"), argv[6]);
	if ((argc == 11 || argc == 13) && strcmp(argv[1], "send") == 0)
		return send_flow(argv + 2, argc == 13);
	fprintf(stderr, "usage: bulk receive 4|6 PORT BUFFER_BYTES WAKE_BYTES [CONTROL]\n"
			"       bulk send ADDRESS PORT CONTROL BYTES START_NS STOP_NS SAMPLE_NS ORIGIN_NS TRACE"
			" [WRITE_BYTES EVERY_NS]\n");
	return 127;
}
