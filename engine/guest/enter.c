// SPDX-License-Identifier: MIT
/*
 * Starts a program under test in its own root file system, on the topology's host where this is called, and tends it.
 *
 *   enter ROOT FILES LOGDIR START_NS CAPABILITIES PROGRAM [ARGUMENT...]
 *
 * The program sees ROOT as / (under an overlay in memory), FILES as /opt/implementation, LOGDIR as /logs, a /dev and a
 * /tmp of its own, and of the guest's processes those that it starts. This must be the first process of a PID
 * namespace; the program becomes its second, with the number that this one has outside: programs draw random numbers
 * from it. It is root, so that it may write to its files, but without capabilities, except for CAPABILITIES
 * (hexadecimal; bit N is capability N), and cannot get any. It is executed at START_NS (CLOCK_REALTIME; 0: at once).
 *
 * SIGTERM is passed on. When the program ends, this ends, and with it all that the program has started. Exit status:
 * the program's, or 128 and the number of the signal that ended it; 1, with one line on stderr, if it was not started.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

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

/* The devices that every program may expect. Those of the guest itself are shared, and its root may replace them. */
static void make_devices(void)
{
	static const struct {
		const char *path;
		unsigned int major, minor;
	} devices[] = {
		{"dev/null", 1, 3}, {"dev/zero", 1, 5}, {"dev/full", 1, 7}, {"dev/random", 1, 8}, {"dev/urandom", 1, 9},
		{"dev/tty", 5, 0},
	};
	static const char *const links[][2] = {
		{"/proc/self/fd", "dev/fd"}, {"fd/0", "dev/stdin"}, {"fd/1", "dev/stdout"}, {"fd/2", "dev/stderr"},
		{"pts/ptmx", "dev/ptmx"},
	};
	const mode_t before = umask(0);

	attach("tmpfs", "dev", "tmpfs", 0, "mode=755");
	for (size_t i = 0; i < LENGTH(devices); i++) {
		if (mknod(devices[i].path, S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor)))
			die("mknod", devices[i].path);
	}
	for (size_t i = 0; i < LENGTH(links); i++) {
		if (symlink(links[i][0], links[i][1]))
			die("symlink", links[i][1]);
	}
	if (mkdir("dev/shm", 01777))
		die("mkdir", "dev/shm");
	umask(before);
	attach("devpts", "dev/pts", "devpts", 0, "ptmxmode=0666");
}

static void make_root(const char *root, const char *files, const char *logs)
{
	char layers[PATH_MAX];

	/* private mounts, which no other process sees */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("unshare", "mounts");
	attach("tmpfs", "/mnt", "tmpfs", 0, "mode=755");
	folder("/mnt/upper");
	folder("/mnt/work");
	snprintf(layers, sizeof(layers), "lowerdir=%s,upperdir=/mnt/upper,workdir=/mnt/work", root);
	attach("overlay", "/mnt/root", "overlay", 0, layers);
	if (chdir("/mnt/root"))
		die("chdir", "/mnt/root");
	/* read-only: /proc/sys is writable to root without any capability */
	attach("proc", "proc", "proc", MS_RDONLY, NULL);
	attach("sysfs", "sys", "sysfs", MS_RDONLY, NULL);
	make_devices();
	attach("tmpfs", "run", "tmpfs", 0, "mode=755");
	attach("tmpfs", "tmp", "tmpfs", 0, NULL);
	folder("opt");
	attach(files, "opt/implementation", NULL, MS_BIND, NULL);
	attach(logs, "logs", NULL, MS_BIND, NULL);
	/* in a changed root, the kernel lets nobody make user namespaces, which would bring capabilities back */
	if (chroot(".") || chdir("/tmp"))
		die("chroot", root);
}

/* The number that this process has in the PID namespace of the guest's /proc, which is still mounted. */
static pid_t number_outside(void)
{
	char number[16];
	const ssize_t length = readlink("/proc/self", number, sizeof(number) - 1);

	if (length < 0)
		die("readlink", "/proc/self");
	number[length] = 0;
	return atoi(number);
}

static pid_t fork_as(pid_t number)
{
	struct clone_args how = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	const pid_t child = syscall(SYS_clone3, &how, sizeof(how));

	if (child < 0)
		die("clone3", "as number 2 of a PID namespace");
	return child;
}

/* Keeps these capabilities at most, here and in whatever this process executes as root. */
static void keep_capabilities(unsigned long long kept)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
				     SECBIT_KEEP_CAPS_LOCKED;

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective = data[i].permitted = data[i].inheritable = kept >> 32 * i;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECUREBITS, locked) ||
	    syscall(SYS_capset, &header, data))
		die("capabilities", "cannot be dropped");
	for (unsigned long number = 0; kept >> number; number++) {
		if (kept >> number & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0))
			die("capabilities", "cannot be kept");
	}
}

static void __attribute__((noreturn)) become(char **words, unsigned long long capabilities, long long start_ns)
{
	setsid();
	keep_capabilities(capabilities);
	if (start_ns) {
		const struct timespec at = {start_ns / 1000000000, start_ns % 1000000000};

		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
	}
	execvp(words[0], words);
	die("cannot run", words[0]);
}

/* Passes SIGTERM on and reaps orphans until the program ends; returns its exit status. */
static int tend(pid_t program, const sigset_t *awaited)
{
	int status;

	for (;;) {
		const int number = sigwaitinfo(awaited, NULL);
		pid_t ended;

		if (number == SIGTERM)
			kill(program, SIGTERM);
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
			if (ended == program)
				return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		}
	}
}

int main(int argc, char **argv)
{
	const pid_t number = number_outside();
	sigset_t awaited, before;
	pid_t program;

	if (argc < 7) {
		fprintf(stderr, "usage: enter ROOT FILES LOGDIR START_NS CAPABILITIES PROGRAM [ARGUMENT...]\n");
		return 1;
	}
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGCHLD);
	sigprocmask(SIG_BLOCK, &awaited, &before);
	make_root(argv[1], argv[2], argv[3]);
	program = fork_as(number);
	if (program == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		become(argv + 6, strtoull(argv[5], NULL, 16), atoll(argv[4]));
	}
	keep_capabilities(0);
	return tend(program, &awaited);
}
