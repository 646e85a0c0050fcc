// SPDX-License-Identifier: MIT
/*
 * Tells how late a program wakes up: a line for each sleep, of 0.5 to 5 ms, with its lateness in ns.
 *
 *   sleeper SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS 1000000000LL
#define SHORTEST_NS 500000
#define STEP_NS 100000
#define STEPS 46

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

int main(int argc, char **argv)
{
	const long long end = now() + (argc == 2 ? atoll(argv[1]) : 0) * NS;

	for (int i = 0; now() < end; i++) {
		const long long due = now() + SHORTEST_NS + i % STEPS * STEP_NS;
		const struct timespec at = {due / NS, due % NS};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		printf("%lld\n", now() - due);
	}
	return 0;
}
