// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of each variant: defaults, given when the module is loaded,
 *
 *	modprobe tcp_ledbat ledbat_md=target_us=20000,beta_ppm=700000
 *
 * and the sysctls net/<variant>/<setting> of each network namespace. A socket
 * copies them when it is set up.
 *
 * For more than one group of settings in a namespace, a variant may have
 * further instances, each a congestion control with its own name and settings:
 *
 *	modprobe tcp_ledbat instance=mirror:ledbatpp,target_us=20000
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
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

/* A network namespace has one for each element of ledbat_variants. */
struct ledbat_net {
	struct ledbat_settings	settings;
	struct ctl_table_header	*header;
	/* before Linux 6.6, an empty entry ends the table */
	struct ctl_table	table[LEDBAT_SETTINGS + 1];
};

static unsigned int ledbat_net_id __read_mostly;

u32 ledbat_setting_of(const struct sock *sk, enum ledbat_setting setting)
{
	const struct ledbat_net *ln = net_generic(sock_net(sk), ledbat_net_id);
	const int name = ledbat_variant_of(sk) - ledbat_variants;

	return READ_ONCE(ln[name].settings.value[setting]);
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

static int ledbat_parse_defaults(struct ledbat_variant *variant, char *text)
{
	char *name;
	int error = 0;

	while (!error && (name = strsep(&text, ",\n"))) {
		char *value = name;

		strsep(&value, "=");
		if (*name)
			error = ledbat_set_default(variant, name, value);
	}
	return error;
}

static int ledbat_set_defaults(const char *text, const struct kernel_param *kp)
{
	char *copy = kstrdup(text, GFP_KERNEL);
	int error = copy ? ledbat_parse_defaults(kp->arg, copy) : -ENOMEM;

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

static struct ledbat_variant *ledbat_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ledbat_total; i++)
		if (!strcmp(name, ledbat_variants[i].ops.name))
			return &ledbat_variants[i];
	return NULL;
}

/* A name of sysctls and of a congestion control, neither of which checks it. */
static bool ledbat_is_name(const char *name)
{
	size_t length = 0;

	while (isalnum(name[length]) || name[length] == '_' ||
	       name[length] == '-')
		length++;
	return length && !name[length] && length < TCP_CA_NAME_MAX;
}

/* name:algorithm,setting=value,... */
static int ledbat_parse_instance(char *text)
{
	struct ledbat_variant *instance = &ledbat_variants[ledbat_total];
	const struct ledbat_variant *variant;
	char *of = strsep(&text, ",\n");
	const char *name = strsep(&of, ":");

	if (!ledbat_is_name(name) || ledbat_find(name)) {
		pr_err("instance is named \"%s\", allowed are new names of at most %u letters, digits, - and _\n",
		       name, TCP_CA_NAME_MAX - 1);
		return -EINVAL;
	}
	variant = of ? ledbat_find(of) : NULL;
	if (!variant) {
		pr_err("instance %s is of %s, allowed are the algorithms of this module\n",
		       name, of ?: "nothing");
		return -EINVAL;
	}
	if (ledbat_total == ARRAY_SIZE(ledbat_variants)) {
		pr_err("instance %s is one too many, allowed are %u\n", name,
		       LEDBAT_MAX_INSTANCES);
		return -EINVAL;
	}
	*instance = *variant;
	strscpy(instance->ops.name, name, sizeof(instance->ops.name));
	ledbat_total++;
	return ledbat_parse_defaults(instance, text);
}

static int ledbat_add_instance(const char *text, const struct kernel_param *kp)
{
	char *copy = kstrdup(text, GFP_KERNEL);
	int error = copy ? ledbat_parse_instance(copy) : -ENOMEM;

	kfree(copy);
	return error;
}

static const struct kernel_param_ops ledbat_instances = {
	.set = ledbat_add_instance,
};

module_param_cb(instance, &ledbat_instances, NULL, 0);
MODULE_PARM_DESC(instance,
		 "a further name, may be given again: name:algorithm,setting=value,...");

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

	for (i = 0; i < ledbat_total; i++) {
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
			entry->extra2 = ledbat_highest(variant, j);
			entry++;
		}
		snprintf(path, sizeof(path), "net/%s", variant->ops.name);
		ln[i].header = ledbat_register_table(net, path, ln[i].table,
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
	ledbat_unregister_tables(net_generic(net, ledbat_net_id), ledbat_total);
}

static struct pernet_operations ledbat_net_ops = {
	.init	= ledbat_net_init,
	.exit	= ledbat_net_exit,
	.id	= &ledbat_net_id,
	.size	= sizeof(struct ledbat_net[LEDBAT_MAX_CONTROLS]),
};

int __init ledbat_settings_register(void)
{
	return register_pernet_subsys(&ledbat_net_ops);
}

void ledbat_settings_unregister(void)
{
	unregister_pernet_subsys(&ledbat_net_ops);
}
