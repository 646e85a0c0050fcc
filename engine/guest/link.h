/* SPDX-License-Identifier: MIT */
/*
 * What the programs in a host's link share: relay.c and middlebox.c pass its packets on from one interface to another.
 *
 * A program that includes this defines _GNU_SOURCE before its first header.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER_BYTES (64 << 20) /* a burst must not be lost here */
#define IP_HEADER_BYTES 20 /* of version 4, which is the shorter one */
#define IPV6_HEADER_BYTES 40
#define TCP_HEADER_BYTES 20
#define UDP_HEADER_BYTES 8

static inline void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

/* Protocol 0: a socket that only sends. */
static inline int open_interface(const char *name, int protocol)
{
	const int buffer_bytes = BUFFER_BYTES;
	const struct sockaddr_ll place = {
		.sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = if_nametoindex(name)};
	const int interface = socket(AF_PACKET, SOCK_RAW, 0);

	if (interface < 0 || !place.sll_ifindex || bind(interface, (const struct sockaddr *)&place, sizeof(place)) ||
	    setsockopt(interface, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes)))
		die(name);
	return interface;
}

static inline uint32_t load(const unsigned char *stamp)
{
	uint32_t value;

	memcpy(&value, stamp, sizeof(value));
	return ntohl(value);
}

static inline void store(unsigned char *stamp, uint32_t value)
{
	value = htonl(value);
	memcpy(stamp, &value, sizeof(value));
}

static inline uint32_t sum(const unsigned char *data, size_t length, uint32_t start)
{
	for (size_t i = 0; i < length; i++)
		start += i % 2 ? data[i] : data[i] << 8;
	return start;
}

/* The EtherType of a version of IP, as the first argument has it; 0: it is none. */
static inline int ether_type(const char *version)
{
	return !strcmp(version, "4") ? ETH_P_IP : !strcmp(version, "6") ? ETH_P_IPV6 : 0;
}

/* What a packet of IP carries, from its header on. */
struct carried {
	unsigned char *ip, *at;
	size_t length;
	int protocol;
};

/*
 * Find what a packet of IP carries, of which `available` bytes are there. Returns false for a part of one that was cut;
 * these networks have neither such fragments nor IPv6's extension headers, and they pass unchanged.
 */
static inline bool find_carried(unsigned char *ip, size_t available, struct carried *c)
{
	const bool six = ip[0] >> 4 == 6;
	const size_t header = six ? IPV6_HEADER_BYTES : (ip[0] & 0xf) * 4;
	const size_t total = six ? IPV6_HEADER_BYTES + (ip[4] << 8 | ip[5]) : ip[2] << 8 | ip[3];

	if (total > available || total < header || (!six && ((ip[6] & 0x3f) || ip[7])))
		return false;
	*c = (struct carried){ip, ip + header, total - header, six ? ip[6] : ip[9]};
	return true;
}

/* Compute the whole checksum: on a veth it may be left to hardware, so that the packet has none yet. */
static inline void set_checksum(const struct carried *c, unsigned char *checksum)
{
	const bool six = c->ip[0] >> 4 == 6;
	uint32_t folded;

	memset(checksum, 0, 2);
	folded = sum(c->ip + (six ? 8 : 12), six ? 32 : 8, c->protocol + c->length); /* the addresses */
	folded = sum(c->at, c->length, folded);
	folded = (folded & 0xffff) + (folded >> 16);
	folded = ~(folded + (folded >> 16)) & 0xffff;
	if (!folded && c->protocol == IPPROTO_UDP)
		folded = 0xffff; /* 0 means no checksum */
	checksum[0] = folded >> 8;
	checksum[1] = folded;
}

/* Forward a packet at once, not only when the program that sent it has gone idle. */
static inline void be_first(void)
{
	const struct sched_param first = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("priority");
}
