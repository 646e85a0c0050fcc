// SPDX-License-Identifier: GPL-2.0-only
/*
 * LEDBAT as papers describe and evaluate it. What hosts should use is
 * tcp_ledbat.
 *
 * The sender compares the one-way delay it sees now with the smallest of the
 * last minutes; the difference is the delay that queues add. The window
 * grows while that queuing delay is below TARGET and shrinks while it is above.
 * A flow that backs off before a loss-based TCP does leaves the bottleneck to
 * that TCP.
 *
 * One-way delay comes from TCP timestamps (RFC 7323): the difference of the two
 * stamps on an ACK is the delay of the forward path plus a constant, the offset
 * between the hosts' clocks, which the subtraction of the base delay removes.
 * Both hosts must stamp in the same unit: milliseconds, or microseconds on
 * routes with the tcp_usec_ts feature. If they do not, or do not stamp at all,
 * the round-trip time replaces the one-way delay.
 *
 * This file holds what all variants share: from an ACK to a queuing delay, from
 * a controller's step to the socket's window, set-up and report. variants.c
 * holds the variants, delay.h and window.h their arithmetic, settings.c their
 * settings.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ledbat.h"

const struct ledbat_variant *ledbat_variant_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct ledbat_variant,
			    ops);
}

/* Delay */

static s32 ledbat_stamp_unit_us(const struct tcp_sock *tp)
{
	if (tp->tcp_usec_ts)
		return 1;
	return USEC_PER_SEC / TCP_TS_HZ;
}

/* Delays of one way and round trips are not compared. */
static void ledbat_use_round_trips(struct ledbat_delay *delay)
{
	delay->source = LEDBAT_ROUND_TRIP;
	delay->recent = 0;
	delay->current_us = delay->rtt_us;
	delay->trust = 0;
	if (delay->history)
		delay->history->length = 0;
}

/* The queue is as long as the newest round trip shows. */
static void ledbat_use_one_way(struct ledbat_delay *delay)
{
	delay->source = LEDBAT_ONE_WAY;
	delay->one_way.used = 0;
	delay->recent = 0;
	delay->queued_us = delay->rtt_us - delay->round_trip.smallest_us;
	if (delay->history)
		delay->history->length = 0;
}

/*
 * Stamps that have advanced as they should are trusted for a while: ACKs that
 * wait somewhere for seconds, and then come together, spoil two checks. Until
 * then the first check that fails decides, and two in a row bring stamps back.
 */
static void ledbat_judge_clock(struct ledbat_delay *delay, bool agrees)
{
	if (agrees) {
		delay->trust = min(delay->trust + 1, LEDBAT_MOST_TRUST);
		if (delay->source == LEDBAT_ROUND_TRIP &&
		    delay->trust >= LEDBAT_ENOUGH_TRUST)
			ledbat_use_one_way(delay);
	} else if (delay->source == LEDBAT_ROUND_TRIP) {
		delay->trust = 0;
	} else if (delay->trust) {
		delay->trust--;
	} else {
		ledbat_use_round_trips(delay);
	}
}

/*
 * Every two seconds: stamps that do not advance with this host's clock say
 * nothing about delays.
 */
static void ledbat_check_clock(const struct tcp_sock *tp,
			       struct ledbat_delay *delay)
{
	const u32 now_ms = div_u64(tp->tcp_mstamp, USEC_PER_MSEC);
	const u32 local_ms = now_ms - delay->local_ms;
	const u32 stamp = tp->rx_opt.rcv_tsval;
	const u64 remote_us = (u64)(stamp - delay->remote_stamp) *
			      ledbat_stamp_unit_us(tp);

	if (delay->checking && local_ms < LEDBAT_CLOCK_CHECK_MS)
		return;
	if (delay->checking && local_ms < LEDBAT_CLOCK_STALE_MS) {
		ledbat_judge_clock(delay, ledbat_clocks_agree(remote_us,
							      local_ms));
	} else if (delay->source == LEDBAT_ONE_WAY) {
		delay->one_way.used = 0;
		delay->recent = 0;
		if (delay->history)
			delay->history->length = 0;
	}
	delay->checking = true;
	delay->remote_stamp = stamp;
	delay->local_ms = now_ms;
}

/*
 * An ACK without a stamp: the hosts did not agree on stamps, or something on
 * the path has begun to remove them.
 */
static void ledbat_check_stamps(const struct tcp_sock *tp,
				struct ledbat_delay *delay)
{
	if (tp->rx_opt.saw_tstamp) {
		ledbat_check_clock(tp, delay);
		return;
	}
	delay->checking = false;
	if (delay->source == LEDBAT_ONE_WAY)
		ledbat_use_round_trips(delay);
}

/*
 * Only an ACK of new data carries the stamp of the segment that caused it;
 * others echo an old one (RFC 7323 section 4.3).
 */
static bool ledbat_one_way_sample(const struct tcp_sock *tp,
				  struct ledbat_delay *delay,
				  const struct ack_sample *sample,
				  s32 *sample_us)
{
	u32 difference;

	if (!sample->pkts_acked || !tp->rx_opt.rcv_tsecr)
		return false;
	difference = tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
	*sample_us = ledbat_relative_us(delay, difference,
					ledbat_stamp_unit_us(tp));
	ledbat_update_base(&delay->one_way, delay->slots,
			   *sample_us - delay->queued_us, tcp_jiffies32);
	delay->queued_us = 0;
	return true;
}

/*
 * Slow start during a recovery: the stack moves the window to the threshold, so
 * ACKs raise the threshold.
 */
static void ledbat_repair(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (ca->restarts && sample->pkts_acked &&
	    tp->snd_ssthresh < ca->reno_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, tp->snd_ssthresh + 1);
}

/*
 * Called for every ACK, before the window changes. Return whether the ACK gives
 * a sample.
 */
bool ledbat_take_sample(struct sock *sk, const struct ack_sample *sample,
			s32 *sample_us)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	struct ledbat_delay *delay = ca->delay;

	ledbat_repair(sk, sample);
	/* there was no memory for it */
	if (!delay)
		return false;
	/* the stack measures no RTT on a retransmission */
	if (sample->rtt_us > 0) {
		delay->rtt_us = sample->rtt_us;
		ledbat_update_base(&delay->round_trip, delay->slots,
				   delay->rtt_us, tcp_jiffies32);
	}
	if (sample->pkts_acked)
		ledbat_check_stamps(tcp_sk(sk), delay);
	if (delay->source == LEDBAT_ONE_WAY)
		return ledbat_one_way_sample(tcp_sk(sk), delay, sample,
					     sample_us);
	*sample_us = sample->rtt_us;
	return sample->rtt_us > 0;
}

void ledbat_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat *ca = inet_csk_ca(sk);
	s32 sample_us;

	if (ledbat_take_sample(sk, sample, &sample_us))
		ledbat_update_current(ca->delay, sample_us);
	ledbat_report(ca);
}

/* After each ACK and at set-up: what ledbat_get_info() answers from now on. */
void ledbat_report(struct ledbat *ca)
{
	const struct ledbat_delay *delay = ca->delay;
	const struct ledbat_base *base;

	ca->info.target_us_and_source =
		ca->target_us | (delay ? delay->source << 24 : 0);
	if (!delay)
		return;
	base = ledbat_base_of(delay);
	ca->info.base_delay_us = delay->first_sample + base->smallest_us;
	ca->info.current_delay_us = delay->first_sample + delay->current_us;
	ca->info.queuing_delay_us = ledbat_queuing_delay_us(delay);
}

/* Without a sample the queue counts as empty. */
u32 ledbat_known_queuing_us(const struct ledbat *ca)
{
	return ca->delay ? ledbat_queuing_delay_us(ca->delay) : 0;
}

/* Window */

/*
 * The window with its fraction, in 1/target of a packet. The stack may have
 * changed the window since (loss, idle): the fraction stays below one packet.
 */
u64 ledbat_window(const struct sock *sk)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return ledbat_exact_window(min(ca->credit_us,
				       (s64)cwnd * ca->target_us - 1),
				   cwnd, ca->target_us);
}

/*
 * The window may grow only as far as the flow uses it. A sender that waits to
 * fill a segment for offload leaves part of its window empty although the
 * window limits it; is_cwnd_limited tells.
 */
bool ledbat_uses_window(const struct tcp_sock *tp, u32 acked)
{
	return tp->is_cwnd_limited ||
	       tcp_packets_in_flight(tp) + acked + 1 >= tcp_snd_cwnd(tp);
}

/*
 * The threshold tells the stack, and its pacing, whether the flow is in slow
 * start. The threshold that Reno would have is kept for a control that may
 * follow this one.
 */
void ledbat_set_threshold(struct sock *sk, u32 threshold)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ca->reno_ssthresh = max(ca->reno_ssthresh, tp->snd_ssthresh);
	WRITE_ONCE(tp->snd_ssthresh, threshold);
}

/* Slow start must not undo a decrease that delay caused. */
static void ledbat_lower_threshold(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (tcp_snd_cwnd(tp) <= ca->min_window &&
	    ca->slow_start == LEDBAT_SLOW_START_AT_FLOOR)
		WRITE_ONCE(tp->snd_ssthresh, ca->reno_ssthresh);
	else if (tp->snd_ssthresh > tcp_snd_cwnd(tp))
		ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
}

void ledbat_add_credit(struct sock *sk, s64 credit_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	/*
	 * the stack may have changed the window since (loss, idle): keep the
	 * fraction below one packet
	 */
	ca->credit_us = min(ca->credit_us, (s64)cwnd * ca->target_us - 1);
	ca->credit_us += credit_us;
	cwnd = ledbat_apply_credit(&ca->credit_us, cwnd, ca->target_us,
				   ca->min_window);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	if (credit_us < 0)
		ledbat_lower_threshold(sk);
}

void ledbat_count(struct sock *sk, s64 credit_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	u32 cwnd;

	ca->credit_us += credit_us;
	cwnd = ledbat_counted(&ca->credit_us, tcp_snd_cwnd(tp), ca->target_us,
			      ca->min_window);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	if (credit_us < 0)
		ledbat_lower_threshold(sk);
}

/* For a step that is a share of the window, in 1/target of a packet. */
void ledbat_set_window(struct sock *sk, u64 window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 cwnd = ledbat_set_exact_window(&ca->credit_us, window,
						 ca->target_us, ca->min_window);

	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	ledbat_lower_threshold(sk);
}

/* The stack asks once per recovery, that is at most once per RTT. */
u32 ledbat_ssthresh(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const u32 half = ledbat_halved(tcp_snd_cwnd(tp), ca->min_window);

	ca->restarts = ca->slow_start == LEDBAT_SLOW_START_AFTER_LOSS ||
		       (ca->slow_start == LEDBAT_SLOW_START_AFTER_OVERSHOOT &&
			tcp_in_slow_start(tp));
	ca->undo_ssthresh = ca->reno_ssthresh;
	ca->reno_ssthresh = tcp_reno_ssthresh(sk);
	return ca->restarts ? ca->min_window : half;
}

u32 ledbat_undo_cwnd(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ca->reno_ssthresh = max(ca->reno_ssthresh, ca->undo_ssthresh);
	ca->restarts = 0;
	return tcp_reno_undo_cwnd(sk);
}

/* Set-up and report */

void ledbat_init(struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	/* set-up of an accepted connection must not sleep */
	struct ledbat_delay *delay = kzalloc(sizeof(*delay), LEDBAT_GFP);

	memset(ca, 0, sizeof(*ca));
	ca->target_us = ledbat_setting_of(sk, LEDBAT_TARGET_US);
	ca->min_window = ledbat_setting_of(sk, LEDBAT_MIN_WINDOW);
	ca->slow_start = ledbat_setting_of(sk, LEDBAT_SLOW_START);
	ca->round_end = tp->snd_una - 1;

	if (delay) {
		delay->slots = ledbat_setting_of(sk, LEDBAT_BASE_HISTORY);
		delay->filter = ledbat_setting_of(sk, LEDBAT_CURRENT_FILTER);
	} else {
		net_warn_ratelimited("%s: no memory for delays: a flow acts on losses only\n",
				     ledbat_variant_of(sk)->ops.name);
	}
	ca->delay = delay;
	ledbat_report(ca);

	/* during a recovery the window moves towards the threshold */
	ca->reno_ssthresh = tp->snd_ssthresh;
	if (!ca->slow_start && icsk->icsk_ca_state <= TCP_CA_Disorder)
		ledbat_lower_threshold(sk);
	if (ledbat_setting_of(sk, LEDBAT_PACING))
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
}

/* Leave the threshold as Reno would have kept it, for who may follow. */
void ledbat_release(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (ca->delay) {
		kfree(ca->delay->history);
		kfree(ca->delay);
		ca->delay = NULL;
	}
	if (tp->snd_ssthresh < ca->reno_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, ca->reno_ssthresh);
}

/*
 * Asked without the socket's lock. Meanwhile another thread may change the
 * control, and the state is that of another one: a pointer in it must not be
 * followed.
 */
size_t ledbat_get_info(struct sock *sk, u32 ext, int *attr,
		       union tcp_cc_info *info)
{
	const struct ledbat *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(ca->info) > sizeof(*info));
	if (!(ext & BIT(INET_DIAG_VEGASINFO - 1)))
		return 0;
	*attr = INET_DIAG_VEGASINFO;
	memcpy(info, &ca->info, sizeof(ca->info));
	return sizeof(ca->info);
}

static int __init ledbat_register(void)
{
	struct tcp_congestion_ops *ops;
	unsigned int i;
	int error;

	BUILD_BUG_ON(sizeof(struct ledbat) > ICSK_CA_PRIV_SIZE);

	error = ledbat_settings_register();
	if (error)
		return error;
	for (i = 0; i < LEDBAT_VARIANTS; i++) {
		ops = &ledbat_variants[i].ops;
		error = tcp_register_congestion_control(ops);
		if (error)
			goto undo;
	}
	return 0;

undo:
	while (i--)
		tcp_unregister_congestion_control(&ledbat_variants[i].ops);
	ledbat_settings_unregister();
	return error;
}

static void __exit ledbat_unregister(void)
{
	unsigned int i;

	for (i = 0; i < LEDBAT_VARIANTS; i++)
		tcp_unregister_congestion_control(&ledbat_variants[i].ops);
	ledbat_settings_unregister();
}

module_init(ledbat_register);
module_exit(ledbat_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.6.0");
MODULE_DESCRIPTION("LEDBAT congestion control as papers have it");
