// SPDX-License-Identifier: GPL-2.0-only
/*
 * The forms of TCP that Rossi et al., ICCCN 2010, compare with LEDBAT.
 *
 * aimd: NewReno that never slow-starts. The window grows by one packet per RTT
 * from the first ACK on and is halved on loss; after a timeout it also recovers
 * linearly. This is the "standard TCP" of models that leave slow start out
 * (section III). Linux has no switch for it: the initial threshold is infinite,
 * and one given on a route is not read for a first connection.
 *
 * reno_restart, tahoe: slow start as section IV.C describes it for both
 * protocols. After a loss in slow start, or after every loss, the threshold is
 * half the window, and slow start begins again from the smallest window. Lost
 * packets are repaired as in NewReno.
 */
#include <linux/module.h>
#include <net/tcp.h>

struct aimd {
	u32 ssthresh;	/* what the connection had before */
};

static void aimd_init(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->ssthresh = tp->snd_ssthresh;
	/*
	 * so that neither the stack nor its pacing takes the flow to be in slow
	 * start
	 */
	WRITE_ONCE(tp->snd_ssthresh, 1);
}

/* A connection that has had no loss may slow-start under another control. */
static void aimd_release(struct sock *sk)
{
	const struct aimd *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_ssthresh == 1)
		WRITE_ONCE(tp->snd_ssthresh, ca->ssthresh);
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_cwnd_limited(sk))
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.name		= "aimd",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= aimd_init,
	.release	= aimd_release,
	.cong_avoid	= aimd_cong_avoid,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

struct restart {
	/*
	 * half the window before the loss that is being repaired, if slow start
	 * follows; otherwise 0
	 */
	u32 threshold;
};

/* In a recovery, the stack moves the window to the returned value. */
static u32 tahoe_ssthresh(struct sock *sk)
{
	struct restart *ca = inet_csk_ca(sk);

	ca->threshold = tcp_reno_ssthresh(sk);
	return 1;
}

static u32 restart_ssthresh(struct sock *sk)
{
	if (tcp_in_slow_start(tcp_sk(sk)))
		return tahoe_ssthresh(sk);
	return tcp_reno_ssthresh(sk);
}

/*
 * Slow start during a recovery: the stack moves the window to the threshold, so
 * ACKs raise the threshold.
 */
static void restart_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct restart *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (sample->pkts_acked && tp->snd_ssthresh < ca->threshold)
		WRITE_ONCE(tp->snd_ssthresh, tp->snd_ssthresh + 1);
}

static u32 restart_undo_cwnd(struct sock *sk)
{
	struct restart *ca = inet_csk_ca(sk);

	ca->threshold = 0;
	return tcp_reno_undo_cwnd(sk);
}

/*
 * At the end of a recovery, or when a timeout has set the window to one packet.
 */
static void restart_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct restart *ca = inet_csk_ca(sk);

	if (ca->threshold &&
	    (event == CA_EVENT_COMPLETE_CWR || event == CA_EVENT_LOSS)) {
		WRITE_ONCE(tcp_sk(sk)->snd_ssthresh, ca->threshold);
		ca->threshold = 0;
	}
}

static struct tcp_congestion_ops tahoe __read_mostly = {
	.name		= "tahoe",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.cong_avoid	= tcp_reno_cong_avoid,
	.ssthresh	= tahoe_ssthresh,
	.pkts_acked	= restart_pkts_acked,
	.cwnd_event	= restart_cwnd_event,
	.undo_cwnd	= restart_undo_cwnd,
};

static struct tcp_congestion_ops reno_restart __read_mostly = {
	.name		= "reno_restart",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.cong_avoid	= tcp_reno_cong_avoid,
	.ssthresh	= restart_ssthresh,
	.pkts_acked	= restart_pkts_acked,
	.cwnd_event	= restart_cwnd_event,
	.undo_cwnd	= restart_undo_cwnd,
};

static struct tcp_congestion_ops *const controls[] = {
	&aimd, &tahoe, &reno_restart
};

static int __init aimd_register(void)
{
	int i, error = 0;

	for (i = 0; i < ARRAY_SIZE(controls) && !error; i++)
		error = tcp_register_congestion_control(controls[i]);
	if (error)
		for (i -= 2; i >= 0; i--)
			tcp_unregister_congestion_control(controls[i]);
	return error;
}

static void __exit aimd_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(controls); i++)
		tcp_unregister_congestion_control(controls[i]);
}

module_init(aimd_register);
module_exit(aimd_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.1");
MODULE_DESCRIPTION("AIMD without slow start, and TCP that slow-starts after losses");
