// SPDX-License-Identifier: MIT
/*
 * Asks questions as a resolver's client does: each from a UDP port of its own, at an instant that depends on no other
 * answer (gaps are exponential). A question without an answer is asked again after 5 s, as resolv.conf(5) has it, until
 * there is one. The sender asks; the receiver answers each question at once.
 *
 * A question of 40 bytes is a part of the payload that all senders share; the receiver counts it once.
 */
#define _GNU_SOURCE
#include <math.h>

#include "traffic.h"

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

static void ask(int index, long long now_ns)
{
	uint64_t question[QUESTION_WORDS];

	fill(question, questions[index].offset / 8, QUESTION_WORDS);
	if (send(polled[index].fd, question, questions[index].bytes, 0) < 0)
		fail("send");
	questions[index].again_ns = now_ns + AGAIN_NS;
}

/* Ports in turn, so that captures tell questions apart. */
static void bind_next(int fd)
{
	static int port = FIRST_PORT;
	struct place own = address(NULL);

	do {
		*(own.any.sa_family == AF_INET6 ? &own.six.sin6_port : &own.four.sin_port) = htons(port);
		port = port == UINT16_MAX ? FIRST_PORT : port + 1;
	} while (bind(fd, &own.any, own.length));
}

static void open_one(uint64_t offset, uint64_t bytes, long long now_ns)
{
	int fd;

	if (open_count == MOST_OPEN) {
		fprintf(stderr, "%d questions have no answer: the path cannot carry this load\n", MOST_OPEN);
		exit(1);
	}
	fd = opened(SOCK_DGRAM);
	bind_next(fd);
	connect_to_peer(fd);
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

static void ask_all(double gap_ns, uint64_t total)
{
	uint64_t given = 0, bytes, state = seed();
	int64_t start_ns;
	long long now_ns, until_ns;
	struct timespec wait;
	double next_ns = 0;	/* the first question at once: whoever waits for the flow sees it */
	char answer[ANSWER_BYTES];

	wake_on_time();
	start_ns = clock_ns(CLOCK_MONOTONIC);
	while (given < total || open_count) {
		now_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
		if (given < total && next_ns <= now_ns) {
			bytes = total - given < QUESTION_BYTES ? total - given : QUESTION_BYTES;
			open_one(given, bytes, now_ns);
			given += bytes;
			next_ns += -log(drawn(&state)) * gap_ns;
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

static void answer_all(uint64_t total)
{
	const int udp = opened(SOCK_DGRAM);
	struct pollfd readable = { .fd = udp, .events = POLLIN };
	uint64_t question[QUESTION_WORDS + 1], right[QUESTION_WORDS], offset;
	struct place asker;
	char answer[ANSWER_BYTES] = { 0 };
	ssize_t got;

	begin_to_receive();
	bind_to_port(udp);
	while (!ended && received < total) {
		if (ppoll(&readable, 1, NULL, &open_to_all) < 0)
			continue;
		asker.length = sizeof(asker.six);
		got = recvfrom(udp, question, sizeof(question), 0, &asker.any, &asker.length);
		if (got < 0)
			fail("recvfrom");
		offset = be64toh(question[0]) * 8;
		fill(right, offset / 8, QUESTION_WORDS);
		check(got >= 8 && got <= QUESTION_BYTES && offset % QUESTION_BYTES == 0 && !memcmp(question, right, got), offset);
		if (remember(offset / QUESTION_BYTES))
			keep(question, got, offset);
		if (sendto(udp, answer, sizeof(answer), 0, &asker.any, asker.length) < 0)
			fail("sendto");
	}
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
	double gap_ns;

	begin(argc, argv);
	gap_ns = gap_of(told("PARAMS"));
	if (is_receiver())
		answer_all(length_of_transfer());
	else
		ask_all(gap_ns, length_of_transfer());
	leave(0);
}
