// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worst that root in a guest can do: this module runs in the guest's kernel, which is a process of the host, and
 * makes system calls of the host from there. `attack` says which; each prints "attack NAME: RESULT", a negative errno
 * if it failed.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/in.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/panic.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/un.h>

/* x86-64's numbers; a guest's headers do not give all of them to a module */
enum {
	SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_mmap = 9, SYS_ioctl = 16, SYS_nanosleep = 35, SYS_socket = 41,
	SYS_connect = 42, SYS_sendmsg = 46, SYS_socketpair = 53, SYS_setsockopt = 54, SYS_clone = 56, SYS_kill = 62,
	SYS_fcntl = 72, SYS_mkdir = 83, SYS_creat = 85, SYS_unlink = 87, SYS_chmod = 90, SYS_fchmod = 91,
	SYS_setsid = 112, SYS_mknod = 133, SYS_prctl = 157, SYS_mount = 165, SYS_add_key = 248, SYS_openat = 257,
	SYS_mkdirat = 258, SYS_mknodat = 259, SYS_fchmodat = 268, SYS_unshare = 272, SYS_prlimit64 = 302,
	SYS_setns = 308, SYS_memfd_create = 319, SYS_bpf = 321, SYS_io_uring_setup = 425, SYS_openat2 = 437,
	SYS_fchmodat2 = 452,
};

/* as in the host's C library; the kernel's struct msghdr is different */
struct host_message {
	void *name;
	unsigned int name_length;
	struct iovec *parts;
	unsigned long part_count;
	void *control;
	unsigned long control_length;
	int flags;
};

static char *attack, *canary, *abstract, *pipe, *sockets[8];
static int port, victim, socket_count;
module_param(attack, charp, 0);
module_param(canary, charp, 0);
module_param(abstract, charp, 0);
module_param(pipe, charp, 0);
module_param_array(sockets, charp, &socket_count, 0);
module_param(port, int, 0);
module_param(victim, int, 0);

/* Inline: a host process that is forked shares this stack, and a call of either would write to it. */
static __always_inline long host(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}

#define HOST3(nr, a, b, c) host(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static void tell(const char *name, long result)
{
	pr_emerg("attack %s: %ld\n", name, result);
}

static long try_to_connect(int family, const void *address, long length)
{
	const long socket = HOST3(SYS_socket, family, SOCK_STREAM, 0);

	return socket < 0 ? socket : HOST3(SYS_connect, socket, address, length);
}

/* Talk to the sockets that have names: a connection, a datagram from a socket, one from an end of a pair. */
static void talk_to_sockets(void)
{
	static const int kinds[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	struct sockaddr_un named = { .sun_family = AF_UNIX };
	struct iovec part = { "x", 1 };
	struct host_message message = { &named, sizeof(named), &part, 1, NULL, 0, 0 };
	int pair[2];

	for (int i = 0; i < socket_count; i++) {
		strscpy(named.sun_path, sockets[i], sizeof(named.sun_path));
		for (int kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
			const long alone = HOST3(SYS_socket, AF_UNIX, kinds[kind], 0);
			long result = host(SYS_socketpair, AF_UNIX, kinds[kind], 0, (long)pair, 0, 0);

			tell("connect", alone < 0 ? alone : HOST3(SYS_connect, alone, &named, sizeof(named)));
			if (!result)
				result = HOST3(SYS_connect, pair[0], &named, sizeof(named));
			tell("connect-pair", result);
			if (result != -EPERM || kinds[kind] == SOCK_STREAM)
				result = HOST3(SYS_sendmsg, pair[0], &message, 0);
			tell("send", result);
		}
	}
}

/* What a watch could not see. */
static void hide(void)
{
	const int rw = PROT_READ | PROT_WRITE, shared = MAP_SHARED | MAP_ANONYMOUS;
	const long zero = HOST3(SYS_open, "/dev/zero", O_RDWR, 0);

	tell("shared-memory", host(SYS_mmap, 0, 1 << 24, rw, shared, -1, 0));
	tell("shared-memory-validated", host(SYS_mmap, 0, 1 << 24, rw, shared | MAP_SHARED_VALIDATE, -1, 0));
	tell("shared-zeroes", zero < 0 ? zero : host(SYS_mmap, 0, 1 << 24, rw, MAP_SHARED, zero, 0));
	tell("hide", HOST3(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 0, 0));
}

static void reach_the_host(void)
{
	struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un named = { .sun_family = AF_UNIX };
	static const char *const places[] = { "/guest/rootfs/attacked", "/guest/tools/attacked",
					      "/guest/code/engine/attacked", "/guest/attacked", "/attacked",
					      "/dev/attacked", "/tmp/attacked" };
	const struct { const char *name; int nr; } calls[] = {
		{ "mount", SYS_mount }, { "unshare", SYS_unshare }, { "setns", SYS_setns }, { "bpf", SYS_bpf }, { "add_key", SYS_add_key },
		{ "memfd_create", SYS_memfd_create }, { "io_uring_setup", SYS_io_uring_setup },
	};

	tell("canary", HOST3(SYS_open, canary, O_RDONLY, 0));
	tell("loopback", try_to_connect(AF_INET, &loopback, sizeof(loopback)));
	strscpy(named.sun_path + 1, abstract, sizeof(named.sun_path) - 1);
	tell("abstract", try_to_connect(AF_UNIX, &named, offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract)));
	for (int i = 0; i < ARRAY_SIZE(places); i++)
		tell(places[i], HOST3(SYS_open, places[i], O_WRONLY | O_CREAT, 0666));
	for (int i = 0; i < ARRAY_SIZE(calls); i++)
		tell(calls[i].name, HOST3(calls[i].nr, 0, 0, 0));
	tell("namespace", HOST3(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0));
	tell("forged-input", HOST3(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x"));
	tell("signal", HOST3(SYS_kill, victim, SIGKILL, 0));
	hide();
}

/*
 * A process that runs on as "outlived", in a session of its own, whatever becomes of the guest. Not inline: it would
 * run in the memory of hostile_init(), which the guest uses again once the module is loaded.
 */
static noinline void outlive(void)
{
	static const long seconds[2] = { 1, 0 };
	const long child = HOST3(SYS_clone, 0, 0, 0);

	if (child == 0) {
		HOST3(SYS_setsid, 0, 0, 0);
		HOST3(SYS_prctl, PR_SET_NAME, "outlived", 0);
		for (;;)
			HOST3(SYS_nanosleep, seconds, 0, 0);
	}
	tell("outlive", child);
}

/* How a file is kept: by its name, or, once it has lost that, by a descriptor. */
enum keeper { NAME, DESCRIPTOR };

static void fill_the_disk(enum keeper keeper)
{
	static char block[1 << 16];
	char path[64];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 100000; i++) {
		long file, written;

		snprintf(path, sizeof(path), "/guest/run/logs/filler-%d", i);
		file = HOST3(SYS_open, path, O_RDWR | O_CREAT, 0666);
		if (keeper == DESCRIPTOR)
			HOST3(SYS_unlink, path, 0, 0);
		for (int blocks = 0; blocks < 256; blocks++) {
			written = HOST3(SYS_write, file, block, sizeof(block));
			if (written < 0) {
				tell("fill", written);
				return;
			}
		}
		if (keeper != DESCRIPTOR)
			HOST3(SYS_close, file, 0, 0);
	}
}

static void take_memory(long bytes, int flags)
{
	static const long hour[2] = { 3600, 0 };

	for (;;) {
		char *taken = (char *)host(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

		if (IS_ERR(taken)) {
			tell("memory", PTR_ERR(taken));
			HOST3(SYS_nanosleep, hour, 0, 0);
		}
		for (long i = 0; i < bytes; i += 4096)
			taken[i] = 1;
	}
}

/* Pairs of sockets in many processes, each full of data that nobody reads. */
static void fill_sockets(void)
{
	static char block[1 << 16];
	static const long hour[2] = { 3600, 0 };

	for (int process = 0; process < 3; process++) {
		int pair[2];

		if (HOST3(SYS_clone, 0, 0, 0))
			continue;
		while (!host(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, (long)pair, 0, 0))
			for (int end = 0; end < 2; end++)
				while (HOST3(SYS_write, pair[end], block, sizeof(block)) > 0)
					;
		for (;;)
			HOST3(SYS_nanosleep, hour, 0, 0);
	}
	HOST3(SYS_nanosleep, hour, 0, 0);
}

/* What would stay on the host, or take the memory of its kernel. */
static void take_from_the_host(void)
{
	const struct { const char *name; long nr, a, b, c, d; } calls[] = {
		{ "setuid-chmod", SYS_chmod, (long)"/guest/run/logs/x", 04755 },
		{ "setgid-chmod", SYS_chmod, (long)"/guest/run/logs/x", 02755 },
		{ "setuid-fchmod", SYS_fchmod, 1, 06755 },
		{ "setuid-fchmodat", SYS_fchmodat, AT_FDCWD, (long)"/guest/run/logs/x", 04755 },
		{ "setuid-fchmodat2", SYS_fchmodat2, AT_FDCWD, (long)"/guest/run/logs/x", 04755 },
		{ "setuid-open", SYS_open, (long)"/guest/run/logs/x", O_CREAT | O_RDWR, 04755 },
		{ "setuid-openat", SYS_openat, AT_FDCWD, (long)"/guest/run/logs/x", O_CREAT | O_RDWR, 04755 },
		{ "setuid-openat2", SYS_openat2, AT_FDCWD, (long)"/guest/run/logs/x", 0, 24 },
		{ "setuid-creat", SYS_creat, (long)"/guest/run/logs/x", 04755 },
		{ "setuid-mknod", SYS_mknod, (long)"/guest/run/logs/x", 0104755 },
		{ "setuid-mknodat", SYS_mknodat, AT_FDCWD, (long)"/guest/run/logs/x", 0104755 },
		{ "setgid-mkdir", SYS_mkdir, (long)"/guest/run/logs/x", 02755 },
		{ "setgid-mkdirat", SYS_mkdirat, AT_FDCWD, (long)"/guest/run/logs/x", 02755 },
		{ "send-buffer", SYS_setsockopt, 0, SOL_SOCKET, SO_SNDBUF, 0 },
		{ "larger-pipe", SYS_fcntl, 0, 1031 /* F_SETPIPE_SZ */, 1 << 20 },
		{ "record-lock", SYS_fcntl, 1, F_SETLK, 0 },
		{ "inode-flags", SYS_ioctl, 1, 0x40086602 /* FS_IOC_SETFLAGS */, 0 },
		{ "terminal-number", SYS_ioctl, 0, 0x80045430 /* TIOCGPTN */, 0 },
		{ "name-of-memory", SYS_prctl, 0x53564d41 /* PR_SET_VMA */, 0, 0 },
	};
	unsigned long limits[2] = { 0, 0 };

	for (int i = 0; i < ARRAY_SIZE(calls); i++)
		tell(calls[i].name, host(calls[i].nr, calls[i].a, calls[i].b, calls[i].c, calls[i].d, 0, 0));
	tell("terminal", HOST3(SYS_open, "/dev/ptmx", O_RDWR, 0));
	host(SYS_prlimit64, 0, 7 /* RLIMIT_NOFILE */, 0, (long)limits, 0, 0);
	tell("descriptors", limits[1]);
}

/* Stops by itself at some: as root nothing but the watch ends it, and other tests need processes, too. Then it waits. */
static void fork_many(void)
{
	static const long hour[2] = { 3600, 0 };
	long child = 1;

	for (int i = 0; i < 2000 && child > 0; i++)
		child = HOST3(SYS_clone, 0, 0, 0);
	for (;;)
		HOST3(SYS_nanosleep, hour, 0, 0);
}

static int __init hostile_init(void)
{
	if (!strcmp(attack, "reach"))
		reach_the_host();
	else if (!strcmp(attack, "outlive"))
		outlive();
	else if (!strcmp(attack, "fill"))
		fill_the_disk(NAME);
	else if (!strcmp(attack, "fill-unlinked"))
		fill_the_disk(DESCRIPTOR);
	else if (!strcmp(attack, "memory"))
		take_memory(1 << 24, MAP_PRIVATE);
	else if (!strcmp(attack, "sockets-full"))
		fill_sockets();
	else if (!strcmp(attack, "take"))
		take_from_the_host();
	else if (!strcmp(attack, "sockets"))
		talk_to_sockets();
	else if (!strcmp(attack, "pipe"))
		tell("pipe", HOST3(SYS_open, pipe, O_WRONLY | O_NONBLOCK, 0));
	else if (!strcmp(attack, "panic"))
		panic("on purpose");
	else if (!strcmp(attack, "fault"))
		WRITE_ONCE(*(int *)NULL, 1);
	else if (!strcmp(attack, "fork"))
		fork_many();
	else if (!strcmp(attack, "kill-all"))
		tell("kill-all", HOST3(SYS_kill, -1, SIGKILL, 0));
	else
		return -EINVAL;
	return 0;
}
module_init(hostile_init);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Attacks on the host, for the tests of the sandbox");
