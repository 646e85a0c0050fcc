// SPDX-License-Identifier: MIT
/*
 * Starts a program under test in its own root file system, on the topology's host where this is called.
 *
 *   enter ROOT FILES LOGDIR START_NS PROGRAM [ARGUMENT...]
 *
 * ROOT and FILES are folders outside the guest. The program sees ROOT as / (under an overlay in memory), FILES as
 * /opt/implementation, the guest's LOGDIR as /logs, an empty /tmp, and nothing else of the guest but its devices. At
 * START_NS (CLOCK_REALTIME; 0: at once) it replaces this program, in the same process and with the same descriptors.
 *
 * If this program fails: exit status 1, with one line on stderr.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void __attribute__((noreturn)) die(const char *what, const char *on)
{
	fprintf(stderr, "enter: %s %s: %s\n", what, on, strerror(errno));
	exit(1);
}

static void folder(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		die("mkdir", path);
}

static void attach(const char *source, const char *on, const char *type, unsigned long flags, const char *options)
{
	folder(on);
	if (mount(source, on, type, flags, options))
		die("mount", on);
}

static void make_root(const char *root, const char *files, const char *logs)
{
	/* private mounts, which no other process sees */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("unshare", "mounts");
	attach("tmpfs", "/mnt", "tmpfs", 0, "mode=755");
	attach("root", "/mnt/lower", "hostfs", MS_RDONLY, root);
	folder("/mnt/upper");
	folder("/mnt/work");
	attach("overlay", "/mnt/root", "overlay", 0, "lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work");
	if (chdir("/mnt/root"))
		die("chdir", "/mnt/root");
	attach("proc", "proc", "proc", 0, NULL);
	attach("sysfs", "sys", "sysfs", MS_RDONLY, NULL);
	attach("/dev", "dev", NULL, MS_BIND | MS_REC, NULL);
	attach("tmpfs", "dev/shm", "tmpfs", 0, NULL);
	attach("tmpfs", "run", "tmpfs", 0, "mode=755");
	attach("tmpfs", "tmp", "tmpfs", 0, NULL);
	folder("opt");
	attach("files", "opt/implementation", "hostfs", MS_RDONLY, files);
	attach(logs, "logs", NULL, MS_BIND, NULL);
	if (chroot(".") || chdir("/tmp"))
		die("chroot", root);
}

int main(int argc, char **argv)
{
	long long start_ns;

	if (argc < 6) {
		fprintf(stderr, "usage: enter ROOT FILES LOGDIR START_NS PROGRAM [ARGUMENT...]\n");
		return 1;
	}
	make_root(argv[1], argv[2], argv[3]);
	start_ns = atoll(argv[4]);
	if (start_ns) {
		const struct timespec at = {start_ns / 1000000000, start_ns % 1000000000};

		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
	}
	execvp(argv[5], argv + 5);
	die("cannot run", argv[5]);
}
