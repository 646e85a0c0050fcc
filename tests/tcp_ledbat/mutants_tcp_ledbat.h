/* SPDX-License-Identifier: GPL-2.0-only */
/* Behind the module's tests: what mutants.c asks of them, and of the kernel. */

/* The tests' jiffies stand still, so nothing leaves the window. */
u32 minmax_running_min(struct minmax *of, u32 window, u32 time, u32 value)
{
	return value <= minmax_get(of) ? minmax_reset(of, time, value) :
					 minmax_get(of);
}

void mutants_prepare(void)
{
	static void *generic[64];
	unsigned int i;

	ledbat_net_id = ARRAY_SIZE(generic) - 1;
	generic[ledbat_net_id] = kzalloc(ledbat_net_ops.size, GFP_KERNEL);
	init_net.gen = (void *)generic;
	ledbat_net_init(&init_net);
	for (i = 0; i < ledbat_total; i++)
		ledbat_fill_ops(&ledbat_controls[i]);
}

const char *mutants_case(int index)
{
	return ledbat_cases[index].name;
}

void mutants_run(int index)
{
	static struct kunit test;

	ledbat_cases[index].run_case(&test);
}

int proc_douintvec_minmax(const struct ctl_table *table, int dir, void *buffer,
			  size_t *length, loff_t *at)
{
	unsigned int value;

	if (kstrtouint(buffer, 10, &value) ||
	    value < *(unsigned int *)table->extra1 ||
	    value > *(unsigned int *)table->extra2)
		return -EINVAL;
	*(unsigned int *)table->data = value;
	return 0;
}

