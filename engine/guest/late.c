// SPDX-License-Identifier: MIT
/*
 * Lets a host wake up late, as the hosts of real networks do: what comes for a sleeping host waits until it has woken,
 * and what a timer of it sends leaves no sooner.
 *
 *   late 4|6 INNER OUTER SEED FROM_NS PPM:NS...
 *
 * The first word is the version of IP whose packets it passes. INNER is the interface towards the host. Before FROM_NS
 * (CLOCK_REALTIME) nobody is late. The rest is a distribution: of each million wake-ups, so many are at most so late;
 * between two of these, lateness grows evenly. SEED decides the draws.
 *
 * A host that has passed a packet is awake for AWAKE_NS more: its answer to what came leaves at once, and so do the
 * packets of a burst. A host that is not begins to wake with the next packet, in either direction, and passes nothing
 * until then. All that waited goes on at that instant, in its order.
 *
 * Runs until it is killed. If it fails: exit status 1, with one line on stderr.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <time.h>

#include "link.h"

#define AWAKE_NS 100000
#define STEPS 64
#define MILLION 1000000

static struct {
	long long ppm, ns;
} known[STEPS];
static int count;
static uint64_t state;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) */
static uint64_t drawn(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static long long lateness_ns(void)
{
	const long long ppm = drawn() % MILLION;
	int i = 1;

	while (i < count - 1 && known[i].ppm <= ppm)
		i++;
	return known[i - 1].ns + (known[i].ns - known[i - 1].ns) * (ppm - known[i - 1].ppm) /
					 (known[i].ppm - known[i - 1].ppm);
}

static void sleep_ns(long long ns)
{
	const struct timespec wait = {ns / 1000000000, ns % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
}

static void complete_checksum(unsigned char *frame, size_t length)
{
	struct carried c;

	if (length < ETH_HLEN + IP_HEADER_BYTES || !find_carried(frame + ETH_HLEN, length - ETH_HLEN, &c))
		return;
	if (c.protocol == IPPROTO_TCP && c.length >= TCP_HEADER_BYTES)
		set_checksum(&c, c.at + 16);
	else if (c.protocol == IPPROTO_UDP && c.length >= UDP_HEADER_BYTES && (c.at[6] || c.at[7]))
		set_checksum(&c, c.at + 6);
}

/* Pass on all that is there. */
static void pass(int from, int to)
{
	static unsigned char frame[1 << 16];
	ssize_t length;

	while ((length = recv(from, frame, sizeof(frame), MSG_DONTWAIT)) >= 0) {
		complete_checksum(frame, length);
		if (send(to, frame, length, 0) != length)
			die("send");
	}
	if (errno != EAGAIN)
		die("recv");
}

int main(int argc, char **argv)
{
	const int type = argc > 1 ? ether_type(argv[1]) : 0;
	long long from_ns, awake_until_ns = 0;
	struct pollfd ends[2];
	bool is_wrong = !type || argc < 8 || argc - 6 > STEPS;

	for (int i = 6; !is_wrong && i < argc; i++, count++)
		is_wrong = sscanf(argv[i], "%lld:%lld", &known[count].ppm, &known[count].ns) != 2 ||
			   (count && known[count].ppm <= known[count - 1].ppm);
	if (is_wrong) {
		fprintf(stderr, "usage: late 4|6 INNER OUTER SEED FROM_NS PPM:NS PPM:NS...\n");
		return 1;
	}
	ends[0] = (struct pollfd){.fd = open_interface(argv[2], type), .events = POLLIN};
	ends[1] = (struct pollfd){.fd = open_interface(argv[3], type), .events = POLLIN};
	state = strtoull(argv[4], NULL, 10);
	from_ns = atoll(argv[5]);
	be_first();
	for (;;) {
		if (poll(ends, 2, -1) < 0)
			die("poll");
		if (now_ns() >= from_ns && now_ns() >= awake_until_ns)
			sleep_ns(lateness_ns());
		pass(ends[1].fd, ends[0].fd);
		pass(ends[0].fd, ends[1].fd);
		awake_until_ns = now_ns() + AWAKE_NS;
	}
}
