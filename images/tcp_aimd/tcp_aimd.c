// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two forms of TCP that stand beside LEDBAT in Rossi et al., ICCCN 2010.
 *
 * aimd: NewReno that never slow-starts. The window grows by one packet per RTT from the first ACK on and is halved on
 * loss; after a timeout, too, it comes back linearly. This is the "standard TCP" of models that leave slow start out
 * (section III). Linux has no switch for it: the initial threshold is infinite, and one given on a route is not read
 * for a first connection.
 *
 * tahoe: slow start as section IV.C describes it for both protocols. After every loss the threshold is half the window,
 * and slow start begins again from the smallest window. Lost packets are repaired as in NewReno.
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

/* The stack has taken the window to the threshold by the end of the recovery. */
static void tahoe_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Open && inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery)
		tcp_snd_cwnd_set(tcp_sk(sk), 1);
}

static struct tcp_congestion_ops tahoe __read_mostly = {
	.name		= "tahoe",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.cong_avoid	= tcp_reno_cong_avoid,
	.ssthresh	= tcp_reno_ssthresh,
	.set_state	= tahoe_set_state,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init aimd_register(void)
{
	int error = tcp_register_congestion_control(&aimd);

	if (error)
		return error;
	error = tcp_register_congestion_control(&tahoe);
	if (error)
		tcp_unregister_congestion_control(&aimd);
	return error;
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&tahoe);
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
MODULE_DESCRIPTION("AIMD congestion control without slow start, and TCP Tahoe's slow start");
