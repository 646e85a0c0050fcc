// SPDX-License-Identifier: MIT
/* What a guest's kernel may be made to do, without a kernel: takes memory, disk or processes without end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (16 << 10) /* as large as shared memory without a file may be */
#define LARGE_BYTES (60 << 20)
#define HIDDEN "/guest/run/logs/hidden"

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void take_memory(int flags)
{
	for (;;) {
		void *taken = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

		if (taken == MAP_FAILED && !fork())
			continue;
		if (taken == MAP_FAILED)
			wait_for_ever();
		memset(taken, 1, PIECE_BYTES);
	}
}

static void *fork_and_wait(void *unused)
{
	if (!fork())
		take_memory(MAP_PRIVATE);
	wait_for_ever();
	return unused;
}

/* A child belongs to the thread that made it. */
static void take_memory_in_a_child_of_a_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fork_and_wait, NULL))
		perror("pthread_create");
	wait_for_ever();
}

/* The host's kernel holds what nobody reads. */
static void fill_sockets(void)
{
	static char block[PIECE_BYTES];
	int pair[2];

	for (;;) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair)) {
			if (fork())
				wait_for_ever();
			close_range(3, ~0U, 0);
			continue;
		}
		while (write(pair[0], block, sizeof(block)) > 0)
			;
	}
}

/* More than the run folder may take, all of it a hole. */
static int open_a_large_file(void)
{
	const int file = open(HIDDEN, O_RDWR | O_CREAT, 0600);

	if (file < 0 || ftruncate(file, LARGE_BYTES))
		perror(HIDDEN);
	return file;
}

/* Who executes a file that it may not read cannot be looked at by others. */
static void hide(void)
{
	const int source = open("/guest/linux", O_RDONLY), copy = open(HIDDEN, O_WRONLY | O_CREAT, 0700);
	char block[4096];
	ssize_t length;

	while ((length = read(source, block, sizeof(block))) > 0)
		write(copy, block, length);
	close(copy);
	chmod(HIDDEN, 0100);
	execl(HIDDEN, HIDDEN, "memory", NULL);
	perror(HIDDEN);
}

int main(int argc, char **argv)
{
	const char *attack = argc > 1 ? argv[1] : "";

	if (!strcmp(attack, "memory"))
		take_memory(MAP_PRIVATE);
	if (!strcmp(attack, "shared-memory"))
		take_memory(MAP_SHARED);
	if (!strcmp(attack, "thread"))
		take_memory_in_a_child_of_a_thread();
	if (!strcmp(attack, "sockets"))
		fill_sockets();
	if (!strcmp(attack, "hole")) {
		open_a_large_file();
		wait_for_ever();
	}
	if (!strcmp(attack, "hidden"))
		hide();
	if (!strcmp(attack, "processes"))
		for (;;)
			if (fork() < 0)
				wait_for_ever();
	return 0;
}
