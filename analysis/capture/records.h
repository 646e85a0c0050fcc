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
	MOST_INTERFACES = 64,
};

/* Why the walk over the records ended. Kept in step with pcap.py. */
enum ending {
	COMPLETE = 0, TRUNCATED = 1, BAD_LENGTH = 2, BAD_FRACTION = 3,
	BAD_BLOCK = 4, BAD_LINK = 5, BAD_INTERFACE = 6, BAD_TIME = 7, MANY_INTERFACES = 8,
};

struct interface {
	uint64_t ticks; /* per second */
	int64_t offset_s;
	uint32_t link;
	uint32_t unused;
};

/* What the headers read so far say; kept from one walk to the next. */
struct headers {
	uint32_t blocks;  /* pcapng */
	uint32_t swapped; /* the writer's byte order is not this machine's */
	uint32_t interfaces;
	uint32_t unused;
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
		if (fraction >= ticks) {
			w.ending = BAD_FRACTION;
			w.found = fraction;
			break;
		}
		if (captured > left - RECORD_HEADER) {
			w.ending = TRUNCATED;
			break;
		}
		c->time_ns[w.records] = host32(record, swapped) * (int64_t)1000000000 + fraction * tick_ns;
		clear(c, w.records);
		frame(only->link, record + RECORD_HEADER, record + RECORD_HEADER + captured, c, w.records);
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

static enum ending describe_interface(const uint8_t *p, const uint8_t *end, struct headers *h)
{
	int swapped = (int)h->swapped;
	struct interface *i;

	if (end - p < 8)
		return BAD_BLOCK;
	if (h->interfaces == MOST_INTERFACES)
		return MANY_INTERFACES;
	i = &h->interface[h->interfaces++];
	*i = (struct interface){ .ticks = 1000000, .offset_s = 0, .link = host16(p, swapped) };
	for (p += 8; end - p >= 4; ) {
		uint16_t code = host16(p, swapped), length = host16(p + 2, swapped);
		uint32_t padded = (length + 3u) & ~3u;

		if (!code || padded > end - p - 4)
			break;
		p += 4;
		if (code == OPTION_RESOLUTION && length == 1) {
			/* a negative power of ten, or of two if the highest bit is set */
			if (*p & 0x80 ? (*p & 0x7f) > 63 : *p > 19)
				return BAD_TIME;
			i->ticks = 1;
			for (uint8_t power = *p & 0x7f; power--; )
				i->ticks *= *p & 0x80 ? 2 : 10;
		}
		if (code == OPTION_OFFSET && length == 8)
			i->offset_s = (int64_t)host64(p, swapped);
		p += padded;
	}
	return COMPLETE;
}

/* Decode the packet of either kind of block: [p, end) is the body, whose time is in two halves from p + 4 on. */
static enum ending packet_block(uint32_t number, const uint8_t *p, const uint8_t *end, const struct headers *h,
				const struct columns *c, size_t row, uint64_t *found)
{
	int swapped = (int)h->swapped;
	const struct interface *i;
	uint32_t captured;
	unsigned __int128 ns;
	__int128 since;

	if (end - p < 20)
		return BAD_BLOCK;
	*found = captured = host32(p + 12, swapped);
	if (captured > end - p - 20)
		return BAD_LENGTH;
	*found = number;
	if (number >= h->interfaces)
		return BAD_INTERFACE;
	i = &h->interface[number];
	*found = i->link;
	if (!readable(i->link))
		return BAD_LINK;
	ns = (uint64_t)host32(p + 4, swapped) << 32 | host32(p + 8, swapped);
	ns = ns * 1000000000u / i->ticks;
	since = (__int128)ns + (__int128)i->offset_s * 1000000000;
	if (since < 0 || since > INT64_MAX)
		return BAD_TIME;
	c->time_ns[row] = (int64_t)since;
	clear(c, row);
	frame(i->link, p + 20, p + 20 + captured, c, row);
	return COMPLETE;
}

static struct walk walk_blocks(const struct file *f, size_t offset, const struct columns *c, size_t limit)
{
	struct walk w = { .records = 0, .offset = offset, .ending = COMPLETE, .found = 0 };
	struct headers *h = f->headers;

	while (w.offset < f->size && w.records < limit) {
		const uint8_t *block = f->bytes + w.offset, *body = block + 8, *end;
		size_t left = f->size - w.offset;
		uint32_t type, length;

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
			w.ending = describe_interface(body, end, h);
			break;
		case BLOCK_PACKET:
			w.ending = end - body < 4 ? BAD_BLOCK :
				   packet_block(host32(body, (int)h->swapped), body, end, h, c, w.records,
						&w.found);
			w.records += w.ending == COMPLETE;
			break;
		case BLOCK_OLD_PACKET:
			w.ending = end - body < 4 ? BAD_BLOCK :
				   packet_block(host16(body, (int)h->swapped), body, end, h, c, w.records,
						&w.found);
			w.records += w.ending == COMPLETE;
			break;
		case BLOCK_SIMPLE_PACKET: /* has no time */
			w.ending = BAD_TIME;
			break;
		}
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
