/* SPDX-License-Identifier: MIT */
/* What dns, udp-cbr, video, video-call and web share: programs that poll, with traffic of their own shape. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "contract.h"

#define NS 1000000000LL

static volatile sig_atomic_t ended;
static sigset_t open_to_all;	/* for ppoll */
static int payload = -1;

static inline _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Answers --version, and refuses roles that do not exist. */
static inline void begin(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("1");
		exit(0);
	}
	if (strcmp(told("ROLE"), "sender") && !is_receiver())
		exit(NOT_SUPPORTED);
}

static inline uint64_t seed(void)
{
	return strtoull(told("SEED"), NULL, 10) << 16 | atoi(told("PORT"));
}

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS + now.tv_nsec;
}

static inline int opened(int type)
{
	const int fd = socket(family(), type, 0);

	if (fd < 0)
		fail("socket");
	return fd;
}

/* A connected UDP socket, too: then Linux numbers the packets in their IP headers, by which captures tell them apart. */
static inline void connect_to_peer(int fd)
{
	const struct place peer = address(told("PEER"));

	if (connect(fd, &peer.any, peer.length))
		fail("connect");
}

static inline void bind_to_port(int fd)
{
	const struct place own = address(NULL);

	if (bind(fd, &own.any, own.length))
		fail("bind");
}

static inline void listen_at_port(int fd, int most)
{
	const int yes = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)))
		fail("SO_REUSEADDR");
	bind_to_port(fd);
	if (listen(fd, most))
		fail("listen");
}

/* By default, Linux may delay a wake-up by 50 us to combine it with others. */
static inline void wake_on_time(void)
{
	if (prctl(PR_SET_TIMERSLACK, 1L))
		fail("PR_SET_TIMERSLACK");
}

static inline void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* SIGTERM is delivered only while ppoll waits, so that none is missed. */
static inline void begin_to_receive(void)
{
	sigset_t blocked;

	sigemptyset(&open_to_all);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGTERM, end);
	if (getenv("PAYLOAD"))
		payload = open(getenv("PAYLOAD"), O_WRONLY | O_CREAT, 0644);
}

/* `words` numbers of the payload from the `first` on: 0, 1, 2, ... of 64 bits each, big-endian. */
static inline void fill(uint64_t *into, uint64_t first, int words)
{
	for (int i = 0; i < words; i++)
		into[i] = htobe64(first + i);
}

static inline void check(bool right, uint64_t offset)
{
	if (!right) {
		fprintf(stderr, "wrong bytes after offset %llu\n", (unsigned long long)offset);
		exit(1);
	}
}

/* Counts what came for the first time, and writes it to PAYLOAD. */
static inline void keep(const void *data, ssize_t length, uint64_t offset)
{
	received += length;
	if (payload >= 0 && pwrite(payload, data, length, offset) != length)
		fail("PAYLOAD");
}

/* A number in (0, 1]; SplitMix64. */
static inline double drawn(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return ((mixed ^ mixed >> 31) >> 11) * 0x1p-53 + 0x1p-53;
}

#endif
