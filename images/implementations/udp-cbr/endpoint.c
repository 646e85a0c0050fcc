// SPDX-License-Identifier: MIT
/*
 * Sends RTP packets (RFC 3550) of PAYLOAD_BYTES at a constant bit rate, whether or not they arrive. Nothing is
 * retransmitted, so a transfer of a given size completes only if nothing is lost; the receiver then answers with an
 * empty datagram.
 */
#define _GNU_SOURCE
#include <stddef.h>

#include "traffic.h"

#define WORDS 20
#define PAYLOAD_BYTES (8 * WORDS)
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

/* The packet whose payload begins at `offset` of the numbers 0, 1, 2, ..., each 64 bits long and big-endian. */
static void make(struct packet *packet, uint64_t offset)
{
	packet->version = RTP_VERSION << 6;
	packet->type = 0;
	packet->number = htobe16(offset / PAYLOAD_BYTES);
	packet->time = htobe32(offset);
	packet->source = htobe32(RTP_SOURCE);
	for (int i = 0; i < WORDS; i++)
		packet->words[i] = htobe64(offset / 8 + i);
}

static void send_all(uint64_t rate_bps, uint64_t total)
{
	const int udp = opened(SOCK_DGRAM);
	struct timespec start, at;
	uint64_t bits, offset, rest;
	struct packet packet;

	connect_to_peer(udp);
	wake_on_time();
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (offset = 0; offset < total; offset += PAYLOAD_BYTES) {
		bits = 8 * offset;
		at.tv_sec = start.tv_sec + bits / rate_bps;
		at.tv_nsec = start.tv_nsec + bits % rate_bps * NS / rate_bps;
		at.tv_sec += at.tv_nsec / NS;
		at.tv_nsec %= NS;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		make(&packet, offset);
		rest = total - offset < PAYLOAD_BYTES ? total - offset : PAYLOAD_BYTES;
		if (send(udp, &packet, RTP_HEADER_BYTES + rest, 0) < 0)
			fail("send");
	}
	if (recv(udp, &packet, sizeof(packet), 0) < 0)
		fail("the receiver does not answer");
}

static void receive_all(uint64_t total)
{
	const int udp = opened(SOCK_DGRAM);
	struct pollfd readable = { .fd = udp, .events = POLLIN };
	struct packet packet, right;
	uint64_t offset;
	struct place sender = { .length = sizeof(sender.six) };
	ssize_t got;

	begin_to_receive();
	bind_to_port(udp);
	while (!ended && received < total) {
		if (ppoll(&readable, 1, NULL, &open_to_all) < 0)
			continue;
		got = recvfrom(udp, &packet, sizeof(packet), 0, &sender.any, &sender.length);
		if (got < 0)
			fail("recvfrom");
		offset = be64toh(packet.words[0]) * 8;
		make(&right, offset);
		check(got > (ssize_t)RTP_HEADER_BYTES && offset % PAYLOAD_BYTES == 0 && !memcmp(&packet, &right, got), offset);
		got -= RTP_HEADER_BYTES;
		keep((char *)&packet + RTP_HEADER_BYTES, got, offset);
	}
	if (!ended && sendto(udp, NULL, 0, 0, &sender.any, sender.length) < 0)
		fail("sendto");
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
	uint64_t rate_bps;

	begin(argc, argv);
	rate_bps = rate_of(told("PARAMS"));
	if (is_receiver())
		receive_all(length_of_transfer());
	else
		send_all(rate_bps, length_of_transfer());
	leave(0);
}
