// SPDX-License-Identifier: GPL-2.0-only
/*
 * 4CP (Liu, Vojnovic and Gunawardena, "Competitive and Considerate Congestion
 * Control for Bulk Data Transfers", IWQoS 2007) after the summary in RFC 6297,
 * section 3; the paper was not at hand. The window follows the rules of
 * standard TCP, but is never below a minimum. If the rate of loss events is
 * above a target, the phase of congestion is bad: a loss event then takes a
 * virtual window below the minimum, and the window stays at the minimum until
 * the virtual one has come back.
 *
 * Chosen here, as the summary leaves it open:
 * - The target is the rate at which Reno has a given mean window W: 1.5 / W^2.
 *   W is 45 packets, 64 KiB, the window of TCP without window scaling.
 * - The rate is the inverse of the mean loss interval of TFRC (RFC 5348,
 *   section 5.4), in packets sent. The first interval is that of slow start; as
 *   in TFRC, the one at which Reno has half the window counts in its place.
 * - In a bad phase, the virtual window falls so far that the packets by which
 *   the mean interval is too short are sent at the minimum. It grows by one
 *   packet per round-trip time, so it is below by these packets / minimum.
 * - In a good phase the virtual window is the window, at least the minimum.
 * - The minimum is two packets, the least that RFC 5681 halves a window to.
 */
#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#define INTERVALS	8

/* of TFRC, from the newest interval on; five times as large */
static const u32 fourcp_weights[INTERVALS] = { 5, 5, 5, 5, 4, 3, 2, 1 };

/* packets; the sysctls net/4cp/ of a network namespace */
struct fourcp_net {
	unsigned int		target_window, min_window;
	struct ctl_table_header	*header;
	/* before Linux 6.6, an empty entry ends the table */
	struct ctl_table	table[3];
};

static unsigned int fourcp_net_id __read_mostly;
static unsigned int fourcp_least = 2, fourcp_most_min = 10;
static unsigned int fourcp_most_target = 10000;

struct fourcp_state {
	u32	interval[INTERVALS]; /* packets, newest first; 0: none yet */
	/* packets sent before the newest event; minimum - virtual window */
	u32	event_segs, below;
};

/* A loss event that was none is taken back. */
struct fourcp {
	struct fourcp_state now, before;
};

static const struct fourcp_net *fourcp_settings(const struct sock *sk)
{
	return net_generic(sock_net(sk), fourcp_net_id);
}

/* Packets between loss events at which Reno has a mean window. */
static u32 fourcp_interval_of(u32 window)
{
	return min_t(u64, div_u64(2ULL * window * window, 3), U32_MAX);
}

static void fourcp_init(struct sock *sk)
{
	struct fourcp *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->now.event_segs = tcp_sk(sk)->data_segs_out;
	ca->before = ca->now;
}

static void fourcp_end_interval(struct sock *sk)
{
	struct fourcp_state *state = &((struct fourcp *)inet_csk_ca(sk))->now;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 *interval = state->interval;

	memmove(interval + 1, interval, (INTERVALS - 1) * sizeof(*interval));
	if (tcp_in_initial_slowstart(tp))
		interval[0] = fourcp_interval_of(tcp_snd_cwnd(tp) / 2);
	else
		interval[0] = tp->data_segs_out - state->event_segs;
	interval[0] = max(interval[0], 1U);
	state->event_segs = tp->data_segs_out;
}

static u32 fourcp_mean_interval(const struct fourcp_state *state)
{
	u64 sum = 0;
	u32 weights = 0;
	int i;

	for (i = 0; i < INTERVALS && state->interval[i]; i++) {
		sum += (u64)fourcp_weights[i] * state->interval[i];
		weights += fourcp_weights[i];
	}
	return div_u64(sum, weights);
}

/* A loss event. */
static u32 fourcp_ssthresh(struct sock *sk)
{
	const struct fourcp_net *settings = fourcp_settings(sk);
	u32 least = READ_ONCE(settings->min_window);
	u32 target = fourcp_interval_of(READ_ONCE(settings->target_window));
	struct fourcp *ca = inet_csk_ca(sk);
	u32 mean;

	ca->before = ca->now;
	fourcp_end_interval(sk);
	mean = fourcp_mean_interval(&ca->now);
	if (mean >= target) {
		ca->now.below = 0;
		return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, least);
	}
	ca->now.below = DIV_ROUND_UP(target - mean, least);
	return least;
}

static u32 fourcp_undo_cwnd(struct sock *sk)
{
	struct fourcp *ca = inet_csk_ca(sk);

	ca->now = ca->before;
	return tcp_reno_undo_cwnd(sk);
}

static void fourcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	u32 least = READ_ONCE(fourcp_settings(sk)->min_window);
	struct fourcp *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (!acked)
		return;
	if (!ca->now.below) {
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
		return;
	}
	tp->snd_cwnd_cnt += acked;
	ca->now.below -= min(ca->now.below, tp->snd_cwnd_cnt / least);
	tp->snd_cwnd_cnt %= least;
}

static struct tcp_congestion_ops fourcp __read_mostly = {
	.name		= "4cp",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= fourcp_init,
	.cong_avoid	= fourcp_cong_avoid,
	.ssthresh	= fourcp_ssthresh,
	.undo_cwnd	= fourcp_undo_cwnd,
};

static const struct ctl_table fourcp_table[] = {
	{
		.procname	= "target_window",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &fourcp_least,
		.extra2		= &fourcp_most_target,
	}, {
		.procname	= "min_window",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &fourcp_least,
		.extra2		= &fourcp_most_min,
	}
};

static struct ctl_table_header *fourcp_register_table(struct net *net,
						      struct ctl_table *table)
{
#ifdef FOURCP_NO_REGISTER_NET_SYSCTL_SZ	/* before Linux 6.6 */
	return register_net_sysctl(net, "net/4cp", table);
#else
	return register_net_sysctl_sz(net, "net/4cp", table,
				      ARRAY_SIZE(fourcp_table));
#endif
}

static int __net_init fourcp_net_init(struct net *net)
{
	struct fourcp_net *settings = net_generic(net, fourcp_net_id);

	settings->target_window = 45;
	settings->min_window = 2;
	memcpy(settings->table, fourcp_table, sizeof(fourcp_table));
	settings->table[0].data = &settings->target_window;
	settings->table[1].data = &settings->min_window;
	settings->header = fourcp_register_table(net, settings->table);
	return settings->header ? 0 : -ENOMEM;
}

static void __net_exit fourcp_net_exit(struct net *net)
{
	struct fourcp_net *settings = net_generic(net, fourcp_net_id);

	unregister_net_sysctl_table(settings->header);
}

static struct pernet_operations fourcp_net_ops = {
	.init	= fourcp_net_init,
	.exit	= fourcp_net_exit,
	.id	= &fourcp_net_id,
	.size	= sizeof(struct fourcp_net),
};

static int __init fourcp_register(void)
{
	int error = register_pernet_subsys(&fourcp_net_ops);

	BUILD_BUG_ON(sizeof(struct fourcp) > ICSK_CA_PRIV_SIZE);
	if (error)
		return error;
	error = tcp_register_congestion_control(&fourcp);
	if (error)
		unregister_pernet_subsys(&fourcp_net_ops);
	return error;
}

static void __exit fourcp_unregister(void)
{
	tcp_unregister_congestion_control(&fourcp);
	unregister_pernet_subsys(&fourcp_net_ops);
}

module_init(fourcp_register);
module_exit(fourcp_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.1");
MODULE_DESCRIPTION("4CP after the summary in RFC 6297");
