// SPDX-License-Identifier: MIT
/*
 * Fuzzes the dissectors of captures: pcap records, Ethernet, IPv4, TCP with options, UDP, uTP of both versions.
 *
 *   dissect COUNT SEED        COUNT inputs, each a function of its number and SEED
 *   dissect FILE...           these inputs
 *
 * Inputs are captures of the packets below, mutated: bytes, lengths, ends, order. Each lies in memory of exactly its size,
 * under AddressSanitizer and UndefinedBehaviorSanitizer, so that a read or write beyond any end is found; a walk that does
 * not end is ended by SIGALRM. The number of the input that failed is printed.
 */
#include "../../../analysis/capture/_dissect.c"

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGEST = 4096, LONGEST_S = 120 };

#define ETHERNET "\0\0\0\0\0\1\0\0\0\0\0\2\x08\0"
#define VLAN "\0\0\0\0\0\1\0\0\0\0\0\2\x81\0\0\5\x08\0"
#define IPV4(length, protocol) "\x45\0" length "\x12\x34\x40\0\x40" protocol "\0\0\x0a\0\0\1\x0a\0\0\2"
#define TCP "\x13\x89\x13\x8a\0\0\0\1\0\0\0\2\xc0\x10\2\0\0\0\0\0"
#define TCP_OPTIONS "\2\4\5\xb4\3\3\7\1\1\x08\x0a\0\0\0\7\0\0\0\x09\1\1\5\x0a\0\0\0\3\0\0\0\4\0"
#define UDP "\x13\x89\x13\x8a\0\x64\0\0"
#define UTP_1(extension) "\1" extension "\x12\x34\0\0\0\1\0\0\0\2\0\x10\0\0\0\1\0\2"
#define UTP_0(extension) "\0\0\x12\x34\0\0\0\1\0\0\0\2\0\0\0\3\x20" extension "\0\0\1\0\2"
#define UTP_SACK "\2\4\1\0\0\x80" "\0\x08\0\0\0\0\0\0\0\0"

static const struct { const char *bytes; size_t size; } frames[] = {
#define FRAME(bytes) { bytes, sizeof(bytes) - 1 }
	FRAME(ETHERNET IPV4("\5\xdc", "\6") TCP TCP_OPTIONS),
	FRAME(VLAN IPV4("\0\x48", "\6") TCP TCP_OPTIONS),
	FRAME(ETHERNET IPV4("\0\x78", "\x11") UDP UTP_1("\0") "data"),
	FRAME(ETHERNET IPV4("\0\x78", "\x11") UDP UTP_1("\1") UTP_SACK "data"),
	FRAME(ETHERNET IPV4("\0\x78", "\x11") UDP UTP_0("\1") UTP_SACK "data"),
	FRAME(ETHERNET IPV4("\0\x54", "\1") "ping"),
	FRAME(ETHERNET),
};

static long number;
static uint64_t state;

static uint64_t draw(uint64_t below)
{
	/* splitmix64 */
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % below;
}

static void put32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* A capture of up to four of the packets, some cut off as a snap length cuts; its size. */
static size_t compose(uint8_t *at)
{
	size_t size = FILE_HEADER;

	memset(at, 0, FILE_HEADER);
	for (uint64_t packets = draw(5); packets; packets--) {
		const size_t frame = draw(sizeof(frames) / sizeof(frames[0]));
		const size_t whole = frames[frame].size, captured = draw(2) ? whole : draw(whole + 1);

		put32(at + size, (uint32_t)draw(UINT32_MAX));
		put32(at + size + 4, (uint32_t)draw(1000000));
		put32(at + size + 8, (uint32_t)captured);
		put32(at + size + 12, (uint32_t)whole);
		memcpy(at + size + RECORD_HEADER, frames[frame].bytes, captured);
		size += RECORD_HEADER + captured;
	}
	return size;
}

static size_t mutate(uint8_t *at, size_t size)
{
	static const uint8_t telling[] = { 0, 1, 2, 3, 4, 5, 8, 0x0f, 0x10, 0x11, 0x40, 0x4f, 0x50, 0x7f, 0x80, 0xf0, 0xff };

	for (uint64_t times = draw(9); times && size > FILE_HEADER; times--) {
		size_t where = FILE_HEADER + draw(size - FILE_HEADER);

		switch (draw(6)) {
		case 0:
			at[where] ^= (uint8_t)(1 << draw(8));
			break;
		case 1:
			at[where] = telling[draw(sizeof(telling))];
			break;
		case 2:
			at[where] = (uint8_t)draw(256);
			break;
		case 3: /* cut off */
			size = where;
			break;
		case 4: /* bytes gone: all behind them are where they do not belong */
			memmove(at + FILE_HEADER, at + where, size - where);
			size -= where - FILE_HEADER;
			break;
		case 5: /* bytes again */
			if (size + (size - where) <= LARGEST) {
				memcpy(at + size, at + where, size - where);
				size += size - where;
			}
			break;
		}
	}
	return size;
}

static void check(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "input %ld: %s\n", number, what);
	abort();
}

static void *column(size_t rows, size_t bytes)
{
	return malloc(rows * bytes + !rows);
}

static void dissect(const uint8_t *bytes, size_t size, int swapped, uint32_t ticks)
{
	struct file file = { .bytes = memcpy(malloc(size + !size), bytes, size), .size = size, .swapped = swapped, .ticks = ticks };
	const struct walk counted = walk_records(&file, NULL, SIZE_MAX);
	void *memory[COLUMNS];
	struct walk filled;
	struct columns c;

	for (int i = 0; i < COLUMNS; i++)
		memory[i] = column(counted.records, column_bytes[i]);
	c = (struct columns){
		.time_ns = memory[TIME_NS], .ip_length = memory[IP_LENGTH], .src = memory[SRC], .dst = memory[DST],
		.sport = memory[SPORT], .dport = memory[DPORT], .proto = memory[PROTO], .ip_id = memory[IP_ID],
		.seq = memory[SEQ], .ack = memory[ACK], .flags = memory[FLAGS], .window = memory[WINDOW],
		.window_scale = memory[WINDOW_SCALE], .payload = memory[PAYLOAD], .tsval = memory[TSVAL],
		.tsecr = memory[TSECR], .utp_header = memory[UTP_HEADER], .utp_version = memory[UTP_VERSION],
		.utp_type = memory[UTP_TYPE], .utp_seen = memory[UTP_SEEN], .utp_connection = memory[UTP_CONNECTION],
		.utp_difference = memory[UTP_DIFFERENCE], .utp_window = memory[UTP_WINDOW], .utp_acked = memory[UTP_ACKED],
	};
	filled = walk_records(&file, &c, counted.records);
	check(counted.offset <= size || !counted.records, "the walk ended behind the input");
	check(filled.records == counted.records, "a second walk found other records");
	for (size_t i = 0; i < filled.records; i++) {
		check(c.payload[i] <= c.ip_length[i], "more payload than packet");
		check(c.utp_header[i] <= c.ip_length[i], "a longer uTP header than packet");
		check(c.time_ns[i] >= 0, "an instant before the epoch");
	}
	for (int i = 0; i < COLUMNS; i++)
		free(memory[i]);
	free((void *)file.bytes);
}

static void died(void)
{
	fprintf(stderr, "input %ld\n", number);
}

static void replay(const char *path)
{
	static uint8_t bytes[1 << 20];
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		exit(1);
	}
	for (int swapped = 0; swapped < 2; swapped++) {
		rewind(file);
		dissect(bytes, fread(bytes, 1, sizeof(bytes), file), swapped, 1000000);
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	static uint8_t input[2 * LARGEST];
	char *end;
	const long count = argc > 1 ? strtol(argv[1], &end, 10) : 0;
	const uint64_t seed = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

	__asan_set_death_callback(died);
	if (argc < 2 || *end || argc != 3) {
		for (number = 1; number < argc; number++)
			replay(argv[number]);
		return argc < 2;
	}
	for (number = 0; number < count; number++) {
		if (number % 65536 == 0)
			alarm(LONGEST_S);
		state = seed ^ (uint64_t)number << 20;
		dissect(input, mutate(input, compose(input)), draw(8) == 0, draw(2) ? 1000000 : 1000000000);
	}
	printf("%ld inputs dissected\n", count);
	return 0;
}
