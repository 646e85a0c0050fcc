// SPDX-License-Identifier: MIT
/*
 * Sends RTP packets (RFC 3550) of PAYLOAD_BYTES at a constant bit rate, whether or not they arrive. Nothing is
 * retransmitted, so a transfer of a given size completes only if nothing is lost; the receiver then answers with an
 * empty datagram.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WORDS 20
#define PAYLOAD_BYTES (8 * WORDS)
#define NS 1000000000L
#define NOT_SUPPORTED 127
#define RTP_VERSION 2
/* arbitrary for RTP; above a million, so that the packet does not look like one of the older uTP */
#define RTP_SOURCE 0x6c656462
#define RTP_HEADER_BYTES offsetof(struct packet, words)

struct __attribute__((packed)) packet {
	uint8_t version, type;		/* type 0: G.711, mu-law */
	uint16_t number;
	uint32_t time, source;
	uint64_t words[WORDS];
};

static volatile sig_atomic_t ended;

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

/* The packet whose payload begins at `offset` of the numbers 0, 1, 2, ..., each 64 bits long and big-endian. */
static void fill(struct packet *packet, uint64_t offset)
{
	packet->version = RTP_VERSION << 6;
	packet->type = 0;
	packet->number = htobe16(offset / PAYLOAD_BYTES);
	packet->time = htobe32(offset);
	packet->source = htobe32(RTP_SOURCE);
	for (int i = 0; i < WORDS; i++)
		packet->words[i] = htobe64(offset / 8 + i);
}

static void send_all(int udp, const struct sockaddr_in *peer, uint64_t rate_bps, uint64_t total)
{
	struct timespec start, at;
	uint64_t bits, offset, rest;
	struct packet packet;

	/* connected, so that Linux numbers the packets in their IP headers, by which captures tell them apart */
	if (connect(udp, (const struct sockaddr *)peer, sizeof(*peer)))
		fail("connect");
	/* by default, Linux may delay a wake-up by 50 us to combine it with others */
	if (prctl(PR_SET_TIMERSLACK, 1L))
		fail("PR_SET_TIMERSLACK");
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (offset = 0; offset < total; offset += PAYLOAD_BYTES) {
		bits = 8 * offset;
		at.tv_sec = start.tv_sec + bits / rate_bps;
		at.tv_nsec = start.tv_nsec + bits % rate_bps * NS / rate_bps;
		at.tv_sec += at.tv_nsec / NS;
		at.tv_nsec %= NS;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		fill(&packet, offset);
		rest = total - offset < PAYLOAD_BYTES ? total - offset : PAYLOAD_BYTES;
		if (send(udp, &packet, RTP_HEADER_BYTES + rest, 0) < 0)
			fail("send");
	}
	if (recv(udp, &packet, sizeof(packet), 0) < 0)
		fail("the receiver does not answer");
}

static void receive_all(int udp, struct sockaddr_in *own, uint64_t total)
{
	const char *payload = getenv("PAYLOAD");
	const int file = payload ? open(payload, O_WRONLY | O_CREAT, 0644) : -1;
	struct pollfd readable = { .fd = udp, .events = POLLIN };
	struct packet packet, expected;
	uint64_t offset, received = 0;
	struct sockaddr_in sender;
	socklen_t length = sizeof(sender);
	sigset_t blocked, open_to_all;
	ssize_t got;
	char path[4096];
	FILE *log;

	/* SIGTERM is delivered only while waiting, so that none is missed */
	sigemptyset(&open_to_all);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGTERM, end);
	own->sin_addr.s_addr = htonl(INADDR_ANY);
	if (bind(udp, (const struct sockaddr *)own, sizeof(*own)))
		fail("bind");
	while (!ended && received < total) {
		if (ppoll(&readable, 1, NULL, &open_to_all) < 0)
			continue;
		got = recvfrom(udp, &packet, sizeof(packet), 0, (struct sockaddr *)&sender, &length);
		if (got < 0)
			fail("recvfrom");
		offset = be64toh(packet.words[0]) * 8;
		fill(&expected, offset);
		if (got <= (ssize_t)RTP_HEADER_BYTES || offset % PAYLOAD_BYTES || memcmp(&packet, &expected, got)) {
			fprintf(stderr, "wrong bytes after offset %llu\n", (unsigned long long)offset);
			exit(1);
		}
		got -= RTP_HEADER_BYTES;
		received += got;
		if (file >= 0 && pwrite(file, (char *)&packet + RTP_HEADER_BYTES, got, offset) != got)
			fail(payload);
	}
	if (!ended && sendto(udp, NULL, 0, 0, (const struct sockaddr *)&sender, length) < 0)
		fail("sendto");
	snprintf(path, sizeof(path), "%s/received_bytes", getenv("LOGDIR"));
	log = fopen(path, "w");
	if (!log || fprintf(log, "%llu\n", (unsigned long long)received) < 0 || fclose(log))
		fail(path);
}

/* `{"rate_bps": 64000}` and nothing else. */
static uint64_t rate_of(const char *params)
{
	unsigned long long rate_bps;
	int end = 0;

	if (sscanf(params, " { \"rate_bps\" : %llu } %n", &rate_bps, &end) != 1 || !end || params[end] || !rate_bps)
		exit(NOT_SUPPORTED);
	return rate_bps;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *bytes = getenv("BYTES");
	uint64_t rate_bps, total;
	int udp;

	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("1");
		return 0;
	}
	rate_bps = rate_of(getenv("PARAMS"));
	total = bytes ? strtoull(bytes, NULL, 10) : UINT64_MAX;
	address.sin_port = htons(atoi(getenv("PORT")));
	inet_pton(AF_INET, getenv("PEER"), &address.sin_addr);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	if (udp < 0)
		fail("socket");
	if (!strcmp(getenv("ROLE"), "sender"))
		send_all(udp, &address, rate_bps, total);
	else if (!strcmp(getenv("ROLE"), "receiver"))
		receive_all(udp, &address, total);
	else
		return NOT_SUPPORTED;
	return 0;
}
