// SPDX-License-Identifier: MIT
/*
 * Counts the packets in captures on disk.
 *
 *   records FILE...      prints for each file, in a line, the number of its records and of the bytes that their packets
 *                        had on the wire, which may be more than were captured of them
 *
 * Captures are in this machine's byte order. Exit status 1, with one line on stderr, if one cannot be read or ends
 * within a record.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC_US 0xa1b2c3d4u
#define MAGIC_NS 0xa1b23c4du
#define FILE_HEADER_BYTES 24
#define RECORD_HEADER_BYTES 16

static void __attribute__((noreturn, format(printf, 2, 3))) fail(const char *file, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", file);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

/* Fills as much of the buffer as the file has. */
static size_t fill(const char *file, int descriptor, unsigned char *buffer, size_t size)
{
	size_t have = 0;

	while (have < size) {
		const ssize_t got = read(descriptor, buffer + have, size - have);

		if (got < 0)
			fail(file, "%s", strerror(errno));
		if (got == 0)
			break;
		have += got;
	}
	return have;
}

struct counted {
	unsigned long long records, bytes;
};

static struct counted count(const char *file)
{
	static unsigned char buffer[1 << 20];
	const int descriptor = open(file, O_RDONLY);
	struct counted counted = {0, 0};
	unsigned long long offset = 0;
	size_t at = FILE_HEADER_BYTES, have;
	uint32_t magic, captured, whole;

	if (descriptor < 0)
		fail(file, "%s", strerror(errno));
	/* read what reached the disk, not the page cache */
	posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
	have = fill(file, descriptor, buffer, sizeof(buffer));
	memcpy(&magic, buffer, sizeof(magic));
	if (have < FILE_HEADER_BYTES || (magic != MAGIC_US && magic != MAGIC_NS))
		fail(file, "no capture of %zu bytes or more", have);
	for (;;) {
		/* the next record, at `at`, may begin in one buffer and end in the next or a later one */
		if (at + RECORD_HEADER_BYTES > have) {
			const size_t rest = at < have ? have - at : 0;

			offset += at;
			if (rest)
				memmove(buffer, buffer + at, rest);
			else if (at > have && lseek(descriptor, 0, SEEK_END) < (off_t)offset)
				fail(file, "ends within record %llu", counted.records);
			if (at > have)
				lseek(descriptor, offset, SEEK_SET);
			at = 0;
			have = rest + fill(file, descriptor, buffer + rest, sizeof(buffer) - rest);
			if (!have)
				break;
			if (have < RECORD_HEADER_BYTES)
				fail(file, "ends within record %llu", counted.records + 1);
		}
		memcpy(&captured, buffer + at + 8, sizeof(captured));
		memcpy(&whole, buffer + at + 12, sizeof(whole));
		at += RECORD_HEADER_BYTES + (size_t)captured;
		counted.records++;
		counted.bytes += whole;
	}
	close(descriptor);
	return counted;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct counted counted = count(argv[i]);

		printf("%llu %llu\n", counted.records, counted.bytes);
	}
	return fflush(stdout) ? 1 : 0;
}
