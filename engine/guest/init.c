// SPDX-License-Identifier: MIT
/*
 * First program of a guest. Lays an in-memory overlay over the read-only root file system, mounts what programs
 * expect, makes the run folder writable at /results, starts the agent in that root and powers off when it ends:
 * no services, no teardown. Once it has mounted the host's folders, hostfs is sealed: nobody in the guest, root
 * included, may mount another one, or one of these again where it is writable.
 *
 * Host paths come as kernel parameters, which the kernel hands to init as environment:
 *   TESTBED_ROOTFS   directory that becomes / (read-only, under an overlay)
 *   TESTBED_RUN      the run folder; seen as /results, the only place whose files outlive the guest
 *   TESTBED_PROGRAM  module the guest runs, e.g. engine.guest.agent
 * The folders of read_only[] are seen below /opt, the optional ones if there is such a parameter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void power_off(void)
{
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void fail(const char *what, const char *on)
{
	printf("init: %s %s: %s\n", what, on, strerror(errno));
	fflush(stdout);
	power_off();
}

static const char *required(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value) {
		errno = EINVAL;
		fail("kernel parameter missing:", name);
	}
	return value;
}

static void mount_or_fail(const char *type, const char *on, unsigned long flags, const char *options)
{
	if (mkdir(on, 0755) && errno != EEXIST)
		fail("mkdir", on);
	if (mount(type, on, type, flags, options))
		fail("mount", on);
}

static const struct {
	const char *parameter, *on;
	int optional;
} read_only[] = {
	{"TESTBED_TOOLS", "opt/tools", 0},     /* this program's directory */
	{"TESTBED_MODULES", "opt/modules", 0}, /* kernel modules under test */
	{"TESTBED_CODE", "opt/testbed", 0},    /* the project's Python packages */
	{"TESTBED_PROGRAMS", "opt/programs", 1}, /* a folder for each program under test */
	/* of `testbed exec`: see exec_script.py */
	{"TESTBED_PYTHON", "opt/python", 1},
	{"TESTBED_MODULE_LISTS", "opt/module-lists", 1},
	{"TESTBED_WORK", "opt/work", 1},
	{"TESTBED_SCRIPT", "opt/script", 1},
};

static void mount_folders(void)
{
	for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++) {
		const char *parameter = read_only[i].parameter;

		if (!read_only[i].optional || getenv(parameter))
			mount_or_fail("hostfs", read_only[i].on, MS_RDONLY, required(parameter));
	}
	mount_or_fail("hostfs", "results", 0, required("TESTBED_RUN"));
}

static void seal_hostfs(void)
{
	const char *setting = "proc/sys/fs/hostfs/sealed";
	const int file = open(setting, O_WRONLY);

	if (file < 0 || write(file, "1", 1) != 1)
		fail("seal", setting);
	close(file);
}

/* Becomes the agent; does not return. */
static void run_agent(const char *program)
{
	char *const argv[] = {"/opt/testbed/engine/guest/start.py", (char *)program, NULL};
	char *const envp[] = {NULL};

	setsid();
	execve(argv[0], argv, envp);
	fail("exec", argv[0]);
}

int main(void)
{
	const struct rlimit no_core = {0, 0};
	const char *program = required("TESTBED_PROGRAM");
	int status;
	pid_t agent;

	setvbuf(stdout, NULL, _IOLBF, 0);
	setrlimit(RLIMIT_CORE, &no_core);

	/* the root is the tools directory; its mnt/ is the only mount point that exists */
	mount_or_fail("tmpfs", "/mnt", 0, "mode=755");
	mount_or_fail("hostfs", "/mnt/lower", MS_RDONLY, required("TESTBED_ROOTFS"));
	if (mkdir("/mnt/upper", 0755) || mkdir("/mnt/work", 0755))
		fail("mkdir", "/mnt/upper");
	mount_or_fail("overlay", "/mnt/root", 0, "lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work");
	if (chdir("/mnt/root"))
		fail("chdir", "/mnt/root");

	mount_or_fail("proc", "proc", 0, NULL);
	mount_or_fail("sysfs", "sys", 0, NULL);
	mount_or_fail("devtmpfs", "dev", 0, NULL);
	mount_or_fail("devpts", "dev/pts", 0, NULL);
	mount_or_fail("tmpfs", "dev/shm", 0, NULL);
	mount_or_fail("tmpfs", "run", 0, "mode=755");
	mount_or_fail("tmpfs", "tmp", 0, NULL);
	mkdir("opt", 0755);
	mount_folders();
	seal_hostfs();
	/* move the mount before chroot: processes that enter this mount namespace (mnexec -a) get the same root */
	if (mount(".", "/", NULL, MS_MOVE, NULL) || chroot("."))
		fail("switch root to", "/mnt/root");

	agent = fork();
	if (agent < 0)
		fail("fork", "agent");
	if (agent == 0)
		run_agent(program);

	/* reap every orphan of the guest; only the agent's end matters */
	while (waitpid(-1, &status, 0) != agent)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		printf("init: the agent ended with status 0x%x\n", status);
	sync();
	power_off();
}
