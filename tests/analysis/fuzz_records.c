/* SPDX-License-Identifier: MIT
 *
 * fuzz_records CAPTURE INPUTS [SEED]
 *
 * Damages a capture file INPUTS times, as pcap or as pcapng, and walks each result with analysis/capture/records.h.
 * Built with the address and undefined-behaviour sanitizers, each input in an allocation of exactly its size: any byte
 * read beyond it ends the program, as does a row that contradicts itself. The input at fault is then left as
 * fuzz-crash.pcap.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../analysis/capture/records.h"

enum { MOST_BYTES = 4096, ROWS = MOST_BYTES / RECORD_HEADER };

static uint64_t state;
static const uint8_t *current;
static size_t current_size;

static uint32_t draw(uint32_t below) /* xorshift64* */
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 2685821657736338717ull) >> 32) % below;
}

static void leave_input(void)
{
	FILE *file = fopen("fuzz-crash.pcap", "wb");

	if (file) {
		fwrite(current, 1, current_size, file);
		fclose(file);
	}
}

/* Called by the sanitizers before they end the program. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	leave_input();
}

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "a row contradicts itself: %s\n", what);
	leave_input();
	exit(1);
}

/* A piece of the capture: its header and some of its records from a random one on. */
static size_t cut(const uint8_t *whole, size_t size, uint8_t *into)
{
	static size_t starts[4096];
	static size_t count;
	size_t length = FILE_HEADER, record;

	for (size_t at = FILE_HEADER; !count || (at < size && at > FILE_HEADER); ) {
		starts[count++] = at;
		at += RECORD_HEADER + host32(whole + at + 8, 0);
		if (at >= size || count == 4096)
			break;
	}
	memcpy(into, whole, FILE_HEADER);
	record = draw((uint32_t)count);
	for (uint32_t more = draw(6); more-- && record < count; record++) {
		size_t bytes = RECORD_HEADER + host32(whole + starts[record] + 8, 0);

		if (length + bytes > MOST_BYTES)
			break;
		memcpy(into + length, whole + starts[record], bytes);
		if (!draw(3)) { /* captured only in part, so that the file ends within a header */
			uint32_t captured = draw((uint32_t)(bytes - RECORD_HEADER) + 1);

			memcpy(into + length + 8, &captured, sizeof(captured));
			return length + RECORD_HEADER + captured;
		}
		length += bytes;
	}
	return length;
}

static uint32_t any_link(void)
{
	static const uint32_t links[] = {
		LINK_NULL, LINK_ETHERNET, LINK_RAW, LINK_LOOP, LINK_SLL, LINK_IPV4, LINK_IPV6, LINK_SLL2, LINK_PPP,
		LINK_PPPOE, LINK_C_HDLC, LINK_WIFI, LINK_RADIOTAP, 147,
	};

	return draw(3) ? LINK_ETHERNET : links[draw(sizeof(links) / sizeof(*links))];
}

static size_t block(uint8_t *into, uint32_t type, const void *body, uint32_t bytes)
{
	uint32_t length = BLOCK_FRAME + ((bytes + 3) & ~3u);

	memset(into, 0, length);
	memcpy(into, &type, 4);
	memcpy(into + 4, &length, 4);
	memcpy(into + 8, body, bytes);
	memcpy(into + length - 4, &length, 4);
	return length;
}

/* The same piece as pcapng: a section, an interface with options, and a block for each whole record. */
static size_t as_blocks(uint8_t *piece, size_t size)
{
	static uint8_t made[2 * MOST_BYTES], packet[MOST_BYTES + 32];
	uint32_t section[4] = { BYTE_ORDER_MAGIC, 1, 0xffffffff, 0xffffffff };
	uint8_t interface[28] = { 0, 0, 0, 0, 0, 0, 4, 0, OPTION_RESOLUTION, 0, 1, 0, 9, 0, 0, 0, OPTION_OFFSET, 0, 8 };
	uint32_t link = any_link();
	size_t length;

	memcpy(interface, &link, 2);
	interface[12] = (uint8_t)(draw(2) ? 9 : draw(256));
	length = block(made, BLOCK_SECTION, section, sizeof(section));
	length += block(made + length, BLOCK_INTERFACE, interface, sizeof(interface));
	for (size_t at = FILE_HEADER; size - at >= RECORD_HEADER; ) {
		uint32_t captured = host32(piece + at + 8, 0);

		if (captured > size - at - RECORD_HEADER || length + captured + 40 > MOST_BYTES)
			break;
		memset(packet, 0, 20);
		memcpy(packet + 8, piece + at + 4, 12);
		memcpy(packet + 20, piece + at + RECORD_HEADER, captured);
		length += block(made + length, draw(8) ? BLOCK_PACKET : BLOCK_OLD_PACKET, packet, 20 + captured);
		at += RECORD_HEADER + captured;
	}
	memcpy(piece, made, length);
	return length;
}

static size_t damage(uint8_t *bytes, size_t size)
{
	static const uint8_t telling[] = { 0, 1, 2, 3, 4, 5, 6, 17, 20, 0x01, 0x11, 0x21, 0x45, 0x46, 0x4f, 0x7f, 0x80, 0xff };

	if (size == FILE_HEADER)
		return draw(FILE_HEADER + 1) ? size : draw(FILE_HEADER);
	for (uint32_t hits = draw(8); hits--; ) {
		size_t at = FILE_HEADER + draw((uint32_t)(size - FILE_HEADER));

		switch (draw(4)) {
		case 0: bytes[at] = (uint8_t)draw(256); break;
		case 1: bytes[at] ^= (uint8_t)(1 << draw(8)); break;
		default: bytes[at] = telling[draw(sizeof(telling))];
		}
	}
	return draw(4) ? size : draw((uint32_t)size + 1);
}

static void check(const struct columns *c, size_t row)
{
	uint32_t header = c->utp_header[row];

	require(c->payload[row] <= c->ip_length[row], "more payload than packet");
	if (!header)
		return;
	require(c->proto[row] == PROTOCOL_UDP, "uTP that is not UDP");
	require(header >= UTP_HEADER_V1 && header + c->payload[row] + UDP_HEADER + 20 <= c->ip_length[row], "uTP's lengths");
	require(!c->ip_version || c->ip_version[row] == 4 || c->ip_version[row] == 6, "a packet of no IP");
	require(c->utp_type[row] < UTP_TYPES && c->utp_version[row] <= 1, "uTP's type and version");
}

int main(int argc, char **argv)
{
	static uint8_t whole[1 << 20], piece[MOST_BYTES];
	void *memory[ALL_COLUMNS];
	struct columns c, narrow;
	size_t size;
	FILE *file;

	if (argc < 3 || !(file = fopen(argv[1], "rb"))) {
		fprintf(stderr, "usage: fuzz_records CAPTURE INPUTS [SEED]\n");
		return 2;
	}
	size = fread(whole, 1, sizeof(whole), file);
	fclose(file);
	state = argc > 3 ? strtoull(argv[3], NULL, 0) + 1 : 1;
	for (int i = 0; i < ALL_COLUMNS; i++)
		memory[i] = calloc(ROWS, column_bytes[i]);
	c = narrow = columns_of(memory);
	narrow.ip_version = NULL; /* as runs are read */
	for (unsigned long left = strtoul(argv[2], NULL, 0); left--; ) {
		int blocks = (int)draw(2);
		size_t length = cut(whole, size, piece);
		uint8_t *input;
		struct headers known[2] = { { .blocks = (uint32_t)blocks } };
		struct file f;
		struct walk whole_walk, first, rest;
		size_t begin = blocks ? 0 : FILE_HEADER, limit = draw(ROWS + 1);
		const struct columns *into = draw(4) ? &c : &narrow;

		length = damage(piece, blocks ? as_blocks(piece, length) : length);
		input = malloc(length ? length : 1);
		known[0].swapped = draw(2) && !draw(8);
		known[0].interface[0] = (struct interface){ .ticks = draw(2) ? 1000000 : 1000000000, .link = any_link() };
		known[1] = known[0];
		memcpy(input, piece, length);
		current = input;
		current_size = length;
		f = (struct file){ input, length, &known[0] };
		first = walk_records(&f, begin, into, limit);
		rest = walk_records(&f, first.offset, into, ROWS);
		f.headers = &known[1];
		whole_walk = walk_records(&f, begin, into, ROWS);
		require(whole_walk.offset <= (length > begin ? length : begin), "the walk left the file");
		require(first.records <= limit && first.records + rest.records == whole_walk.records &&
			rest.offset == whole_walk.offset && rest.ending == whole_walk.ending, "two walks differ");
		for (size_t row = 0; row < whole_walk.records; row++)
			check(into, row);
		free(input);
	}
	for (int i = 0; i < ALL_COLUMNS; i++)
		free(memory[i]);
	return 0;
}
