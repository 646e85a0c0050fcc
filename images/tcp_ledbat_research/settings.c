// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of each variant: the sysctls net/<variant>/<setting> of each
 * network namespace. A socket copies them when it is set up.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "ledbat.h"

static struct {
	const char	*name;
	unsigned int	low, high;
} ledbat_setting[LEDBAT_SETTINGS] = {
	[LEDBAT_TARGET_US] = { "target_us", USEC_PER_MSEC, USEC_PER_SEC },
	[LEDBAT_BASE_HISTORY] = { "base_history", 1, LEDBAT_MAX_SLOTS },
	[LEDBAT_CURRENT_FILTER] = { "current_filter", 1, LEDBAT_MAX_FILTER },
	[LEDBAT_MIN_WINDOW] = { "min_window", 1, 10 },
	[LEDBAT_SLOW_START] = { "slow_start", 0, LEDBAT_SLOW_STARTS - 1 },
	[LEDBAT_PACING] = { "pacing", 0, 1 },
	[LEDBAT_BETA_PPM] = { "beta_ppm", 1, LEDBAT_PPM },
	[LEDBAT_MIN_DECREASE] = { "min_decrease", 1, 10 },
	[LEDBAT_ZETA_PPM] = { "zeta_ppm", 1, 10 * LEDBAT_PPM },
};

/* A network namespace has one for each element of ledbat_variants. */
struct ledbat_net {
	struct ledbat_settings	settings;
	struct ctl_table_header	*header;
	struct ctl_table	table[LEDBAT_SETTINGS];
};

static unsigned int ledbat_net_id __read_mostly;

u32 ledbat_setting_of(const struct sock *sk, enum ledbat_setting setting)
{
	const struct ledbat_net *ln = net_generic(sock_net(sk), ledbat_net_id);
	const int name = ledbat_variant_of(sk) - ledbat_variants;

	return READ_ONCE(ln[name].settings.value[setting]);
}

/* In each network namespace */

static void ledbat_unregister_tables(struct ledbat_net *ln, unsigned int count)
{
	while (count--)
		unregister_net_sysctl_table(ln[count].header);
}

static int __net_init ledbat_net_init(struct net *net)
{
	struct ledbat_net *ln = net_generic(net, ledbat_net_id);
	char path[sizeof("net/") + TCP_CA_NAME_MAX];
	unsigned int i, j;

	for (i = 0; i < LEDBAT_VARIANTS; i++) {
		const struct ledbat_variant *variant = &ledbat_variants[i];
		struct ctl_table *entry = ln[i].table;

		ln[i].settings = variant->defaults;
		for (j = 0; j < LEDBAT_SETTINGS; j++) {
			if (!(variant->mask & BIT(j)))
				continue;
			entry->procname = ledbat_setting[j].name;
			entry->data = &ln[i].settings.value[j];
			entry->maxlen = sizeof(unsigned int);
			entry->mode = 0644;
			entry->proc_handler = proc_douintvec_minmax;
			entry->extra1 = &ledbat_setting[j].low;
			entry->extra2 = &ledbat_setting[j].high;
			entry++;
		}
		snprintf(path, sizeof(path), "net/%s", variant->ops.name);
		ln[i].header = register_net_sysctl_sz(net, path, ln[i].table,
						      entry - ln[i].table);
		if (!ln[i].header) {
			ledbat_unregister_tables(ln, i);
			return -ENOMEM;
		}
	}
	return 0;
}

static void __net_exit ledbat_net_exit(struct net *net)
{
	ledbat_unregister_tables(net_generic(net, ledbat_net_id),
				 LEDBAT_VARIANTS);
}

static struct pernet_operations ledbat_net_ops = {
	.init	= ledbat_net_init,
	.exit	= ledbat_net_exit,
	.id	= &ledbat_net_id,
	.size	= sizeof(struct ledbat_net[LEDBAT_VARIANTS]),
};

int __init ledbat_settings_register(void)
{
	return register_pernet_subsys(&ledbat_net_ops);
}

void ledbat_settings_unregister(void)
{
	unregister_pernet_subsys(&ledbat_net_ops);
}
