// SPDX-License-Identifier: MIT
/*
 * A box in a host's link that does what a network should not: it passes the host's packets on and changes some.
 *
 *   middlebox 4|6 INNER OUTER WHAT...
 *
 * The first word is the version of IP whose packets it passes. INNER is the interface towards the host. WHAT is one or more of
 *   bleached     clears the ECN field (RFC 3168) of each packet, in both directions
 *   split        makes PIECES acknowledgements of each that the host sends, each for a part of the bytes
 *   stretched    sends an acknowledgement WAIT_MS after the first that it stands for, and drops those in between
 *   optimistic   acknowledges all up to the newest byte that came to the host, whatever was lost before it
 *   rebound=NS   from this instant of the real-time clock on, the UDP ports of the host have other numbers outside, as
 *                behind a translator of addresses that forgot them; what comes for a number without a port is dropped
 * of which split, stretched and optimistic exclude each other and speak of TCP segments that only acknowledge; Savage
 * and others (CCR 29(5), 1999) describe the first and the last of them as attacks of receivers. An optimistic
 * acknowledgement has no SACK blocks and echoes the newest timestamp, as that of a receiver without losses would.
 *
 * Runs until it is killed. If it fails: exit status 1, with one line on stderr.
 */
#define _GNU_SOURCE
#include <netinet/tcp.h>
#include <poll.h>
#include <time.h>

#include "link.h"

#define PIECES 8
#define WAIT_MS 20
#define ECN_FIELD 3
#define IPV6_ECN_FIELD 0x30 /* of the second byte */
#define CONNECTIONS (1 << 12)
#define OTHER_PORT 0x20 /* in a port's first byte: flipped, no two ports become one, and those above 8191 stay there */

/* A connection of the host by both ports; what `acked` and `end` compare with is newer if their difference is positive. */
static struct connection {
	uint32_t ports;
	uint32_t acked; /* by the newest acknowledgement that went on */
	uint32_t end, stamp; /* after the newest data that came, and their timestamp */
} known[CONNECTIONS];

static struct {
	bool bleached, split, stretched, optimistic;
	long long rebound_ns; /* 0: never */
} box;

static bool known_outside[1 << 16]; /* ports that the host has sent from since its first ones were forgotten */

static struct {
	unsigned char frame[1 << 11];
	size_t length; /* 0: none waits */
	uint32_t ports, acked;
	long long until_ns;
} held;

static int inner, outer;

struct segment {
	struct carried whole;
	unsigned char *tcp;
	size_t header; /* length of TCP's */
};

static long long now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void put(int to, const unsigned char *frame, size_t length)
{
	if (send(to, frame, length, 0) != (ssize_t)length)
		die("send");
}

static void set_ip_checksum(unsigned char *ip)
{
	uint32_t folded;

	memset(ip + 10, 0, 2);
	folded = sum(ip, (ip[0] & 0xf) * 4, 0);
	folded = (folded & 0xffff) + (folded >> 16);
	folded = ~(folded + (folded >> 16)) & 0xffff;
	ip[10] = folded >> 8;
	ip[11] = folded;
}

static void bleach(unsigned char *ip)
{
	if (ip[0] >> 4 == 6) {
		ip[1] &= ~IPV6_ECN_FIELD;
		return;
	}
	ip[1] &= ~ECN_FIELD;
	set_ip_checksum(ip);
}

/* Return the header of a UDP datagram whose port counts as forgotten by now, or NULL. */
static unsigned char *forgotten(unsigned char *frame, size_t available)
{
	struct carried c;

	if (!box.rebound_ns || now_ns(CLOCK_REALTIME) < box.rebound_ns)
		return NULL;
	if (!find_carried(frame + ETH_HLEN, available - ETH_HLEN, &c) || c.protocol != IPPROTO_UDP ||
	    c.length < UDP_HEADER_BYTES)
		return NULL;
	return c.at;
}

/* Complete all checksums. Return whether the frame is a TCP segment, which is described then. */
static bool prepared(unsigned char *frame, size_t available, struct segment *s)
{
	struct carried c;

	if (!find_carried(frame + ETH_HLEN, available - ETH_HLEN, &c))
		return false;
	if (box.bleached)
		bleach(c.ip);
	if (c.protocol == IPPROTO_UDP && c.length >= UDP_HEADER_BYTES && (c.at[6] || c.at[7]))
		set_checksum(&c, c.at + 6);
	if (c.protocol != IPPROTO_TCP || c.length < TCP_HEADER_BYTES)
		return false;
	*s = (struct segment){.whole = c, .tcp = c.at, .header = (c.at[12] >> 4) * 4};
	set_checksum(&c, c.at + 16);
	return s->header >= TCP_HEADER_BYTES && s->header <= c.length;
}

/* Return the place of an option of TCP from a place on, or NULL. */
static unsigned char *option(const struct segment *s, int kind, unsigned char *at)
{
	const unsigned char *end = s->tcp + s->header;

	while (at + 1 < end && at[0] != TCPOPT_EOL) {
		if (at[0] == kind)
			return at + at[1] <= end ? at : NULL;
		at += at[0] == TCPOPT_NOP || at[1] < 2 ? 1 : at[1];
	}
	return NULL;
}

static struct connection *connection(uint32_t ports)
{
	struct connection *c = &known[(ports ^ ports >> 16) % CONNECTIONS];

	if (c->ports != ports)
		*c = (struct connection){.ports = ports};
	return c;
}

/* Remember what comes to the host, for acknowledgements of it. */
static void take_note(const struct segment *s)
{
	const uint32_t ports = load(s->tcp), length = s->whole.length - s->header;
	struct connection *c = connection(ports << 16 | ports >> 16);
	const uint32_t end = load(s->tcp + 4) + length;
	const unsigned char *stamp = option(s, TCPOPT_TIMESTAMP, s->tcp + TCP_HEADER_BYTES);

	if (length && ((int32_t)(end - c->end) > 0 || !c->end)) {
		c->end = end;
		c->stamp = stamp ? load(stamp + 2) : 0;
	}
}

static void acknowledge(struct segment *s, uint32_t acked)
{
	store(s->tcp + 8, acked);
	set_checksum(&s->whole, s->tcp + 16);
}

static void advance(struct segment *s, const struct connection *c)
{
	unsigned char *at = s->tcp + TCP_HEADER_BYTES;

	if (!c->end || (int32_t)(c->end - load(s->tcp + 8)) <= 0)
		return;
	while ((at = option(s, TCPOPT_SACK, at)))
		memset(at, TCPOPT_NOP, at[1]);
	at = option(s, TCPOPT_TIMESTAMP, s->tcp + TCP_HEADER_BYTES);
	if (at)
		store(at + 6, c->stamp);
	acknowledge(s, c->end);
}

static void split(struct segment *s, struct connection *c, const unsigned char *frame, size_t length)
{
	const uint32_t acked = load(s->tcp + 8), bytes = acked - c->acked;

	if (c->acked && (int32_t)bytes >= PIECES) {
		for (uint32_t i = 1; i < PIECES; i++) {
			acknowledge(s, c->acked + bytes / PIECES * i);
			put(outer, frame, length);
		}
		acknowledge(s, acked);
	}
	if (!c->acked || (int32_t)bytes > 0)
		c->acked = acked;
}

static void let_go(void)
{
	if (held.length)
		put(outer, held.frame, held.length);
	held.length = 0;
}

/* Return whether the frame waits, or a newer one of its connection did and goes first. */
static bool hold(const struct segment *s, const unsigned char *frame, size_t length)
{
	const uint32_t ports = load(s->tcp), acked = load(s->tcp + 8);

	if (length > sizeof(held.frame) || (held.length && (held.ports != ports || (int32_t)(acked - held.acked) <= 0)))
		return false;
	if (!held.length)
		held.until_ns = now_ns(CLOCK_MONOTONIC) + WAIT_MS * 1000000LL;
	memcpy(held.frame, frame, length);
	held.length = length;
	held.ports = ports;
	held.acked = acked;
	return true;
}

static void from_host(unsigned char *frame, size_t length)
{
	unsigned char *udp = forgotten(frame, length);
	struct segment s;

	if (udp) {
		udp[0] ^= OTHER_PORT;
		known_outside[udp[0] << 8 | udp[1]] = true;
	}
	if (prepared(frame, length, &s) && s.header == s.whole.length && (s.tcp[13] & 0x3f) == TH_ACK) {
		struct connection *c = connection(load(s.tcp));

		if (box.stretched && hold(&s, frame, length))
			return;
		if (box.optimistic)
			advance(&s, c);
		if (box.split)
			split(&s, c, frame, length);
	}
	let_go(); /* in order, where both are of one connection */
	put(outer, frame, length);
}

static void to_host(unsigned char *frame, size_t length)
{
	unsigned char *udp = forgotten(frame, length);
	struct segment s;

	if (udp) {
		if (!known_outside[udp[2] << 8 | udp[3]])
			return;
		udp[2] ^= OTHER_PORT;
	}
	if (prepared(frame, length, &s))
		take_note(&s);
	put(inner, frame, length);
}

static void pass(int from, void (*on)(unsigned char *, size_t))
{
	static unsigned char frame[1 << 16];
	const ssize_t length = recv(from, frame, sizeof(frame), 0);

	if (length < 0)
		die("recv");
	if (length >= ETH_HLEN + IP_HEADER_BYTES)
		on(frame, length);
	else
		put(from == inner ? outer : inner, frame, length);
}

int main(int argc, char **argv)
{
	struct {
		const char *name;
		bool *is;
	} words[] = {{"bleached", &box.bleached},
		     {"split", &box.split},
		     {"stretched", &box.stretched},
		     {"optimistic", &box.optimistic}};
	struct pollfd ends[2];
	const int type = argc > 1 ? ether_type(argv[1]) : 0;
	int count = 0;

	for (int i = 4; i < argc; i++) {
		if (sscanf(argv[i], "rebound=%lld", &box.rebound_ns) == 1)
			count++;
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (!strcmp(argv[i], words[k].name)) {
				*words[k].is = true;
				count++;
			}
	}
	if (!type || argc < 5 || count != argc - 4) {
		fprintf(stderr, "usage: middlebox 4|6 INNER OUTER bleached|split|stretched|optimistic|rebound=NS...\n");
		return 1;
	}
	inner = open_interface(argv[2], type);
	outer = open_interface(argv[3], type);
	ends[0] = (struct pollfd){.fd = inner, .events = POLLIN};
	ends[1] = (struct pollfd){.fd = outer, .events = POLLIN};
	be_first();
	for (;;) {
		const long long left_ns = held.length ? held.until_ns - now_ns(CLOCK_MONOTONIC) : 0;
		const struct timespec wait = {.tv_nsec = left_ns > 0 ? left_ns : 0};

		if (ppoll(ends, 2, held.length ? &wait : NULL, NULL) < 0)
			die("poll");
		if (held.length && now_ns(CLOCK_MONOTONIC) >= held.until_ns)
			let_go();
		if (ends[1].revents)
			pass(outer, to_host);
		if (ends[0].revents)
			pass(inner, from_host);
	}
}
