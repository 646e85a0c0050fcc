// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Nice after Venkataramani, Kokku and Dahlin, "TCP Nice: A Mechanism for
 * Background Transfers", OSDI 2002. It is Vegas with an earlier and stronger
 * reaction: a packet whose round-trip time is above the smallest by more than
 * a tenth of the range seen so far counts as delayed. If more than half of the
 * window is delayed in a round, the window is halved, below one packet, too.
 * Otherwise Vegas decides. The tenth and the half are those of the paper's
 * experiments.
 *
 * Chosen here: a window below one packet is a window of one whose packets are
 * paced (the paper's prototype waits for several round-trip times), down to
 * one packet in 48 round trips; a round without congestion ends that. Vegas
 * keeps two to four packets in the queue, as that of Linux does.
 */
#include <linux/module.h>
#include <net/tcp.h>

#define RANGE_SHARE	10	/* threshold: 1 / 10 */
#define WINDOW_SHARE	2	/* fraction: 1 / 2 */
#define ALPHA		2	/* packets in the queue */
#define BETA		4
#define GAMMA		1
#define WHOLE		48	/* parts of a packet, at least one */

struct nice {
	/* of all round-trip times, and of this round's (U32_MAX: none) */
	u32	min_us, max_us, round_min_us;
	u32	round_end;	/* sequence number */
	u32	delayed;	/* packets of this round */
	u32	parts;		/* of a packet; WHOLE: not below one */
	unsigned long rate;	/* SO_MAX_PACING_RATE of the program */
	unsigned long set_rate;	/* what this control has set instead */
};

static void nice_begin_round(struct sock *sk)
{
	struct nice *ca = inet_csk_ca(sk);

	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->round_min_us = U32_MAX;
	ca->delayed = 0;
}

static void nice_init(struct sock *sk)
{
	struct nice *ca = inet_csk_ca(sk);

	ca->min_us = U32_MAX;
	ca->max_us = 0;
	ca->parts = WHOLE;
	ca->rate = sk->sk_max_pacing_rate;
	ca->set_rate = ca->rate;
	nice_begin_round(sk);
}

/* The program may set another rate at any time. */
static void nice_limit_rate(struct sock *sk, unsigned long rate)
{
	struct nice *ca = inet_csk_ca(sk);

	if (sk->sk_max_pacing_rate != ca->set_rate)
		ca->rate = sk->sk_max_pacing_rate;
	ca->set_rate = min(rate, ca->rate);
	WRITE_ONCE(sk->sk_max_pacing_rate, ca->set_rate);
}

static void nice_release(struct sock *sk)
{
	nice_limit_rate(sk, ~0UL);
}

static void nice_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct nice *ca = inet_csk_ca(sk);
	u32 rtt_us = sample->rtt_us;

	if (sample->rtt_us <= 0)
		return;
	ca->min_us = min(ca->min_us, rtt_us);
	ca->max_us = max(ca->max_us, rtt_us);
	ca->round_min_us = min(ca->round_min_us, rtt_us);
	if (rtt_us - ca->min_us > (ca->max_us - ca->min_us) / RANGE_SHARE)
		ca->delayed += sample->pkts_acked;
}

/*
 * The stack's pacing, without a limit for whole windows, stays on: the packet
 * after one that was paced has to wait for its turn.
 */
static void nice_set_parts(struct sock *sk, u32 parts)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nice *ca = inet_csk_ca(sk);
	u64 rate = ~0ULL;

	if (parts < WHOLE && tp->srtt_us) {
		rate = (u64)tp->mss_cache * parts * (USEC_PER_SEC << 3);
		do_div(rate, tp->srtt_us);
		do_div(rate, WHOLE);
	}
	ca->parts = parts;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	nice_limit_rate(sk, min_t(u64, rate, ~0UL));
}

static void nice_set_window(struct sock *sk, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, clamp(window, 1U, tp->snd_cwnd_clamp));
	WRITE_ONCE(tp->snd_ssthresh, min(tp->snd_ssthresh, tcp_snd_cwnd(tp)));
}

static void nice_halve(struct sock *sk)
{
	const struct nice *ca = inet_csk_ca(sk);
	u32 window = tcp_snd_cwnd(tcp_sk(sk));

	if (window > 1)
		nice_set_window(sk, window / 2);
	else
		nice_set_parts(sk, max(ca->parts / 2, 1U));
}

/* The rule of Vegas for a round that had round-trip times. */
static void nice_follow_vegas(struct sock *sk, u32 acked)
{
	const struct nice *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window = tcp_snd_cwnd(tp);
	u64 queued = (u64)window * (ca->round_min_us - ca->min_us);

	do_div(queued, ca->round_min_us);
	if (tcp_in_slow_start(tp)) {
		if (queued > GAMMA)
			nice_set_window(sk, window - queued + 1);
		else
			tcp_slow_start(tp, acked);
	} else if (queued > BETA) {
		nice_set_window(sk, window - 1);
	} else if (queued < ALPHA && tcp_is_cwnd_limited(sk)) {
		tcp_snd_cwnd_set(tp, min(window + 1, tp->snd_cwnd_clamp));
	}
}

static void nice_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct nice *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!after(ack, ca->round_end)) {
		if (tcp_in_slow_start(tp))
			tcp_slow_start(tp, acked);
		return;
	}
	if (WINDOW_SHARE * ca->delayed > tcp_snd_cwnd(tp))
		nice_halve(sk);
	else if (ca->parts < WHOLE)
		nice_set_parts(sk, WHOLE);
	else if (ca->round_min_us != U32_MAX)
		nice_follow_vegas(sk, acked);
	nice_begin_round(sk);
}

/* What happens during a recovery is no round. */
static void nice_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Open)
		nice_begin_round(sk);
}

static struct tcp_congestion_ops nice __read_mostly = {
	.name		= "nice",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= nice_init,
	.release	= nice_release,
	.pkts_acked	= nice_pkts_acked,
	.cong_avoid	= nice_cong_avoid,
	.set_state	= nice_set_state,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init nice_register(void)
{
	BUILD_BUG_ON(sizeof(struct nice) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&nice);
}

static void __exit nice_unregister(void)
{
	tcp_unregister_congestion_control(&nice);
}

module_init(nice_register);
module_exit(nice_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.1");
MODULE_DESCRIPTION("TCP Nice after its paper");
