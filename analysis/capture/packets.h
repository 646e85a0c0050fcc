/* SPDX-License-Identifier: MIT
 *
 * Decodes a captured packet into preallocated columns: link layer, tunnels, IPv4 and IPv6, TCP, UDP and uTP. Of a packet
 * within another the innermost counts.
 *
 * The bytes are untrusted: every read is checked against the end of what was captured. This file depends neither on
 * file formats nor on Python.
 */
#ifndef ANALYSIS_CAPTURE_PACKETS_H
#define ANALYSIS_CAPTURE_PACKETS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Supported link types (LINKTYPE_ values of www.tcpdump.org/linktypes.html). Kept in step with pcap.py. */
enum {
	LINK_NULL = 0,	   /* loopback: 4 bytes of address family in the writer's order */
	LINK_ETHERNET = 1,
	LINK_PPP = 9,
	LINK_RAW_BSD = 12, /* raw IP, as some systems number it */
	LINK_RAW_OPENBSD = 14,
	LINK_PPP_HDLC = 50,
	LINK_PPPOE = 51,
	LINK_RAW = 101,
	LINK_C_HDLC = 104, /* Cisco's */
	LINK_WIFI = 105,
	LINK_LOOP = 108,   /* OpenBSD's loopback */
	LINK_SLL = 113,	   /* Linux cooked, version 1 */
	LINK_RADIOTAP = 127, /* IEEE 802.11 behind a header of the receiver */
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_SLL2 = 276,
};

enum {
	ETHERNET_HEADER = 14,
	VLAN_TAG = 4,
	MOST_LAYERS = 16,    /* headers in front of the innermost IP packet */
	LONGEST_LENGTH = 1500, /* what is no larger is no type but the length of an LLC frame */
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	TYPE_VLAN = 0x8100,
	TYPE_SERVICE_VLAN = 0x88a8,
	TYPE_OLD_VLAN = 0x9100, /* and 0x9200, of two tags before these had a number */
	TYPE_OLDER_VLAN = 0x9200,
	TYPE_BACKBONE = 0x88e7, /* IEEE 802.1ah: a number, then a whole frame */
	TYPE_VN_TAG = 0x8926,
	TYPE_BRIDGE_TAG = 0x893f,
	TYPE_HSR = 0x892f, /* IEC 62439-3: path and size, and a number */
	TYPE_METADATA = 0x8909, /* Cisco's, with a group's tag */
	TYPE_MACSEC = 0x88e5, /* IEEE 802.1AE */
	TYPE_TRILL = 0x22f3, /* RFC 6325 */
	TYPE_FABRICPATH = 0x8903, /* Cisco's: a tree and a time to live, then a whole frame */
	TYPE_SERVICES = 0x894f, /* RFC 8300 */
	TYPE_WCCP = 0x883e,
	TYPE_MPLS = 0x8847,
	TYPE_MPLS_MULTICAST = 0x8848,
	TYPE_PPPOE = 0x8864,
	TYPE_PPP = 0x880b,
	TYPE_BRIDGED = 0x6558, /* a whole frame of Ethernet */
	TYPE_ERSPAN = 0x88be,  /* types I and II */
	TYPE_ERSPAN_3 = 0x22eb,
	PPP_IPV4 = 0x0021,
	PPP_IPV6 = 0x0057,
	PPP_MPLS = 0x0281,
	LOOPBACK_HEADER = 4,
	SLL_HEADER = 16,
	SLL2_HEADER = 20,
	SLL_OTHER_HOST = 3, /* packet type: neither to nor from the capturing host */
	SLL_OUTGOING = 4,

	IPV6_HEADER = 40,
	IPV6_HOP_BY_HOP = 0,
	IPV6_ROUTING = 43,
	IPV6_FRAGMENT = 44,
	IPV6_AUTHENTICATION = 51,
	IPV6_DESTINATION = 60,
	MOST_IPV6_EXTENSIONS = 8,
	IPV6_NOTHING = 59,
	PROTOCOL_IPV4 = 4,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_IPV6 = 41,
	PROTOCOL_GRE = 47,
	PROTOCOL_AUTHENTICATION = 51,
	PROTOCOL_ETHERNET = 97, /* RFC 3378 */
	PROTOCOL_MPLS = 137,
	PORT_L2TP = 1701,
	PORT_GTP = 2152,
	PORT_TEREDO = 3544,
	PORT_LISP = 4341,
	PORT_VXLAN = 4789,
	PORT_VXLAN_GPE = 4790,
	PORT_VXLAN_OF_LINUX = 8472, /* unless another one is set */
	PORT_CAPWAP = 5247,
	PORT_GENEVE = 6081,
	PORT_MPLS = 6635,
	UDP_HEADER = 8,

	OPTION_END = 0,
	OPTION_NOP = 1,
	OPTION_WINDOW_SCALE = 3,
	OPTION_TIMESTAMP = 8,

	UTP_HEADER_V1 = 20,
	UTP_HEADER_V0 = 23,
	UTP_WINDOW_UNIT_V0 = 350, /* the old header counts its window in packets of this many bytes */
	UTP_DATA = 0,
	UTP_STATE = 2,
	UTP_TYPES = 5, /* data, fin, state, reset, syn */
	UTP_SACK = 1,
	UTP_EXTENSIONS = 4, /* none, selective acknowledgement, extension bits, libtorrent's close reason */

	DIGESTED_TCP = 8,  /* bytes of payload in a digest: no more than short snap lengths capture */
	DIGESTED_UDP = 28,
};

/* The order of the columns is the order of the tuple that Python passes. Kept in step with pcap.py. */
enum column {
	TIME_NS, IP_LENGTH, SRC, DST, SPORT, DPORT, PROTO, IP_ID,
	SEQ, ACK, FLAGS, WINDOW, WINDOW_SCALE, PAYLOAD, TSVAL, TSECR,
	UTP_HEADER, UTP_VERSION, UTP_TYPE, UTP_SEEN, UTP_CONNECTION, UTP_DIFFERENCE, UTP_WINDOW, UTP_ACKED,
	COLUMNS, /* those of a run, whose packets are all IPv4 */
	IP_VERSION = COLUMNS, HOPS, DIRECTION, DIGEST, SRC6, DST6,
	ALL_COLUMNS
};

static const size_t column_bytes[ALL_COLUMNS] = {
	[TIME_NS] = 8, [IP_LENGTH] = 4, [SRC] = 4, [DST] = 4, [SPORT] = 2, [DPORT] = 2, [PROTO] = 1, [IP_ID] = 2,
	[SEQ] = 4, [ACK] = 4, [FLAGS] = 1, [WINDOW] = 2, [WINDOW_SCALE] = 1, [PAYLOAD] = 4, [TSVAL] = 4, [TSECR] = 4,
	[UTP_HEADER] = 2, [UTP_VERSION] = 1, [UTP_TYPE] = 1, [UTP_SEEN] = 1, [UTP_CONNECTION] = 4,
	[UTP_DIFFERENCE] = 4, [UTP_WINDOW] = 4, [UTP_ACKED] = 8,
	[IP_VERSION] = 1, [HOPS] = 1, [DIRECTION] = 1, [DIGEST] = 8, [SRC6] = 16, [DST6] = 16,
};

struct columns {
	int64_t *time_ns;
	uint16_t *sport, *dport, *ip_id, *window, *utp_header;
	uint32_t *ip_length, *payload; /* what a host cuts up behind the tap may have more than 65535 bytes */
	uint32_t *src, *dst, *seq, *ack, *tsval, *tsecr, *utp_connection, *utp_difference, *utp_window;
	uint64_t *utp_acked;
	uint8_t *proto, *flags, *window_scale, *utp_version, *utp_type, *utp_seen;
	/* for captures from elsewhere; all NULL for runs, where IPv6 packets are then ignored */
	uint8_t *ip_version, *hops, *direction;
	uint64_t *digest;
	uint8_t (*src6)[16], (*dst6)[16];
};

/* Names the columns in `memory`, which is in the order of enum column; those after COLUMNS may be NULL. */
static inline struct columns columns_of(void *const memory[ALL_COLUMNS])
{
	return (struct columns){
		.time_ns = memory[TIME_NS], .ip_length = memory[IP_LENGTH], .src = memory[SRC], .dst = memory[DST],
		.sport = memory[SPORT], .dport = memory[DPORT], .proto = memory[PROTO], .ip_id = memory[IP_ID],
		.seq = memory[SEQ], .ack = memory[ACK], .flags = memory[FLAGS], .window = memory[WINDOW],
		.window_scale = memory[WINDOW_SCALE], .payload = memory[PAYLOAD], .tsval = memory[TSVAL],
		.tsecr = memory[TSECR], .utp_header = memory[UTP_HEADER], .utp_version = memory[UTP_VERSION],
		.utp_type = memory[UTP_TYPE], .utp_seen = memory[UTP_SEEN], .utp_connection = memory[UTP_CONNECTION],
		.utp_difference = memory[UTP_DIFFERENCE], .utp_window = memory[UTP_WINDOW],
		.utp_acked = memory[UTP_ACKED],
		.ip_version = memory[IP_VERSION], .hops = memory[HOPS], .direction = memory[DIRECTION],
		.digest = memory[DIGEST], .src6 = memory[SRC6], .dst6 = memory[DST6],
	};
}

static inline uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Continue a 64-bit FNV-1a hash. */
static inline uint64_t digested(uint64_t digest, const uint8_t *p, const uint8_t *end)
{
	for (; p < end; p++)
		digest = (digest ^ *p) * 0x100000001b3u;
	return digest;
}

static const uint64_t NOTHING_DIGESTED = 0xcbf29ce484222325u;

static inline uint32_t host32(const uint8_t *p, int swapped)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap32(value) : value;
}

/* Read TCP's window scale and timestamps (RFC 7323); [p, end) are the captured option bytes. */
static void tcp_options(const uint8_t *p, const uint8_t *end, const struct columns *c, size_t row)
{
	while (p < end && *p != OPTION_END) {
		if (*p == OPTION_NOP) {
			p++;
			continue;
		}
		if (end - p < 2 || p[1] < 2 || p[1] > end - p)
			return;
		if (p[0] == OPTION_WINDOW_SCALE && p[1] == 3)
			c->window_scale[row] = p[2] < 255 ? p[2] + 1 : 255;
		if (p[0] == OPTION_TIMESTAMP && p[1] == 10) {
			c->tsval[row] = be32(p + 2);
			c->tsecr[row] = be32(p + 6);
		}
		p += p[1];
	}
}

/* [p, end) are the captured bytes from the TCP header on; `length` is how many the sender sent from there on. */
static void tcp(const uint8_t *p, const uint8_t *end, uint32_t length, const struct columns *c, size_t row)
{
	uint32_t header;

	if (end - p < 4)
		return;
	c->sport[row] = be16(p);
	c->dport[row] = be16(p + 2);
	if (end - p < 20)
		return;
	c->seq[row] = be32(p + 4);
	c->ack[row] = be32(p + 8);
	c->flags[row] = p[13];
	c->window[row] = be16(p + 14);
	header = (uint32_t)(p[12] >> 4) * 4;
	if (header < 20 || header > length)
		return;
	c->payload[row] = length - header;
	tcp_options(p + 20, end - p < (ptrdiff_t)header ? end : p + header, c, row);
	if (c->digest) {
		/* only what address translation leaves alone: neither ports nor the checksum */
		uint64_t digest = digested(NOTHING_DIGESTED, p + 4, p + 16);
		uint32_t most = header + DIGESTED_TCP;

		digest = digested(digest, p + 18, end - p < (ptrdiff_t)most ? end : p + most);
		c->digest[row] = digest;
	}
}

/*
 * Walk uTP's chain of extensions: each has the type of the next, a length, and that many bytes. `left` is how many
 * bytes of the datagram follow the header. Returns the length of the chain, or `left` + 1 if it is not a valid chain.
 * The walk ends early where the capture was cut.
 */
static uint32_t utp_chain(const uint8_t *p, const uint8_t *end, uint32_t left, uint8_t type, uint64_t *acked,
			  uint8_t *seen)
{
	uint32_t bytes = 0;

	while (type && end - p >= 2) {
		uint32_t whole = 2u + p[1];
		uint32_t there = end - p < (ptrdiff_t)whole ? (uint32_t)(end - p) : whole;

		if (p[0] >= UTP_EXTENSIONS || whole > left - bytes)
			return left + 1;
		*seen |= (uint8_t)(1 << (type - 1));
		/* bit i says that packet ack + 2 + i has arrived; the first byte holds the lowest eight */
		for (uint32_t i = 2; type == UTP_SACK && i < there && i < 10; i++)
			*acked |= (uint64_t)p[i] << (8 * (i - 2));
		bytes += whole;
		type = p[0];
		p += there;
	}
	return type && left - bytes < 2 ? left + 1 : bytes;
}

/*
 * Decode a datagram that looks like a uTP packet, with BEP 29's header or the older one of the same fields in 23 bytes.
 * No field of UDP identifies uTP, so version, type, extensions, lengths, and the presence of data must all be
 * consistent. [p, end) are the captured bytes of the datagram, `length` is how many it had.
 */
static void utp(const uint8_t *p, const uint8_t *end, uint32_t length, const struct columns *c, size_t row)
{
	uint32_t header = UTP_HEADER_V1, extensions;
	uint8_t type, extension, seen = 0;
	uint64_t acked = 0;
	int old = 0;

	if (length < UTP_HEADER_V1 || end - p < UTP_HEADER_V1)
		return;
	type = p[0] >> 4;
	extension = p[1];
	if ((p[0] & 15) != 1 || type >= UTP_TYPES || extension >= UTP_EXTENSIONS) {
		header = UTP_HEADER_V0;
		if (length < UTP_HEADER_V0 || end - p < UTP_HEADER_V0)
			return;
		extension = p[17];
		type = p[18];
		old = 1;
		/* here the time is in seconds and microseconds */
		if (type >= UTP_TYPES || extension >= UTP_EXTENSIONS || be32(p + 8) >= 1000000)
			return;
	}
	extensions = utp_chain(p + header, end, length - header, extension, &acked, &seen);
	if (extensions > length - header)
		return;
	header += extensions;
	if (type == UTP_STATE) {
		/* utp-go's end in zeros, in place of an extension that they do not announce */
		for (uint32_t i = header; i < length && i < end - p; i++)
			if (p[i])
				return;
		header = length;
	}
	if (type == UTP_DATA && header == length)
		return;
	c->utp_header[row] = (uint16_t)header;
	c->payload[row] = length - header;
	c->utp_version[row] = !old;
	c->utp_type[row] = type;
	c->utp_seen[row] = seen;
	c->utp_acked[row] = acked;
	if (old) {
		c->utp_connection[row] = be32(p);
		c->tsval[row] = be32(p + 4) * 1000000u + be32(p + 8);
		c->utp_difference[row] = be32(p + 12);
		c->utp_window[row] = (uint32_t)p[16] * UTP_WINDOW_UNIT_V0;
		c->seq[row] = be16(p + 19);
		c->ack[row] = be16(p + 21);
	} else {
		c->utp_connection[row] = be16(p + 2);
		c->tsval[row] = be32(p + 4);
		c->utp_difference[row] = be32(p + 8);
		c->utp_window[row] = be32(p + 12);
		c->seq[row] = be16(p + 16);
		c->ack[row] = be16(p + 18);
	}
}

static void udp(const uint8_t *p, const uint8_t *end, uint32_t length, const struct columns *c, size_t row)
{
	uint64_t digest;

	if (end - p < 4)
		return;
	c->sport[row] = be16(p);
	c->dport[row] = be16(p + 2);
	if (length < UDP_HEADER)
		return;
	c->payload[row] = length - UDP_HEADER;
	if (end - p <= UDP_HEADER)
		return;
	utp(p + UDP_HEADER, end, length - UDP_HEADER, c, row);
	if (c->utp_header[row] && !c->digest)
		return;
	digest = digested(NOTHING_DIGESTED ^ length, p + UDP_HEADER,
			  end - p < UDP_HEADER + DIGESTED_UDP ? end : p + UDP_HEADER + DIGESTED_UDP);
	if (c->digest)
		c->digest[row] = digest;
	if (!c->utp_header[row])
		c->seq[row] = (uint32_t)digest;
}

/* Where a packet's innermost headers go, and what is known of it beside its bytes. */
struct packet {
	const struct columns *c;
	size_t row;
	uint32_t cut; /* bytes that were sent behind those that were captured */
	int layers;   /* headers that may still be taken off */
};

static void clear(const struct columns *c, size_t row);
static void ip(const uint8_t *p, const uint8_t *end, struct packet *in);
static void typed(uint16_t type, const uint8_t *p, const uint8_t *end, struct packet *in);

static void ethernet(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	if (end - p >= ETHERNET_HEADER)
		typed(be16(p + 12), p + ETHERNET_HEADER, end, in);
}

static int begins_ip(const uint8_t *p, const uint8_t *end)
{
	return end - p >= 20 && (p[0] >> 4 == 4 || p[0] >> 4 == 6);
}

static void mpls(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	int bottom = 0;

	for (; !bottom && end - p >= 4; p += 4)
		bottom = p[2] & 1;
	if (!bottom || end - p < 4)
		return;
	if (p[0] >> 4) /* the bottom label alone knows what follows, and readers guess by the version */
		ip(p, end, in);
	else /* RFC 4448's control word, then a frame */
		ethernet(p + 4, end, in);
}

static void ppp(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	uint16_t protocol;

	if (end - p >= 2 && p[0] == 0xff && p[1] == 3)
		p += 2;
	if (end - p < 2)
		return;
	protocol = p[0] & 1 ? p[0] : be16(p);
	p += p[0] & 1 ? 1 : 2;
	if (protocol == PPP_IPV4 || protocol == PPP_IPV6)
		ip(p, end, in);
	else if (protocol == PPP_MPLS)
		mpls(p, end, in);
}

/* IEEE 802.2 with SNAP, or with the old number of IP. */
static void llc(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	if (end - p >= 8 && p[0] == 0xaa && p[1] == 0xaa && p[2] == 3 && !p[3] && !p[4] && (!p[5] || p[5] == 0xf8))
		typed(be16(p + 6), p + 8, end, in);
	else if (end - p >= 3 && p[0] == 6 && p[1] == 6 && p[2] == 3)
		ip(p + 3, end, in);
}

/* RFC 8300: its length in words of four bytes, and what follows. */
static void services(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	ptrdiff_t header = end - p < 8 ? 0 : 4 * (p[1] & 63);

	if (header < 8 || end - p < header || p[0] >> 6)
		return;
	if (p[3] == 1 || p[3] == 2)
		ip(p + header, end, in);
	else if (p[3] == 3)
		ethernet(p + header, end, in);
	else if (p[3] == 5)
		mpls(p + header, end, in);
}

/* RFC 2661, version 2, of which control messages hold no packet. Returns whether it is one. */
static int l2tp(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	ptrdiff_t header = 6;

	if (p[0] & 0x80 || (p[1] & 15) != 2)
		return 0;
	header += p[0] & 0x40 ? 2 : 0; /* length */
	header += p[0] & 0x08 ? 4 : 0; /* numbers */
	if (p[0] & 0x02) { /* an offset */
		if (end - p < header + 2)
			return 0;
		header += 2 + be16(p + header);
	}
	if (end - p < header)
		return 0;
	ppp(p + header, end, in);
	return 1;
}

/* RFC 2784, 2890, and for version 1 RFC 2637. */
static void gre(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	uint32_t header = 4;
	uint16_t type;

	if (end - p < 4)
		return;
	header += p[0] & 0xc0 ? 4 : 0; /* checksum and routing */
	header += p[0] & 0x20 ? 4 : 0; /* key */
	header += p[0] & 0x10 ? 4 : 0; /* number */
	header += p[1] & 0x80 && (p[1] & 7) == 1 ? 4 : 0; /* acknowledged number */
	type = be16(p + 2);
	if (type == TYPE_ERSPAN)
		header += p[0] & 0x10 ? 8 : 0;
	if (end - p < (ptrdiff_t)header)
		return;
	if (type == TYPE_ERSPAN) {
		ethernet(p + header, end, in);
	} else if (type == TYPE_ERSPAN_3) {
		if (end - p < (ptrdiff_t)header + 12)
			return;
		header += p[header + 11] & 1 ? 20 : 12;
		if (end - p >= (ptrdiff_t)header)
			ethernet(p + header, end, in);
	} else if (type == TYPE_WCCP) { /* its later version has a header of four bytes */
		if (end - p >= (ptrdiff_t)header + 4)
			ip(p + header + (p[header] >> 4 == 4 ? 0 : 4), end, in);
	} else {
		typed(type, p + header, end, in);
	}
}

/* Tunnels over UDP, by their port and what their headers have to be. Returns whether it is one. */
static int tunnel(uint16_t port, const uint8_t *p, const uint8_t *end, struct packet *in)
{
	const uint8_t *inner;

	if (end - p < 8)
		return 0;
	switch (port) {
	case PORT_VXLAN_OF_LINUX: /* also of others: all that RFC 7348 says is asked */
		if (p[0] != 8 || p[1] || p[2] || p[3] || p[7])
			return 0;
		ethernet(p + 8, end, in);
		return 1;
	case PORT_VXLAN:
	case PORT_VXLAN_GPE: /* the flag 4 says that the fourth byte has the protocol */
		if (!(p[0] & 8) || (p[0] & 4 && (p[3] < 1 || p[3] > 3)))
			return 0;
		if (p[0] & 4 && p[3] != 3)
			ip(p + 8, end, in);
		else
			ethernet(p + 8, end, in);
		return 1;
	case PORT_GENEVE: /* RFC 8926 */
		if (p[0] >> 6 || p[7] || end - p < 8 + 4 * (p[0] & 63))
			return 0;
		typed(be16(p + 2), p + 8 + 4 * (p[0] & 63), end, in);
		return 1;
	case PORT_L2TP:
		return l2tp(p, end, in);
	case PORT_MPLS: /* RFC 7510 */
		mpls(p, end, in);
		return 1;
	case PORT_LISP: /* RFC 9300 */
		if (!begins_ip(p + 8, end))
			return 0;
		ip(p + 8, end, in);
		return 1;
	case PORT_CAPWAP: /* RFC 5415: whole frames of Ethernet that are not encrypted */
		if (p[0] || p[2] & 1 || p[3] & 0x80 || !(p[1] >> 3) || end - p < 4 * (p[1] >> 3))
			return 0;
		ethernet(p + 4 * (p[1] >> 3), end, in);
		return 1;
	case PORT_TEREDO: /* RFC 4380, without its own headers */
		if (p[0] >> 4 != 6)
			return 0;
		ip(p, end, in);
		return 1;
	case PORT_GTP: /* a user's packet, 3GPP TS 29.281 */
		if (p[0] >> 4 != 3 || p[1] != 255)
			return 0;
		inner = p + 8;
		if (p[0] & 7) {
			uint8_t next;

			if (end - p < 12)
				return 0;
			next = p[0] & 4 ? p[11] : 0;
			for (inner = p + 12; next; ) {
				uint32_t bytes = inner < end ? 4u * inner[0] : 0;

				if (!bytes || end - inner < (ptrdiff_t)bytes)
					return 0;
				next = inner[bytes - 1];
				inner += bytes;
			}
		}
		if (!begins_ip(inner, end))
			return 0;
		ip(inner, end, in);
		return 1;
	default:
		return 0;
	}
}

/* [p, end) are the captured bytes after the IP header, `length` is how many the sender sent. */
static void transport(uint8_t protocol, const uint8_t *p, const uint8_t *end, uint32_t length, struct packet *in)
{
	const struct columns *c = in->c;
	size_t row = in->row;

	c->proto[row] = protocol;
	switch (protocol) {
	case PROTOCOL_TCP:
		tcp(p, end, length, c, row);
		return;
	case PROTOCOL_UDP:
		if (c->digest && end - p > UDP_HEADER && tunnel(be16(p + 2), p + UDP_HEADER, end, in))
			return;
		udp(p, end, length, c, row);
		return;
	case PROTOCOL_IPV4:
	case PROTOCOL_IPV6:
		ip(p, end, in);
		return;
	case PROTOCOL_GRE:
		gre(p, end, in);
		return;
	case PROTOCOL_AUTHENTICATION: /* RFC 4302, which encrypts nothing */
		if (in->layers-- > 0 && end - p >= 12 && end - p >= (p[1] + 2) * 4 && length >= (p[1] + 2u) * 4)
			transport(p[0], p + (p[1] + 2) * 4, end, length - (p[1] + 2) * 4, in);
		return;
	case PROTOCOL_ETHERNET:
		if (end - p >= 2)
			ethernet(p + 2, end, in);
		return;
	case PROTOCOL_MPLS:
		mpls(p, end, in);
	}
}

static void ipv4(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	const struct columns *c = in->c;
	size_t row = in->row;
	uint32_t header, length;

	if (end - p < 20 || p[0] >> 4 != 4)
		return;
	header = (uint32_t)(p[0] & 15) * 4;
	length = be16(p + 2);
	if (!length) /* the host cuts it up behind the tap: all that follows belongs to it */
		length = (uint32_t)(end - p) + in->cut;
	if (header < 20)
		return;
	c->proto[row] = p[9];
	c->ip_length[row] = length;
	c->ip_id[row] = be16(p + 4);
	if (c->ip_version) {
		c->ip_version[row] = 4;
		c->hops[row] = p[8];
	}
	c->src[row] = be32(p + 12);
	c->dst[row] = be32(p + 16);
	if (be16(p + 6) & 0x1fff) /* a later fragment has no ports */
		return;
	if (length < header || end - p < (ptrdiff_t)header)
		return;
	/* bytes after the IP packet (Ethernet padding) are not part of it */
	if (end - p > (ptrdiff_t)length)
		end = p + length;
	transport(p[9], p + header, end, length - header, in);
}

static void ipv6(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	const struct columns *c = in->c;
	size_t row = in->row;
	uint32_t left, length;
	uint8_t next;

	if (!c->ip_version || end - p < IPV6_HEADER || p[0] >> 4 != 6)
		return;
	left = be16(p + 4);
	if (!left && p[6] != IPV6_NOTHING) /* longer than 65535 bytes (RFC 2675): all that follows belongs to it */
		left = (uint32_t)(end - p) - IPV6_HEADER + in->cut;
	length = IPV6_HEADER + left;
	c->ip_version[row] = 6;
	c->ip_length[row] = length;
	c->hops[row] = p[7];
	memcpy(c->src6[row], p + 8, 16);
	memcpy(c->dst6[row], p + 24, 16);
	next = p[6];
	c->proto[row] = next;
	if (end - p > (ptrdiff_t)length)
		end = p + length;
	p += IPV6_HEADER;
	for (int extensions = 0; extensions < MOST_IPV6_EXTENSIONS; extensions++) {
		uint32_t bytes;

		if (next != IPV6_HOP_BY_HOP && next != IPV6_ROUTING && next != IPV6_FRAGMENT &&
		    next != IPV6_AUTHENTICATION && next != IPV6_DESTINATION) {
			transport(next, p, end, left, in);
			return;
		}
		if (end - p < 8)
			return;
		bytes = next == IPV6_FRAGMENT ? 8 : next == IPV6_AUTHENTICATION ? (p[1] + 2u) * 4 : (p[1] + 1u) * 8;
		if (next == IPV6_FRAGMENT && be16(p + 2) & 0xfff8) /* a later fragment has no ports */
			return;
		if (bytes > left || (ptrdiff_t)bytes > end - p)
			return;
		next = p[0];
		p += bytes;
		left -= bytes;
	}
}

/* Decode an IP packet of either version, in place of the one that holds it. */
static void ip(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	uint8_t direction = in->c->direction ? in->c->direction[in->row] : 0;

	if (in->layers-- <= 0 || !begins_ip(p, end))
		return;
	clear(in->c, in->row);
	if (in->c->direction)
		in->c->direction[in->row] = direction;
	ipv4(p, end, in);
	ipv6(p, end, in);
}

/* Decode what is at p by its Ethernet type. */
static void typed(uint16_t type, const uint8_t *p, const uint8_t *end, struct packet *in)
{
	while (in->layers-- > 0) {
		ptrdiff_t header;

		switch (type) {
		case TYPE_IPV4:
		case TYPE_IPV6:
			ip(p, end, in);
			return;
		case TYPE_VLAN:
		case TYPE_SERVICE_VLAN:
		case TYPE_OLD_VLAN:
		case TYPE_OLDER_VLAN:
			header = VLAN_TAG;
			break;
		case TYPE_VN_TAG:
			header = 6;
			break;
		case TYPE_BRIDGE_TAG:
			header = 8;
			break;
		case TYPE_HSR:
			header = 6;
			break;
		case TYPE_METADATA:
			if (end - p < 2 || p[0] != 1 || p[1] != 1)
				return;
			header = 8;
			break;
		case TYPE_MACSEC: /* what is neither encrypted nor changed */
			if (end - p < 2 || p[0] & 0x8c)
				return;
			header = p[0] & 0x20 ? 16 : 8;
			break;
		case TYPE_TRILL:
			header = end - p < 6 ? 0 : 6 + 4 * (be16(p) >> 6 & 31);
			if (header && !(p[0] >> 6) && end - p >= header)
				ethernet(p + header, end, in);
			return;
		case TYPE_FABRICPATH:
			if (end - p >= 2)
				ethernet(p + 2, end, in);
			return;
		case TYPE_SERVICES:
			services(p, end, in);
			return;
		case TYPE_BACKBONE:
			if (end - p >= 4)
				ethernet(p + 4, end, in);
			return;
		case TYPE_BRIDGED:
			ethernet(p, end, in);
			return;
		case TYPE_MPLS:
		case TYPE_MPLS_MULTICAST:
			mpls(p, end, in);
			return;
		case TYPE_PPPOE: /* RFC 2516 */
			if (end - p >= 6 && p[0] == 0x11 && !p[1])
				ppp(p + 6, end, in);
			return;
		case TYPE_PPP:
			ppp(p, end, in);
			return;
		default:
			if (type <= LONGEST_LENGTH)
				llc(p, end, in);
			return;
		}
		if (end - p < header)
			return;
		type = be16(p + header - 2);
		p += header;
	}
}

/* A frame of IEEE 802.11 that carries data which is not encrypted; `pads` says that its header is padded to four bytes. */
static void wifi(const uint8_t *p, const uint8_t *end, int pads, struct packet *in)
{
	ptrdiff_t header = 24;

	if (end - p < 24 || (p[0] & 0x0c) != 0x08 || p[0] & 0x40 || p[1] & 0x40)
		return;
	header += (p[1] & 3) == 3 ? 6 : 0;
	if (p[0] & 0x80) {
		if (end - p < header + 2 || p[header] & 0x80) /* several in one */
			return;
		header += p[1] & 0x80 ? 6 : 2;
	}
	if (pads)
		header = (header + 3) & ~3;
	if (end - p >= header)
		llc(p + header, end, in);
}

/* www.radiotap.org; its numbers are little-endian. */
static void radiotap(const uint8_t *p, const uint8_t *end, struct packet *in)
{
	ptrdiff_t header, flags = 4;
	int pads;

	if (end - p < 8)
		return;
	header = p[2] | p[3] << 8;
	if (header < 8 || end - p < header)
		return;
	do
		flags += 4;
	while (flags + 4 <= header && p[flags - 1] & 0x80);
	if (p[4] & 1) /* time, aligned to itself */
		flags = ((flags + 7) & ~7) + 8;
	pads = p[4] & 2 && flags < header && p[flags] & 0x20;
	wifi(p + header, end, pads, in);
}

static void cooked(uint8_t kind, const struct columns *c, size_t row)
{
	if (c->direction && kind != SLL_OTHER_HOST)
		c->direction[row] = kind == SLL_OUTGOING ? 2 : 1;
}

/* Whether frame() supports a link type. */
static inline int readable(uint32_t link)
{
	switch (link) {
	case LINK_NULL: case LINK_ETHERNET: case LINK_PPP: case LINK_RAW_BSD: case LINK_RAW_OPENBSD: case LINK_PPP_HDLC:
	case LINK_PPPOE: case LINK_RAW: case LINK_C_HDLC: case LINK_WIFI: case LINK_LOOP: case LINK_SLL:
	case LINK_RADIOTAP: case LINK_IPV4: case LINK_IPV6: case LINK_SLL2:
		return 1;
	default:
		return 0;
	}
}

/* Decode a frame; the wire had `cut` more bytes of it than were captured. */
static void frame(uint32_t link, const uint8_t *p, const uint8_t *end, uint32_t cut, const struct columns *c, size_t row)
{
	struct packet in = { .c = c, .row = row, .cut = cut, .layers = MOST_LAYERS };

	switch (link) {
	case LINK_ETHERNET:
		ethernet(p, end, &in);
		return;
	case LINK_SLL:
		if (end - p < SLL_HEADER)
			return;
		cooked(p[1], c, row);
		typed(be16(p + 14), p + SLL_HEADER, end, &in);
		return;
	case LINK_SLL2:
		if (end - p < SLL2_HEADER)
			return;
		cooked(p[10], c, row);
		typed(be16(p), p + SLL2_HEADER, end, &in);
		return;
	case LINK_PPP:
	case LINK_PPP_HDLC:
		ppp(p, end, &in);
		return;
	case LINK_PPPOE:
		typed(TYPE_PPPOE, p, end, &in);
		return;
	case LINK_C_HDLC:
		if (end - p >= 4)
			typed(be16(p + 2), p + 4, end, &in);
		return;
	case LINK_WIFI:
		wifi(p, end, 0, &in);
		return;
	case LINK_RADIOTAP:
		radiotap(p, end, &in);
		return;
	case LINK_NULL:
	case LINK_LOOP:
		/* systems number IPv6 differently; the packet's own version is the same on all */
		if (end - p < LOOPBACK_HEADER)
			return;
		p += LOOPBACK_HEADER;
	}
	ip(p, end, &in);
}

/* Set a row to zeros: fields that its packet does not have stay zero. */
static void clear(const struct columns *c, size_t row)
{
	c->ip_length[row] = c->sport[row] = c->dport[row] = c->ip_id[row] = c->window[row] = c->payload[row] = 0;
	c->src[row] = c->dst[row] = c->seq[row] = c->ack[row] = c->tsval[row] = c->tsecr[row] = 0;
	c->proto[row] = c->flags[row] = c->window_scale[row] = 0;
	c->utp_header[row] = 0;
	c->utp_connection[row] = c->utp_difference[row] = c->utp_window[row] = 0;
	c->utp_acked[row] = 0;
	c->utp_version[row] = c->utp_type[row] = c->utp_seen[row] = 0;
	if (!c->ip_version)
		return;
	c->ip_version[row] = c->hops[row] = c->direction[row] = 0;
	c->digest[row] = 0;
	memset(c->src6[row], 0, 16);
	memset(c->dst6[row], 0, 16);
}

#endif
