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

/* A host's address of either version of IP, and a port. */
struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	};
	socklen_t length;
};

/* The version of IP is that of PEER. */
static inline int family(void)
{
	return strchr(told("PEER"), ':') ? AF_INET6 : AF_INET;
}

/* An address at PORT; without `host`, all of this host. */
static inline struct place address(const char *host)
{
	const int port = htons(atoi(told("PORT")));
	struct place made = { 0 };

	if (family() == AF_INET6) {
		made.six = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port };
		made.length = sizeof(made.six);
	} else {
		made.four = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
		made.length = sizeof(made.four);
	}
	if (host && family() == AF_INET6)
		inet_pton(AF_INET6, host, &made.six.sin6_addr);
	else if (host)
		inet_pton(AF_INET, host, &made.four.sin_addr);
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
