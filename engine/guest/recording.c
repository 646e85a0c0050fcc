// SPDX-License-Identifier: MIT
/*
 * Turns the stream of a guest's recorder (images/kernel/patches/0032-packet-recorder.patch) into captures, on the host
 * and while the guest runs.
 *
 *   recording LIMIT FD:DEVICE:DIRECTIONS:FORM... <stream >report
 *
 * Each capture goes to an open descriptor, FD, and has what the device of this number sent (DIRECTIONS 1), received (2)
 * or both (3). FORM is `pcap`, or `gz` for one that is packed. The captures may take LIMIT bytes together. The report has
 * a line a capture, the number of its packets and of the bytes that they had on the wire, and a last line: the instant
 * of the last packet (CLOCK_REALTIME, ns; 0 without any) and, where the stream could not be followed to its end, why.
 *
 * The guest may have written anything, so this program first gives up all system calls but read() and write() on the
 * descriptors that it has, and exit(). It has no more memory than it starts with.
 *
 * Packing. A packet is most like the one before it of the same flow, byte by byte at the same places. So no match is
 * searched for: what is equal to that packet, at most 32 KiB back, becomes references to it (RFC 1951), all at one
 * distance, and what is not becomes literals. What a packet of TCP echoes of the other side's clock stands in a packet
 * of that side, to which it becomes a reference; and what is 8 bytes behind its like may be a payload that counts.
 * Each block has codes by how often its symbols were in the block before, so that a packet is packed at once. That
 * takes a tenth of the time of zlib's fastest level, for fewer bytes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

/* of the stream; see arch/um/kernel/packet_recorder.c in the patch */
#define MAGIC "packets"
#define VERSION 1
#define SNAP 116
#define SNAP_IPV4 96
#define ETHERNET 14
#define LONG UINT32_MAX
#define SAME (1u << 31)
#define PLACE_SHIFT 18
#define LENGTH ((1u << PLACE_SHIFT) - 1)
#define PLACES (1u << 13)
#define MOST_RECORD (sizeof(uint32_t) + sizeof(uint64_t) + 2 * sizeof(uint32_t) + SNAP)

#define SECOND 1000000000u
#define STREAM_BYTES (256 << 10)
#define OUT_BYTES (64 << 10)
#define WINDOW (32 << 10)
#define HISTORY (4 * WINDOW)
#define FLOWS 1024
#define PACKET_HEAD 16 /* of pcap */
#define MOST_PACKET (PACKET_HEAD + SNAP)
#define COMPARED 128 /* bytes of a packet that have a bit each; the last 4 over IPv6 have one together */
#define FLOW_AT (PACKET_HEAD + ETHERNET + 12)	     /* addresses and ports of IPv4 without options */
#define FLOW_AT_IPV6 (PACKET_HEAD + ETHERNET + 28) /* eight bytes of the destination, and ports */
#define LEAST_MATCH 3
#define LONGEST_MATCH (MOST_PACKET + sizeof(uint64_t))
#define PERIOD 8 /* bytes of a number of the payload; see docs/howto/adding-a-client.md */
#define STAMPS 1024
#define STAMPS_AT (PACKET_HEAD + ETHERNET + 20 + 20) /* the first option of TCP over IPv4, and 20 later over IPv6 */

/* Symbols of RFC 1951: those that packets can need. */
#define END_OF_BLOCK 256
#define SYMBOLS 281 /* lengths of at most 162 */
#define DISTANCES 30
#define LONGEST_CODE 12 /* so that four literals can be put together at once */
#define FIRST_BLOCK 512 /* packets */
#define BLOCK 4096
#define OUT_ROOM (4 * MOST_PACKET) /* for a packet and the head of a block */

struct flow {
	uint64_t at; /* of its last packet, from the beginning of the file */
	uint32_t size;
};

struct code {
	uint32_t bits;
	uint32_t count;
};

struct capture {
	int descriptor;
	bool packed;
	int next[2]; /* another capture of what the device sent, received; -1: none */
	uint64_t pkts, bytes;
	uint32_t filled;
	uint8_t out[OUT_BYTES];
	/* if it is packed: bits that wait for a whole byte, and the file as it will be unpacked */
	uint64_t bits;
	unsigned int bit_count;
	uint32_t open, distance; /* the length of a match that may go on in the next packet, or 0 */
	uint32_t left;		 /* packets in this block */
	struct code literal[END_OF_BLOCK + 1], match[LONGEST_MATCH + 1], far[DISTANCES];
	uint32_t symbols[SYMBOLS], distances[DISTANCES]; /* how often they were in this block */
	uint64_t begins, before;			 /* where history and the packet before begin in the file */
	uint32_t end, summed;				 /* in history */
	uint32_t before_size, crc;
	uint64_t stamp[STAMPS]; /* where in the file a timestamp was last */
	struct flow flow[FLOWS];
	uint8_t history[HISTORY + MOST_PACKET + 16];
};

static uint32_t crc_table[256];
static bool has_clmul;
static struct capture **captures;
static int capture_count, first[PLACES];
static uint64_t written, limit;
static const char *wrong;
static uint8_t stream[STREAM_BYTES];

static bool write_all(int descriptor, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	while (count) {
		const ssize_t done = write(descriptor, at, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			wrong = done < 0 ? strerror(errno) : "nothing can be written";
			return false;
		}
		at += done;
		count -= done;
	}
	return true;
}

static bool flush(struct capture *c)
{
	written += c->filled;
	if (written > limit) {
		wrong = "they take more bytes than this run may";
		return false;
	}
	if (!write_all(c->descriptor, c->out, c->filled))
		return false;
	c->filled = 0;
	return true;
}

static void put(struct capture *c, const void *bytes, size_t count)
{
	memcpy(c->out + c->filled, bytes, count);
	c->filled += count;
}

static uint32_t reversed(uint32_t bits, unsigned int count)
{
	uint32_t result = 0;

	for (; count--; bits >>= 1)
		result = result << 1 | (bits & 1);
	return result;
}

/* The symbol of a length (from 257) or distance (from 0): 4 or 2 symbols for each power of two (RFC 1951, 3.2.5). */
static unsigned int symbol_of(uint32_t value, unsigned int each, unsigned int *extra)
{
	const unsigned int power = value < 2 * each ? 0 : 31 - __builtin_clz(value / each);

	*extra = power;
	return power * each + (value >> power);
}

static unsigned int symbol_of_length(uint32_t length, unsigned int *extra)
{
	return END_OF_BLOCK + 1 + symbol_of(length - 3, 4, extra);
}

static unsigned int symbol_of_distance(uint32_t distance, unsigned int *extra)
{
	return symbol_of(distance - 1, 2, extra);
}

/* How long the code of each symbol is, at most LONGEST_CODE, by how often it is; no count is 0. */
static void make_lengths(const uint32_t *counts, unsigned int symbols, uint8_t *lengths)
{
	uint16_t order[SYMBOLS], parent[2 * SYMBOLS], depth[2 * SYMBOLS], of_length[SYMBOLS] = {0};
	uint64_t weight[2 * SYMBOLS];
	unsigned int leaf = 0, node = symbols, total = 0, at;

	for (unsigned int i = 0; i < symbols; i++) { /* no qsort(), which may ask for memory */
		for (at = i; at && counts[order[at - 1]] > counts[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (unsigned int i = 0; i < symbols; i++)
		weight[i] = counts[order[i]];
	for (unsigned int made = symbols; made < 2 * symbols - 1; made++) {
		weight[made] = 0;
		for (int child = 0; child < 2; child++) {
			const unsigned int least = leaf < symbols && (node == made || weight[leaf] <= weight[node]) ? leaf++ : node++;

			weight[made] += weight[least];
			parent[least] = made;
		}
	}
	depth[2 * symbols - 2] = 0;
	for (int i = 2 * (int)symbols - 3; i >= 0; i--) {
		depth[i] = depth[parent[i]] + 1;
		if (i < (int)symbols)
			of_length[depth[i] < LONGEST_CODE ? depth[i] : LONGEST_CODE]++;
	}
	/* where some were too long, there is no room for all: others become longer */
	for (unsigned int length = 1; length <= LONGEST_CODE; length++)
		total += (unsigned int)of_length[length] << (LONGEST_CODE - length);
	for (; total > 1u << LONGEST_CODE; total--) {
		unsigned int length = LONGEST_CODE - 1;

		while (!of_length[length])
			length--;
		of_length[LONGEST_CODE]--;
		of_length[length]--;
		of_length[length + 1] += 2;
	}
	for (unsigned int length = LONGEST_CODE, i = 0; length; length--)
		for (unsigned int more = of_length[length]; more--; i++)
			lengths[order[i]] = length;
}

/* The codes that lengths of codes stand for: RFC 1951, 3.2.2. */
static void make_codes(const uint8_t *lengths, unsigned int symbols, struct code *codes)
{
	uint32_t next[17] = {0}, of_length[16] = {0};

	for (unsigned int i = 0; i < symbols; i++)
		of_length[lengths[i]]++;
	for (unsigned int length = 1; length < 16; length++)
		next[length + 1] = (next[length] + of_length[length]) << 1;
	for (unsigned int i = 0; i < symbols; i++)
		codes[i] = (struct code){reversed(next[lengths[i]]++, lengths[i]), lengths[i]};
}

static void set_codes(struct capture *c, const uint8_t *lengths, unsigned int symbols, const uint8_t *of_distances)
{
	struct code codes[288];

	make_codes(lengths, symbols, codes);
	memcpy(c->literal, codes, sizeof(c->literal));
	for (unsigned int length = LEAST_MATCH; length <= LONGEST_MATCH; length++) {
		unsigned int extra;
		const struct code code = codes[symbol_of_length(length, &extra)];
		const uint32_t rest = (length - 3) & ((1u << extra) - 1);

		c->match[length] = (struct code){code.bits | rest << code.count, code.count + extra};
	}
	make_codes(of_distances, DISTANCES, c->far);
}

static void make_crc_table(void)
{
	for (uint32_t value = 0; value < 256; value++) {
		crc_table[value] = value;
		for (int bit = 0; bit < 8; bit++)
			crc_table[value] = crc_table[value] >> 1 ^ (crc_table[value] & 1 ? 0xedb88320 : 0);
	}
	has_clmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

#define FOLDED 64 /* bytes at once */

/* CRC-32 of `count` bytes, a multiple of FOLDED, by carry-less multiplication: Gopal et al. (Intel 2009), bit-reflected */
__attribute__((target("pclmul,sse4.1"))) static uint32_t folded_crc(uint32_t crc, const uint8_t *at, size_t count)
{
	const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_128 = _mm_set_epi64x(0xccaa009e, 0x1751997d0);
	const __m128i by_64 = _mm_set_epi64x(0, 0x163cd6124), barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
	const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);
	__m128i x[4], part;

	for (int i = 0; i < 4; i++)
		x[i] = _mm_loadu_si128((const __m128i *)at + i);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)crc));
	for (at += FOLDED, count -= FOLDED; count; at += FOLDED, count -= FOLDED)
		for (int i = 0; i < 4; i++) {
			part = _mm_clmulepi64_si128(x[i], by_512, 0x00);
			x[i] = _mm_clmulepi64_si128(x[i], by_512, 0x11);
			x[i] = _mm_xor_si128(_mm_xor_si128(x[i], part), _mm_loadu_si128((const __m128i *)at + i));
		}
	for (int i = 1; i < 4; i++) {
		part = _mm_clmulepi64_si128(x[0], by_128, 0x00);
		x[0] = _mm_clmulepi64_si128(x[0], by_128, 0x11);
		x[0] = _mm_xor_si128(_mm_xor_si128(x[0], part), x[i]);
	}
	part = _mm_clmulepi64_si128(x[0], by_128, 0x10);
	x[0] = _mm_xor_si128(_mm_srli_si128(x[0], 8), part);
	part = _mm_srli_si128(x[0], 4);
	x[0] = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x[0], low), by_64, 0x00), part);
	part = _mm_clmulepi64_si128(_mm_and_si128(x[0], low), barrett, 0x10);
	part = _mm_clmulepi64_si128(_mm_and_si128(part, low), barrett, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x[0], part), 1);
}

/* Sum what has been added to the history since the last time. */
static void sum(struct capture *c)
{
	const uint8_t *at = c->history + c->summed, *end = c->history + c->end;
	const size_t whole = has_clmul ? (end - at) / FOLDED * FOLDED : 0;
	uint32_t crc = ~c->crc;

	if (whole)
		crc = folded_crc(crc, at, whole);
	for (at += whole; at < end; at++)
		crc = crc >> 8 ^ crc_table[(crc ^ *at) & 0xff];
	c->crc = ~crc;
	c->summed = c->end;
}

/* Which of the first 64 bytes are equal, a bit each. */
static uint64_t equal(const uint8_t *one, const uint8_t *other)
{
	uint64_t result = 0;

	for (int at = 0; at < 64; at += 16) {
		const __m128i a = _mm_loadu_si128((const __m128i *)(one + at));
		const __m128i b = _mm_loadu_si128((const __m128i *)(other + at));

		result |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) << at;
	}
	return result;
}

static unsigned __int128 below(uint32_t bit)
{
	return bit ? ~(unsigned __int128)0 >> (COMPARED - bit) : 0;
}

static unsigned int ones(unsigned __int128 mask)
{
	const uint64_t low = ~(uint64_t)mask, high = ~(uint64_t)(mask >> 64);

	return low ? __builtin_ctzll(low) : high ? 64 + __builtin_ctzll(high) : 128;
}

/* The bits of one packet as they are put together, in registers; at most 57 may be added before they are moved on. */
struct writer {
	uint8_t *out;
	uint64_t bits;
	unsigned int count;
};

static inline void add(struct writer *w, uint32_t bits, unsigned int count)
{
	w->bits |= (uint64_t)bits << w->count;
	w->count += count;
}

static inline void move_on(struct writer *w)
{
	memcpy(w->out, &w->bits, sizeof(w->bits));
	w->out += w->count / 8;
	w->bits >>= w->count & ~7u;
	w->count &= 7;
}

static inline void add_literals(struct capture *c, struct writer *w, const uint8_t *at, const uint8_t *end)
{
	for (const uint8_t *each = at; each < end; each++)
		c->symbols[*each]++;
	for (; end - at >= 4; at += 4) {
		for (int i = 0; i < 4; i++)
			add(w, c->literal[at[i]].bits, c->literal[at[i]].count);
		move_on(w);
	}
	for (; at < end; at++)
		add(w, c->literal[*at].bits, c->literal[*at].count);
	move_on(w);
}

static inline void add_match(struct capture *c, struct writer *w, uint32_t length, uint32_t distance)
{
	unsigned int extra, ignored;
	const unsigned int symbol = symbol_of_distance(distance, &extra);

	c->symbols[symbol_of_length(length, &ignored)]++;
	c->distances[symbol]++;
	add(w, c->match[length].bits, c->match[length].count);
	add(w, c->far[symbol].bits, c->far[symbol].count);
	add(w, (distance - 1) & ((1u << extra) - 1), extra);
	move_on(w);
}

static struct writer writer_of(struct capture *c)
{
	return (struct writer){c->out + c->filled, c->bits, c->bit_count};
}

static void keep(struct capture *c, const struct writer *w)
{
	c->filled = w->out - c->out;
	c->bits = w->bits;
	c->bit_count = w->count;
}

static void close_match(struct capture *c, struct writer *w)
{
	if (c->open)
		add_match(c, w, c->open, c->distance);
	c->open = 0;
}

/* Begin a block, the first one with the codes of RFC 1951, 3.2.6, and others with codes by what was counted. */
static void begin_block(struct capture *c)
{
	static const uint8_t sixteen_of_4_bits[19] = {0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
	uint8_t lengths[288], of_distances[DISTANCES];
	struct writer w = writer_of(c);

	if (!c->left && !c->end) {
		for (unsigned int i = 0; i < sizeof(lengths); i++)
			lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
		memset(of_distances, 5, sizeof(of_distances));
		set_codes(c, lengths, sizeof(lengths), of_distances);
		add(&w, 1 << 1, 3);
		c->left = FIRST_BLOCK;
	} else {
		close_match(c, &w);
		add(&w, c->literal[END_OF_BLOCK].bits, c->literal[END_OF_BLOCK].count);
		make_lengths(c->symbols, SYMBOLS, lengths);
		make_lengths(c->distances, DISTANCES, of_distances);
		set_codes(c, lengths, SYMBOLS, of_distances);
		add(&w, 2 << 1 | (SYMBOLS - 257) << 3 | (DISTANCES - 1) << 8 | (sizeof(sixteen_of_4_bits) - 4) << 13, 17);
		move_on(&w);
		for (unsigned int i = 0; i < sizeof(sixteen_of_4_bits); i++, move_on(&w))
			add(&w, sixteen_of_4_bits[i], 3);
		for (unsigned int i = 0; i < SYMBOLS; i++, move_on(&w))
			add(&w, reversed(lengths[i], 4), 4);
		for (unsigned int i = 0; i < DISTANCES; i++, move_on(&w))
			add(&w, reversed(of_distances[i], 4), 4);
		c->left = BLOCK;
	}
	move_on(&w);
	keep(c, &w);
	/* what was not there may come */
	for (unsigned int i = 0; i < SYMBOLS; i++)
		c->symbols[i] = 1;
	for (unsigned int i = 0; i < DISTANCES; i++)
		c->distances[i] = 1;
}

static const uint8_t *bytes_at(const struct capture *c, uint64_t place)
{
	return c->history + (place - c->begins);
}

static bool is_ipv6(const uint8_t *packet)
{
	return packet[PACKET_HEAD + 12] == 0x86 && packet[PACKET_HEAD + 13] == 0xdd;
}

/* Where the timestamps of a packet of TCP are if they are its first option, as Linux has it, or 0. */
static inline uint32_t stamps(const uint8_t *packet, uint32_t size)
{
	static const uint8_t option[] = {1, 1, 8, 10};
	const uint32_t at = STAMPS_AT + (is_ipv6(packet) ? 20 : 0);

	return size >= at + sizeof(option) + 8 && !memcmp(packet + at, option, sizeof(option)) ? at + sizeof(option) : 0;
}

/* Where it is kept where a timestamp was last. */
static inline uint64_t *slot_of(struct capture *c, const uint8_t *timestamp)
{
	uint32_t value;

	memcpy(&value, timestamp, sizeof(value));
	return &c->stamp[value * 0x9e3779b1u >> 22];
}

/* Pack the last `size` bytes of the history as literals and references to what lies at `like`. */
static void pack(struct capture *c, uint32_t size, const uint8_t *like, uint32_t like_size)
{
	const uint8_t *packet = c->history + c->end - size;
	const uint32_t end = size < COMPARED ? size : COMPARED, both = end < like_size ? end : like_size;
	const uint32_t sent = stamps(packet, size);
	const uint64_t place = c->begins + c->end - size;
	const unsigned __int128 equals = (equal(packet, like) | (unsigned __int128)equal(packet + 64, like + 64) << 64) &
					 below(both);
	const unsigned __int128 repeats = ((unsigned __int128)equal(packet + 64, packet + 64 - PERIOD) << 64) &
					  below(end);
	struct writer w = writer_of(c);
	uint32_t back = 0, echo = end, at = 0, literals_from;

	if (sent) {
		const uint64_t last = *slot_of(c, packet + sent + 4), from = place + sent + 4;

		if ((~(uint32_t)(equals >> (sent + 4)) & 0xf) && last && from - last <= WINDOW &&
		    !memcmp(bytes_at(c, last), packet + sent + 4, 4)) {
			echo = sent + 4;
			back = from - last;
		}
		*slot_of(c, packet + sent) = place + sent;
	}
	if (c->open) {
		uint64_t here, there;

		memcpy(&here, packet, sizeof(here));
		memcpy(&there, packet - c->distance, sizeof(there));
		at = here == there ? 8 : __builtin_ctzll(here ^ there) / 8;
		c->open += at;
		close_match(c, &w);
	}
	for (literals_from = at; at < end;) {
		const uint32_t until = at < echo ? echo : end;
		const uint32_t same = ones(equals >> at), repeated = at < 64 ? 0 : ones(repeats >> at);
		const uint32_t longer = same < repeated ? repeated : same, length = longer < until - at ? longer : until - at;

		if (length >= LEAST_MATCH || at == echo) {
			close_match(c, &w);
			add_literals(c, &w, packet + literals_from, packet + at);
			c->open = at == echo ? 4 : length;
			c->distance = at == echo ? back : same < repeated ? PERIOD : (uint32_t)(packet - like);
			at += c->open;
			literals_from = at;
		} else {
			at += at < 64 && length < until - at ? length + 1 : 1; /* the one behind those that are equal differs */
		}
	}
	if (end < size && c->open && literals_from == end && c->distance == packet - like && size <= like_size &&
	    !memcmp(packet + end, like + end, size - end)) {
		c->open += size - end;
	} else if (literals_from < size) {
		close_match(c, &w);
		add_literals(c, &w, packet + literals_from, packet + size);
	}
	keep(c, &w);
}

static bool append_packed(struct capture *c, const uint32_t *head, const uint8_t *bytes, uint32_t held)
{
	const uint32_t size = PACKET_HEAD + held;
	uint64_t place, key[2];
	struct flow *flow, like;

	if (c->end + size > HISTORY) {
		sum(c);
		memmove(c->history, c->history + c->end - WINDOW, WINDOW);
		c->begins += c->end - WINDOW;
		c->end = c->summed = WINDOW;
	}
	memcpy(c->history + c->end, head, PACKET_HEAD);
	memcpy(c->history + c->end + PACKET_HEAD, bytes, held);
	place = c->begins + c->end;
	c->end += size;
	memcpy(key, bytes_at(c, place) + (is_ipv6(bytes_at(c, place)) ? FLOW_AT_IPV6 : FLOW_AT), sizeof(key));
	key[1] = key[1] << 32 | held; /* ports, length */
	flow = &c->flow[(key[0] * 0x9e3779b97f4a7c15 ^ key[1] * 0xc2b2ae3d27d4eb4f) >> 54];
	like = flow->size && place - flow->at <= WINDOW ? *flow : (struct flow){c->before, c->before_size};
	pack(c, size, bytes_at(c, like.at), like.size);
	*flow = (struct flow){place, size};
	c->before = place;
	c->before_size = size;
	if (!--c->left)
		begin_block(c);
	return c->filled < OUT_BYTES - OUT_ROOM || flush(c);
}

static bool append_plain(struct capture *c, const uint32_t *head, const uint8_t *bytes, uint32_t held)
{
	put(c, head, PACKET_HEAD);
	put(c, bytes, held);
	return c->filled < OUT_BYTES - MOST_PACKET || flush(c);
}

static void begin(struct capture *c)
{
	static const uint32_t head[] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, SNAP, 1};
	static const uint8_t packed_head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255};

	if (!c->packed) {
		put(c, head, sizeof(head));
		return;
	}
	put(c, packed_head, sizeof(packed_head));
	begin_block(c);
	memcpy(c->history, head, sizeof(head));
	c->end = sizeof(head);
	pack(c, sizeof(head), c->history, 0);
	c->before_size = sizeof(head);
}

static bool end(struct capture *c)
{
	if (c->packed) {
		const uint32_t length = c->begins + c->end;
		struct writer w = writer_of(c);

		sum(c);
		close_match(c, &w);
		add(&w, c->literal[END_OF_BLOCK].bits, c->literal[END_OF_BLOCK].count);
		add(&w, 1 | 1 << 1, 3 + 7); /* a last block with nothing in it */
		add(&w, 0, -w.count & 7);
		move_on(&w);
		keep(c, &w);
		put(c, &c->crc, sizeof(c->crc));
		put(c, &length, sizeof(length));
	}
	return flush(c);
}

/* How many bytes of a packet the recorder keeps. */
static uint32_t held_of(const uint8_t *packet, uint32_t length)
{
	const uint32_t snap = length > ETHERNET && packet[12] == 0x08 && !packet[13] ? SNAP_IPV4 : SNAP;

	return length < snap ? length : snap;
}

/* Follow the stream to its end, or until something is wrong; returns the instant of the last packet. */
static uint64_t follow(void)
{
	uint8_t saved[SNAP];
	const uint8_t *last = NULL;
	uint32_t head[PACKET_HEAD / sizeof(uint32_t)] = {0}; /* seconds, ns, held bytes, length */
	uint32_t last_length = 0, held = 0;
	size_t have = 0, at = 0;
	bool begun = false, any = false;

	for (;;) {
		ssize_t got;

		if (last)
			last = memcpy(saved, last, held);
		have -= at;
		memmove(stream, stream + at, have);
		at = 0;
		got = read(0, stream + have, sizeof(stream) - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += got;
		if (!begun) {
			static const uint32_t numbers[] = {VERSION, SNAP};

			if (have < sizeof(MAGIC) + sizeof(numbers))
				continue;
			if (memcmp(stream, MAGIC, sizeof(MAGIC)) || memcmp(stream + sizeof(MAGIC), numbers, sizeof(numbers))) {
				wrong = "its recorder speaks another language";
				break;
			}
			at = sizeof(MAGIC) + sizeof(numbers);
			begun = true;
		}
		while (have - at >= 2 * sizeof(uint32_t)) {
			const uint8_t *record = stream + at;
			uint32_t since, what, length, received;

			memcpy(&since, record, sizeof(since));
			record += sizeof(since);
			if (since == LONG) {
				uint64_t instant;

				if (have - at < MOST_RECORD - SNAP)
					break;
				memcpy(&instant, record, sizeof(instant));
				record += sizeof(instant);
				if (instant / SECOND > UINT32_MAX) {
					wrong = "found an instant after 2106";
					return 0;
				}
				head[0] = instant / SECOND;
				head[1] = instant % SECOND;
				at = record - stream;
				continue;
			}
			memcpy(&what, record, sizeof(what));
			record += sizeof(what);
			length = what & LENGTH;
			if (what & SAME) {
				if (!last || length != last_length) {
					wrong = "found a packet that is like none";
					break;
				}
			} else {
				const size_t follows = stream + have - record;

				if (follows < length && (follows < ETHERNET || follows < held_of(record, length)))
					break;
				last = record;
				last_length = length;
				held = held_of(record, length);
				record += held;
			}
			for (head[1] += since % SECOND, head[0] += since / SECOND; head[1] >= SECOND; head[1] -= SECOND)
				head[0]++;
			any = true;
			head[2] = held;
			head[3] = length;
			at = record - stream;
			received = what >> PLACE_SHIFT & 1;
			for (int i = first[what >> PLACE_SHIFT & (PLACES - 1)]; i >= 0; i = captures[i]->next[received]) {
				struct capture *c = captures[i];

				c->pkts++;
				c->bytes += length;
				if (!(c->packed ? append_packed(c, head, last, held) : append_plain(c, head, last, held)))
					break;
			}
			if (wrong)
				break;
		}
		if (wrong)
			break;
	}
	return any ? (uint64_t)head[0] * SECOND + head[1] : 0;
}

static void __attribute__((noreturn)) usage(const char *word)
{
	fprintf(stderr, "recording: found %s; usage: recording LIMIT FD:DEVICE:DIRECTIONS:pcap|gz...\n", word);
	exit(125);
}

static void open_capture(const char *word)
{
	struct capture *c = calloc(1, sizeof(*c));
	unsigned int device, directions;
	char form[5];

	if (!c || sscanf(word, "%d:%u:%u:%4s", &c->descriptor, &device, &directions, form) != 4 ||
	    device >= PLACES / 2 || directions < 1 || directions > 3)
		usage(word);
	c->packed = !strcmp(form, "gz");
	c->next[0] = c->next[1] = -1;
	captures[capture_count] = c;
	for (unsigned int received = 0; received < 2; received++)
		if (directions >> received & 1) {
			int *link = &first[2 * device + received];

			while (*link >= 0)
				link = &captures[*link]->next[received];
			*link = capture_count;
		}
	capture_count++;
	begin(c);
}

/* A filter, because strict mode is refused where there is one already, as in most containers. */
static bool give_up_calls(void)
{
	static const struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog filter = {sizeof(steps) / sizeof(*steps), (struct sock_filter *)steps};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void confine(void)
{
	const struct rlimit bytes = {limit, limit}, none = {0, 0};

	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails */
	if (setrlimit(RLIMIT_FSIZE, &bytes) || setrlimit(RLIMIT_CORE, &none) || !give_up_calls()) {
		fprintf(stderr, "recording: %s\n", strerror(errno));
		exit(125);
	}
}

int main(int argc, char **argv)
{
	char line[128];
	uint64_t last_ns;

	if (argc < 3)
		usage("too few words");
	limit = strtoull(argv[1], NULL, 10);
	captures = calloc(argc, sizeof(*captures));
	if (!captures)
		usage("no memory");
	memset(first, -1, sizeof(first));
	make_crc_table();
	for (int i = 2; i < argc; i++)
		open_capture(argv[i]);
	confine();
	last_ns = follow();
	for (int i = 0; i < capture_count; i++) {
		/* one that cannot be written leaves the others whole */
		end(captures[i]);
		snprintf(line, sizeof(line), "%llu %llu\n", (unsigned long long)captures[i]->pkts,
			 (unsigned long long)captures[i]->bytes);
		write_all(1, line, strlen(line));
	}
	snprintf(line, sizeof(line), "%llu %s\n", (unsigned long long)last_ns, wrong ? wrong : "");
	write_all(1, line, strlen(line));
	syscall(SYS_exit, 0);
}
