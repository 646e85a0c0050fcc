// SPDX-License-Identifier: MIT
/*
 * The first program of a guest that does what is hard for a kernel that runs in its processes: says "NAME ok" or
 * "NAME WRONG" for each, and powers off. With an argument it is the program that it executes itself.
 *
 * Calls are made often from each place, so that they become jumps, and once before, while they are not.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define OFTEN 100
#define KERNEL 0x60000000ul
#define SLOTS 0x050f0000ul

static volatile sig_atomic_t signals;
static int inner[2], outer[2];

static bool ended_well(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Runs a test in a process of its own, whose places of calls are fresh */
static void report(const char *name, bool (*test)(void))
{
	const pid_t child = fork();

	if (child == 0)
		_exit(!test());
	printf("%s %s\n", name, ended_well(child) ? "ok" : "WRONG");
	fflush(stdout);
}

static bool registers_survive(void)
{
	double sum = 0;

	for (int i = 0; i < OFTEN; i++) {
		uint64_t rbx = 11, r12 = 12, r15 = 15, low, high;
		long number = SYS_getppid;

		asm volatile("movq %[b], %%xmm13\n movq %[c], %%xmm3\n syscall\n movq %%xmm13, %[low]\n movq %%xmm3, %[high]"
			     : "+a"(number), [low] "=r"(low), [high] "=r"(high)
			     : [b] "r"(rbx * 1000 + i), [c] "r"(r12 * r15)
			     : "rcx", "r11", "memory", "xmm13", "xmm3");
		if (number != getppid() || low != rbx * 1000 + i || high != r12 * r15)
			return false;
		sum += 0.5;
	}
	return sum == 0.5 * OFTEN;
}

static void reads_often(int number)
{
	char byte;

	for (int i = 0; i < OFTEN; i++)
		if (write(inner[1], "i", 1) != 1 || read(inner[0], &byte, 1) != 1 || byte != 'i')
			_exit(2);
	signals += number != 0;
}

/* The handler makes the very call often that it interrupted; that one is made again, or ends */
static bool handler_makes_the_call(int flags)
{
	struct sigaction action = {.sa_handler = reads_often, .sa_flags = flags};
	char byte = 0;
	pid_t child;
	ssize_t got;

	if (pipe(inner) || pipe(outer) || sigaction(SIGUSR1, &action, NULL))
		return false;
	child = fork();
	if (child == 0) {
		usleep(1000);
		kill(getppid(), SIGUSR1);
		usleep(1000);
		_exit(write(outer[1], "o", 1) != 1);
	}
	got = read(outer[0], &byte, 1);
	if (flags & SA_RESTART ? got != 1 || byte != 'o' : got != -1 || errno != EINTR)
		return false;
	return ended_well(child) && signals == 1;
}

static bool call_restarts(void)
{
	return handler_makes_the_call(SA_RESTART);
}

static bool call_is_interrupted(void)
{
	return handler_makes_the_call(0);
}

/* A sleep that is stopped and continued goes on by another call, restart_syscall */
static bool sleep_restarts(void)
{
	const pid_t child = fork();

	if (child == 0) {
		const struct timespec short_time = {.tv_nsec = 1000}, longer = {.tv_nsec = 50000000};
		struct timespec began, ended;

		for (int i = 0; i < OFTEN; i++)
			nanosleep(&short_time, NULL);
		clock_gettime(CLOCK_MONOTONIC, &began);
		if (nanosleep(&longer, NULL))
			_exit(1);
		clock_gettime(CLOCK_MONOTONIC, &ended);
		_exit((ended.tv_sec - began.tv_sec) * 1000000000L + ended.tv_nsec - began.tv_nsec < 50000000);
	}
	usleep(20000);
	kill(child, SIGSTOP);
	usleep(1000);
	kill(child, SIGCONT);
	return ended_well(child);
}

static void counts(int number)
{
	signals += number != 0;
}

static void *kills_and_counts(void *counter)
{
	pthread_mutex_t *lock = counter;

	for (int i = 0; i < OFTEN; i++) {
		kill(getpid(), SIGUSR2);
		pthread_mutex_lock(lock);
		getppid();
		pthread_mutex_unlock(lock);
		sched_yield();
	}
	return NULL;
}

static bool threads_and_signals(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction action = {.sa_handler = counts, .sa_flags = SA_RESTART};
	pthread_t threads[8];

	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, kills_and_counts, &lock))
			return false;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return signals > 0;
}

static bool vforks(void)
{
	for (int i = 0; i < 5 * OFTEN; i++) {
		const pid_t child = vfork();

		if (child == 0) {
			execl("/init", "init", "exits", NULL);
			_exit(1);
		}
		if (!ended_well(child))
			return false;
	}
	return true;
}

static bool forks(void)
{
	const size_t size = 1 << 18;
	unsigned char *memory = malloc(size);
	pid_t children[OFTEN];

	memset(memory, 7, size);
	for (int i = 0; i < OFTEN; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			for (size_t at = 0; at < size; at++)
				if (memory[at] != 7)
					_exit(1);
			memset(memory, i, size);
			usleep(1000);
			_exit(memory[size - 1] != i % 256);
		}
	}
	for (int i = 0; i < OFTEN; i++)
		if (!ended_well(children[i]))
			return false;
	return memory[0] == 7 && memory[size - 1] == 7;
}

static sigjmp_buf before;

static void jumps(int number)
{
	siglongjmp(before, number);
}

static bool faults(void)
{
	static volatile int *volatile nowhere = (int *)8;
	static const int numbers[] = {SIGSEGV, SIGILL, SIGFPE, SIGTRAP};

	for (unsigned int which = 0; which < 4; which++)
		signal(numbers[which], jumps);
	for (volatile int i = 0; i < OFTEN; i++) {
		const int wanted = numbers[i % 4], got = sigsetjmp(before, 1);
		int zero = 0;

		if (got == 0) {
			if (wanted == SIGSEGV)
				*nowhere = 1;
			else if (wanted == SIGILL)
				asm volatile("ud2");
			else if (wanted == SIGFPE)
				asm volatile("cltd; idivl %0" : : "r"(zero), "a"(1) : "edx");
			else
				asm volatile("int3");
			return false;
		}
		if (got != wanted)
			return false;
	}
	return true;
}

/* Counts the calls of a child, and steps through it; it is never seen inside the kernel */
static bool traced(void)
{
	const pid_t child = fork();
	int status, calls = 0;

	if (child == 0) {
		ptrace(PTRACE_TRACEME);
		raise(SIGSTOP);
		for (int i = 0; i < OFTEN; i++)
			getppid();
		raise(SIGSTOP);
		for (int i = 0; i < OFTEN; i++)
			getppid();
		_exit(0);
	}
	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
	for (;;) {
		struct user_regs_struct regs;

		ptrace(PTRACE_SYSCALL, child, 0, 0);
		waitpid(child, &status, 0);
		if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP)
			break;
		ptrace(PTRACE_GETREGS, child, 0, &regs);
		calls += regs.orig_rax == SYS_getppid;
	}
	while (WIFSTOPPED(status)) {
		struct user_regs_struct regs;

		ptrace(PTRACE_GETREGS, child, 0, &regs);
		if (regs.rip >= KERNEL && regs.rip < KERNEL + (512 << 20))
			return false;
		ptrace(PTRACE_SINGLESTEP, child, 0, 0);
		waitpid(child, &status, 0);
	}
	return calls == 2 * OFTEN && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What a handler writes into the frame is what the processor is to load */
static void spoils(int number, siginfo_t *about, void *context)
{
	unsigned char *state = (unsigned char *)((ucontext_t *)context)->uc_mcontext.fpregs;

	signals += number == about->si_signo;
	memset(state + 24, 0xff, 4);	/* mxcsr */
	memset(state + 512, 0xff, 64); /* the header of the extended state */
}

/* The process may die of it; the kernel may not */
static bool spoilt_registers(void)
{
	const pid_t child = fork();

	if (child == 0) {
		struct sigaction action = {.sa_sigaction = spoils, .sa_flags = SA_SIGINFO};

		sigaction(SIGUSR1, &action, NULL);
		raise(SIGUSR1);
		getppid();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return true;
}

static bool spoilt_bases(void)
{
	static const int bases[] = {ARCH_SET_GS, ARCH_SET_FS};

	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();

		if (child == 0) {
			syscall(SYS_arch_prctl, bases[i], 0x8000000000000000ul);
			syscall(SYS_exit, 0);
		}
		waitpid(child, NULL, 0);
	}
	return true;
}

/* The page with the addresses of jumps cannot be taken away from under them */
static bool slots_stay(void)
{
	void *there = mmap((void *)SLOTS, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (there != MAP_FAILED || munmap((void *)SLOTS, 4096) == 0)
		return false;
	for (int i = 0; i < OFTEN; i++)
		if (getppid() < 1)
			return false;
	return true;
}

/* Places of calls that nobody has used: mov $SYS_getppid, %eax; syscall; ret */
#define SITES 256
#define SITE_BYTES 8
#define CALLS_PER_SITE 12 /* the ninth is the first that may be a jump */
extern const char sites[];
asm(".balign 8\nsites:\n.rept 256\nmov $110, %eax\nsyscall\nret\n.endr");

static pid_t parent;
static unsigned long calls_made, sum;

static bool call_from(unsigned int site)
{
	calls_made++;
	return ((pid_t (*)(void))(sites + site % SITES * SITE_BYTES))() == parent;
}

static void calls_from_next(int number)
{
	sum = sum * 31 + calls_made + number;
	/* this place and the next: the one may be changing just now, the other is to change */
	for (unsigned int i = 0; i < 2; i++)
		if (!call_from(calls_made / CALLS_PER_SITE + i))
			_exit(1);
	signals++;
}

static bool interrupted_every(suseconds_t us)
{
	const struct sigaction action = {.sa_handler = calls_from_next};
	const struct itimerval often = {{0, us}, {0, us}}, never = {{0, 0}, {0, 0}};
	const pid_t child = fork();

	if (child)
		return ended_well(child);
	parent = getppid();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (calls_made < SITES * CALLS_PER_SITE)
		if (!call_from(calls_made / CALLS_PER_SITE))
			_exit(1);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("a signal each %ld us: %d, at %lx\n", (long)us, (int)signals, sum);
	fflush(stdout);
	_exit(signals == 0);
}

/* Signals come at the same calls whether these become jumps or not */
static bool signals_while_calls_change(void)
{
	return interrupted_every(100) && interrupted_every(10) && interrupted_every(3) && interrupted_every(2);
}

#define ENTRIES 256
#define ENTRY_PAGES (ENTRIES * sizeof(struct io_uring_sqe) / 4096)

/* A child sees the pages of a ring that its parent has: their copy goes from page to page of one large folio */
static bool rings_are_inherited(void)
{
	struct io_uring_params params = {0};
	const int ring = syscall(SYS_io_uring_setup, ENTRIES, &params);
	char *entries = mmap(NULL, ENTRY_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
			     IORING_OFF_SQES);
	pid_t child;

	if (ring < 0 || entries == MAP_FAILED)
		return false;
	for (unsigned int page = 0; page < ENTRY_PAGES; page++)
		entries[page * 4096] = page + 1;
	child = fork();
	if (child)
		return ended_well(child);
	for (unsigned int page = 0; page < ENTRY_PAGES; page++)
		if (entries[page * 4096] != (char)(page + 1))
			_exit(1);
	_exit(0);
}

/* A thread of the kernel looks for entries, for some time: that must pass while it looks */
static bool ring_is_polled(void)
{
	struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 10};
	const int ring = syscall(SYS_io_uring_setup, 1, &params);
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	const struct timespec pause = {.tv_nsec = 100000000};

	if (ring < 0 || memory == MAP_FAILED)
		return false;
	/* entry 0 is zero, which asks for nothing */
	__atomic_store_n((unsigned int *)(memory + params.sq_off.tail), 1, __ATOMIC_SEQ_CST);
	nanosleep(&pause, NULL);
	return syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP, NULL, 0) >= 0 &&
	       __atomic_load_n((unsigned int *)(memory + params.cq_off.tail), __ATOMIC_SEQ_CST) == 1;
}

static bool hints_are_hints(void)
{
	char *there = mmap((void *)KERNEL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (there == MAP_FAILED)
		return false;
	memset(there, 1, 1 << 20);
	return there[(1 << 20) - 1] == 1;
}

int main(int argc, char **argv)
{
	void *fixed;

	if (argc > 1 && strcmp(argv[1], "exits") == 0)
		return 0;
	report("registers", registers_survive);
	report("restarted", call_restarts);
	report("interrupted", call_is_interrupted);
	report("sleep", sleep_restarts);
	report("threads", threads_and_signals);
	report("vforks", vforks);
	report("forks", forks);
	report("faults", faults);
	report("traced", traced);
	report("spoilt-registers", spoilt_registers);
	report("spoilt-bases", spoilt_bases);
	report("slots", slots_stay);
	report("changing", signals_while_calls_change);
	report("rings", rings_are_inherited);
	report("polled", ring_is_polled);
	report("hint", hints_are_hints);
	report("again", registers_survive);
	fixed = mmap((void *)KERNEL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	printf("kernel's place %s\n", fixed == MAP_FAILED ? "refused" : "free");
	fflush(stdout);
	sync();
	return reboot(RB_POWER_OFF);
}
