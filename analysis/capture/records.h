/* SPDX-License-Identifier: MIT
 *
 * One pass over the bytes of a classic pcap file, filling preallocated columns: one row a record.
 *
 * The file is untrusted: every read is checked against the end of the record, every record against the end of the file,
 * every column against its length. This file only measures and fills; wording errors is left to pcap.py. It knows
 * nothing of Python, so that a fuzzer can include it.
 *
 * Layout of a classic pcap file: a header of 24 bytes (magic, version, zone, accuracy, snap length, link type), then
 * records of 16 bytes of header (seconds, fraction, captured length, original length) and the captured bytes. All in
 * the byte order of the writer, which the magic number tells.
 */
#ifndef ANALYSIS_CAPTURE_RECORDS_H
#define ANALYSIS_CAPTURE_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	FILE_HEADER = 24,
	RECORD_HEADER = 16,
	MAX_CAPTURED = 262144, /* the largest snap length any writer uses; more is garbage */

	ETHERNET_HEADER = 14,
	VLAN_TAG = 4,
	TYPE_IPV4 = 0x0800,
	TYPE_VLAN = 0x8100,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
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
};

/* Why the walk over the records ended. Kept in step with pcap.py. */
enum ending { COMPLETE = 0, TRUNCATED = 1, BAD_LENGTH = 2, BAD_FRACTION = 3 };

/* The order of the columns is the order of the tuple that Python passes. Kept in step with pcap.py. */
enum column {
	TIME_NS, IP_LENGTH, SRC, DST, SPORT, DPORT, PROTO, IP_ID,
	SEQ, ACK, FLAGS, WINDOW, WINDOW_SCALE, PAYLOAD, TSVAL, TSECR,
	UTP_HEADER, UTP_VERSION, UTP_TYPE, UTP_SEEN, UTP_CONNECTION, UTP_DIFFERENCE, UTP_WINDOW, UTP_ACKED,
	COLUMNS
};

static const size_t column_bytes[COLUMNS] = {
	[TIME_NS] = 8, [IP_LENGTH] = 2, [SRC] = 4, [DST] = 4, [SPORT] = 2, [DPORT] = 2, [PROTO] = 1, [IP_ID] = 2,
	[SEQ] = 4, [ACK] = 4, [FLAGS] = 1, [WINDOW] = 2, [WINDOW_SCALE] = 1, [PAYLOAD] = 2, [TSVAL] = 4, [TSECR] = 4,
	[UTP_HEADER] = 2, [UTP_VERSION] = 1, [UTP_TYPE] = 1, [UTP_SEEN] = 1, [UTP_CONNECTION] = 4,
	[UTP_DIFFERENCE] = 4, [UTP_WINDOW] = 4, [UTP_ACKED] = 8,
};

struct columns {
	int64_t *time_ns;
	uint16_t *ip_length, *sport, *dport, *ip_id, *window, *payload, *utp_header;
	uint32_t *src, *dst, *seq, *ack, *tsval, *tsecr, *utp_connection, *utp_difference, *utp_window;
	uint64_t *utp_acked;
	uint8_t *proto, *flags, *window_scale, *utp_version, *utp_type, *utp_seen;
};

/* The memory of the columns, in their order. */
static inline struct columns columns_of(void *const memory[COLUMNS])
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
	};
}

struct file {
	const uint8_t *bytes;
	size_t size;
	int swapped;
	uint32_t ticks; /* a second has this many */
};

struct walk {
	size_t records;
	size_t offset; /* of the first byte that is not part of a whole, sane record */
	enum ending ending;
};

static inline uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint32_t host32(const uint8_t *p, int swapped)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap32(value) : value;
}

/* Window scale and timestamps of TCP (RFC 7323): [p, end) are the option bytes that were captured. */
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

/* [p, end) are the captured bytes from the TCP header on; length is what the sender sent from there on. */
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
	c->payload[row] = (uint16_t)(length - header);
	tcp_options(p + 20, end - p < (ptrdiff_t)header ? end : p + header, c, row);
}

/*
 * The chain of uTP's extensions, each the type of the next, a length and that many bytes; `left` bytes of the datagram
 * are behind the header. Its bytes, or `left` + 1 when it cannot be a chain. What was not captured ends it early.
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
 * A datagram that has the form of a uTP packet, BEP 29's or the older one of the same fields in 23 bytes. UDP has no
 * field that says so: version, type, extensions, lengths, and whether there is data where there must be, all have to
 * fit. [p, end) are the captured bytes of the datagram, `length` is how many it had.
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
		/* the time is seconds and microseconds here */
		if (type >= UTP_TYPES || extension >= UTP_EXTENSIONS || be32(p + 8) >= 1000000)
			return;
	}
	extensions = utp_chain(p + header, end, length - header, extension, &acked, &seen);
	if (extensions > length - header)
		return;
	header += extensions;
	if ((type == UTP_DATA && header == length) || (type == UTP_STATE && header != length))
		return;
	c->utp_header[row] = (uint16_t)header;
	c->payload[row] = (uint16_t)(length - header);
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
	if (end - p < 4)
		return;
	c->sport[row] = be16(p);
	c->dport[row] = be16(p + 2);
	if (length < UDP_HEADER)
		return;
	c->payload[row] = (uint16_t)(length - UDP_HEADER);
	if (end - p > UDP_HEADER)
		utp(p + UDP_HEADER, end, length - UDP_HEADER, c, row);
}

static void ipv4(const uint8_t *p, const uint8_t *end, const struct columns *c, size_t row)
{
	uint32_t header, length;

	if (end - p < 20 || p[0] >> 4 != 4)
		return;
	header = (uint32_t)(p[0] & 15) * 4;
	length = be16(p + 2);
	if (header < 20)
		return;
	c->proto[row] = p[9];
	c->ip_length[row] = (uint16_t)length;
	c->ip_id[row] = be16(p + 4);
	c->src[row] = be32(p + 12);
	c->dst[row] = be32(p + 16);
	if (be16(p + 6) & 0x1fff) /* a later fragment has no ports */
		return;
	if (length < header || end - p < (ptrdiff_t)header)
		return;
	/* bytes behind the IP packet (Ethernet padding) are not part of it */
	if (end - p > (ptrdiff_t)length)
		end = p + length;
	if (p[9] == PROTOCOL_TCP)
		tcp(p + header, end, length - header, c, row);
	else if (p[9] == PROTOCOL_UDP)
		udp(p + header, end, length - header, c, row);
}

static void ethernet(const uint8_t *p, const uint8_t *end, const struct columns *c, size_t row)
{
	const uint8_t *type = p + 12;

	if (end - p >= ETHERNET_HEADER + VLAN_TAG && be16(type) == TYPE_VLAN)
		type += VLAN_TAG;
	if (end - p >= ETHERNET_HEADER && be16(type) == TYPE_IPV4)
		ipv4(type + 2, end, c, row);
}

/* Rows start as zeros: what a record does not tell stays zero. */
static void clear(const struct columns *c, size_t row)
{
	c->ip_length[row] = c->sport[row] = c->dport[row] = c->ip_id[row] = c->window[row] = c->payload[row] = 0;
	c->src[row] = c->dst[row] = c->seq[row] = c->ack[row] = c->tsval[row] = c->tsecr[row] = 0;
	c->proto[row] = c->flags[row] = c->window_scale[row] = 0;
	c->utp_header[row] = 0;
	c->utp_connection[row] = c->utp_difference[row] = c->utp_window[row] = 0;
	c->utp_acked[row] = 0;
	c->utp_version[row] = c->utp_type[row] = c->utp_seen[row] = 0;
}

/* Walks whole records from an offset on, up to `limit` of them; fills a row for each. */
static struct walk walk_records(const struct file *f, size_t offset, const struct columns *c, size_t limit)
{
	struct walk w = { .records = 0, .offset = offset, .ending = COMPLETE };
	int64_t tick_ns = 1000000000 / f->ticks;

	while (w.offset < f->size && w.records < limit) {
		const uint8_t *record = f->bytes + w.offset;
		size_t left = f->size - w.offset;
		uint32_t captured, fraction;

		if (left < RECORD_HEADER) {
			w.ending = TRUNCATED;
			break;
		}
		fraction = host32(record + 4, f->swapped);
		captured = host32(record + 8, f->swapped);
		if (captured > MAX_CAPTURED) {
			w.ending = BAD_LENGTH;
			break;
		}
		if (fraction >= f->ticks) {
			w.ending = BAD_FRACTION;
			break;
		}
		if (captured > left - RECORD_HEADER) {
			w.ending = TRUNCATED;
			break;
		}
		c->time_ns[w.records] = host32(record, f->swapped) * (int64_t)1000000000 + fraction * tick_ns;
		clear(c, w.records);
		ethernet(record + RECORD_HEADER, record + RECORD_HEADER + captured, c, w.records);
		w.records++;
		w.offset += RECORD_HEADER + captured;
	}
	return w;
}

#endif
