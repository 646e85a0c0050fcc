/* SPDX-License-Identifier: MIT */
/* What an endpoint is given and what it has to leave, for programs in C; docs/reference/implementations.md. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_SUPPORTED 127

static volatile uint64_t received;

static inline const char *told(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		fprintf(stderr, "%s is not set\n", name);
		exit(1);
	}
	return value;
}

static inline int is_receiver(void)
{
	return !strcmp(told("ROLE"), "receiver");
}

static inline struct sockaddr_in address(const char *host)
{
	struct sockaddr_in made = { .sin_family = AF_INET, .sin_port = htons(atoi(told("PORT"))) };

	inet_pton(AF_INET, host, &made.sin_addr);
	return made;
}

/* The length of the transfer; the most there is without BYTES. */
static inline uint64_t length_of_transfer(void)
{
	const char *bytes = getenv("BYTES");

	return bytes ? strtoull(bytes, NULL, 10) : UINT64_MAX;
}

/* The contract's byte at `offset`: 0, 1, 2, ... as 64-bit big-endian numbers. */
static inline unsigned char expected(uint64_t offset)
{
	return offset / 8 >> (56 - offset % 8 * 8);
}

/* Counts what came, and ends the process if it is not what was sent. */
static inline void take(const unsigned char *data, size_t length)
{
	static FILE *file;

	for (size_t i = 0; i < length; i++)
		if (data[i] != expected(received + i)) {
			fprintf(stderr, "wrong bytes after offset %llu\n", (unsigned long long)received);
			exit(1);
		}
	received += length;
	if (getenv("PAYLOAD") && !file)
		file = fopen(getenv("PAYLOAD"), "w");
	if (file && (fwrite(data, 1, length, file) != length || fflush(file)))
		exit(1);
}

/* Ends the process at once; SIGTERM's handler, too. */
static inline void leave(int status)
{
	char path[4096];
	FILE *file;

	if (is_receiver()) {
		snprintf(path, sizeof(path), "%s/received_bytes", told("LOGDIR"));
		file = fopen(path, "w");
		if (!file || fprintf(file, "%llu\n", (unsigned long long)received) < 0 || fclose(file))
			_exit(1);
	}
	_exit(status);
}

static inline void leave_when_told(int signal)
{
	(void)signal;
	leave(0);
}

#endif
