// SPDX-License-Identifier: MIT
/*
 * What a stranger's `build` or `install` may try: each attack that reaches something outside is a line of the report.
 * Arguments: the report's file, a file of the host's, an abstract socket, a TCP port and a process there.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int opens(const char *path)
{
	int file = open(path, O_WRONLY | O_APPEND | O_NOCTTY);

	if (file >= 0)
		close(file);
	return file >= 0;
}

static int double_chroot(const char *victim)
{
	mkdir("/tmp/deeper", 0755);
	if (chroot("/tmp/deeper"))
		return 0;
	for (int level = 0; level < 64; level++)
		if (chdir(".."))
			return 0;
	return !chroot(".") && opens(victim);
}

static int node(const char *unused)
{
	/* of the folder that this runs in, or the first SCSI disk */
	struct stat here;
	dev_t disks[] = { makedev(8, 0), makedev(254, 0), makedev(259, 0), stat("/", &here) ? 0 : here.st_dev };

	(void)unused;
	for (unsigned int i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		unlink("/tmp/disk");
		if (!mknod("/tmp/disk", S_IFBLK | 0600, disks[i]))
			return 1;
	}
	return 0;
}

static int abstract(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int one = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path + 1, name, strlen(name));
	return !connect(one, (void *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int loopback(const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return !connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&address, sizeof(address));
}

static int process(const char *number)
{
	return !kill(atoi(number), 0) || !ptrace(PTRACE_SEIZE, atoi(number), NULL, NULL);
}

/* A user namespace has all capabilities in it, and with them calls of the kernel that nobody else may make. */
static int namespace(const char *unused)
{
	(void)unused;
	return !unshare(CLONE_NEWUSER | CLONE_NEWNET);
}

static void try(const char *report, const char *name, int (*attack)(const char *), const char *argument)
{
	/* in a process of its own: an attack changes what the next one sees */
	int status;
	pid_t child = fork();

	if (!child)
		_exit(attack(argument));
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	FILE *file = fopen(report, "a");

	fprintf(file, "%s\n", name);
	fclose(file);
}

int main(int count, char **words)
{
	if (count != 6)
		return 2;
	const char *report = words[1];
	char first[4096], host[4096];

	snprintf(first, sizeof(first), "/proc/1/root%s", words[2]);
	snprintf(host, sizeof(host), "/proc/%s/root%s", words[5], words[2]);
	try(report, "double chroot", double_chroot, words[2]);
	try(report, "root of process 1", opens, first);
	try(report, "root of a process of the host", opens, host);
	try(report, "node of a disk", node, NULL);
	try(report, "abstract socket", abstract, words[3]);
	try(report, "loopback of the host", loopback, words[4]);
	try(report, "process of the host", process, words[5]);
	try(report, "core_pattern", opens, "/proc/sys/kernel/core_pattern");
	try(report, "sysrq-trigger", opens, "/proc/sysrq-trigger");
	try(report, "terminal", opens, "/dev/tty");
	try(report, "user namespace", namespace, NULL);
	return 0;
}
