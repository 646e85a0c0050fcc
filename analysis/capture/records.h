/* SPDX-License-Identifier: MIT
 *
 * Reads a pcap or pcapng file in one pass into preallocated columns, one row per packet.
 *
 * The input is untrusted: every record is checked against the end of the file, every column against its length. pcap.py
 * words the errors. This file does not depend on Python, so a fuzzer can include it.
 *
 * A classic pcap file has a header of 24 bytes (magic, version, zone, accuracy, snap length, link type), then records
 * of 16 bytes of header (seconds, fraction, captured length, original length) and the captured bytes. Everything is in
 * the writer's byte order, which the magic number reveals.
 *
 * A pcapng file (draft-ietf-opsawg-pcapng) is a sequence of blocks: type, length, body, length again. A section begins
 * with a header that gives the byte order. Interfaces are described, in the order of their numbers, before the packets
 * that name them. Blocks of other types are skipped.
 *
 * A record that is odd in itself costs itself: it is left out and counted. Where the file no longer says where the next
 * record begins, the walk ends.
 */
#ifndef ANALYSIS_CAPTURE_RECORDS_H
#define ANALYSIS_CAPTURE_RECORDS_H

#include "packets.h"

enum {
	FILE_HEADER = 24,
	RECORD_HEADER = 16,
	MAX_CAPTURED = 262144, /* the largest snap length any writer uses; more is garbage */

	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_OLD_PACKET = 2,
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_PACKET = 6,
	BLOCK_FRAME = 12, /* type and length before the body, length after it */
	MAX_BLOCK = 16 << 20,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	OPTION_RESOLUTION = 9,
	OPTION_OFFSET = 14,
	MOST_INTERFACES = 4096, /* of a section */
};

/* Why the walk over the records ended. Kept in step with pcap.py. */
enum ending { COMPLETE = 0, TRUNCATED = 1, BAD_LENGTH = 2, BAD_BLOCK = 3 };

/* What is odd about a record that is left out. Kept in step with pcap.py. */
enum oddity { NO_TIME = 0, ODD_LINK = 1, ODD_INTERFACE = 2, ODD_BLOCK = 3, ODDITIES, NOTHING_ODD = ODDITIES };

struct odd {
	uint64_t count;
	uint64_t offset; /* of the first */
	uint64_t found;	 /* its offending number, if there is one */
};

struct interface {
	uint64_t ticks; /* per second; 0: more than 64 bits hold */
	int64_t offset_s;
	uint32_t link;
	uint32_t unused;
};

/* What the headers read so far say; kept from one walk to the next. */
struct headers {
	uint32_t blocks;  /* pcapng */
	uint32_t swapped; /* the writer's byte order is not this machine's */
	uint32_t interfaces; /* described, those beyond MOST_INTERFACES with them */
	uint32_t unused;
	struct odd odd[ODDITIES];
	struct interface interface[MOST_INTERFACES];
};

struct file {
	const uint8_t *bytes;
	size_t size;
	struct headers *headers;
};

struct walk {
	size_t records;
	size_t offset; /* of the first byte that is not part of a whole, sane record */
	enum ending ending;
	uint64_t found; /* the offending number, if there is one */
};

static inline uint16_t host16(const uint8_t *p, int swapped)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap16(value) : value;
}

static inline uint64_t host64(const uint8_t *p, int swapped)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap64(value) : value;
}

static void leave_out(struct headers *h, enum oddity oddity, size_t offset, uint64_t found)
{
	struct odd *odd = &h->odd[oddity];

	if (!odd->count++) {
		odd->offset = offset;
		odd->found = found;
	}
}

static inline uint32_t not_captured(uint32_t captured, uint32_t original)
{
	return original > captured ? original - captured : 0;
}

/* Walk at most `limit` whole records of a pcap file from an offset on, and fill a row for each. */
static struct walk walk_pcap(const struct file *f, size_t offset, const struct columns *c, size_t limit)
{
	struct walk w = { .records = 0, .offset = offset, .ending = COMPLETE, .found = 0 };
	const struct interface *only = &f->headers->interface[0];
	int swapped = (int)f->headers->swapped;
	uint32_t ticks = (uint32_t)only->ticks;
	int64_t tick_ns = 1000000000 / ticks;

	while (w.offset < f->size && w.records < limit) {
		const uint8_t *record = f->bytes + w.offset;
		size_t left = f->size - w.offset;
		uint32_t captured, fraction;

		if (left < RECORD_HEADER) {
			w.ending = TRUNCATED;
			break;
		}
		fraction = host32(record + 4, swapped);
		captured = host32(record + 8, swapped);
		if (captured > MAX_CAPTURED) {
			w.ending = BAD_LENGTH;
			w.found = captured;
			break;
		}
		if (captured > left - RECORD_HEADER) {
			w.ending = TRUNCATED;
			break;
		}
		if (fraction >= ticks) {
			leave_out(f->headers, NO_TIME, w.offset, fraction);
			w.offset += RECORD_HEADER + captured;
			continue;
		}
		c->time_ns[w.records] = host32(record, swapped) * (int64_t)1000000000 + fraction * tick_ns;
		clear(c, w.records);
		frame(only->link, record + RECORD_HEADER, record + RECORD_HEADER + captured,
		      not_captured(captured, host32(record + 12, swapped)), c, w.records);
		w.records++;
		w.offset += RECORD_HEADER + captured;
	}
	return w;
}

/* Begin a section: it sets the byte order and numbers interfaces from 0. [p, end) is the body of the block. */
static enum ending begin_section(const uint8_t *p, const uint8_t *end, struct headers *h)
{
	if (end - p < 16)
		return BAD_BLOCK;
	h->swapped = host32(p, 0) != BYTE_ORDER_MAGIC;
	h->interfaces = 0;
	return host32(p, (int)h->swapped) == BYTE_ORDER_MAGIC ? COMPLETE : BAD_BLOCK;
}

static void describe_interface(const uint8_t *p, const uint8_t *end, struct headers *h)
{
	int swapped = (int)h->swapped;
	struct interface *i;

	/* also one that says nothing, or is one too many, has its number */
	if (h->interfaces++ >= MOST_INTERFACES)
		return;
	i = &h->interface[h->interfaces - 1];
	*i = (struct interface){ .ticks = 1000000, .offset_s = 0, .link = UINT32_MAX };
	if (end - p < 8)
		return;
	i->link = host16(p, swapped);
	for (p += 8; end - p >= 4; ) {
		uint16_t code = host16(p, swapped), length = host16(p + 2, swapped);
		uint32_t padded = (length + 3u) & ~3u;

		if (!code || padded > end - p - 4)
			break;
		p += 4;
		if (code == OPTION_RESOLUTION && length == 1) {
			/* a negative power of ten, or of two if the highest bit is set */
			int most = *p & 0x80 ? 63 : 19;

			i->ticks = (*p & 0x7f) <= most;
			for (int power = *p & 0x7f; i->ticks && power--; )
				i->ticks *= *p & 0x80 ? 2 : 10;
		}
		if (code == OPTION_OFFSET && length == 8)
			i->offset_s = (int64_t)host64(p, swapped);
		p += padded;
	}
}

/* Decode the packet of either kind of block: [p, end) is the body, whose time is in two halves from p + 4 on. */
static enum oddity packet_block(int old, const uint8_t *p, const uint8_t *end, const struct headers *h,
				const struct columns *c, size_t row, uint64_t *found)
{
	int swapped = (int)h->swapped;
	const struct interface *i;
	uint32_t captured, number;
	unsigned __int128 ns;
	__int128 since;

	*found = (uint64_t)(end - p);
	if (end - p < 20)
		return ODD_BLOCK;
	*found = captured = host32(p + 12, swapped);
	if (captured > end - p - 20)
		return ODD_BLOCK;
	*found = number = old ? host16(p, swapped) : host32(p, swapped);
	if (number >= h->interfaces || number >= MOST_INTERFACES)
		return ODD_INTERFACE;
	i = &h->interface[number];
	*found = i->link;
	if (!readable(i->link))
		return ODD_LINK;
	*found = 0;
	if (!i->ticks)
		return NO_TIME;
	ns = (uint64_t)host32(p + 4, swapped) << 32 | host32(p + 8, swapped);
	ns = ns * 1000000000u / i->ticks;
	since = (__int128)ns + (__int128)i->offset_s * 1000000000;
	if (since < 0 || since > INT64_MAX)
		return NO_TIME;
	c->time_ns[row] = (int64_t)since;
	clear(c, row);
	frame(i->link, p + 20, p + 20 + captured, not_captured(captured, host32(p + 16, swapped)), c, row);
	return NOTHING_ODD;
}

static struct walk walk_blocks(const struct file *f, size_t offset, const struct columns *c, size_t limit)
{
	struct walk w = { .records = 0, .offset = offset, .ending = COMPLETE, .found = 0 };
	struct headers *h = f->headers;

	while (w.offset < f->size && w.records < limit) {
		const uint8_t *block = f->bytes + w.offset, *body = block + 8, *end;
		size_t left = f->size - w.offset;
		uint32_t type, length;
		enum oddity odd = NOTHING_ODD;
		uint64_t found = 0;

		if (left < BLOCK_FRAME) {
			w.ending = TRUNCATED;
			break;
		}
		type = host32(block, (int)h->swapped);
		/* a section header's type is the same in both byte orders; its length is in the order that its magic gives */
		if (type == BLOCK_SECTION)
			length = host32(block + 4, host32(block + 8, 0) != BYTE_ORDER_MAGIC);
		else
			length = host32(block + 4, (int)h->swapped);
		if (length < BLOCK_FRAME || length % 4 || length > MAX_BLOCK) {
			w.ending = BAD_BLOCK;
			w.found = length;
			break;
		}
		if (length > left) {
			w.ending = TRUNCATED;
			break;
		}
		end = block + length - 4;
		switch (type) {
		case BLOCK_SECTION:
			w.ending = begin_section(body, end, h);
			break;
		case BLOCK_INTERFACE:
			describe_interface(body, end, h);
			break;
		case BLOCK_PACKET:
		case BLOCK_OLD_PACKET:
			odd = packet_block(type == BLOCK_OLD_PACKET, body, end, h, c, w.records, &found);
			w.records += odd == NOTHING_ODD;
			break;
		case BLOCK_SIMPLE_PACKET: /* the format gives it no time */
			odd = NO_TIME;
			break;
		}
		if (odd != NOTHING_ODD)
			leave_out(h, odd, w.offset, found);
		if (w.ending != COMPLETE)
			break;
		w.offset += length;
	}
	return w;
}

static struct walk walk_records(const struct file *f, size_t offset, const struct columns *c, size_t limit)
{
	return f->headers->blocks ? walk_blocks(f, offset, c, limit) : walk_pcap(f, offset, c, limit);
}

#endif
