// SPDX-License-Identifier: MIT
/*
 * A path between two network namespaces in real time: TUN devices at its ends, what a dumbbell of the testbed has between.
 *
 *   wire PROCESS ORIGIN_NS SECONDS FORWARD BACKWARD SEED [AT_NS:RATE_BPS ...] >LOG
 *
 * The sender's end is in the caller's namespace, the receiver's in that of PROCESS; both are called "path". Each way is
 * RATE_BPS:BUFFER_PKTS:DELAY_NS:JITTER_NS:LOSS_PPM: a limiter with a FIFO (RATE_BPS 0: none), then a delay that each
 * packet draws, by which it may overtake others, then loss. As in the testbed, a packet leaves the queue when its
 * transmission begins, and an idle limiter adds nothing. Further words change the rate forward. LOG has a line for
 * each packet forward; times count from ORIGIN_NS (CLOCK_REALTIME), at which the path opens. Exit status 0 or 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define LARGEST 1600
#define AT_ONCE 64 /* packets read before others are looked at */

struct packet {
	struct packet *next;
	int64_t came_ns, left_ns, due_ns;
	int bytes;
	unsigned char data[LARGEST];
};

struct line {
	struct packet *first, *last;
	int pkts;
};

struct way {
	int from, into;
	int64_t rate_bps, buffer_pkts, delay_ns, jitter_ns, loss_ppm;
	int64_t free_ns; /* when the limiter may begin with the next packet */
	struct line queue, path;
	FILE *log;
};

static int64_t origin_ns;

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS + t.tv_nsec - origin_ns;
}

static int open_end(void)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "path"};
	const int end = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

	if (end < 0 || ioctl(end, TUNSETIFF, &request))
		die("/dev/net/tun");
	return end;
}

static void enter(const char *process)
{
	char name[64];
	int space;

	snprintf(name, sizeof(name), "/proc/%s/ns/net", process);
	space = open(name, O_RDONLY);
	if (space < 0 || setns(space, CLONE_NEWNET))
		die(name);
	close(space);
}

static void read_way(struct way *way, const char *words)
{
	if (sscanf(words, "%ld:%ld:%ld:%ld:%ld", &way->rate_bps, &way->buffer_pkts, &way->delay_ns, &way->jitter_ns,
		   &way->loss_ppm) != 5)
		die(words);
}

static void append(struct line *line, struct packet *packet)
{
	packet->next = NULL;
	if (line->last)
		line->last->next = packet;
	else
		line->first = packet;
	line->last = packet;
	line->pkts++;
}

static void insert_by_due(struct line *line, struct packet *packet)
{
	struct packet **at = &line->first;

	if (!line->last || line->last->due_ns <= packet->due_ns) {
		append(line, packet);
		return;
	}
	while ((*at)->due_ns <= packet->due_ns)
		at = &(*at)->next;
	packet->next = *at;
	*at = packet;
	line->pkts++;
}

static struct packet *take(struct line *line)
{
	struct packet *packet = line->first;

	line->first = packet->next;
	if (!line->first)
		line->last = NULL;
	line->pkts--;
	return packet;
}

static void end_of(struct way *way, struct packet *packet, int64_t late_ns)
{
	const unsigned char *ports = packet->data + 4 * (packet->data[0] & 15);

	if (way->log)
		fprintf(way->log, "%lld,%lld,%lld,%d,%d,%d\n", (long long)packet->came_ns, (long long)packet->left_ns,
			(long long)late_ns, ports[0] << 8 | ports[1], ports[2] << 8 | ports[3], packet->bytes);
	free(packet);
}

static int receive(struct way *way)
{
	int got = 0;

	for (; got < AT_ONCE; got++) {
		struct packet *packet = malloc(sizeof(*packet));

		if (!packet)
			die("malloc");
		packet->bytes = read(way->from, packet->data, LARGEST);
		if (packet->bytes <= 0) {
			free(packet);
			break;
		}
		packet->came_ns = now();
		packet->left_ns = -1;
		if (way->rate_bps && way->queue.pkts >= way->buffer_pkts)
			end_of(way, packet, 0);
		else
			append(&way->queue, packet);
	}
	return got;
}

static int64_t leaves_ns(const struct way *way)
{
	const int64_t came_ns = way->queue.first->came_ns;

	return way->free_ns > came_ns ? way->free_ns : came_ns;
}

static int pass(struct way *way, int64_t now_ns)
{
	int passed = 0;

	while (way->queue.first && leaves_ns(way) <= now_ns) {
		const int64_t left_ns = leaves_ns(way);
		struct packet *packet = take(&way->queue);

		packet->left_ns = left_ns;
		if (way->rate_bps)
			way->free_ns = left_ns + packet->bytes * 8 * NS / way->rate_bps;
		packet->due_ns = left_ns + way->delay_ns + (int64_t)((2 * drand48() - 1) * way->jitter_ns);
		insert_by_due(&way->path, packet);
	}
	for (; way->path.first && way->path.first->due_ns <= now_ns; passed++) {
		struct packet *packet = take(&way->path);

		if (drand48() * 1e6 >= way->loss_ppm && write(way->into, packet->data, packet->bytes) < 0 && errno != EIO)
			die("write");
		end_of(way, packet, now() - packet->due_ns);
	}
	return passed;
}

static int64_t next_ns(const struct way *way, int64_t until_ns)
{
	if (way->queue.first && leaves_ns(way) < until_ns)
		until_ns = leaves_ns(way);
	if (way->path.first && way->path.first->due_ns < until_ns)
		until_ns = way->path.first->due_ns;
	return until_ns;
}

int main(int argc, char **argv)
{
	struct way forward = {.log = stdout}, backward = {0};
	int64_t end_ns;
	int change = 7;

	if (argc < 7) {
		fprintf(stderr, "usage: wire PROCESS ORIGIN_NS SECONDS FORWARD BACKWARD SEED [AT_NS:RATE_BPS ...]\n");
		return 1;
	}
	origin_ns = atoll(argv[2]);
	end_ns = atoll(argv[3]) * NS;
	read_way(&forward, argv[4]);
	read_way(&backward, argv[5]);
	srand48(atol(argv[6]));
	forward.from = backward.into = open_end();
	enter(argv[1]);
	forward.into = backward.from = open_end();
	prctl(PR_SET_TIMERSLACK, 1);
	puts("time_ns,left_ns,late_ns,sport,dport,bytes");
	fflush(stdout);
	for (int64_t now_ns = now(); now_ns < end_ns; now_ns = now()) {
		struct pollfd ends[] = {{.fd = forward.from, .events = POLLIN}, {.fd = backward.from, .events = POLLIN}};
		struct timespec wait;
		int64_t wait_ns;

		for (; change < argc && atoll(argv[change]) <= now_ns; change++)
			forward.rate_bps = atoll(strchr(argv[change], ':') + 1);
		/* what came is read after the clock: nothing leaves before it came */
		if (receive(&forward) + receive(&backward) + pass(&forward, now()) + pass(&backward, now()))
			continue;
		wait_ns = next_ns(&backward, next_ns(&forward, change < argc ? atoll(argv[change]) : end_ns)) - now();
		if (wait_ns <= 0)
			continue;
		wait = (struct timespec){wait_ns / NS, wait_ns % NS};
		ppoll(ends, 2, &wait, NULL);
	}
	return 0;
}
