// SPDX-License-Identifier: MIT
/*
 * Gives a host a clock of its own, as seen by all others: a relay in the host's link passes its packets on and moves
 * the timestamps in them.
 *
 *   relay 4|6 INNER OUTER OFFSET_NS SKEW_PPB ORIGIN_NS [AT_NS BY_NS]...
 *
 * The first word is the version of IP whose packets it passes. INNER is the interface towards the host. A timestamp that leaves the host is moved by OFFSET_NS + SKEW_PPB * (now -
 * ORIGIN_NS) (CLOCK_REALTIME), and by each BY_NS from ORIGIN_NS + AT_NS on; one that comes to it is moved back by as
 * much. Every difference between the host's clock and another one is then what it would be with such a clock. The relay
 * moves the timestamp of TCP (RFC 7323), in microseconds because the hosts' routes have tcp_usec_ts, and that of uTP
 * version 1 (BEP 29). It leaves uTP's timestamp difference alone. A kernel drops segments whose timestamps go back, and
 * echoes of timestamps that it never sent. So the relay keeps timestamps in order, and restores echoed ones to their
 * original values; TCP's clock stands still where it would go back.
 *
 * Runs until it is killed. If it fails: exit status 1, with one line on stderr.
 */
#define _GNU_SOURCE
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "link.h"

#define UTP_HEADER_BYTES 20
#define TCP_ACK 0x10

/* Maps a moved TCP timestamp (low bits as index) to its original; entries last 262 ms, longer than any echo takes. */
#define MEMORY (1 << 18)

struct memory {
	_Atomic uint64_t moved_and_before[MEMORY]; /* halves of 32 bits; written by one process, read by the other */
};

#define CONNECTIONS (1 << 12)

struct connection {
	uint32_t ports, before, moved; /* its newest timestamp */
};

#define STEPS 100

static struct {
	long long offset_ns, skew_ppb, origin_ns;
	struct {
		long long at_ns, by_ns;
	} steps[STEPS];
	int count;
} host;

struct direction {
	int from, to, sign;
	struct memory *moved, *back; /* what this direction has moved, and what the other one has */
};

static uint32_t shift_us(const struct direction *d)
{
	struct timespec now;
	long long since_ns, moved_us;

	clock_gettime(CLOCK_REALTIME, &now);
	since_ns = now.tv_sec * 1000000000LL + now.tv_nsec - host.origin_ns;
	moved_us = host.offset_ns / 1000 + since_ns / 1000 * host.skew_ppb / 1000000000;
	for (int i = 0; i < host.count; i++)
		moved_us += host.steps[i].at_ns <= since_ns ? host.steps[i].by_ns / 1000 : 0;
	return d->sign * moved_us;
}

/* Packets that wait together are moved by the offsets of different instants: keep their timestamps in order. */
static uint32_t in_order(uint32_t ports, uint32_t before, uint32_t moved)
{
	static struct connection known[CONNECTIONS];
	struct connection *c = &known[(ports ^ ports >> 16) % CONNECTIONS];
	const int32_t newer = before - c->before;

	if (c->ports == ports && (!newer || (newer > 0) != ((int32_t)(moved - c->moved) > 0)))
		moved = c->moved;
	if (c->ports != ports || newer > 0)
		*c = (struct connection){ports, before, moved};
	return moved;
}

static void move_option(unsigned char *option, uint32_t ports, int echoes, const struct direction *d, uint32_t by_us)
{
	const uint32_t before = load(option + 2), echo = load(option + 6);
	const uint32_t moved = in_order(ports, before, before + by_us);
	const uint64_t known = d->back->moved_and_before[echo % MEMORY];

	store(option + 2, moved);
	d->moved->moved_and_before[moved % MEMORY] = (uint64_t)moved << 32 | before;
	if (echoes)
		store(option + 6, known >> 32 == echo ? (uint32_t)known : echo + by_us);
}

static void move_tcp(unsigned char *tcp, size_t length, const struct direction *d, uint32_t by_us)
{
	const size_t end = (tcp[12] >> 4) * 4;

	for (size_t at = TCP_HEADER_BYTES; end <= length && at + 1 < end && tcp[at] != TCPOPT_EOL;) {
		if (tcp[at] == TCPOPT_NOP) {
			at++;
			continue;
		}
		if (tcp[at] == TCPOPT_TIMESTAMP && at + TCPOLEN_TIMESTAMP <= end)
			move_option(tcp + at, load(tcp), tcp[13] & TCP_ACK, d, by_us);
		at += tcp[at + 1] < 2 ? end : tcp[at + 1];
	}
}

static void move_utp(unsigned char *utp, size_t length, uint32_t by_us)
{
	/* ST_DATA, ST_FIN, ST_STATE, ST_RESET, ST_SYN; libutp's ST_RESET has no timestamp */
	if (length >= UTP_HEADER_BYTES && (utp[0] & 0xf) == 1 && utp[0] >> 4 <= 4 && load(utp + 4))
		store(utp + 4, load(utp + 4) + by_us);
}

static void move_timestamps(unsigned char *ip, size_t available, const struct direction *d)
{
	struct carried c;

	if (!find_carried(ip, available, &c))
		return;
	if (c.protocol == IPPROTO_TCP && c.length >= TCP_HEADER_BYTES) {
		move_tcp(c.at, c.length, d, shift_us(d));
		set_checksum(&c, c.at + 16);
	} else if (c.protocol == IPPROTO_UDP && c.length >= UDP_HEADER_BYTES && (c.at[6] || c.at[7])) {
		move_utp(c.at + UDP_HEADER_BYTES, c.length - UDP_HEADER_BYTES, shift_us(d));
		set_checksum(&c, c.at + 6);
	}
}

static void __attribute__((noreturn)) pass(const struct direction *d)
{
	static unsigned char frame[1 << 16];

	for (;;) {
		const ssize_t length = recv(d->from, frame, sizeof(frame), 0);

		if (length < 0)
			die("recv");
		if (length >= ETH_HLEN + IP_HEADER_BYTES)
			move_timestamps(frame + ETH_HLEN, length - ETH_HLEN, d);
		if (send(d->to, frame, length, 0) != length)
			die("send");
	}
}

int main(int argc, char **argv)
{
	const int type = argc > 1 ? ether_type(argv[1]) : 0;
	struct direction out, in;
	pid_t child;

	if (!type || argc < 7 || argc % 2 == 0 || argc > 7 + 2 * STEPS) {
		fprintf(stderr, "usage: relay 4|6 INNER OUTER OFFSET_NS SKEW_PPB ORIGIN_NS [AT_NS BY_NS]...\n");
		return 1;
	}
	host.offset_ns = atoll(argv[4]);
	host.skew_ppb = atoll(argv[5]);
	host.origin_ns = atoll(argv[6]);
	for (int i = 7; i < argc; i += 2, host.count++) {
		host.steps[host.count].at_ns = atoll(argv[i]);
		host.steps[host.count].by_ns = atoll(argv[i + 1]);
	}
	out.sign = 1;
	out.from = open_interface(argv[2], type);
	out.to = open_interface(argv[3], 0);
	out.moved = mmap(NULL, 2 * sizeof(struct memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out.moved == MAP_FAILED)
		die("memory");
	out.back = out.moved + 1;
	in = out;
	in.from = open_interface(argv[3], type);
	in.to = open_interface(argv[2], 0);
	in.sign = -1;
	in.moved = out.back;
	in.back = out.moved;
	be_first();
	child = fork();
	if (child < 0)
		die("fork");
	if (!child && prctl(PR_SET_PDEATHSIG, SIGKILL))
		die("end with the parent");
	pass(child ? &out : &in);
}
