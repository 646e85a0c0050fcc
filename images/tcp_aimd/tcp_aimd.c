// SPDX-License-Identifier: GPL-2.0-only
/*
 * AIMD: NewReno that never slow-starts. The window grows by one packet per RTT from the first ACK on and is halved on
 * loss; after a timeout, too, it comes back linearly.
 *
 * This is the "standard TCP" beside LEDBAT in models that leave slow start out (Rossi et al., ICCCN 2010, section
 * III). Linux has no switch for it: the initial threshold is infinite, and one given on a route is not read for a
 * first connection.
 */
#include <linux/module.h>
#include <net/tcp.h>

static void aimd_init(struct sock *sk)
{
	/* neither the stack nor its pacing takes the flow to be in slow start */
	WRITE_ONCE(tcp_sk(sk)->snd_ssthresh, 1);
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
	.cong_avoid	= aimd_cong_avoid,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init aimd_register(void)
{
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
MODULE_DESCRIPTION("AIMD congestion control without slow start");
