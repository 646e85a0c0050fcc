// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of each variant: defaults, given when the module is loaded,
 *
 *	modprobe tcp_ledbat ledbat_md=target_us=20000,beta_ppm=700000
 *
 * and the sysctls net/<variant>/<setting> of each network namespace. A socket
 * copies them when it is set up.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "ledbat.h"

/*
 * `standard`: the upper bound of RFC 6817, where it is lower; it also applies
 * to LEDBAT++.
 */
static struct {
	const char	*name;
	unsigned int	low, high, standard;
} ledbat_setting[LEDBAT_SETTINGS] = {
	[LEDBAT_TARGET_US] = {
		"target_us", USEC_PER_MSEC, USEC_PER_SEC,
		LEDBAT_RFC6817_TARGET * USEC_PER_MSEC
	},
	[LEDBAT_BASE_HISTORY] = { "base_history", 1, LEDBAT_MAX_SLOTS },
	[LEDBAT_CURRENT_FILTER] = { "current_filter", 1, LEDBAT_MAX_FILTER },
	[LEDBAT_MIN_WINDOW] = { "min_window", 1, 10, 2 },
	[LEDBAT_SLOW_START] = {
		"slow_start", 0, LEDBAT_SLOW_STARTS - 1, LEDBAT_SLOW_START_ONCE
	},
	[LEDBAT_PACING] = { "pacing", 0, 1 },
	[LEDBAT_GAIN_PPM] = { "gain_ppm", 1, LEDBAT_PPM },
	[LEDBAT_ALLOWED_INCREASE] = { "allowed_increase", 1, 10 },
	[LEDBAT_BETA_PPM] = { "beta_ppm", 1, LEDBAT_PPM },
	[LEDBAT_MIN_DECREASE] = { "min_decrease", 1, 10 },
	[LEDBAT_ZETA_PPM] = { "zeta_ppm", 1, 10 * LEDBAT_PPM },
};

struct ledbat_net {
	struct {
		struct ledbat_settings	settings;
		struct ctl_table_header	*header;
		/* before Linux 6.6, an empty entry ends the table */
		struct ctl_table	table[LEDBAT_SETTINGS + 1];
	} variant[LEDBAT_VARIANTS];
};

static unsigned int ledbat_net_id __read_mostly;

u32 ledbat_setting_of(const struct sock *sk, enum ledbat_setting setting)
{
	const struct ledbat_net *ln = net_generic(sock_net(sk), ledbat_net_id);
	const int name = ledbat_variant_of(sk) - ledbat_variants;

	return READ_ONCE(ln->variant[name].settings.value[setting]);
}

static unsigned int *ledbat_highest(const struct ledbat_variant *variant,
				    enum ledbat_setting setting)
{
	if (variant->standard && ledbat_setting[setting].standard)
		return &ledbat_setting[setting].standard;
	return &ledbat_setting[setting].high;
}

/* At load */

static int ledbat_set_default(struct ledbat_variant *variant, const char *name,
			      const char *text)
{
	const char *of = variant->ops.name;
	unsigned int value, high;
	int i;

	for (i = 0; i < LEDBAT_SETTINGS; i++)
		if (variant->mask & BIT(i) &&
		    !strcmp(name, ledbat_setting[i].name))
			break;
	if (i == LEDBAT_SETTINGS) {
		pr_err("%s has no setting %s\n", of, name);
		return -EINVAL;
	}
	high = *ledbat_highest(variant, i);
	if (!text || kstrtouint(text, 10, &value) ||
	    value < ledbat_setting[i].low || value > high) {
		pr_err("%s: %s is %s, allowed are %u to %u\n", of, name,
		       text ?: "not given", ledbat_setting[i].low, high);
		return -EINVAL;
	}
	variant->defaults.value[i] = value;
	return 0;
}

static int ledbat_set_defaults(const char *text, const struct kernel_param *kp)
{
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *name;
	int error = copy ? 0 : -ENOMEM;

	while (!error && (name = strsep(&rest, ",\n"))) {
		char *value = name;

		strsep(&value, "=");
		if (*name)
			error = ledbat_set_default(kp->arg, name, value);
	}
	kfree(copy);
	return error;
}

static int ledbat_get_defaults(char *buffer, const struct kernel_param *kp)
{
	const struct ledbat_variant *variant = kp->arg;
	int i, length = 0;

	for (i = 0; i < LEDBAT_SETTINGS; i++)
		if (variant->mask & BIT(i))
			length += sysfs_emit_at(buffer, length, "%s%s=%u",
						length ? "," : "",
						ledbat_setting[i].name,
						variant->defaults.value[i]);
	return length + sysfs_emit_at(buffer, length, "\n");
}

static const struct kernel_param_ops ledbat_defaults = {
	.set = ledbat_set_defaults,
	.get = ledbat_get_defaults,
};

#define LEDBAT_PARAMETER(_name, _variant)				\
	module_param_cb(_name, &ledbat_defaults,			\
			&ledbat_variants[_variant], 0444)
#define LEDBAT_PARAMETER_IS	"defaults of new namespaces: setting=value,..."

LEDBAT_PARAMETER(ledbat, LEDBAT_RFC6817);
MODULE_PARM_DESC(ledbat, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbat_draft00, LEDBAT_DRAFT00);
MODULE_PARM_DESC(ledbat_draft00, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbat_icccn, LEDBAT_ICCCN);
MODULE_PARM_DESC(ledbat_icccn, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbat_ld, LEDBAT_LD);
MODULE_PARM_DESC(ledbat_ld, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbat_ldmin, LEDBAT_LDMIN);
MODULE_PARM_DESC(ledbat_ldmin, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbat_md, LEDBAT_MD);
MODULE_PARM_DESC(ledbat_md, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbat_mdvar, LEDBAT_MDVAR);
MODULE_PARM_DESC(ledbat_mdvar, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbat_aina, LEDBAT_AINA);
MODULE_PARM_DESC(ledbat_aina, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(ledbatpp, LEDBAT_PLUS_PLUS);
MODULE_PARM_DESC(ledbatpp, LEDBAT_PARAMETER_IS);
LEDBAT_PARAMETER(fledbat, LEDBAT_FAIR);
MODULE_PARM_DESC(fledbat, LEDBAT_PARAMETER_IS);

/* In each network namespace */

static struct ctl_table_header *ledbat_register_table(struct net *net,
						      const char *path,
						      struct ctl_table *table,
						      size_t length)
{
#ifdef LEDBAT_HAVE_REGISTER_NET_SYSCTL_SZ
	return register_net_sysctl_sz(net, path, table, length);
#else
	return register_net_sysctl(net, path, table);
#endif
}

static void ledbat_unregister_tables(struct ledbat_net *ln, int count)
{
	while (count--)
		unregister_net_sysctl_table(ln->variant[count].header);
}

static int __net_init ledbat_net_init(struct net *net)
{
	struct ledbat_net *ln = net_generic(net, ledbat_net_id);
	char path[sizeof("net/") + TCP_CA_NAME_MAX];
	int i, j;

	for (i = 0; i < LEDBAT_VARIANTS; i++) {
		const struct ledbat_variant *variant = &ledbat_variants[i];
		struct ctl_table *entry = ln->variant[i].table;

		ln->variant[i].settings = variant->defaults;
		for (j = 0; j < LEDBAT_SETTINGS; j++) {
			if (!(variant->mask & BIT(j)))
				continue;
			entry->procname = ledbat_setting[j].name;
			entry->data = &ln->variant[i].settings.value[j];
			entry->maxlen = sizeof(unsigned int);
			entry->mode = 0644;
			entry->proc_handler = proc_douintvec_minmax;
			entry->extra1 = &ledbat_setting[j].low;
			entry->extra2 = ledbat_highest(variant, j);
			entry++;
		}
		snprintf(path, sizeof(path), "net/%s", variant->ops.name);
		ln->variant[i].header =
			ledbat_register_table(net, path, ln->variant[i].table,
					      entry - ln->variant[i].table);
		if (!ln->variant[i].header) {
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
	.size	= sizeof(struct ledbat_net),
};

int __init ledbat_settings_register(void)
{
	return register_pernet_subsys(&ledbat_net_ops);
}

void ledbat_settings_unregister(void)
{
	unregister_pernet_subsys(&ledbat_net_ops);
}
