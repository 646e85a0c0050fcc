/* SPDX-License-Identifier: GPL-2.0-only */
/* Behind the module's tests: what mutants.c asks of them, and of the kernel. */

void mutants_prepare(void)
{
}

const char *mutants_case(int index)
{
	return rledbat_cases[index].name;
}

void mutants_run(int index)
{
	static struct kunit test;

	rledbat_cases[index].run_case(&test);
}

/* A module's users, which nothing else counts here. */
static int users;

void __module_get(struct module *module)
{
	users++;
}

void module_put(struct module *module)
{
	users--;
}

int module_refcount(struct module *module)
{
	return users;
}

