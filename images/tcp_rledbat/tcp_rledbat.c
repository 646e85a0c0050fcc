// SPDX-License-Identifier: GPL-2.0-only
/*
 * rLEDBAT: a download in the background, whatever its sender does. The
 * receiver offers a window that follows LEDBAT++'s rules, the smaller one of
 * that and the window of flow control counts.
 *
 * It is a congestion control of the receiving socket, so it is chosen as any
 * other one: by socket, route, network namespace or control group. What such a
 * socket sends is Reno's.
 *
 * A new echo of one of this host's time stamps gives a round-trip time. The
 * smallest of the newest four less the smallest of ten minutes is the queuing
 * delay. A segment that fills a hole and was stamped later than what came
 * before it was sent again, so one was lost. What has been offered is never
 * taken back (RFC 9840, section 4.1.1), so a decrease comes as data does, and
 * the next decrease waits for that.
 *
 * As LEDBAT++ has it, a flow slows down to two packets for two round trips now
 * and then, a tenth of its time, so that it and others see the empty path.
 *
 * Chosen here: a flow grows only while it uses half its window. SO_RCVLOWAT has
 * no effect: with it, segments would come unseen.
 *
 * Copyright (C) 2026 The LEDBAT testbed developers
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/tcp.h>

#define MINUTES		10	/* of the base delay */
#define NEWEST		4	/* samples */
#define LEAST_SEGMENTS	2
#define FIRST_SEGMENTS	10
#define MOST_SHARE	16	/* of a segment, a round: the least growth */
#define SLOW_ROUNDS	2
#define BETWEEN		9	/* times as long as the slowdown before */

static unsigned int target_us = 60000;
module_param(target_us, uint, 0444);
MODULE_PARM_DESC(target_us, "queuing delay, 1000 to 100000 us");

enum phase { UNSCHEDULED, SCHEDULED, SLOW, CLIMB };

struct rledbat {
	u32	window, ssthresh;	/* bytes */
	u32	seen;			/* sequence number: data up to it */
	u32	decreased;		/* no further decrease before it */
	u32	round_start;		/* sequence number */
	u32	round_stamp;		/* of ours, at that time */
	u32	used;			/* bytes in the last round */
	u32	echo;			/* the newest one */
	u32	newest_stamp;		/* of the sender */
	u32	slowdown_ms;		/* when one is due; how long it lasts */
	u16	out_of_order;		/* segments, as the stack counts them */
	u16	minute;			/* of the newest base */
	u32	base_us[MINUTES], rtt_us[NEWEST];
	u8	sample;
	u8	phase	: 2,
		rounds	: 2,		/* left of a slowdown */
		later	: 1,		/* stamped later than all before it */
		hooked	: 1;
};

static struct tcp_congestion_ops rledbat_ops;
static void (*default_data_ready)(struct sock *sk);

static u32 rledbat_stamp_us(const struct tcp_sock *tp)
{
#ifndef RLEDBAT_NO_TCP_USEC_TS	/* before Linux 6.7 */
	if (tp->tcp_usec_ts)
		return 1;
#endif
	return USEC_PER_SEC / TCP_TS_HZ;
}

static u32 rledbat_now(const struct tcp_sock *tp)
{
	return div_u64(tp->tcp_mstamp, rledbat_stamp_us(tp));
}

static u32 rledbat_segment(const struct sock *sk)
{
	return max_t(u32, inet_csk(sk)->icsk_ack.rcv_mss, TCP_MIN_MSS);
}

static u32 rledbat_least(const u32 *values, int count)
{
	u32 least = values[0];

	while (--count)
		least = min(least, values[count]);
	return least;
}

/* A whole minute without a sample leaves that minute's base unknown. */
static void rledbat_turn(struct rledbat *ca, u64 now_us)
{
	u16 minute = div_u64(now_us, 60 * USEC_PER_SEC);
	u16 turns = min_t(u16, minute - ca->minute, MINUTES);

	while (turns--) {
		memmove(ca->base_us + 1, ca->base_us,
			sizeof(ca->base_us) - sizeof(*ca->base_us));
		ca->base_us[0] = U32_MAX;
	}
	ca->minute = minute;
}

/* Only the first of the segments that echo a stamp left without delay. */
static void rledbat_take(struct rledbat *ca, const struct tcp_sock *tp)
{
	u32 echo = tp->rx_opt.rcv_tsecr;
	u32 rtt_us;

	if (!echo || echo == ca->echo)
		return;
	ca->echo = echo;
	rtt_us = max((rledbat_now(tp) - echo) * rledbat_stamp_us(tp), 1U);
	rledbat_turn(ca, tp->tcp_mstamp);
	/* a stamp from before a long silence may look like a later one */
	if (rledbat_least(ca->base_us, MINUTES) == U32_MAX) {
		ca->newest_stamp = tp->rx_opt.rcv_tsval;
		if (ca->rtt_us[0] != U32_MAX)	/* not the first sample */
			ca->round_stamp = echo;
	}
	ca->base_us[0] = min(ca->base_us[0], rtt_us);
	ca->rtt_us[ca->sample++ % NEWEST] = rtt_us;
}

static void rledbat_begin_round(struct rledbat *ca, const struct tcp_sock *tp)
{
	ca->round_start = tp->rcv_nxt;
	ca->round_stamp = rledbat_now(tp);
}

static void rledbat_decrease(struct sock *sk, u32 by)
{
	struct rledbat *ca = inet_csk_ca(sk);
	u32 least = LEAST_SEGMENTS * rledbat_segment(sk);

	if (before(tcp_sk(sk)->rcv_nxt, ca->decreased))
		return;
	ca->decreased = tcp_sk(sk)->rcv_nxt + ca->window;
	ca->window = max(ca->window - min(by, ca->window / 2), least);
	ca->ssthresh = ca->window;
}

static u32 rledbat_ms(const struct tcp_sock *tp)
{
	return div_u64(tp->tcp_mstamp, USEC_PER_MSEC);
}

/*
 * The last round's length; of one in which the sender paused, a part. Never
 * zero: slowdowns without a length would follow each other at once.
 */
static u32 rledbat_round_ms(const struct rledbat *ca, const struct tcp_sock *tp)
{
	u32 round_us = (rledbat_now(tp) - ca->round_stamp) *
		       rledbat_stamp_us(tp);

	round_us = min(round_us, 2 * rledbat_least(ca->rtt_us, NEWEST));
	return max_t(u32, round_us / USEC_PER_MSEC, 1);
}

/* How far the sender's use of the window lets it grow. */
static u32 rledbat_most(const struct sock *sk)
{
	const struct rledbat *ca = inet_csk_ca(sk);

	return max(2 * ca->used, FIRST_SEGMENTS * rledbat_segment(sk));
}

/*
 * `ended`: a round did; those before the queue was drained do not count, nor
 * does the time in which the sender leaves part of a climb's window unused.
 */
static void rledbat_slow_down(struct sock *sk, bool ended)
{
	struct rledbat *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = rledbat_least(ca->rtt_us, NEWEST);
	u32 now_ms = rledbat_ms(tp);

	switch (ca->phase) {
	case UNSCHEDULED:
		if (ca->ssthresh == U32_MAX || rtt_us == U32_MAX)
			return;
		rtt_us *= SLOW_ROUNDS;
		ca->slowdown_ms = now_ms + rtt_us / USEC_PER_MSEC;
		ca->phase = SCHEDULED;
		return;
	case SCHEDULED:
		if (before(now_ms, ca->slowdown_ms))
			return;
		ca->slowdown_ms = 0;
		ca->ssthresh = ca->window;
		ca->decreased = tp->rcv_nxt + ca->window;
		ca->window = LEAST_SEGMENTS * rledbat_segment(sk);
		ca->rounds = SLOW_ROUNDS;
		ca->phase = SLOW;
		return;
	case SLOW:
		if (!ended)
			return;
		ca->slowdown_ms += rledbat_round_ms(ca, tp);
		if (before(tp->rcv_nxt, ca->decreased))
			return;
		if (!--ca->rounds)
			ca->phase = CLIMB;
		return;
	case CLIMB:
		if (ended && ca->window < rledbat_most(sk))
			ca->slowdown_ms += rledbat_round_ms(ca, tp);
		if (ca->window < ca->ssthresh)
			return;
		ca->slowdown_ms = now_ms + BETWEEN * ca->slowdown_ms;
		ca->phase = SCHEDULED;
	}
}

static void rledbat_follow_delay(struct sock *sk, u32 bytes)
{
	struct rledbat *ca = inet_csk_ca(sk);
	u32 base_us = rledbat_least(ca->base_us, MINUTES);
	u32 rtt_us = rledbat_least(ca->rtt_us, NEWEST);
	u32 queue_us, share;
	u64 step;

	if (rtt_us == U32_MAX)
		return;
	/* the newest few may be older than the base that has been forgotten */
	queue_us = max(rtt_us, base_us) - base_us;
	if (queue_us > target_us) {
		step = (u64)ca->window * (queue_us - target_us);
		rledbat_decrease(sk, div_u64(step, target_us));
		return;
	}
	if (ca->window >= rledbat_most(sk))
		return;
	share = clamp(DIV_ROUND_UP(2 * target_us, base_us), 1U, MOST_SHARE);
	step = bytes;
	if (queue_us > target_us / 4 * 3)
		ca->ssthresh = min(ca->ssthresh, ca->window);
	if (ca->window >= ca->ssthresh)
		step = div_u64(step * rledbat_segment(sk), ca->window);
	ca->window += max_t(u32, div_u64(step, share), 1);
}

/* Whether the stack offers no more than the clamp at once (Linux 6.6). */
static bool rledbat_may_shrink(const struct sock *sk)
{
#ifndef RLEDBAT_NO_SHRINK_WINDOW
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_shrink_window);
#else
	return false;
#endif
}

static void rledbat_offer(struct sock *sk)
{
	const struct rledbat *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 offer = ca->window;

	if (rledbat_may_shrink(sk))
		offer = max(offer, tcp_receive_window(tp));
	WRITE_ONCE(tp->window_clamp, offer);
	tp->rcv_ssthresh = min(tp->rcv_ssthresh, offer);
	WRITE_ONCE(sk->sk_rcvlowat, 1);
}

static void rledbat_received(struct sock *sk)
{
	struct rledbat *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bytes = tp->rcv_nxt - ca->seen;
	bool ended;

	ca->seen = tp->rcv_nxt;
	rledbat_take(ca, tp);
	if ((u16)tp->rcv_ooopack != ca->out_of_order && ca->later)
		rledbat_decrease(sk, ca->window / 2);
	ca->out_of_order = tp->rcv_ooopack;
	if (after(tp->rx_opt.rcv_tsval, ca->newest_stamp))
		ca->newest_stamp = tp->rx_opt.rcv_tsval;
	ended = !before(tp->rx_opt.rcv_tsecr, ca->round_stamp);
	if (ended)
		ca->used = tp->rcv_nxt - ca->round_start;
	rledbat_slow_down(sk, ended);
	if (ended)
		rledbat_begin_round(ca, tp);
	if (bytes && ca->phase != SLOW)
		rledbat_follow_delay(sk, bytes);
	rledbat_offer(sk);
}

/*
 * A layer that came later may call this when the socket has left this control
 * and come back, and found that layer.
 */
static void rledbat_data_ready(struct sock *sk)
{
	const struct rledbat *ca = inet_csk_ca(sk);

	if (inet_csk(sk)->icsk_ca_ops == &rledbat_ops && ca->hooked)
		rledbat_received(sk);
	default_data_ready(sk);
}

/* Comes before the data of each segment that is not the expected one. */
static void rledbat_in_ack_event(struct sock *sk, u32 flags)
{
	struct rledbat *ca = inet_csk_ca(sk);
	u32 stamp = tcp_sk(sk)->rx_opt.rcv_tsval;

	ca->later = after(stamp, ca->newest_stamp);
	if (ca->later)
		ca->newest_stamp = stamp;
}

static void rledbat_init(struct sock *sk)
{
	struct rledbat *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	memset(ca, 0, sizeof(*ca));
	if (!tp->rx_opt.tstamp_ok) {
		pr_notice_once("without time stamps there is no delay: window left alone\n");
		return;
	}
	if (sk->sk_data_ready != default_data_ready) {
		pr_notice_once("another layer reads the socket: window left alone\n");
		return;
	}
	memset(ca->base_us, 0xff, sizeof(ca->base_us));
	memset(ca->rtt_us, 0xff, sizeof(ca->rtt_us));
	ca->window = FIRST_SEGMENTS * rledbat_segment(sk);
	ca->ssthresh = U32_MAX;
	ca->seen = tp->rcv_nxt;
	ca->decreased = tp->rcv_nxt;
	ca->echo = tp->rx_opt.rcv_tsecr;
	ca->newest_stamp = tp->rx_opt.rcv_tsval;
	ca->out_of_order = tp->rcv_ooopack;
	ca->minute = div_u64(tp->tcp_mstamp, 60 * USEC_PER_SEC);
	ca->hooked = true;
	rledbat_begin_round(ca, tp);
	/* all that the SYN-ACK has offered, however large the buffer is */
	if (sk->sk_state == TCP_SYN_RECV)
		tp->rcv_wnd = min(tp->rcv_wnd, (u32)U16_MAX);
	rledbat_offer(sk);
	WRITE_ONCE(sk->sk_data_ready, rledbat_data_ready);
}

static void rledbat_release(struct sock *sk)
{
	const struct rledbat *ca = inet_csk_ca(sk);

	if (!ca->hooked)
		return;
	WRITE_ONCE(tcp_sk(sk)->window_clamp, tcp_full_space(sk));
	if (sk->sk_data_ready == rledbat_data_ready)
		WRITE_ONCE(sk->sk_data_ready, default_data_ready);
	else	/* another layer has it, and may put it back at any time */
		__module_get(THIS_MODULE);
}

static struct tcp_congestion_ops rledbat_ops __read_mostly = {
	.name		= "rledbat",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= rledbat_init,
	.release	= rledbat_release,
	.in_ack_event	= rledbat_in_ack_event,
	.cong_avoid	= tcp_reno_cong_avoid,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

/* What TCP's sockets have, which has no name that a module may use. */
static int __init rledbat_learn_default(void)
{
	struct socket *socket;
	int error;

	error = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP,
				 &socket);
	if (error)
		return error;
	default_data_ready = socket->sk->sk_data_ready;
	sock_release(socket);
	return 0;
}

static int __init rledbat_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct rledbat) > ICSK_CA_PRIV_SIZE);
	if (target_us < 1000 || target_us > 100000) {
		pr_err("target_us: found %u; allowed: 1000 to 100000\n",
		       target_us);
		return -EINVAL;
	}
	error = rledbat_learn_default();
	if (error)
		return error;
	return tcp_register_congestion_control(&rledbat_ops);
}

static void __exit rledbat_unregister(void)
{
	tcp_unregister_congestion_control(&rledbat_ops);
}

module_init(rledbat_register);
module_exit(rledbat_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.3");
MODULE_DESCRIPTION("rLEDBAT: background downloads, by the receiver's window");
