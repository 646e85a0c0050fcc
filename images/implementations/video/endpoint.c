// SPDX-License-Identifier: MIT
/*
 * A viewer of adaptive video and its server, on one TCP connection. The receiver is the viewer: for each segment it asks
 * with 8 bytes for as many bytes as the chosen rate needs, and the sender answers with the next part of the payload that
 * all senders share. The rates are those of Apple's authoring specification for HLS (H.264).
 *
 * The viewer takes the highest rate that is at most 0.8 of the harmonic mean of the last three segments' throughputs. It
 * plays from the first segment on, and again from the next one after it has run dry. It asks for the next segment at
 * once, or, with `ahead` loaded, once there is room for one.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define NOT_SUPPORTED 127
#define CHUNK_WORDS 2048
#define CHUNK_BYTES (8 * CHUNK_WORDS)
#define LAST 3
#define CAUTION 0.8

static const double rates_bps[] = { 145e3, 365e3, 730e3, 1100e3, 2000e3, 3000e3, 4500e3, 6000e3, 7800e3 };
static volatile sig_atomic_t ended;
static sigset_t open_to_all;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* `words` numbers of the payload from the `first` on. */
static void fill(uint64_t *payload, uint64_t first, int words)
{
	for (int i = 0; i < words; i++)
		payload[i] = htobe64(first + i);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS + now.tv_nsec;
}

static void serve(int tcp, const struct sockaddr_in *peer, uint64_t total)
{
	uint64_t payload[CHUNK_WORDS + 1], offset = 0, until, asked, part;
	ssize_t sent;

	if (connect(tcp, (const struct sockaddr *)peer, sizeof(*peer)))
		fail("connect");
	while (offset < total) {
		if (recv(tcp, &asked, sizeof(asked), MSG_WAITALL) != sizeof(asked))
			fail("the viewer asks no more");
		until = offset + be64toh(asked) < total ? offset + be64toh(asked) : total;
		while (offset < until) {
			fill(payload, offset / 8, CHUNK_WORDS + 1);
			part = until - offset < CHUNK_BYTES ? until - offset : CHUNK_BYTES;
			sent = send(tcp, (char *)payload + offset % 8, part, MSG_NOSIGNAL);
			if (sent < 0)
				fail("send");
			offset += sent;
		}
	}
	/* the viewer closes when it has all; it may have asked for more */
	if (shutdown(tcp, SHUT_WR))
		fail("shutdown");
	while (recv(tcp, payload, sizeof(payload), 0) > 0)
		;
}

/* Waits until `until_ns` or until there is something to read, whichever is first, or for SIGTERM. */
static int readable(int fd, long long until_ns)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	long long left_ns = until_ns - now_ns();
	struct timespec wait = { left_ns / NS, left_ns % NS };

	if (left_ns <= 0)
		return 0;
	return ppoll(&polled, 1, until_ns == INT64_MAX ? NULL : &wait, &open_to_all) > 0;
}

/* Reads up to `until` or to the end; returns the new offset. */
static uint64_t take(int tcp, uint64_t offset, uint64_t until, int file)
{
	static char payload[CHUNK_BYTES];
	static uint64_t expected[CHUNK_WORDS + 2];
	uint64_t part;
	ssize_t got;

	while (!ended && offset < until) {
		if (!readable(tcp, INT64_MAX))
			continue;
		part = until - offset < CHUNK_BYTES ? until - offset : CHUNK_BYTES;
		got = recv(tcp, payload, part, 0);
		if (got < 0 && errno != ECONNRESET)
			fail("recv");
		if (got <= 0)
			return offset;
		fill(expected, offset / 8, CHUNK_WORDS + 2);
		if (memcmp(payload, (char *)expected + offset % 8, got)) {
			fprintf(stderr, "wrong bytes after offset %llu\n", (unsigned long long)offset);
			exit(1);
		}
		if (file >= 0 && pwrite(file, payload, got, offset) != got)
			fail("payload");
		offset += got;
	}
	return offset;
}

/* The rate for the next segment, after `count` segments, the last of which took these times a bit. */
static double chosen_bps(const double *bit_s, int count)
{
	double mean_bit_s = 0, allowed_bps, rate_bps = rates_bps[0];
	const int known = count < LAST ? count : LAST;

	if (!known)
		return rate_bps;
	for (int i = 0; i < known; i++)
		mean_bit_s += bit_s[i] / known;
	allowed_bps = CAUTION / mean_bit_s;
	for (size_t i = 0; i < sizeof(rates_bps) / sizeof(*rates_bps); i++)
		if (rates_bps[i] <= allowed_bps)
			rate_bps = rates_bps[i];
	return rate_bps;
}

static uint64_t watch(int tcp, uint64_t total, long long segment_ns, long long ahead_ns, int file)
{
	long long dry_ns = 0, asked_ns, now;
	uint64_t received = 0, until, asked;
	double bit_s[LAST];

	for (int count = 0; !ended && received < total; count++) {
		/* room for a segment; what comes while nobody asked is the end */
		while (!ended && dry_ns + segment_ns - ahead_ns > now_ns())
			if (readable(tcp, dry_ns + segment_ns - ahead_ns))
				return received;
		asked_ns = now_ns();
		until = received + (uint64_t)(chosen_bps(bit_s, count) * segment_ns / NS / 8);
		asked = htobe64(until - received);
		if (send(tcp, &asked, sizeof(asked), MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
			fail("send");
		asked = until - received;
		received = take(tcp, received, until < total ? until : total, file);
		if (received < until)
			break;
		now = now_ns();
		bit_s[count % LAST] = (double)(now - asked_ns) / NS / 8 / asked;
		dry_ns = (dry_ns > now ? dry_ns : now) + segment_ns;
	}
	return received;
}

static void receive(int listener, struct sockaddr_in *own, uint64_t total, long long segment_ns, long long ahead_ns)
{
	const char *payload = getenv("PAYLOAD");
	const int file = payload ? open(payload, O_WRONLY | O_CREAT, 0644) : -1, yes = 1;
	uint64_t received = 0;
	sigset_t blocked;
	char path[4096];
	int tcp = -1;
	FILE *log;

	/* SIGTERM is delivered only while waiting, so that none is missed */
	sigemptyset(&open_to_all);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGTERM, end);
	own->sin_addr.s_addr = htonl(INADDR_ANY);
	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(listener, (const struct sockaddr *)own, sizeof(*own)) || listen(listener, 1))
		fail("listen");
	while (!ended && tcp < 0)
		if (readable(listener, INT64_MAX))
			tcp = accept(listener, NULL, NULL);
	if (tcp >= 0)
		received = watch(tcp, total, segment_ns, ahead_ns, file);
	snprintf(path, sizeof(path), "%s/received_bytes", getenv("LOGDIR"));
	log = fopen(path, "w");
	if (!log || fprintf(log, "%llu\n", (unsigned long long)received) < 0 || fclose(log))
		fail(path);
}

/* `{"segment_ns": 4000000000, "ahead_ns": 20000000000}` in either order, and nothing else. */
static void parse(const char *params, long long *segment_ns, long long *ahead_ns)
{
	int end = 0;

	if (sscanf(params, " { \"segment_ns\" : %lld , \"ahead_ns\" : %lld } %n", segment_ns, ahead_ns, &end) != 2)
		if (sscanf(params, " { \"ahead_ns\" : %lld , \"segment_ns\" : %lld } %n", ahead_ns, segment_ns, &end) != 2)
			exit(NOT_SUPPORTED);
	if (!end || params[end] || *segment_ns <= 0 || *ahead_ns <= 0)
		exit(NOT_SUPPORTED);
	if (*ahead_ns < *segment_ns) {
		fputs("ahead is shorter than a segment\n", stderr);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *bytes = getenv("BYTES");
	long long segment_ns, ahead_ns;
	uint64_t total;
	int tcp;

	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("1");
		return 0;
	}
	parse(getenv("PARAMS"), &segment_ns, &ahead_ns);
	total = bytes ? strtoull(bytes, NULL, 10) : UINT64_MAX;
	address.sin_port = htons(atoi(getenv("PORT")));
	inet_pton(AF_INET, getenv("PEER"), &address.sin_addr);
	/* by default, Linux may delay a wake-up by 50 us to combine it with others */
	if (prctl(PR_SET_TIMERSLACK, 1L))
		fail("PR_SET_TIMERSLACK");
	tcp = socket(AF_INET, SOCK_STREAM, 0);
	if (tcp < 0)
		fail("socket");
	if (!strcmp(getenv("ROLE"), "sender"))
		serve(tcp, &address, total);
	else if (!strcmp(getenv("ROLE"), "receiver"))
		receive(tcp, &address, total, segment_ns, ahead_ns);
	else
		return NOT_SUPPORTED;
	return 0;
}
