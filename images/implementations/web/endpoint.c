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
#include <errno.h>
#include <math.h>

#include "traffic.h"

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

static void connect_one(const struct place *peer, struct object object)
{
	/* who ends the flow resets what is open, so that nothing left in a send buffer follows */
	const struct linger at_once = { .l_onoff = 1 };
	int fd;

	if (open_count == MOST_OPEN) {
		fprintf(stderr, "%d objects are under way: the path cannot carry this load\n", MOST_OPEN);
		exit(1);
	}
	fd = opened(SOCK_STREAM | SOCK_NONBLOCK);
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)))
		fail("SO_LINGER");
	if (connect(fd, &peer->any, peer->length) && errno != EINPROGRESS)
		fail("connect");
	objects[open_count] = object;
	polled[open_count++] = (struct pollfd){ .fd = fd, .events = POLLOUT };
}

/* Returns whether the object has arrived. */
static bool push(struct pollfd *one, struct object *object)
{
	static uint64_t data[CHUNK_WORDS + 1];
	uint64_t rest, skipped;
	ssize_t sent;
	char byte;

	if (object->offset == object->end) {
		if (recv(one->fd, &byte, 1, 0))
			fail("the receiver does not close a connection");
		return true;
	}
	skipped = object->offset % 8;
	fill(data, object->offset / 8, CHUNK_WORDS + 1);
	rest = object->end - object->offset;
	sent = send(one->fd, (char *)data + skipped, rest < CHUNK_BYTES ? rest : CHUNK_BYTES, MSG_NOSIGNAL);
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

static void send_all(double load_bps, double mean_bytes, uint64_t total)
{
	const double mean_ns = 8 * mean_bytes / load_bps * NS;
	int64_t start_ns;
	const struct place peer = address(told("PEER"));
	uint64_t given = 0, bytes, state = seed();
	struct timespec wait;
	double next_ns = 0;	/* the first object at once: whoever waits for the flow sees it */
	long long left_ns;

	wake_on_time();
	start_ns = clock_ns(CLOCK_MONOTONIC);
	while (given < total || open_count) {
		left_ns = (long long)next_ns - (clock_ns(CLOCK_MONOTONIC) - start_ns);
		if (given < total && left_ns <= 0) {
			bytes = size_bytes(&state, mean_bytes);
			/* no object is shorter than the number that it begins with */
			bytes = given + bytes + 8 < total ? bytes : total - given;
			connect_one(&peer, (struct object){ given, given + bytes });
			given += bytes;
			next_ns += gap_ns(&state, mean_ns);
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

/* Returns whether anything came; if not, the connection is at its end. */
static bool read_some(int fd, struct object *object)
{
	static char data[CHUNK_BYTES];
	static uint64_t right[CHUNK_WORDS + 2];
	ssize_t got = recv(fd, data, sizeof(data), 0);

	if (got <= 0) {
		if (got < 0 && errno != ECONNRESET)
			fail("recv");
		return false;
	}
	if (!object->end)
		object->offset = got < 8 ? 0 : be64toh(*(uint64_t *)data) * 8;
	fill(right, object->offset / 8, CHUNK_WORDS + 2);
	check(!memcmp(data, (char *)right + object->offset % 8, got), object->offset);
	keep(data, got, object->offset);
	object->offset += got;
	object->end = object->offset;
	return true;
}

static void receive_all(uint64_t total)
{
	const int listener = opened(SOCK_STREAM | SOCK_NONBLOCK);
	int fd;

	begin_to_receive();
	listen_at_port(listener, MOST_OPEN);
	polled[open_count++] = (struct pollfd){ .fd = listener, .events = POLLIN };
	while (!ended && (received < total || open_count > 1)) {
		if (ppoll(polled, open_count, NULL, &open_to_all) < 0)
			continue;
		for (int i = open_count - 1; i > 0; i--)
			if (polled[i].revents && !read_some(polled[i].fd, &objects[i]))
				forget(i);
		while (polled[0].revents && open_count <= MOST_OPEN && (fd = accept(listener, NULL, NULL)) >= 0) {
			objects[open_count] = (struct object){ 0, 0 };
			polled[open_count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		}
	}
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
	double load_bps, mean_bytes;

	begin(argc, argv);
	parse(told("PARAMS"), &load_bps, &mean_bytes);
	if (is_receiver())
		receive_all(length_of_transfer());
	else
		send_all(load_bps, mean_bytes, length_of_transfer());
	leave(0);
}
