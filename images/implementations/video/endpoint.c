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
#include <errno.h>

#include "traffic.h"

#define CHUNK_WORDS 2048
#define CHUNK_BYTES (8 * CHUNK_WORDS)
#define LAST 3
#define CAUTION 0.8

static const double rates_bps[] = { 145e3, 365e3, 730e3, 1100e3, 2000e3, 3000e3, 4500e3, 6000e3, 7800e3 };

static long long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void serve(int tcp, uint64_t total)
{
	uint64_t data[CHUNK_WORDS + 1], offset = 0, until, asked, part;
	ssize_t sent;

	connect_to_peer(tcp);
	while (offset < total) {
		if (recv(tcp, &asked, sizeof(asked), MSG_WAITALL) != sizeof(asked))
			fail("the viewer asks no more");
		until = offset + be64toh(asked) < total ? offset + be64toh(asked) : total;
		while (offset < until) {
			fill(data, offset / 8, CHUNK_WORDS + 1);
			part = until - offset < CHUNK_BYTES ? until - offset : CHUNK_BYTES;
			sent = send(tcp, (char *)data + offset % 8, part, MSG_NOSIGNAL);
			if (sent < 0)
				fail("send");
			offset += sent;
		}
	}
	/* the viewer closes when it has all; it may have asked for more */
	if (shutdown(tcp, SHUT_WR))
		fail("shutdown");
	while (recv(tcp, data, sizeof(data), 0) > 0)
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

/* Reads until `until` bytes have come, or to the end. */
static void read_until(int tcp, uint64_t until)
{
	static char data[CHUNK_BYTES];
	static uint64_t right[CHUNK_WORDS + 2];
	uint64_t part;
	ssize_t got;

	while (!ended && received < until) {
		if (!readable(tcp, INT64_MAX))
			continue;
		part = until - received < CHUNK_BYTES ? until - received : CHUNK_BYTES;
		got = recv(tcp, data, part, 0);
		if (got < 0 && errno != ECONNRESET)
			fail("recv");
		if (got <= 0)
			return;
		fill(right, received / 8, CHUNK_WORDS + 2);
		check(!memcmp(data, (char *)right + received % 8, got), received);
		keep(data, got, received);
	}
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

static void watch(int tcp, uint64_t total, long long segment_ns, long long ahead_ns)
{
	long long dry_ns = 0, asked_ns, now;
	uint64_t until, asked;
	double bit_s[LAST];

	for (int count = 0; !ended && received < total; count++) {
		/* room for a segment; what comes while nobody asked is the end */
		while (!ended && dry_ns + segment_ns - ahead_ns > now_ns())
			if (readable(tcp, dry_ns + segment_ns - ahead_ns))
				return;
		asked_ns = now_ns();
		until = received + (uint64_t)(chosen_bps(bit_s, count) * segment_ns / NS / 8);
		asked = htobe64(until - received);
		if (send(tcp, &asked, sizeof(asked), MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
			fail("send");
		asked = until - received;
		read_until(tcp, until < total ? until : total);
		if (received < until)
			break;
		now = now_ns();
		bit_s[count % LAST] = (double)(now - asked_ns) / NS / 8 / asked;
		dry_ns = (dry_ns > now ? dry_ns : now) + segment_ns;
	}
}

static void receive(int listener, uint64_t total, long long segment_ns, long long ahead_ns)
{
	int tcp = -1;

	begin_to_receive();
	listen_at_port(listener, 1);
	while (!ended && tcp < 0)
		if (readable(listener, INT64_MAX))
			tcp = accept(listener, NULL, NULL);
	if (tcp >= 0)
		watch(tcp, total, segment_ns, ahead_ns);
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
	long long segment_ns, ahead_ns;
	int tcp;

	begin(argc, argv);
	parse(told("PARAMS"), &segment_ns, &ahead_ns);
	wake_on_time();
	tcp = opened(SOCK_STREAM);
	if (is_receiver())
		receive(tcp, length_of_transfer(), segment_ns, ahead_ns);
	else
		serve(tcp, length_of_transfer());
	leave(0);
}
