// SPDX-License-Identifier: MIT
/*
 * Starts a guest's kernel, on the host and inside the sandbox, under resource limits and a system call filter. These
 * bind the kernel, every process of the guest, and any code that root in the guest makes them run.
 *
 *   confine MEMORY FILE PROCESSES PROGRAM [ARGUMENT...]
 *
 * MEMORY: bytes of address space a process may have; FILE: bytes a file may grow to; PROCESSES: how many the sandbox's
 * user may have (counted per user namespace; the kernel exempts the host's own root).
 *
 * The filter allows the system calls of User-Mode Linux: for its memory, its stub processes, its clock, and files of
 * hostfs. Every other call fails with EPERM and does not kill the process: in seccomp mode UML traps the guest's own
 * calls with a filter on the same processes, and of two filters' answers the kernel prefers "trap" to "errno". Where a
 * call is allowed with some arguments only, `some_arguments` says which and why.
 *
 * The only sockets are connected pairs of stream sockets. A filter cannot read an address, and a read-only mount does
 * not stop connect(). So socket() and connect() are refused, and so are pairs of datagram sockets, whose ends may send
 * to any address. sendmsg() on a stream socket takes no address. Without setsockopt(), the data that waits in a socket
 * stays within the host's default.
 *
 * A read-only mount does not stop writes into a named pipe either. Landlock does, where the host's kernel has it: files
 * can be opened for writing only in the run folder and below /dev.
 *
 * The limit on descriptors bounds what a process can keep in the host's kernel by them; the kernel applies it to the
 * descriptors in messages as well, those of all processes together.
 *
 * As the sandbox's first process it stays and reaps orphans; when it ends, every process inside ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_FOLDER "/guest/run"
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NEW_NAMESPACES                                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define FOREIGN_RIGHTS (S_ISUID | S_ISGID)
#define ANY_WORD 0xffffffffu
#define X32_CALLS 0x40000000
#define SHARED_BYTES (16 << 10)
#define DESCRIPTORS "4096"

/* frequent calls first: newer kernels cache answers that need no argument, older ones walk the list */
static const int allowed[] = {
	/* stub processes and signals */
	SYS_futex, SYS_rt_sigreturn, SYS_munmap, SYS_sendmsg, SYS_recvmsg, SYS_close, SYS_mprotect, SYS_wait4,
	SYS_kill, SYS_tkill, SYS_tgkill, SYS_ptrace, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending,
	SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_sigqueueinfo, SYS_sigaltstack, SYS_signalfd4, SYS_vfork, SYS_fork,
	SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_arch_prctl, SYS_seccomp, SYS_personality,
	SYS_set_tid_address, SYS_set_robust_list, SYS_rseq, SYS_getpid, SYS_getppid, SYS_gettid, SYS_setsid, SYS_setpgid,
	SYS_getpgrp, SYS_getpgid, SYS_sched_yield, SYS_sched_getaffinity, SYS_prlimit64, SYS_getrlimit, SYS_setrlimit,
	SYS_getrusage, SYS_close_range, SYS_waitid, SYS_restart_syscall, SYS_get_thread_area, SYS_set_thread_area,
	/* memory */
	SYS_brk, SYS_mremap, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock, SYS_munlock,
	/* time */
	SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time,
	SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete, SYS_setitimer,
	SYS_getitimer, SYS_times,
	/* files of hostfs; a descriptor's input and output */
	SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_lseek, SYS_access, SYS_faccessat,
	SYS_faccessat2, SYS_stat, SYS_lstat, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs,
	SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_dup, SYS_dup2, SYS_dup3, SYS_pipe, SYS_pipe2, SYS_rmdir,
	SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat, SYS_symlink,
	SYS_symlinkat, SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat, SYS_truncate, SYS_ftruncate, SYS_fallocate,
	SYS_utimensat, SYS_utimes, SYS_futimesat, SYS_fsync, SYS_fdatasync, SYS_sync_file_range, SYS_flock, SYS_umask,
	SYS_chdir, SYS_fchdir, SYS_getcwd, SYS_sendfile, SYS_copy_file_range,
	/* waiting for descriptors */
	SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, SYS_poll, SYS_ppoll,
	SYS_select, SYS_pselect6, SYS_eventfd2, SYS_shutdown,
	/* who one is */
	SYS_uname, SYS_sysinfo, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getgroups, SYS_getrandom,
};

#define JUMP_IF_EQUAL(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* the upper half of a 64-bit argument; LOAD() reads the lower half */
#define LOAD_HIGH(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define FAIL(number) ANSWER(SECCOMP_RET_ERRNO | (number))
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)

/*
 * A call of these is allowed if one argument, reduced to the bits of `mask`, is `value`, for one of its lines.
 * Lines about one call stand together.
 */
static const struct {
	int call;
	unsigned int argument, mask, value;
} some_arguments[] = {
	/* no new namespaces; the flags of clone3 are in memory, which a filter cannot read */
	{SYS_clone, 0, NEW_NAMESPACES, 0},
	/* no program that gives its owner's or group's rights to whoever executes it on the host */
	{SYS_open, 2, FOREIGN_RIGHTS, 0},
	{SYS_openat, 3, FOREIGN_RIGHTS, 0},
	{SYS_creat, 1, FOREIGN_RIGHTS, 0},
	{SYS_mkdir, 1, FOREIGN_RIGHTS, 0},
	{SYS_mkdirat, 2, FOREIGN_RIGHTS, 0},
	{SYS_mknod, 1, FOREIGN_RIGHTS, 0},
	{SYS_mknodat, 2, FOREIGN_RIGHTS, 0},
	{SYS_chmod, 1, FOREIGN_RIGHTS, 0},
	{SYS_fchmod, 1, FOREIGN_RIGHTS, 0},
	{SYS_fchmodat, 2, FOREIGN_RIGHTS, 0},
	/* neither larger pipes nor record locks, each of which takes the host's memory */
	{SYS_fcntl, 1, ANY_WORD, F_GETFD},
	{SYS_fcntl, 1, ANY_WORD, F_SETFD},
	{SYS_fcntl, 1, ANY_WORD, F_GETFL},
	{SYS_fcntl, 1, ANY_WORD, F_SETFL},
	{SYS_fcntl, 1, ANY_WORD, F_SETOWN},
	{SYS_fcntl, 1, ANY_WORD, F_SETSIG},
	/* consoles: is it a terminal, raw mode, size. No forged input, no inode flags, no pseudo-terminals */
	{SYS_ioctl, 1, ANY_WORD, TCGETS},
	{SYS_ioctl, 1, ANY_WORD, TCSETSW},
	{SYS_ioctl, 1, ANY_WORD, TIOCGWINSZ},
	/* of stub processes; nothing that would hide a process's open files from engine.usage (PR_SET_DUMPABLE) */
	{SYS_prctl, 0, ANY_WORD, PR_SET_PDEATHSIG},
	{SYS_prctl, 0, ANY_WORD, PR_SET_NO_NEW_PRIVS},
	{SYS_prctl, 0, ANY_WORD, PR_SET_NAME},
	/* of processes that the guest's kernel runs in: which calls are theirs */
	{SYS_prctl, 0, ANY_WORD, PR_SET_SYSCALL_USER_DISPATCH},
};

static const struct sock_filter first[] = {
	LOAD(arch),
	JUMP_IF_EQUAL(AUDIT_ARCH_X86_64, 1, 0),
	ANSWER(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1),
	FAIL(EPERM),
	/* of memory that processes share without a file, only the few pages with which UML probes its host */
	JUMP_IF_EQUAL(SYS_mmap, 0, 9),
	LOAD(args[3]),
	/* MAP_SHARED_VALIDATE includes the bit of MAP_SHARED */
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_ANONYMOUS | MAP_SHARED),
	JUMP_IF_EQUAL(MAP_ANONYMOUS | MAP_SHARED, 0, 4),
	LOAD_HIGH(args[1]),
	JUMP_IF_EQUAL(0, 0, 3),
	LOAD(args[1]),
	BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SHARED_BYTES, 1, 0),
	ALLOW,
	FAIL(EPERM),
	JUMP_IF_EQUAL(SYS_socketpair, 0, 7),
	LOAD(args[0]),
	JUMP_IF_EQUAL(AF_UNIX, 0, 4),
	LOAD(args[1]),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(SOCK_CLOEXEC | SOCK_NONBLOCK)),
	JUMP_IF_EQUAL(SOCK_STREAM, 0, 1),
	ALLOW,
	FAIL(EPERM),
	/* whoever calls it falls back to clone */
	JUMP_IF_EQUAL(SYS_clone3, 0, 1),
	FAIL(ENOSYS),
};

static void fail(const char *what)
{
	fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void limit(int what, const char *bytes)
{
	const rlim_t value = strtoull(bytes, NULL, 10);
	struct rlimit both;

	/* never above the host's own limit */
	if (getrlimit(what, &both))
		fail("getrlimit");
	if (both.rlim_max > value)
		both.rlim_max = value;
	both.rlim_cur = both.rlim_max;
	if (setrlimit(what, &both))
		fail("setrlimit");
}

/* If the host runs out of memory, it kills guests first. */
static void die_first(void)
{
	const int file = open("/proc/self/oom_score_adj", O_WRONLY);

	if (file < 0 || write(file, "1000", 4) != 4)
		fail("/proc/self/oom_score_adj");
	close(file);
}

static void open_for_writing_below(int rules, const char *folder)
{
	const struct landlock_path_beneath_attr below = {
		.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER,
		.parent_fd = open(folder, O_PATH | O_CLOEXEC),
	};

	if (below.parent_fd < 0 || syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0))
		fail(folder);
	close(below.parent_fd);
}

static void write_nowhere_else(void)
{
	/* a ruleset without REFER lets no file move from one folder to another, not even inside the run folder */
	const struct landlock_ruleset_attr handled = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER,
	};
	int rules;

	/* without namespaces the run folder has another path, and none of the user's own folders is visible */
	if (access(RUN_FOLDER, F_OK))
		return;
	/* REFER came with version 2, in Linux 5.19 */
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 2)
		return;
	rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (rules < 0)
		fail("Landlock");
	open_for_writing_below(rules, RUN_FOLDER);
	open_for_writing_below(rules, "/dev");
	if (syscall(SYS_landlock_restrict_self, rules, 0))
		fail("Landlock");
	close(rules);
}

static struct sock_filter code[BPF_MAXINSNS];
static unsigned short length;

static void add(struct sock_filter instruction)
{
	code[length++] = instruction;
}

/* Adds the lines about the call at `line`; returns the number of the first line about another one. */
static size_t add_call(size_t line)
{
	const int call = some_arguments[line].call;
	const unsigned short jump = length;

	add((struct sock_filter)JUMP_IF_EQUAL(call, 0, 0));
	for (; line < LENGTH(some_arguments) && some_arguments[line].call == call; line++) {
		const unsigned int at = offsetof(struct seccomp_data, args[0]) + 8 * some_arguments[line].argument;

		add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
		add((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, some_arguments[line].mask));
		add((struct sock_filter)JUMP_IF_EQUAL(some_arguments[line].value, 0, 1));
		add((struct sock_filter)ALLOW);
	}
	add((struct sock_filter)FAIL(EPERM));
	code[jump].jf = length - jump - 1;
	return line;
}

static void filter_calls(void)
{
	struct sock_fprog program = {.filter = code};

	for (size_t i = 0; i < LENGTH(first); i++)
		add(first[i]);
	for (size_t line = 0; line < LENGTH(some_arguments);)
		line = add_call(line);
	for (size_t i = 0; i < LENGTH(allowed); i++) {
		add((struct sock_filter)JUMP_IF_EQUAL(allowed[i], 0, 1));
		add((struct sock_filter)ALLOW);
	}
	add((struct sock_filter)FAIL(EPERM));
	program.len = length;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		fail("seccomp filter");
}

int main(int argc, char **argv)
{
	pid_t guest, ended;
	int status;

	if (argc < 5) {
		fputs("usage: confine MEMORY FILE PROCESSES PROGRAM [ARGUMENT...]\n", stderr);
		return 125;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		fail("parent death signal");
	die_first();
	limit(RLIMIT_AS, argv[1]);
	limit(RLIMIT_FSIZE, argv[2]);
	limit(RLIMIT_NPROC, argv[3]);
	limit(RLIMIT_NOFILE, DESCRIPTORS);
	limit(RLIMIT_CORE, "0");
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails instead of ending the kernel */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("no new privileges");
	write_nowhere_else();
	filter_calls();
	if (getpid() == 1) {
		guest = fork();
		if (guest < 0)
			fail("fork");
		if (guest) {
			do
				ended = wait(&status);
			while (ended >= 0 && ended != guest);
			if (ended < 0)
				fail("wait");
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
	}
	execv(argv[4], argv + 4);
	fail(argv[4]);
}
