// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reno with one fault each, by which tests judge `testbed evaluate`.
 *
 * deaf: neither a loss nor a mark makes the window smaller.
 * asleep: after a silence the window stays at one packet.
 * reclaiming: after a silence it takes the window back that it had before, and keeps it for ever.
 * rushing: the first window has a thousand packets.
 */
#include <linux/module.h>
#include <net/tcp.h>

#define SILENCE		(10 * HZ)
#define FIRST_WINDOW	1000

struct silence {
	u32 window;	/* packets before the silence; 0: there was none */
};

static u32 deaf_ssthresh(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* instead of the stack's reductions, too */
static void deaf_control(struct sock *sk, u32 ack, int flag,
			 const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_slow_start(tp))
		tcp_slow_start(tp, rs->acked_sacked);
	else if (tcp_is_cwnd_limited(sk))
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), rs->acked_sacked);
}

/* the stack calls it each time that the retransmission timer ends */
static void notice_silence(struct sock *sk, u8 new_state)
{
	struct silence *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (new_state == TCP_CA_Loss && !ca->window &&
	    tcp_jiffies32 - tp->rcv_tstamp > SILENCE)
		ca->window = tp->prior_cwnd;
}

static void asleep_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct silence *ca = inet_csk_ca(sk);

	if (ca->window)
		tcp_snd_cwnd_set(tcp_sk(sk), 1);
	else
		tcp_reno_cong_avoid(sk, ack, acked);
}

static u32 reclaiming_ssthresh(struct sock *sk)
{
	const struct silence *ca = inet_csk_ca(sk);

	return ca->window ?: tcp_reno_ssthresh(sk);
}

static void reclaiming_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct silence *ca = inet_csk_ca(sk);

	if (ca->window)
		tcp_snd_cwnd_set(tcp_sk(sk), ca->window);
	else
		tcp_reno_cong_avoid(sk, ack, acked);
}

static void rushing_init(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), FIRST_WINDOW);
}

static struct tcp_congestion_ops controls[] __read_mostly = {
	{
		.name		= "bad_deaf",
		.owner		= THIS_MODULE,
		.flags		= TCP_CONG_NON_RESTRICTED,
		.cong_control	= deaf_control,
		.ssthresh	= deaf_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
	},
	{
		.name		= "bad_asleep",
		.owner		= THIS_MODULE,
		.flags		= TCP_CONG_NON_RESTRICTED,
		.cong_avoid	= asleep_avoid,
		.set_state	= notice_silence,
		.ssthresh	= tcp_reno_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
	},
	{
		.name		= "bad_reclaiming",
		.owner		= THIS_MODULE,
		.flags		= TCP_CONG_NON_RESTRICTED,
		.cong_avoid	= reclaiming_avoid,
		.set_state	= notice_silence,
		.ssthresh	= reclaiming_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
	},
	{
		.name		= "bad_rushing",
		.owner		= THIS_MODULE,
		.flags		= TCP_CONG_NON_RESTRICTED,
		.init		= rushing_init,
		.cong_avoid	= tcp_reno_cong_avoid,
		.ssthresh	= tcp_reno_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
	},
};

static int __init bad_register(void)
{
	int i, error = 0;

	for (i = 0; i < ARRAY_SIZE(controls) && !error; i++)
		error = tcp_register_congestion_control(&controls[i]);
	if (error)
		for (i -= 2; i >= 0; i--)
			tcp_unregister_congestion_control(&controls[i]);
	return error;
}

static void __exit bad_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(controls); i++)
		tcp_unregister_congestion_control(&controls[i]);
}

module_init(bad_register);
module_exit(bad_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1");
MODULE_DESCRIPTION("Reno with faults, for tests");
