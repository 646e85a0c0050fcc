// SPDX-License-Identifier: MIT
/*
 * Sends the video of a call: FRAMES_PER_S frames, each as a burst of RTP packets (RFC 3550) of up to 1200 bytes, at
 * one of the rates of a ladder. Nothing is retransmitted, so a transfer of a given size completes only if nothing is
 * lost; the receiver then answers with an empty datagram.
 *
 * Twice a second, the receiver reports how many packets were lost and the least one-way delay since its last report.
 * The sender goes a rung down if more than a tenth was lost, or if that delay is BAD_NS above the least one ever. It
 * goes a rung up, at most once a second and not within 5 s after a step down, if less than 2 % were lost and the delay
 * is GOOD_NS above it at most. Both shares are those of draft-ietf-rmcat-gcc-02, section 6. Without a report for a
 * second it goes to the lowest rung.
 */
#define _GNU_SOURCE
#include <stddef.h>

#include "traffic.h"

#define WORDS 147
#define PAYLOAD_BYTES (8 * WORDS)
#define MS 1000000LL
#define FRAMES_PER_S 30
#define RTP_VERSION 2
#define RTP_TYPE 96		/* the first dynamic one */
#define RTP_CLOCK_HZ 90000
#define RTP_SOURCE 0x6c656462	/* above a million, so that the packet does not look like one of the older uTP */
#define HEADER_BYTES offsetof(struct packet, words)
#define REPORT_NS (500 * MS)
#define SILENCE_NS NS
#define BAD_NS (100 * MS)
#define GOOD_NS (50 * MS)
#define UP_NS NS
#define UP_AFTER_DOWN_NS (5 * NS)

/* usual rates of 180p to 720p */
static const uint64_t ladder_bps[] = { 150000, 300000, 500000, 1000000, 1700000, 2500000 };
#define HIGHEST ((int)(sizeof(ladder_bps) / sizeof(*ladder_bps)) - 1)
#define FIRST 2

struct packet {
	uint8_t version, type;
	uint16_t number;
	uint32_t time, source;
	uint32_t count;		/* packets sent before this one */
	int64_t sent_ns;
	uint64_t words[WORDS];
};

struct report {
	uint32_t sent, received;	/* since the last report */
	int64_t least_ns;		/* one-way delay, off by what the clocks differ */
};

_Static_assert(sizeof(struct packet) == 1200 && sizeof(struct report) == 16, "nothing lies between the fields");

/* The rung after a report, and from when on the next one up is allowed. */
static int next_rung(int rung, const struct report *report, int64_t base_ns, int64_t now_ns, int64_t *up_ns)
{
	const uint32_t sent = be32toh(report->sent), lost = sent - be32toh(report->received);
	const int64_t waited_ns = (int64_t)be64toh(report->least_ns) - base_ns;

	if (lost * 10ULL > sent || waited_ns > BAD_NS) {
		*up_ns = now_ns + UP_AFTER_DOWN_NS;
		return rung ? rung - 1 : 0;
	}
	if (lost * 50ULL >= sent || waited_ns > GOOD_NS || now_ns < *up_ns || rung == HIGHEST)
		return rung;
	*up_ns = now_ns + UP_NS;
	return rung + 1;
}

/* Sends a frame of `bytes`; returns how many packets it took. */
static uint32_t send_frame(int udp, uint64_t offset, uint64_t bytes, uint32_t count, uint32_t time)
{
	struct packet packet = { .version = RTP_VERSION << 6, .type = RTP_TYPE, .source = htobe32(RTP_SOURCE) };
	uint32_t packets = 0;
	uint64_t part;

	for (; bytes; bytes -= part, offset += part, packets++) {
		part = bytes < PAYLOAD_BYTES ? bytes : PAYLOAD_BYTES;
		packet.number = htobe16(count + packets);
		packet.time = htobe32(time);
		packet.count = htobe32(count + packets);
		packet.sent_ns = htobe64(clock_ns(CLOCK_REALTIME));
		fill(packet.words, offset / 8, WORDS);
		if (send(udp, &packet, HEADER_BYTES + part, 0) < 0)
			fail("send");
	}
	return packets;
}

static void send_all(uint64_t total)
{
	const int udp = opened(SOCK_DGRAM);
	int64_t start_ns, heard_ns, now_ns, at_ns, up_ns, base_ns = INT64_MAX;
	uint64_t offset = 0, bytes, rest;
	struct report report;
	struct timespec at;
	uint32_t count = 0;
	int rung = FIRST;
	ssize_t got;

	connect_to_peer(udp);
	wake_on_time();
	start_ns = heard_ns = clock_ns(CLOCK_MONOTONIC);
	up_ns = start_ns + UP_NS;
	for (uint64_t frame = 0; offset < total; frame++) {
		at_ns = start_ns + (int64_t)(frame * NS / FRAMES_PER_S);
		at.tv_sec = at_ns / NS;
		at.tv_nsec = at_ns % NS;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		while ((got = recv(udp, &report, sizeof(report), MSG_DONTWAIT)) == sizeof(report)) {
			heard_ns = now_ns;
			if ((int64_t)be64toh(report.least_ns) < base_ns)
				base_ns = be64toh(report.least_ns);
			rung = next_rung(rung, &report, base_ns, now_ns, &up_ns);
		}
		if (now_ns - heard_ns > SILENCE_NS) {
			rung = 0;
			up_ns = now_ns + UP_NS;
		}
		bytes = ladder_bps[rung] / 8 / FRAMES_PER_S / 8 * 8;
		rest = total - offset;
		bytes = rest < bytes ? rest : bytes;
		count += send_frame(udp, offset, bytes, count, frame * (RTP_CLOCK_HZ / FRAMES_PER_S));
		offset += bytes;
	}
	while ((got = recv(udp, &report, sizeof(report), 0)) > 0)
		;
	if (got < 0)
		fail("the receiver does not answer");
}

/* What the receiver has seen since its last report. */
struct seen {
	int64_t since_ns, least_ns;
	uint32_t received, next;	/* `next`: one more than the highest count of packets ever seen */
	uint32_t reported;		/* `next` at the last report */
};

static void note(struct seen *seen, const struct packet *packet)
{
	const int64_t waited_ns = clock_ns(CLOCK_REALTIME) - (int64_t)be64toh(packet->sent_ns);
	const uint32_t count = be32toh(packet->count);

	seen->received++;
	if (waited_ns < seen->least_ns)
		seen->least_ns = waited_ns;
	if (count + 1 > seen->next)
		seen->next = count + 1;
}

static void tell(int udp, const struct place *sender, struct seen *seen)
{
	const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint32_t sent = seen->next - seen->reported;
	struct report report;

	if (now_ns - seen->since_ns < REPORT_NS)
		return;
	/* packets that were overtaken count with those of this report */
	if (sent < seen->received)
		sent = seen->received;
	report.sent = htobe32(sent);
	report.received = htobe32(seen->received);
	report.least_ns = htobe64(seen->least_ns);
	if (sendto(udp, &report, sizeof(report), 0, &sender->any, sender->length) < 0)
		fail("sendto");
	*seen = (struct seen){ .since_ns = now_ns, .least_ns = INT64_MAX, .next = seen->next, .reported = seen->next };
}

static void receive_all(uint64_t total)
{
	const int udp = opened(SOCK_DGRAM);
	struct seen seen = { .since_ns = clock_ns(CLOCK_MONOTONIC), .least_ns = INT64_MAX };
	struct pollfd readable = { .fd = udp, .events = POLLIN };
	uint64_t offset, right[WORDS];
	struct place sender = { .length = sizeof(sender.six) };
	struct packet packet;
	ssize_t got;

	begin_to_receive();
	bind_to_port(udp);
	while (!ended && received < total) {
		if (ppoll(&readable, 1, NULL, &open_to_all) < 0)
			continue;
		got = recvfrom(udp, &packet, sizeof(packet), 0, &sender.any, &sender.length);
		if (got < 0)
			fail("recvfrom");
		got -= HEADER_BYTES;
		offset = be64toh(packet.words[0]) * 8;
		fill(right, offset / 8, WORDS);
		check(got > 0 && !memcmp(packet.words, right, got), offset);
		keep(packet.words, got, offset);
		note(&seen, &packet);
		tell(udp, &sender, &seen);
	}
	if (!ended && sendto(udp, NULL, 0, 0, &sender.any, sender.length) < 0)
		fail("sendto");
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	if (strcmp(told("PARAMS"), "{}"))
		return NOT_SUPPORTED;
	if (is_receiver())
		receive_all(length_of_transfer());
	else
		send_all(length_of_transfer());
	leave(0);
}
