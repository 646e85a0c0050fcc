// SPDX-License-Identifier: GPL-2.0-only
/*
 * LEDBAT: low extra delay background transport, as Linux congestion controls.
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

#define LEDBAT_INIT_CWND	2	/* RFC 6817, LEDBAT++ */

const struct ledbat_variant *ledbat_variant_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct ledbat_variant,
			    ops);
}

/* Delay */

static s32 ledbat_stamp_unit_us(const struct tcp_sock *tp)
{
#ifdef LEDBAT_HAVE_TCP_USEC_TS
	if (tp->tcp_usec_ts)
		return 1;
#endif
	return USEC_PER_SEC / TCP_TS_HZ;
}

/* Delays of one way and round trips are not compared. */
static void ledbat_use_round_trips(struct ledbat_delay *delay)
{
	delay->source = LEDBAT_ROUND_TRIP;
	delay->recent = 0;
	delay->current_us = delay->rtt_us;
	if (delay->history)
		delay->history->length = 0;
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

	if (delay->one_way.used && local_ms < LEDBAT_CLOCK_CHECK_MS)
		return;
	if (delay->one_way.used && local_ms < LEDBAT_CLOCK_STALE_MS &&
	    !ledbat_clocks_agree(remote_us, local_ms))
		ledbat_use_round_trips(delay);
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
	if (tp->rx_opt.saw_tstamp)
		ledbat_check_clock(tp, delay);
	else
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
	ledbat_update_base(&delay->one_way, delay->slots, *sample_us,
			   tcp_jiffies32);
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
	/* the SYN is acknowledged before init */
	if (!delay)
		return false;
	/* the stack measures no RTT on a retransmission */
	if (sample->rtt_us > 0) {
		delay->rtt_us = sample->rtt_us;
		ledbat_update_base(&delay->round_trip, delay->slots,
				   delay->rtt_us, tcp_jiffies32);
	}
	if (delay->source == LEDBAT_ONE_WAY && sample->pkts_acked)
		ledbat_check_stamps(tcp_sk(sk), delay);
	if (delay->source == LEDBAT_ONE_WAY)
		return ledbat_one_way_sample(tcp_sk(sk), delay, sample,
					     sample_us);
	*sample_us = sample->rtt_us;
	return sample->rtt_us > 0;
}

static u16 ledbat_now(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp >> 10;
}

void ledbat_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat *ca = inet_csk_ca(sk);
	s32 sample_us;

	if (ledbat_take_sample(sk, sample, &sample_us))
		ledbat_update_current(ca->delay, sample_us,
				      ledbat_now(tcp_sk(sk)));
	ledbat_report(ca);
}

/* The same, after forgetting samples older than an RTT. */
void ledbat_fresh_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (ca->delay)
		ledbat_drop_stale(ca->delay, ledbat_now(tp),
				  min_t(u32, (tp->srtt_us >> 3 >> 10) + 1,
					U16_MAX));
	ledbat_pkts_acked(sk, sample);
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
 * The window may grow only as far as the flow uses it (RFC 6817 section 2.4.2,
 * ALLOWED_INCREASE = 1). A sender that waits to fill a segment for offload
 * leaves part of its window empty although the window limits it;
 * is_cwnd_limited tells.
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

/*
 * A loss lowers the threshold to `threshold`; the stack asks once per recovery,
 * that is at most once per RTT.
 */
u32 ledbat_lost(struct sock *sk, u32 threshold)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ca->undo_ssthresh = ca->reno_ssthresh;
	ca->reno_ssthresh = tcp_reno_ssthresh(sk);
	return threshold;
}

u32 ledbat_ssthresh(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const u32 half = ledbat_halved(tcp_snd_cwnd(tp), ca->min_window);

	ca->restarts = ca->slow_start == LEDBAT_SLOW_START_AFTER_LOSS ||
		       (ca->slow_start == LEDBAT_SLOW_START_AFTER_OVERSHOOT &&
			tcp_in_slow_start(tp));
	return ledbat_lost(sk, ca->restarts ? ca->min_window : half);
}

u32 ledbat_undo_cwnd(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ca->reno_ssthresh = max(ca->reno_ssthresh, ca->undo_ssthresh);
	ca->restarts = 0;
	return tcp_reno_undo_cwnd(sk);
}

/* Set-up and report */

static void ledbat_set_up(struct sock *sk, enum ledbat_source source)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	/* set-up of an accepted connection must not sleep */
	struct ledbat_delay *delay = kzalloc(sizeof(*delay),
					     GFP_ATOMIC | __GFP_NOWARN);

	memset(ca, 0, sizeof(*ca));
	ca->target_us = ledbat_setting_of(sk, LEDBAT_TARGET_US);
	ca->min_window = ledbat_setting_of(sk, LEDBAT_MIN_WINDOW);
	ca->slow_start = ledbat_setting_of(sk, LEDBAT_SLOW_START);
	ca->round_end = tp->snd_una - 1;

	if (delay) {
		delay->slots = ledbat_setting_of(sk, LEDBAT_BASE_HISTORY);
		delay->filter = ledbat_setting_of(sk, LEDBAT_CURRENT_FILTER);
		delay->source = source;
		delay->bounded = ledbat_variant_of(sk)->standard;
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

void ledbat_init(struct sock *sk)
{
	ledbat_set_up(sk, LEDBAT_ONE_WAY);
}

void ledbat_init_from_round_trips(struct sock *sk)
{
	ledbat_set_up(sk, LEDBAT_ROUND_TRIP);
}

/*
 * A connection that switches to this control keeps its window; a new one has
 * sent nothing but its SYN.
 */
void ledbat_start_small(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->data_segs_out <= tp->syn_data)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), LEDBAT_INIT_CWND));
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
	for (i = 0; i < ledbat_total; i++) {
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

	for (i = 0; i < ledbat_total; i++)
		tcp_unregister_congestion_control(&ledbat_variants[i].ops);
	ledbat_settings_unregister();
}

module_init(ledbat_register);
module_exit(ledbat_unregister);

/* setsockopt(TCP_CONGESTION) loads "tcp_<name>" */
MODULE_ALIAS("tcp_ledbat_draft00");
MODULE_ALIAS("tcp_ledbat_icccn");
MODULE_ALIAS("tcp_ledbat_ld");
MODULE_ALIAS("tcp_ledbat_ldmin");
MODULE_ALIAS("tcp_ledbat_md");
MODULE_ALIAS("tcp_ledbat_mdvar");
MODULE_ALIAS("tcp_ledbat_aina");
MODULE_ALIAS("tcp_ledbatpp");
MODULE_ALIAS("tcp_fledbat");

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.5.2");
MODULE_DESCRIPTION("LEDBAT congestion control");
