// SPDX-License-Identifier: GPL-2.0-only
/*
 * LEDBAT: low extra delay background transport, as a Linux congestion control.
 *
 * The sender compares the one-way delay it sees now with the smallest it has seen for some minutes; the difference is
 * the delay that queues add. The window grows while that queuing delay is below TARGET and shrinks while it is above,
 * in proportion to the distance:
 *
 *	window += (TARGET - queuing delay) / TARGET / window		for every packet acknowledged
 *
 * so by one packet per RTT on an empty queue, by minus one at twice the target. A flow that backs off before a
 * loss-based TCP does leaves the bottleneck to that TCP.
 *
 * ledbat_draft00: draft-shalunov-ledbat-congestion-00 (March 2009) as evaluated by Rossi, Testa, Valenti and
 *	Muscariello, "LEDBAT: the new BitTorrent congestion control protocol", ICCCN 2010, section II.
 *
 * One-way delay comes from TCP timestamps (RFC 7323): the difference of the two stamps on an ACK is the delay of the
 * forward path plus a constant, the offset between the hosts' clocks, which the subtraction of the base delay
 * removes. Both hosts must stamp in the same unit: milliseconds, or microseconds on routes with the tcp_usec_ts
 * feature.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#define LEDBAT_SLOT_JIFFIES	(60 * HZ)	/* one minimum of the base delay history each minute */
#define LEDBAT_MAX_SLOTS	10		/* draft-00, RFC 6817: 10 minutes */
#define LEDBAT_MIN_CWND		1		/* packets; keeps the flow probing, ICCCN 2010 section III.B */

/* Parameters of a network namespace, under net/ledbat_draft00; a socket copies them when it is set up. */
struct ledbat_params {
	unsigned int	target_us;
	unsigned int	base_history;	/* minutes */
	unsigned int	slow_start;	/* 0: additive increase from the start */
	unsigned int	pacing;		/* 0: packets leave when ACKs arrive */
};

static const struct ledbat_params ledbat_defaults = {
	.target_us	= 25 * USEC_PER_MSEC,
	.base_history	= LEDBAT_MAX_SLOTS,
	.slow_start	= 0,
	.pacing		= 1,
};

/* Delays are microseconds relative to the connection's first sample, so that the clocks' offset never overflows. */
struct ledbat {
	s64	credit_us;	/* fraction of a packet beyond cwnd, times cwnd * target */
	s32	minimum_us[LEDBAT_MAX_SLOTS];
	s32	base_us;
	s32	current_us;
	u32	first_sample;	/* difference of the first two stamps, in their unit */
	u32	slot_start;	/* tcp_jiffies32 */
	u32	target_us;
	u8	slot;
	u8	slots_used;
	u8	slots;
	u8	have_sample : 1,
		slow_start  : 1;
};

/*
 * Answer to TCP_CC_INFO. The first word is zero, which INET_DIAG_VEGASINFO readers such as ss take for "not in use",
 * so that they do not mistake the rest for Vegas' numbers.
 */
struct ledbat_info {
	u32	zero;
	u32	base_delay_us;		/* unsigned remainder: only differences have a meaning */
	u32	current_delay_us;
	u32	queuing_delay_us;
	u32	target_us;
};

static unsigned int ledbat_net_id __read_mostly;

struct ledbat_net {
	struct ledbat_params	params;
	struct ctl_table_header	*header;
	struct ctl_table	*table;
};

/* Delay estimation */

static bool ledbat_delay_sample(const struct sock *sk, struct ledbat *ca, s32 *sample_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 difference;
	s32 relative;

	if (!tp->rx_opt.saw_tstamp || !tp->rx_opt.rcv_tsecr)
		return false;

	difference = tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
	if (!ca->have_sample)
		ca->first_sample = difference;
	relative = (s32)(difference - ca->first_sample);
	*sample_us = tp->tcp_usec_ts ? relative : relative * (s32)(USEC_PER_SEC / TCP_TS_HZ);
	return true;
}

static void ledbat_update_base(struct ledbat *ca, s32 sample_us)
{
	int i;

	if (!ca->have_sample) {
		ca->have_sample = 1;
		ca->slot_start = tcp_jiffies32;
		ca->slots_used = 1;
		ca->minimum_us[0] = sample_us;
	}
	while ((s32)(tcp_jiffies32 - ca->slot_start) >= LEDBAT_SLOT_JIFFIES) {
		ca->slot_start += LEDBAT_SLOT_JIFFIES;
		ca->slot = (ca->slot + 1) % ca->slots;
		ca->slots_used = min(ca->slots_used + 1, ca->slots);
		ca->minimum_us[ca->slot] = sample_us;
	}
	ca->minimum_us[ca->slot] = min(ca->minimum_us[ca->slot], sample_us);

	ca->base_us = ca->minimum_us[0];
	for (i = 1; i < ca->slots_used; i++)
		ca->base_us = min(ca->base_us, ca->minimum_us[i]);
}

static u32 ledbat_queuing_delay_us(const struct ledbat *ca)
{
	return ca->current_us - ca->base_us;
}

/*
 * Every ACK passes here, before the window is touched. Only one that acknowledges new data carries the stamp of the
 * segment that caused it; others echo an old one (RFC 7323 section 4.3).
 */
static void ledbat_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat *ca = inet_csk_ca(sk);
	s32 sample_us;

	if (!sample->pkts_acked || !ledbat_delay_sample(sk, ca, &sample_us))
		return;
	ledbat_update_base(ca, sample_us);
	ca->current_us = sample_us;
}

/* Window */

/*
 * credit_us holds the fraction of a packet exactly: a whole packet at window w costs w * target, so that integer
 * arithmetic loses nothing however long the flow runs.
 */
static u32 ledbat_apply_credit(struct ledbat *ca, u32 cwnd)
{
	while (ca->credit_us >= (s64)cwnd * ca->target_us) {
		ca->credit_us -= (s64)cwnd * ca->target_us;
		cwnd++;
	}
	while (ca->credit_us < 0) {
		if (cwnd <= LEDBAT_MIN_CWND) {
			ca->credit_us = 0;
			return LEDBAT_MIN_CWND;
		}
		cwnd--;
		ca->credit_us += (s64)cwnd * ca->target_us;
	}
	return cwnd;
}

/* The window may grow only as far as the flow makes use of it (RFC 6817 section 2.4.2, ALLOWED_INCREASE = 1). */
static bool ledbat_uses_window(const struct tcp_sock *tp, u32 acked)
{
	return tcp_packets_in_flight(tp) + acked + 1 >= tcp_snd_cwnd(tp);
}

static void ledbat_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	s64 off_target_us;
	u32 cwnd;

	if (ca->slow_start && tcp_in_slow_start(tp)) {
		if (!tcp_is_cwnd_limited(sk))
			return;
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}

	/* without timestamps nothing is known of the queue: additive increase, as a plain TCP */
	off_target_us = ca->target_us;
	if (ca->have_sample)
		off_target_us -= ledbat_queuing_delay_us(ca);
	if (off_target_us > 0 && !ledbat_uses_window(tp, acked))
		return;

	/* the stack may have moved the window since (loss, idle): the fraction stays below one packet */
	cwnd = tcp_snd_cwnd(tp);
	ca->credit_us = min(ca->credit_us, (s64)cwnd * ca->target_us - 1);
	ca->credit_us += off_target_us * acked;
	cwnd = ledbat_apply_credit(ca, cwnd);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

/* Halved on loss; the stack asks once per recovery, that is at most once per RTT (draft-00; ICCCN section II.D). */
static u32 ledbat_ssthresh(struct sock *sk)
{
	return max_t(u32, tcp_snd_cwnd(tcp_sk(sk)) / 2, LEDBAT_MIN_CWND);
}

/* Set-up and report */

static void ledbat_init(struct sock *sk)
{
	const struct ledbat_net *ln = net_generic(sock_net(sk), ledbat_net_id);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->target_us = READ_ONCE(ln->params.target_us);
	ca->slots = READ_ONCE(ln->params.base_history);
	ca->slow_start = READ_ONCE(ln->params.slow_start);

	/* a threshold at the floor: neither the stack nor its pacing takes the flow to be in slow start */
	if (!ca->slow_start)
		WRITE_ONCE(tp->snd_ssthresh, LEDBAT_MIN_CWND);
	if (READ_ONCE(ln->params.pacing))
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static size_t ledbat_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const struct ledbat_info answer = {
		.base_delay_us		= ca->first_sample + ca->base_us,
		.current_delay_us	= ca->first_sample + ca->current_us,
		.queuing_delay_us	= ledbat_queuing_delay_us(ca),
		.target_us		= ca->target_us,
	};

	BUILD_BUG_ON(sizeof(answer) > sizeof(*info));
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	*attr = INET_DIAG_VEGASINFO;
	memcpy(info, &answer, sizeof(answer));
	return sizeof(answer);
}

static struct tcp_congestion_ops ledbat_draft00 __read_mostly = {
	.name		= "ledbat_draft00",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= ledbat_init,
	.pkts_acked	= ledbat_pkts_acked,
	.cong_avoid	= ledbat_cong_avoid,
	.ssthresh	= ledbat_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= ledbat_get_info,
};

/* Parameters */

static unsigned int ledbat_target_range[] = { USEC_PER_MSEC, USEC_PER_SEC };
static unsigned int ledbat_history_range[] = { 1, LEDBAT_MAX_SLOTS };

static const struct ctl_table ledbat_table[] = {
	{
		.procname	= "target_us",
		.data		= (void *)offsetof(struct ledbat_params, target_us),
		.extra1		= &ledbat_target_range[0],
		.extra2		= &ledbat_target_range[1],
	},
	{
		.procname	= "base_history",
		.data		= (void *)offsetof(struct ledbat_params, base_history),
		.extra1		= &ledbat_history_range[0],
		.extra2		= &ledbat_history_range[1],
	},
	{
		.procname	= "slow_start",
		.data		= (void *)offsetof(struct ledbat_params, slow_start),
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
	{
		.procname	= "pacing",
		.data		= (void *)offsetof(struct ledbat_params, pacing),
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __net_init ledbat_net_init(struct net *net)
{
	struct ledbat_net *ln = net_generic(net, ledbat_net_id);
	int i;

	ln->params = ledbat_defaults;
	ln->table = kmemdup(ledbat_table, sizeof(ledbat_table), GFP_KERNEL);
	if (!ln->table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(ledbat_table); i++) {
		ln->table[i].data = (char *)&ln->params + (unsigned long)ledbat_table[i].data;
		ln->table[i].maxlen = sizeof(unsigned int);
		ln->table[i].mode = 0644;
		ln->table[i].proc_handler = proc_douintvec_minmax;
	}
	ln->header = register_net_sysctl_sz(net, "net/ledbat_draft00", ln->table, ARRAY_SIZE(ledbat_table));
	if (!ln->header) {
		kfree(ln->table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit ledbat_net_exit(struct net *net)
{
	struct ledbat_net *ln = net_generic(net, ledbat_net_id);

	unregister_net_sysctl_table(ln->header);
	kfree(ln->table);
}

static struct pernet_operations ledbat_net_ops = {
	.init	= ledbat_net_init,
	.exit	= ledbat_net_exit,
	.id	= &ledbat_net_id,
	.size	= sizeof(struct ledbat_net),
};

static int __init ledbat_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct ledbat) > ICSK_CA_PRIV_SIZE);

	error = register_pernet_subsys(&ledbat_net_ops);
	if (error)
		return error;
	error = tcp_register_congestion_control(&ledbat_draft00);
	if (error)
		unregister_pernet_subsys(&ledbat_net_ops);
	return error;
}

static void __exit ledbat_unregister(void)
{
	tcp_unregister_congestion_control(&ledbat_draft00);
	unregister_pernet_subsys(&ledbat_net_ops);
}

module_init(ledbat_register);
module_exit(ledbat_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
MODULE_DESCRIPTION("LEDBAT congestion control");
