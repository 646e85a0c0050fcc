// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the KUnit cases of the module in a process of this host: what it stands
 * on is User-Mode Linux's object file, whose code is that of any program. Here
 * is what the kernel has under the names that it asks for. mutants.h, behind
 * the tests in that object, has what needs the kernel's headers.
 *
 * mutants NUMBER...: for each mutant a line with its number and what noticed
 * it: the first case that fails or leaves a copy of a text behind, a signal, or
 * nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 1	/* the module itself takes a fraction of one */

extern int mutant;
void mutants_prepare(void);
const char *mutants_case(int index);	/* its name; NULL: there are no more */
void mutants_run(int index);

/* Of the kernel's structures, only where they begin matters. */
char init_net[1 << 16] __attribute__((aligned(64)));
char __this_module[1 << 14], rcu_lock_map[256], param_ops_uint[256];
static char task[1 << 16];
void *cpu_tasks[64] = { [0 ... 63] = task };
unsigned long jiffies = 1000000;
unsigned char _ctype[256];

static jmp_buf case_end;
static int failures;

void __kunit_do_failed_assertion(void) { failures++; }
void __kunit_abort(void) { longjmp(case_end, 1); }
void kunit_binary_assert_format(void) {}
void kunit_binary_ptr_assert_format(void) {}
void kunit_binary_str_assert_format(void) {}
void kunit_unary_assert_format(void) {}
int kunit_run_tests(void) { return 0; }
void *kunit_kmalloc_array(void *test, size_t count, size_t size)
{
	(void)test;
	return calloc(count, size);
}

void *__kmalloc_noprof(size_t size) { return calloc(1, size); }
void *get_zeroed_page_noprof(void) { return calloc(1, 4096); }
void free_pages(void *page) { free(page); }

/* a text is copied only for as long as a parameter is parsed */
static void *copy;

char *kstrdup(const char *text)
{
	copy = strdup(text);
	return copy;
}

void kfree(void *memory)
{
	if (memory == copy)
		copy = NULL;
	free(memory);
}

int debug_lockdep_rcu_enabled(void) { return 0; }
int rcu_read_lock_held(void) { return 1; }
void lock_acquire(void) {}
void lock_release(void) {}
void lockdep_rcu_suspicious(void) {}
void warn_slowpath_fmt(void) { abort(); }
int _printk(void) { return 0; }

int register_pernet_subsys(void) { return 0; }
void unregister_pernet_subsys(void) {}
int tcp_register_congestion_control(void) { return 0; }
void tcp_unregister_congestion_control(void) {}
int sock_create_kern(void) { return -1; }
void sock_release(void) {}
void *register_net_sysctl_sz(void) { return task; }
void unregister_net_sysctl_table(void) {}

unsigned int __sw_hweight32(unsigned int bits) { return __builtin_popcount(bits); }

int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	char *end;
	const unsigned long long number = strtoull(text, &end, base);

	if (end == text || *text == '-' || *text == ' ' || number > ~0U)
		return -22;
	end += *end == '\n';
	*value = number;
	return *end ? -22 : 0;
}

int kstrtoint(const char *text, unsigned int base, int *value)
{
	*value = strtol(text, NULL, base);
	return 0;
}

long sized_strscpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	if (length == size)
		length--;
	memmove(to, from, length);
	to[length] = 0;
	return from[length] ? -7 : (long)length;
}

int sysfs_emit_at(char *buffer, int at, const char *format, ...)
{
	va_list words;
	int length;

	va_start(words, format);
	length = vsnprintf(buffer + at, 4096 - at, format, words);
	va_end(words);
	return length;
}

static void fill_ctype(void)
{
	int character;

	for (character = '0'; character <= '9'; character++)
		_ctype[character] = 4;
	for (character = 'a'; character <= 'z'; character++)
		_ctype[character] = 2;
	for (character = 'A'; character <= 'Z'; character++)
		_ctype[character] = 1;
}

/* In a process of its own: print the first case that fails. */
static void try(int number)
{
	const struct rlimit limit = { SECONDS, SECONDS };
	volatile int index;
	const char *name;

	mutant = number;
	setrlimit(RLIMIT_CPU, &limit);
	alarm(20 * SECONDS);
	for (index = 0; (name = mutants_case(index)); index++) {
		if (!setjmp(case_end))
			mutants_run(index);
		if (failures || copy) {
			printf("%s", name);
			return;
		}
	}
}

int main(int count, char **words)
{
	int i, status;

	fill_ctype();
	mutants_prepare();
	for (i = 1; i < count; i++) {
		printf("%s ", words[i]);
		fflush(stdout);
		if (!fork()) {
			try(atoi(words[i]));
			fflush(stdout);
			_exit(0);
		}
		wait(&status);
		if (WIFSIGNALED(status))
			printf("signal %d", WTERMSIG(status));
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
