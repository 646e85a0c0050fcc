// SPDX-License-Identifier: MIT
/*
 * Sends objects as a web server does that answers many readers: each over a TCP connection of its own, opened at an
 * instant that depends on no other object. Gaps are exponential, sizes have a Pareto distribution with tail index 1.2
 * that ends at RATIO times the smallest (Crovella and Bestavros, IEEE/ACM ToN 5(6), 1997, found 1.0 to 1.3).
 *
 * The receiver closes a connection when it has the whole object. Objects are successive parts of the payload that all
 * senders share, so the first number of a connection tells which part it has.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
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
#define TAIL 1.2
#define RATIO 1000.0
#define MOST_OPEN 4000
#define CHUNK_WORDS 2048
#define CHUNK_BYTES (8 * CHUNK_WORDS)

struct object {
	uint64_t offset, end;	/* of the payload; a receiver learns them from what comes */
};

static struct object objects[MOST_OPEN + 1];
static struct pollfd polled[MOST_OPEN + 1];
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

/* `words` numbers of the payload from the `first` on. */
static void fill(uint64_t *payload, uint64_t first, int words)
{
	for (int i = 0; i < words; i++)
		payload[i] = htobe64(first + i);
}

/* A number in (0, 1]; SplitMix64. */
static double drawn(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return ((mixed ^ mixed >> 31) >> 11) * 0x1p-53 + 0x1p-53;
}

static double gap_ns(uint64_t *state, double mean_ns)
{
	return -log(drawn(state)) * mean_ns;
}

/* Whole numbers of the payload, so that each object begins with one. */
static uint64_t size_bytes(uint64_t *state, double mean_bytes)
{
	const double smallest = mean_bytes * (TAIL - 1) / TAIL * (1 - pow(RATIO, -TAIL)) / (1 - pow(RATIO, 1 - TAIL));
	const double size = smallest * pow(1 - (1 - drawn(state)) * (1 - pow(RATIO, -TAIL)), -1 / TAIL);

	return (uint64_t)ceil(size / 8) * 8;
}

static void forget(int index)
{
	close(polled[index].fd);
	open_count--;
	polled[index] = polled[open_count];
	objects[index] = objects[open_count];
}

static void connect_one(const struct sockaddr_in *peer, struct object object)
{
	/* who ends the flow resets what is open, so that nothing left in a send buffer follows */
	const struct linger at_once = { .l_onoff = 1 };
	int fd;

	if (open_count == MOST_OPEN) {
		fprintf(stderr, "%d objects are under way: the path cannot carry this load\n", MOST_OPEN);
		exit(1);
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)))
		fail("socket");
	if (connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) && errno != EINPROGRESS)
		fail("connect");
	objects[open_count] = object;
	polled[open_count++] = (struct pollfd){ .fd = fd, .events = POLLOUT };
}

/* Returns whether the object has arrived. */
static bool push(struct pollfd *one, struct object *object)
{
	static uint64_t payload[CHUNK_WORDS + 1];
	uint64_t rest, skipped;
	ssize_t sent;
	char byte;

	if (object->offset == object->end) {
		if (recv(one->fd, &byte, 1, 0))
			fail("the receiver does not close a connection");
		return true;
	}
	skipped = object->offset % 8;
	fill(payload, object->offset / 8, CHUNK_WORDS + 1);
	rest = object->end - object->offset;
	sent = send(one->fd, (char *)payload + skipped, rest < CHUNK_BYTES ? rest : CHUNK_BYTES, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN)
		fail("send");
	object->offset += sent > 0 ? sent : 0;
	if (object->offset == object->end) {
		if (shutdown(one->fd, SHUT_WR))
			fail("shutdown");
		one->events = POLLIN;
	}
	return false;
}

static void send_all(const struct sockaddr_in *peer, double load_bps, double mean_bytes, uint64_t seed, uint64_t total)
{
	const double mean_ns = 8 * mean_bytes / load_bps * NS;
	struct timespec start, now, wait;
	uint64_t given = 0, bytes;
	double next_ns = 0;	/* the first object at once: whoever waits for the flow sees it */
	long long left_ns;

	/* by default, Linux may delay a wake-up by 50 us to combine it with others */
	if (prctl(PR_SET_TIMERSLACK, 1L))
		fail("PR_SET_TIMERSLACK");
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (given < total || open_count) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		left_ns = (long long)next_ns - ((now.tv_sec - start.tv_sec) * NS + now.tv_nsec - start.tv_nsec);
		if (given < total && left_ns <= 0) {
			bytes = size_bytes(&seed, mean_bytes);
			/* no object is shorter than the number that it begins with */
			bytes = given + bytes + 8 < total ? bytes : total - given;
			connect_one(peer, (struct object){ given, given + bytes });
			given += bytes;
			next_ns += gap_ns(&seed, mean_ns);
			continue;
		}
		wait = (struct timespec){ left_ns / NS, left_ns % NS };
		if (ppoll(polled, open_count, given < total ? &wait : NULL, NULL) < 0)
			fail("poll");
		for (int i = open_count - 1; i >= 0; i--)
			if (polled[i].revents && push(&polled[i], &objects[i]))
				forget(i);
	}
}

/* Returns the number of bytes that came; 0: the connection is at its end. */
static uint64_t take(int fd, struct object *object, int file)
{
	static char payload[CHUNK_BYTES];
	static uint64_t expected[CHUNK_WORDS + 2];
	ssize_t got = recv(fd, payload, sizeof(payload), 0);

	if (got <= 0) {
		if (got < 0 && errno != ECONNRESET)
			fail("recv");
		return 0;
	}
	if (!object->end)
		object->offset = got < 8 ? 0 : be64toh(*(uint64_t *)payload) * 8;
	fill(expected, object->offset / 8, CHUNK_WORDS + 2);
	if (memcmp(payload, (char *)expected + object->offset % 8, got)) {
		fprintf(stderr, "wrong bytes after offset %llu\n", (unsigned long long)object->offset);
		exit(1);
	}
	if (file >= 0 && pwrite(file, payload, got, object->offset) != got)
		fail("payload");
	object->offset += got;
	object->end = object->offset;
	return got;
}

static void receive_all(struct sockaddr_in *own, uint64_t total)
{
	const char *payload = getenv("PAYLOAD");
	const int file = payload ? open(payload, O_WRONLY | O_CREAT, 0644) : -1;
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
	uint64_t received = 0, got;
	sigset_t blocked, open_to_all;
	char path[4096];
	FILE *log;
	int fd;

	/* SIGTERM is delivered only while waiting, so that none is missed */
	sigemptyset(&open_to_all);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGTERM, end);
	own->sin_addr.s_addr = htonl(INADDR_ANY);
	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(listener, (const struct sockaddr *)own, sizeof(*own)) || listen(listener, MOST_OPEN))
		fail("listen");
	polled[open_count++] = (struct pollfd){ .fd = listener, .events = POLLIN };
	while (!ended && (received < total || open_count > 1)) {
		if (ppoll(polled, open_count, NULL, &open_to_all) < 0)
			continue;
		for (int i = open_count - 1; i > 0; i--) {
			if (!polled[i].revents)
				continue;
			got = take(polled[i].fd, &objects[i], file);
			received += got;
			if (!got)
				forget(i);
		}
		while (polled[0].revents && open_count <= MOST_OPEN && (fd = accept(listener, NULL, NULL)) >= 0) {
			objects[open_count] = (struct object){ 0, 0 };
			polled[open_count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		}
	}
	snprintf(path, sizeof(path), "%s/received_bytes", getenv("LOGDIR"));
	log = fopen(path, "w");
	if (!log || fprintf(log, "%llu\n", (unsigned long long)received) < 0 || fclose(log))
		fail(path);
}

/* `{"load_bps": 1000000, "size_bytes": 60000}` in either order, and nothing else. */
static void parse(const char *params, double *load_bps, double *mean_bytes)
{
	int end = 0;

	if (sscanf(params, " { \"load_bps\" : %lf , \"size_bytes\" : %lf } %n", load_bps, mean_bytes, &end) != 2)
		if (sscanf(params, " { \"size_bytes\" : %lf , \"load_bps\" : %lf } %n", mean_bytes, load_bps, &end) != 2)
			exit(NOT_SUPPORTED);
	if (!end || params[end] || *load_bps <= 0 || *mean_bytes <= 0)
		exit(NOT_SUPPORTED);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *bytes = getenv("BYTES");
	double load_bps, mean_bytes;
	uint64_t total;

	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("1");
		return 0;
	}
	parse(getenv("PARAMS"), &load_bps, &mean_bytes);
	total = bytes ? strtoull(bytes, NULL, 10) : UINT64_MAX;
	address.sin_port = htons(atoi(getenv("PORT")));
	inet_pton(AF_INET, getenv("PEER"), &address.sin_addr);
	if (!strcmp(getenv("ROLE"), "sender"))
		send_all(&address, load_bps, mean_bytes, strtoull(getenv("SEED"), NULL, 10) << 16 | atoi(getenv("PORT")), total);
	else if (!strcmp(getenv("ROLE"), "receiver"))
		receive_all(&address, total);
	else
		return NOT_SUPPORTED;
	return 0;
}
