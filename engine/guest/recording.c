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
 * distance, and what is not becomes literals. That takes a tenth of zlib's time, for as many bytes as its fastest level.
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
#define SNAP 96
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
#define FLOW_AT (14 + 12) /* addresses and ports of IPv4 without options */
#define LEAST_MATCH 4     /* three literals are shorter */
#define LONGEST_MATCH 258

struct flow {
	uint64_t at; /* of its last packet, from the beginning of the file */
	uint32_t size;
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
	uint64_t begins, before; /* where history and the packet before begin in the file */
	uint32_t end, summed;    /* in history */
	uint32_t before_size, crc;
	struct flow flow[FLOWS];
	uint8_t history[HISTORY + MOST_PACKET + 16];
};

struct code {
	uint32_t bits;
	uint32_t count;
};

static struct code literal[256], match[LONGEST_MATCH + 1];
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

/* The codes of RFC 1951, 3.2.5 and 3.2.6: length 258 is a code of its own, the others double their range every four. */
static void make_codes(void)
{
	for (unsigned int value = 0; value < 256; value++)
		literal[value] = value < 144 ? (struct code){reversed(0x30 + value, 8), 8} :
					       (struct code){reversed(0x190 + value - 144, 9), 9};
	for (unsigned int length = 3, code = 257, extra = 0; length < LONGEST_MATCH; code++) {
		extra = code < 265 ? 0 : (code - 261) / 4;
		for (unsigned int more = 0; more < 1u << extra && length < LONGEST_MATCH; more++, length++) {
			const unsigned int count = code < 280 ? 7 : 8;
			const uint32_t bits = code < 280 ? code - 256 : 0xc0 + code - 280;

			match[length] = (struct code){reversed(bits, count) | more << count, count + extra};
		}
	}
	match[LONGEST_MATCH] = (struct code){reversed(0xc0 + 285 - 280, 8), 8};
}

static struct code of_distance(uint32_t distance)
{
	const uint32_t from = distance - 1;
	unsigned int extra, code;

	if (from < 4)
		return (struct code){reversed(from, 5), 5};
	extra = 30 - __builtin_clz(from);
	code = 2 * extra + 2 + (from >> extra & 1);
	return (struct code){reversed(code, 5) | (from & ((1u << extra) - 1)) << 5, 5 + extra};
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

static inline void add_literals(struct writer *w, const uint8_t *at, const uint8_t *end)
{
	for (; end - at >= 4; at += 4) {
		for (int i = 0; i < 4; i++)
			add(w, literal[at[i]].bits, literal[at[i]].count);
		move_on(w);
	}
	for (; at < end; at++)
		add(w, literal[*at].bits, literal[*at].count);
	move_on(w);
}

/* Pack the last `size` bytes of the history as literals and references to what lies at `like`. */
static void pack(struct capture *c, uint32_t size, const uint8_t *like, uint32_t like_size)
{
	const uint8_t *packet = c->history + c->end - size;
	const struct code distance = of_distance(packet - like);
	const uint32_t both = size < like_size ? size : like_size;
	unsigned __int128 mask = equal(packet, like) | (unsigned __int128)equal(packet + 64, like + 64) << 64;
	struct writer w = {c->out + c->filled, c->bits, c->bit_count};
	unsigned int at = 0, literals_from = 0;

	mask &= ((unsigned __int128)1 << both) - 1;
	while (at < both) {
		const unsigned int same = ones(mask >> at);

		if (same >= LEAST_MATCH) {
			add_literals(&w, packet + literals_from, packet + at);
			add(&w, match[same].bits, match[same].count);
			add(&w, distance.bits, distance.count);
			move_on(&w);
			at += same;
			literals_from = at;
		} else {
			at += same + 1; /* the one behind these differs */
		}
	}
	add_literals(&w, packet + literals_from, packet + size);
	c->filled = w.out - c->out;
	c->bits = w.bits;
	c->bit_count = w.count;
}

static bool append_packed(struct capture *c, const uint32_t *head, const uint8_t *bytes, uint32_t held)
{
	const uint32_t size = PACKET_HEAD + held;
	uint64_t place, key[2];
	struct flow *flow;

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
	memcpy(key, c->history + place - c->begins + PACKET_HEAD + FLOW_AT, sizeof(key));
	key[1] = key[1] << 32 | held; /* ports, length */
	flow = &c->flow[(key[0] * 0x9e3779b97f4a7c15 ^ key[1] * 0xc2b2ae3d27d4eb4f) >> 54];
	if (flow->size && place - flow->at <= WINDOW)
		pack(c, size, c->history + flow->at - c->begins, flow->size);
	else
		pack(c, size, c->history + c->before - c->begins, c->before_size);
	*flow = (struct flow){place, size};
	c->before = place;
	c->before_size = size;
	return c->filled < OUT_BYTES - 2 * MOST_PACKET || flush(c);
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
	c->bits = 3; /* one block, the last one, with fixed codes */
	c->bit_count = 3;
	memcpy(c->history, head, sizeof(head));
	c->end = sizeof(head);
	pack(c, sizeof(head), c->history, 0);
	c->before_size = sizeof(head);
}

static bool end(struct capture *c)
{
	if (c->packed) {
		const uint32_t length = c->begins + c->end;

		sum(c);
		put(c, &c->bits, (c->bit_count + 7 + 7) / 8); /* with 7 bits 0, the end of the block */
		put(c, &c->crc, sizeof(c->crc));
		put(c, &length, sizeof(length));
	}
	return flush(c);
}

/* Follow the stream to its end, or until something is wrong; returns the instant of the last packet. */
static uint64_t follow(void)
{
	uint8_t saved[SNAP];
	const uint8_t *last = NULL;
	uint32_t last_length = 0, head[PACKET_HEAD / sizeof(uint32_t)] = {0}; /* seconds, ns, held bytes, length */
	size_t have = 0, at = 0;
	bool begun = false, any = false;

	for (;;) {
		ssize_t got;

		if (last)
			last = memcpy(saved, last, SNAP);
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
			uint32_t since, what, length, held, received;

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
			held = length < SNAP ? length : SNAP;
			if (what & SAME) {
				if (!last || length != last_length) {
					wrong = "found a packet that is like none";
					break;
				}
			} else {
				if ((size_t)(stream + have - record) < held)
					break;
				last = record;
				last_length = length;
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
	make_codes();
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
