// SPDX-License-Identifier: MIT
/*
 * Asks questions as a resolver's client does: each from a UDP port of its own, at an instant that depends on no other
 * answer (gaps are exponential). A question without an answer is asked again after 5 s, as resolv.conf(5) has it, until
 * there is one. The sender asks; the receiver answers each question at once.
 *
 * A question of 40 bytes is a part of the payload that all senders share; the receiver counts it once.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define NOT_SUPPORTED 127
#define AGAIN_NS (5 * NS)
#define QUESTION_WORDS 5
#define QUESTION_BYTES (8 * QUESTION_WORDS)
#define ANSWER_BYTES 120
#define MOST_OPEN 4000
#define FIRST_PORT 20000

struct question {
	uint64_t offset, bytes;	/* of the payload */
	long long again_ns;
};

static struct question questions[MOST_OPEN];
static struct pollfd polled[MOST_OPEN];
static int open_count;
static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void fill(uint64_t *payload, uint64_t offset)
{
	for (int i = 0; i < QUESTION_WORDS; i++)
		payload[i] = htobe64(offset / 8 + i);
}

/* A number in (0, 1]; SplitMix64. */
static double drawn(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return ((mixed ^ mixed >> 31) >> 11) * 0x1p-53 + 0x1p-53;
}

static long long since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * NS + now.tv_nsec - start->tv_nsec;
}

static void ask(int index, long long now_ns)
{
	uint64_t payload[QUESTION_WORDS];

	fill(payload, questions[index].offset);
	if (send(polled[index].fd, payload, questions[index].bytes, 0) < 0)
		fail("send");
	questions[index].again_ns = now_ns + AGAIN_NS;
}

/* Ports in turn, so that captures tell questions apart. */
static void bind_next(int fd)
{
	static struct sockaddr_in own = { .sin_family = AF_INET };
	static int port = FIRST_PORT;

	do {
		own.sin_port = htons(port);
		port = port == UINT16_MAX ? FIRST_PORT : port + 1;
	} while (bind(fd, (const struct sockaddr *)&own, sizeof(own)));
}

static void open_one(const struct sockaddr_in *peer, uint64_t offset, uint64_t bytes, long long now_ns)
{
	int fd;

	if (open_count == MOST_OPEN) {
		fprintf(stderr, "%d questions have no answer: the path cannot carry this load\n", MOST_OPEN);
		exit(1);
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		fail("socket");
	bind_next(fd);
	if (connect(fd, (const struct sockaddr *)peer, sizeof(*peer)))
		fail("connect");
	questions[open_count] = (struct question){ .offset = offset, .bytes = bytes };
	polled[open_count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	ask(open_count++, now_ns);
}

static void forget(int index)
{
	close(polled[index].fd);
	open_count--;
	polled[index] = polled[open_count];
	questions[index] = questions[open_count];
}

static void ask_all(const struct sockaddr_in *peer, double gap_ns, uint64_t seed, uint64_t total)
{
	struct timespec start, wait;
	uint64_t given = 0, bytes;
	long long now_ns, until_ns;
	double next_ns = 0;	/* the first question at once: whoever waits for the flow sees it */
	char answer[ANSWER_BYTES];

	/* by default, Linux may delay a wake-up by 50 us to combine it with others */
	if (prctl(PR_SET_TIMERSLACK, 1L))
		fail("PR_SET_TIMERSLACK");
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (given < total || open_count) {
		now_ns = since(&start);
		if (given < total && next_ns <= now_ns) {
			bytes = total - given < QUESTION_BYTES ? total - given : QUESTION_BYTES;
			open_one(peer, given, bytes, now_ns);
			given += bytes;
			next_ns += -log(drawn(&seed)) * gap_ns;
			continue;
		}
		until_ns = given < total ? (long long)ceil(next_ns) : INT64_MAX;
		for (int i = 0; i < open_count; i++) {
			if (questions[i].again_ns <= now_ns)
				ask(i, now_ns);
			if (questions[i].again_ns < until_ns)
				until_ns = questions[i].again_ns;
		}
		until_ns -= now_ns;
		wait = (struct timespec){ until_ns / NS, until_ns % NS };
		if (ppoll(polled, open_count, &wait, NULL) < 0)
			fail("poll");
		for (int i = open_count - 1; i >= 0; i--)
			if (polled[i].revents && recv(polled[i].fd, answer, sizeof(answer), 0) > 0)
				forget(i);
	}
}

/* Returns whether the question number `number` is new. */
static bool remember(uint64_t number)
{
	static uint8_t *known;
	static uint64_t room;
	uint64_t more;
	bool is_new;

	if (number / 8 >= room) {
		more = 2 * room + number / 8 + 4096;
		known = realloc(known, more);
		if (!known)
			fail("realloc");
		memset(known + room, 0, more - room);
		room = more;
	}
	is_new = !(known[number / 8] & 1 << number % 8);
	known[number / 8] |= 1 << number % 8;
	return is_new;
}

static void answer_all(struct sockaddr_in *own, uint64_t total)
{
	const char *payload = getenv("PAYLOAD");
	const int file = payload ? open(payload, O_WRONLY | O_CREAT, 0644) : -1;
	const int udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd readable = { .fd = udp, .events = POLLIN };
	uint64_t question[QUESTION_WORDS + 1], expected[QUESTION_WORDS], received = 0, offset;
	struct sockaddr_in asker;
	socklen_t length;
	sigset_t blocked, open_to_all;
	char answer[ANSWER_BYTES] = { 0 };
	ssize_t got;
	char path[4096];
	FILE *log;

	/* SIGTERM is delivered only while waiting, so that none is missed */
	sigemptyset(&open_to_all);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGTERM, end);
	own->sin_addr.s_addr = htonl(INADDR_ANY);
	if (bind(udp, (const struct sockaddr *)own, sizeof(*own)))
		fail("bind");
	while (!ended && received < total) {
		if (ppoll(&readable, 1, NULL, &open_to_all) < 0)
			continue;
		length = sizeof(asker);
		got = recvfrom(udp, question, sizeof(question), 0, (struct sockaddr *)&asker, &length);
		if (got < 0)
			fail("recvfrom");
		offset = be64toh(question[0]) * 8;
		fill(expected, offset);
		if (got < 8 || got > QUESTION_BYTES || offset % QUESTION_BYTES || memcmp(question, expected, got)) {
			fprintf(stderr, "wrong bytes after offset %llu\n", (unsigned long long)offset);
			exit(1);
		}
		if (remember(offset / QUESTION_BYTES)) {
			received += got;
			if (file >= 0 && pwrite(file, question, got, offset) != got)
				fail(payload);
		}
		if (sendto(udp, answer, sizeof(answer), 0, (struct sockaddr *)&asker, length) < 0)
			fail("sendto");
	}
	snprintf(path, sizeof(path), "%s/received_bytes", getenv("LOGDIR"));
	log = fopen(path, "w");
	if (!log || fprintf(log, "%llu\n", (unsigned long long)received) < 0 || fclose(log))
		fail(path);
}

/* `{"gap_ns": 1000000}` and nothing else. */
static double gap_of(const char *params)
{
	double gap_ns;
	int end = 0;

	if (sscanf(params, " { \"gap_ns\" : %lf } %n", &gap_ns, &end) != 1 || !end || params[end] || gap_ns <= 0)
		exit(NOT_SUPPORTED);
	return gap_ns;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *bytes = getenv("BYTES");
	double gap_ns;
	uint64_t total;

	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("1");
		return 0;
	}
	gap_ns = gap_of(getenv("PARAMS"));
	total = bytes ? strtoull(bytes, NULL, 10) : UINT64_MAX;
	address.sin_port = htons(atoi(getenv("PORT")));
	inet_pton(AF_INET, getenv("PEER"), &address.sin_addr);
	if (!strcmp(getenv("ROLE"), "sender"))
		ask_all(&address, gap_ns, strtoull(getenv("SEED"), NULL, 10) << 16 | atoi(getenv("PORT")), total);
	else if (!strcmp(getenv("ROLE"), "receiver"))
		answer_all(&address, total);
	else
		return NOT_SUPPORTED;
	return 0;
}
