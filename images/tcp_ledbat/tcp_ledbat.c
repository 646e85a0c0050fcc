// SPDX-License-Identifier: GPL-2.0-only
/*
 * LEDBAT: low extra delay background transport. Two congestion controls for
 * transfers that use what others leave:
 *
 * ledbat	RFC 6817
 * ledbatpp	LEDBAT++, draft-irtf-iccrg-ledbat-plus-plus-01
 *
 * The sender compares the delay it sees now with the smallest of the last
 * minutes; the difference is the delay that queues add. The window grows while
 * that queuing delay is below TARGET and shrinks while it is above. A flow that
 * backs off before a loss-based TCP does leaves the bottleneck to that TCP.
 *
 * ledbat takes one-way delays from TCP timestamps (RFC 7323): the difference of
 * the two stamps on an ACK is the delay of the forward path plus a constant,
 * the offset between the hosts' clocks, which the subtraction of the base delay
 * removes. Both clocks must run alike. Until they are known to, and where the
 * hosts do not stamp, the round-trip time replaces the one-way delay.
 *
 * The packets of a slow start leave in trains, twice as fast as the bottleneck
 * takes them, so each train has a queue at its end that is gone before the next
 * one comes. A slow start therefore pauses while the delay is above its bound,
 * and ends after a round trip in which it was never below. It learns of a queue
 * a round trip late, so the first one grows by a quarter from a quarter of the
 * bound on, as HyStart++ does (RFC 9406).
 *
 * With two packets in flight, an ACK of one of them may have waited for the
 * timer of the other host's delayed acknowledgements. What it shows beyond the
 * bound of slow start does not count; while nothing else comes for a round trip
 * the queue counts as empty, and the third packet that then leaves shows what
 * the delay is.
 *
 * ledbatpp differs from RFC 6817 in these points:
 *
 * - the delay is the round-trip time, which depends neither on timestamps nor
 *   on the other host;
 * - GAIN is 1 / min(16, ceil(2 * TARGET / base RTT)), also in slow start;
 * - above TARGET the window falls in proportion to itself, once per RTT and by
 *   at most a half;
 * - the first slow start ends at 3/4 of TARGET;
 * - two RTTs later, and from then on for at most a tenth of the time, the flow
 *   slows down to two packets for two RTTs, so that every flow sees an empty
 *   queue and none starves an older one. It climbs back by slow start, which
 *   grows by GAIN like any slow start of LEDBAT++.
 *
 * Where the draft leaves a choice:
 *
 * - below TARGET the window grows by GAIN per RTT, whatever the distance; the
 *   formula for the decrease applies only above TARGET (section 4.3);
 * - the first slow start leaves the part of its window that makes a queue of
 *   3/4 of TARGET, but at least half: it has gone on for a round trip after
 *   that delay was reached;
 * - every later slow start ends above TARGET: a climb, and what follows a
 *   timeout or idleness;
 * - a slow start also ends after two RTTs in which a socket buffer limits the
 *   flow, the window does not, and a queue of more than 1/4 of TARGET stands,
 *   unless the other host offers less than half of what it did;
 * - a decrease needs a round trip that was above TARGET as a whole;
 * - decreases do not postpone the next slowdown;
 * - a loss during a slowdown halves the window that the flow climbs back to,
 *   and the slowdown goes on;
 * - a slowdown that is due while the flow recovers from a timeout waits until
 *   it has recovered;
 * - a round trip adds at most twice the smoothed RTT to the length of a
 *   slowdown, and none to a climb while the application leaves part of the
 *   window unused; two such round trips end the climb.
 *
 * A flow that never fills its window and makes no queue does not leave its
 * first slow start, and so does not slow down.
 *
 * Both begin with two packets, and restart with two after idleness, where the
 * stack restarts (tcp_slow_start_after_idle).
 *
 * Copyright (C) 2026 The LEDBAT testbed developers
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#define LEDBAT_PPM		1000000
#define LEDBAT_SLOW_CWND	2	/* at the start, after idleness */
#define LEDBAT_MAX_SLOTS	10	/* minutes of base delay */
#define LEDBAT_MAX_FILTER	4	/* samples of current delay */

#define LEDBAT_SLOWER		4	/* RFC 9406: CSS_GROWTH_DIVISOR */

#define LEDBAT_MAX_RTT_US	((1U << 24) - 1)	/* in its field */

/* the check of clocks */
#define LEDBAT_CHECK_UNIT_US	BIT(14)
#define LEDBAT_CHECK_UNITS	(2 * USEC_PER_SEC / LEDBAT_CHECK_UNIT_US)
#define LEDBAT_CLOCK_US		(20 * USEC_PER_MSEC)	/* a tick, and noise */
#define LEDBAT_ENOUGH_TRUST	2	/* checks, for one-way delays */

#define LEDBATPP_MAX_DIVISOR	16
/* RTTs from slow start to the first slowdown, and of a slowdown */
#define LEDBATPP_ROUNDS		2
/* times a slowdown's length until the next: a tenth of the time at most */
#define LEDBATPP_PAUSE		9
/* RTTs in which a buffer limits the flow that end a slow start */
#define LEDBATPP_LIMITED_ROUNDS	2

enum ledbatpp_phase {
	LEDBATPP_FIRST_SLOW_START,
	LEDBATPP_BEFORE_FIRST_SLOWDOWN,
	LEDBATPP_SLOW,
	LEDBATPP_CLIMBING,
	LEDBATPP_RUNNING
};

enum ledbat_setting {
	LEDBAT_TARGET_US,
	LEDBAT_BASE_HISTORY,		/* minutes */
	LEDBAT_CURRENT_FILTER,		/* samples */
	LEDBAT_MIN_WINDOW,		/* packets */
	LEDBAT_PACING,			/* 0: packets leave when ACKs arrive */
	LEDBAT_SLOW_START,		/* ledbat: 0, 1 */
	LEDBAT_GAIN_PPM,		/* ledbat */
	LEDBAT_ALLOWED_INCREASE,	/* ledbat: packets */
	LEDBAT_SETTINGS
};

/*
 * The state of a socket. Samples of delay are in the unit of their source,
 * modulo 2^32: only differences have a meaning.
 *
 * A window is cwnd whole packets and a credit below one packet. A whole packet
 * costs cwnd * target, because the controllers add (target - queuing delay) /
 * target / cwnd for a packet acknowledged. In this unit that is just target -
 * queuing delay, so no rounding error grows however long a flow runs.
 */
struct ledbat {
	s64	credit_us;
	u32	minimum[LEDBAT_MAX_SLOTS];	/* of the last minutes */
	u32	sample[LEDBAT_MAX_FILTER];	/* the newest */
	u16	taken[LEDBAT_MAX_FILTER];	/* when, in 1.024 ms */
	u32	reno_ssthresh;		/* as Reno would have the threshold */
	u32	round_end;		/* snd_nxt when the current RTT began */
	union {
		struct {	/* ledbat */
			u32	ahead;		/* of the stamps, at least */
			u32	rtt_us		: 24,	/* newest; 0: none */
				allowed		: 4,	/* ALLOWED_INCREASE */
				trust		: 2,	/* in stamps: checks */
				checking	: 1,	/* clocks began */
				slow_start	: 1;
			u32	min_rtt_us	: 24,
				min_rtt_minute	: 4,	/* modulo 16 */
				halved		: 1;	/* in this RTT */
		};
		struct {	/* ledbatpp, in a slowdown */
			u32	slow_us;	/* its length */
			u32	round_start_us;
			u32	goal;		/* of the climb */
		};
		/* ledbatpp, running */
		u32	next_slow_ms;
	};
	u32	target_us	: 17,
		min_window	: 2,
		filter		: 3,	/* how many samples are used */
		slots		: 4,
		recent		: 3,	/* samples */
		one_way		: 1,	/* what samples are; 0: round trips */
		restarts	: 1,	/* from two packets */
		below		: 1;	/* the bound, in this RTT */
	u32	gain_ppm	: 20,	/* ledbat */
		slot		: 4,
		used		: 4,	/* slots; 0: no sample yet */
		newest		: 2,	/* sample */
		limited		: 2;	/* ledbatpp: RTTs, by a buffer */
	u16	minute;			/* of the newest slot */
	union {
		u16	checked;	/* ledbat: when, in LEDBAT_CHECK_UNIT */
		struct {
			u8	phase	: 3,	/* ledbatpp */
				rounds	: 3,	/* RTTs left of a phase */
				lost	: 1;	/* in this slowdown */
		};
	};
};

static struct tcp_congestion_ops ledbat_ops, ledbatpp_ops;

#ifdef LEDBAT_OUT_OF_TREE
#include "settings.h"	/* of network namespaces; further names */
#else
static unsigned int ledbat_value[LEDBAT_SETTINGS] = {
	[LEDBAT_TARGET_US]		= 100000,
	[LEDBAT_BASE_HISTORY]		= 10,
	[LEDBAT_CURRENT_FILTER]		= 4,
	[LEDBAT_MIN_WINDOW]		= 2,
	[LEDBAT_GAIN_PPM]		= LEDBAT_PPM,
	[LEDBAT_ALLOWED_INCREASE]	= 1,
};

static unsigned int ledbatpp_target_us = 60000;

module_param_named(ledbat_target_us, ledbat_value[LEDBAT_TARGET_US], uint,
		   0444);
MODULE_PARM_DESC(ledbat_target_us, "TARGET of ledbat, 1000 to 100000");
module_param_named(ledbat_slow_start, ledbat_value[LEDBAT_SLOW_START], uint,
		   0444);
MODULE_PARM_DESC(ledbat_slow_start, "slow start of ledbat, 0 or 1");
module_param(ledbatpp_target_us, uint, 0444);
MODULE_PARM_DESC(ledbatpp_target_us, "TARGET of ledbatpp, 1000 to 100000");

static u32 ledbat_setting_of(const struct sock *sk, enum ledbat_setting setting)
{
	u32 value = ledbat_value[setting];

	if (setting != LEDBAT_TARGET_US)
		return value;
	if (inet_csk(sk)->icsk_ca_ops == &ledbatpp_ops)
		value = ledbatpp_target_us;
	return clamp(value, 1000U, 100000U);
}
#endif

/* Delay */

static u32 ledbat_stamp_unit_us(const struct tcp_sock *tp)
{
#ifndef LEDBAT_NO_TCP_USEC_TS	/* before Linux 6.7 */
	if (tp->tcp_usec_ts)
		return 1;
#endif
	return USEC_PER_SEC / TCP_TS_HZ;
}

static u32 ledbat_stamp_difference(const struct tcp_sock *tp)
{
	return tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
}

static u16 ledbat_now(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp >> 10;
}

static u16 ledbat_check_time(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / LEDBAT_CHECK_UNIT_US;
}

static u32 ledbat_now_ms(const struct tcp_sock *tp)
{
	return div_u64(tp->tcp_mstamp, USEC_PER_MSEC);
}

static u16 ledbat_minute(const struct tcp_sock *tp)
{
	return div_u64(tp->tcp_mstamp, 60 * USEC_PER_SEC);
}

static void ledbat_forget(struct ledbat *ca)
{
	ca->used = 0;
	ca->recent = 0;
}

static u32 ledbat_earlier(u32 one, u32 other)
{
	return before(one, other) ? one : other;
}

/*
 * The base delay follows a decrease at once, and an increase when all earlier
 * minutes are forgotten.
 */
static void ledbat_update_base(struct ledbat *ca, u32 sample, u16 minute)
{
	u16 passed;

	if (!ca->used) {
		ca->used = 1;
		ca->slot = 0;
		ca->minute = minute;
		ca->minimum[0] = sample;
	}
	passed = min_t(u16, minute - ca->minute, ca->slots);
	ca->minute = minute;
	while (passed--) {
		ca->slot = (ca->slot + 1) % ca->slots;
		ca->used = min_t(u32, ca->used + 1, ca->slots);
		ca->minimum[ca->slot] = sample;
	}
	ca->minimum[ca->slot] = ledbat_earlier(ca->minimum[ca->slot], sample);
}

static u32 ledbat_base(const struct ledbat *ca)
{
	u32 smallest = ca->minimum[0];
	int i;

	for (i = 1; i < ca->used; i++)
		smallest = ledbat_earlier(smallest, ca->minimum[i]);
	return smallest;
}

/* Where the sample is that came `age` samples before the newest. */
static int ledbat_nth(const struct ledbat *ca, int age)
{
	return (ca->newest + LEDBAT_MAX_FILTER - age) % LEDBAT_MAX_FILTER;
}

/*
 * RFC 6817 section 2.4.2: no sample of the current delay is older than an RTT.
 * Times are in units of 1.024 ms, which wrap after 67 s, when an old sample
 * would look new; RTTs are shorter, and the mistake would cost one step.
 */
static void ledbat_drop_stale(struct ledbat *ca, u16 now, u16 rtt)
{
	while (ca->recent) {
		const int oldest = ledbat_nth(ca, ca->recent - 1);

		if ((u16)(now - ca->taken[oldest]) <= rtt)
			break;
		ca->recent--;
	}
}

static void ledbat_take(const struct tcp_sock *tp, struct ledbat *ca,
			u32 sample)
{
	ledbat_update_base(ca, sample, ledbat_minute(tp));
	ca->newest = ledbat_nth(ca, -1);
	ca->sample[ca->newest] = sample;
	ca->taken[ca->newest] = ledbat_now(tp);
	ca->recent = min_t(u32, ca->recent + 1, ca->filter);
}

/* The smallest of the newest samples. */
static u32 ledbat_current(const struct ledbat *ca)
{
	u32 smallest = ca->sample[ca->newest];
	int i;

	for (i = 1; i < ca->recent; i++)
		smallest = ledbat_earlier(smallest,
					  ca->sample[ledbat_nth(ca, i)]);
	return smallest;
}

static u32 ledbat_unit_us(const struct tcp_sock *tp, const struct ledbat *ca)
{
	return ca->one_way ? ledbat_stamp_unit_us(tp) : 1;
}

/*
 * The shortest round trip outlives the base delays of its minute. Linux's own
 * may not, because it forgets after tcp_min_rtt_wlen, five minutes.
 */
static void ledbat_take_round_trip(const struct tcp_sock *tp, struct ledbat *ca,
				   u32 rtt_us)
{
	const u8 minute = ledbat_minute(tp) % 16;
	const u8 age = (minute - ca->min_rtt_minute) % 16U;

	ca->rtt_us = min(rtt_us, LEDBAT_MAX_RTT_US);
	if (!ca->min_rtt_us || age > ca->slots) {
		ca->min_rtt_us = min(tcp_min_rtt(tp), LEDBAT_MAX_RTT_US);
		ca->min_rtt_minute = minute;
	}
	if (ca->rtt_us <= ca->min_rtt_us) {
		ca->min_rtt_us = ca->rtt_us;
		ca->min_rtt_minute = minute;
	}
}

/* By how much the newest round trip was longer than the shortest. */
static u32 ledbat_round_trip_growth(const struct ledbat *ca)
{
	return ca->rtt_us - ca->min_rtt_us;
}

/*
 * Never negative: the current delay may still remember a sample that the base
 * delay has just forgotten. Of one-way delays never more than the growth of the
 * round-trip time, because a queue adds to both. Without a sample the queue
 * counts as empty.
 */
static u32 ledbat_queuing_us(const struct tcp_sock *tp, const struct ledbat *ca)
{
	const s32 queuing = ledbat_current(ca) - ledbat_base(ca);
	u64 queuing_us;

	if (!ca->used || queuing < 0)
		return 0;
	queuing_us = (u64)queuing * ledbat_unit_us(tp, ca);
	if (ca->one_way && ca->rtt_us)
		queuing_us = min_t(u64, queuing_us,
				   ledbat_round_trip_growth(ca));
	return min_t(u64, queuing_us, S32_MAX);
}

/* Delay above this ends a slow start. */
static u32 ledbat_bound_us(const struct ledbat *ca)
{
	return ca->target_us / 4 * 3;
}

/* Whether an ACK may have waited for a timer, and shows too much to count. */
static bool ledbat_is_held(const struct tcp_sock *tp, const struct ledbat *ca,
			   const struct ack_sample *ack, u32 sample)
{
	const s32 queuing = sample - ledbat_base(ca);

	return ack->pkts_acked == 1 &&
	       ack->in_flight <= LEDBAT_SLOW_CWND * tp->mss_cache &&
	       ca->used && queuing > 0 &&
	       (u64)queuing * ledbat_unit_us(tp, ca) > ledbat_bound_us(ca);
}

static void ledbat_take_acked(const struct tcp_sock *tp, struct ledbat *ca,
			      const struct ack_sample *ack, u32 sample)
{
	if (!ledbat_is_held(tp, ca, ack, sample))
		ledbat_take(tp, ca, sample);
	else if (!ca->recent)
		ca->sample[ca->newest] = ledbat_base(ca);
}

/* Delays of one way and round trips are not compared. */
static void ledbat_use_round_trips(const struct tcp_sock *tp, struct ledbat *ca)
{
	ledbat_forget(ca);
	ca->one_way = 0;
	ca->trust = 0;
	if (ca->rtt_us) {
		ledbat_take(tp, ca, ca->min_rtt_us);
		ca->recent = 0;
		ledbat_take(tp, ca, ca->rtt_us);
	}
}

/*
 * The base delay is the shortest round trip less the way back. The ACK that is
 * here does not tell: it may have waited for a timer, which its stamp shows and
 * its round trip does not.
 */
static void ledbat_use_one_way(const struct tcp_sock *tp, struct ledbat *ca)
{
	ledbat_forget(ca);
	ca->one_way = 1;
	ledbat_take(tp, ca,
		    ca->min_rtt_us / ledbat_stamp_unit_us(tp) - ca->ahead);
	ca->recent = 0;
}

/* How far this host's clock is ahead of the other's, in the unit of stamps. */
static u32 ledbat_clock_ahead(const struct tcp_sock *tp)
{
	return (u32)div_u64(tp->tcp_mstamp, ledbat_stamp_unit_us(tp)) -
	       tp->rx_opt.rcv_tsval;
}

/*
 * Whether stamps advance as this host's clock does. They come later where the
 * path of ACKs has a queue, which the round trip shows as well; beyond that,
 * `behind_us` is what the other clock has lost since it was compared first, or
 * what its unit makes of it. A slow clock would hide a queue. A fast one only
 * makes the delay that of the round trip, and may gain a second at a time.
 */
static bool ledbat_clocks_agree(const struct ledbat *ca, s64 behind_us)
{
	const u32 queue_us = ca->one_way ? ledbat_round_trip_growth(ca) : 0;

	return behind_us <= LEDBAT_CLOCK_US + queue_us &&
	       behind_us >= -(s64)USEC_PER_SEC;
}

static void ledbat_judge_clock(const struct tcp_sock *tp, struct ledbat *ca,
			       u32 ahead)
{
	const s64 behind = (s32)(ahead - ca->ahead);

	if (!ledbat_clocks_agree(ca, behind * ledbat_stamp_unit_us(tp))) {
		ca->ahead = ahead;
		ca->trust = 0;
		if (ca->one_way)
			ledbat_use_round_trips(tp, ca);
		return;
	}
	if (behind < 0)
		ca->ahead = ahead;
	if (ca->trust < LEDBAT_ENOUGH_TRUST)
		ca->trust++;
	if (!ca->one_way && ca->trust == LEDBAT_ENOUGH_TRUST)
		ledbat_use_one_way(tp, ca);
}

/* Every two seconds, with an ACK that has a round-trip time. */
static void ledbat_check_clock(const struct tcp_sock *tp, struct ledbat *ca)
{
	const u16 now = ledbat_check_time(tp);
	const u16 passed = now - ca->checked;

	if (ca->checking) {
		if (passed < LEDBAT_CHECK_UNITS)
			return;
		ledbat_judge_clock(tp, ca, ledbat_clock_ahead(tp));
	} else {
		ca->checking = 1;
		ca->ahead = ledbat_clock_ahead(tp);
	}
	ca->checked = now;
}

/* No ACK for longer than a base delay lives, asleep perhaps: begin again. */
static void ledbat_forget_stale(const struct tcp_sock *tp, struct ledbat *ca)
{
	const u16 passed = ledbat_minute(tp) - ca->minute;

	if (!ca->used || passed <= LEDBAT_MAX_SLOTS)
		return;
	ledbat_forget(ca);
	ca->checking = 0;
	ca->min_rtt_us = 0;
}

/*
 * An ACK without a stamp: the hosts did not agree on stamps, or something on
 * the path has begun to remove them.
 */
static void ledbat_check_stamps(const struct tcp_sock *tp, struct ledbat *ca,
				const struct ack_sample *sample)
{
	if (tp->rx_opt.saw_tstamp) {
		if (sample->rtt_us > 0)
			ledbat_check_clock(tp, ca);
		return;
	}
	ca->checking = 0;
	if (ca->one_way)
		ledbat_use_round_trips(tp, ca);
}

/* Called for every ACK, before the window changes. */
static void ledbatpp_pkts_acked(struct sock *sk,
				const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_drop_stale(ca, ledbat_now(tp),
			  min_t(u32, (tp->srtt_us >> 3 >> 10) + 1, U16_MAX));
	/* the stack measures no RTT on a retransmission */
	if (sample->rtt_us > 0)
		ledbat_take_acked(tp, ca, sample, sample->rtt_us);
}

/*
 * Only an ACK of new data carries the stamp of the segment that caused it;
 * others echo an old one (RFC 7323 section 4.3).
 */
static void ledbat_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_forget_stale(tp, ca);
	if (sample->rtt_us > 0)
		ledbat_take_round_trip(tp, ca, sample->rtt_us);
	if (sample->pkts_acked)
		ledbat_check_stamps(tp, ca, sample);
	if (!ca->one_way) {
		ledbatpp_pkts_acked(sk, sample);
		return;
	}
	ledbat_drop_stale(ca, ledbat_now(tp),
			  min_t(u32, (tp->srtt_us >> 3 >> 10) + 1, U16_MAX));
	if (sample->pkts_acked && tp->rx_opt.rcv_tsecr)
		ledbat_take_acked(tp, ca, sample, ledbat_stamp_difference(tp));
}

/* Window */

/*
 * The window may grow only as far as the flow uses it (RFC 6817 section 2.4.2).
 * A sender that waits to fill a segment for offload leaves part of its window
 * empty although the window limits it; is_cwnd_limited tells.
 */
static bool ledbat_uses_window(const struct tcp_sock *tp, u32 acked)
{
	return tp->is_cwnd_limited ||
	       tcp_packets_in_flight(tp) + acked + 1 >= tcp_snd_cwnd(tp);
}

/*
 * The threshold tells the stack, and its pacing, whether the flow is in slow
 * start. The threshold that Reno would have is kept for a control that may
 * follow this one.
 */
static void ledbat_set_threshold(struct sock *sk, u32 threshold)
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

	if (tp->snd_ssthresh > tcp_snd_cwnd(tp))
		ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
}

/*
 * Turn credit into packets. The stack may have changed the window since the
 * last time (loss, idleness): the fraction stays below one packet.
 */
static void ledbat_add_credit(struct sock *sk, s64 step_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	s64 credit_us = min(ca->credit_us, (s64)cwnd * ca->target_us - 1);

	credit_us += step_us;
	while (credit_us >= (s64)cwnd * ca->target_us) {
		credit_us -= (s64)cwnd * ca->target_us;
		cwnd++;
	}
	while (credit_us < 0 && cwnd > ca->min_window) {
		cwnd--;
		credit_us += (s64)cwnd * ca->target_us;
	}
	ca->credit_us = max(credit_us, 0LL);
	cwnd = max_t(u32, cwnd, ca->min_window);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	if (step_us < 0)
		ledbat_lower_threshold(sk);
}

static u32 ledbat_halved(const struct ledbat *ca, u32 cwnd)
{
	return min(cwnd, max_t(u32, cwnd / 2, ca->min_window));
}

/* A round, of one RTT, ends with the first ACK of data sent after it began. */
static bool ledbat_round_over(const struct tcp_sock *tp,
			      const struct ledbat *ca)
{
	return after(tp->snd_una, ca->round_end);
}

/*
 * Note a delay. Return whether a round trip is over in which none was below the
 * bound.
 */
static bool ledbat_stands(struct ledbat *ca, u32 queuing_us, u32 bound_us,
			  bool round_over)
{
	bool stands;

	ca->below |= queuing_us <= bound_us;
	stands = round_over && !ca->below;
	if (round_over)
		ca->below = 0;
	return stands;
}

/* Whether the first slow start goes on with part of its growth. */
static bool ledbat_nears_bound(const struct ledbat *ca, u32 queuing_us)
{
	return queuing_us > ledbat_bound_us(ca) / LEDBAT_SLOWER;
}

/* End a slow start with the part of the window that the bound allows. */
static void ledbat_take_back(struct sock *sk, u32 base_us, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 cwnd = tcp_snd_cwnd(tp);
	const u32 part = div_u64((u64)cwnd * (base_us + ledbat_bound_us(ca)),
				 base_us + queuing_us);

	tcp_snd_cwnd_set(tp, clamp(part, ledbat_halved(ca, cwnd), cwnd));
	ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
}

static u32 ledbat_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ca->reno_ssthresh = tcp_reno_ssthresh(sk);
	/*
	 * at most one halving per RTT: what was sent before the first may be
	 * lost
	 */
	if (ca->halved && !ledbat_round_over(tp, ca))
		return tcp_snd_cwnd(tp);
	return ledbat_halved(ca, tcp_snd_cwnd(tp));
}

/* What Reno had before the loss is gone; the window that was is known. */
static u32 ledbat_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ca->reno_ssthresh = max(ca->reno_ssthresh, tp->prior_cwnd);
	return tcp_reno_undo_cwnd(sk);
}

/*
 * After idleness the stack restarts with its initial window, or with a smaller
 * one that was. This is before the first packet leaves; where that one waits to
 * be segmented by the device, it holds up to the stack's initial window.
 */
static void ledbat_cwnd_event_tx_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (!ca->restarts)
		return;
	ca->restarts = 0;
	ca->credit_us = 0;
	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), LEDBAT_SLOW_CWND));
}

static void ledbat_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct ledbat *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART)
		ca->restarts = 1;
	else if (event == CA_EVENT_TX_START)	/* before Linux 7.1 */
		ledbat_cwnd_event_tx_start(sk);
}

/*
 * RFC 6817, section 2.4.2. The window is never more than ALLOWED_INCREASE
 * packets beyond what was in flight. The congestion timeout (CTO) is TCP's
 * retransmission timeout: the stack sets the window to one packet and doubles
 * the timeout.
 */
static s64 ledbat_gain_us(const struct ledbat *ca, u32 queuing_us, u32 acked)
{
	const s64 step_us = ((s64)ca->target_us - queuing_us) * acked;
	const s64 size_us = mul_u64_u32_div(abs(step_us), ca->gain_ppm,
					    LEDBAT_PPM);

	return step_us < 0 ? -size_us : size_us;
}

/* Slow start, where it is switched on, ends at 3/4 of TARGET, as LEDBAT++'s. */
static void ledbat_bound_slow_start(struct sock *sk, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const bool round_over = ledbat_round_over(tp, ca);
	const bool stands = ledbat_stands(ca, queuing_us, ledbat_bound_us(ca),
					  round_over);

	if (round_over) {
		ca->halved = 0;
		ca->round_end = tp->snd_nxt;
	}
	if (stands && ca->slow_start && tcp_in_slow_start(tp)) {
		ledbat_take_back(sk, ca->min_rtt_us, queuing_us);
		ca->halved = 1;
	}
}

/* Return what is left of `acked` for congestion avoidance. */
static u32 ledbat_slow_start(struct sock *sk, u32 acked, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (!tcp_in_slow_start(tp))
		return acked;
	if (ca->slow_start) {
		if (queuing_us > ledbat_bound_us(ca) ||
		    !tcp_is_cwnd_limited(sk))
			return 0;
		if (!ledbat_nears_bound(ca, queuing_us))
			return tcp_slow_start(tp, acked);
		ledbat_add_credit(sk, (s64)ca->target_us * tcp_snd_cwnd(tp) *
				      acked / LEDBAT_SLOWER);
		return 0;
	}
	/*
	 * the stack or an earlier control left this threshold; in a recovery
	 * the window moves towards it
	 */
	if (inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder)
		ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
	return acked;
}

static void ledbat_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_queuing_us(tp, ca);
	u32 allowed;

	ledbat_bound_slow_start(sk, queuing_us);
	acked = ledbat_slow_start(sk, acked, queuing_us);
	if (!acked)
		return;
	ledbat_add_credit(sk, ledbat_gain_us(ca, queuing_us, acked));
	if (tp->is_cwnd_limited)
		return;
	/* what was in flight before this ACK */
	allowed = max_t(u32, tcp_packets_in_flight(tp) + acked + ca->allowed,
			ca->min_window);
	if (tcp_snd_cwnd(tp) >= allowed) {
		tcp_snd_cwnd_set(tp, allowed);
		ca->credit_us = 0;
	}
}

/* LEDBAT++ */

/*
 * Section 4.2: GAIN is one over this, so that a flow on a short path does not
 * grow faster than others.
 */
static u32 ledbatpp_divisor(const struct ledbat *ca)
{
	const u32 base_us = ledbat_base(ca);

	if (!ca->used || !base_us)
		return LEDBATPP_MAX_DIVISOR;
	return clamp_t(u32, DIV_ROUND_UP(2 * ca->target_us, base_us), 1,
		       LEDBATPP_MAX_DIVISOR);
}

static void ledbatpp_enter(struct ledbat *ca, enum ledbatpp_phase phase,
			   u32 rounds)
{
	ca->phase = phase;
	ca->rounds = rounds;
}

static void ledbatpp_begin_round(const struct tcp_sock *tp, struct ledbat *ca)
{
	ca->round_end = tp->snd_nxt;
	ca->round_start_us = tp->tcp_mstamp;
}

static void ledbatpp_slow_down(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ledbatpp_enter(ca, LEDBATPP_SLOW, LEDBATPP_ROUNDS);
	/* an application that limits the flow may have left a slow start */
	ca->goal = max3(tcp_snd_cwnd(tp), tp->snd_ssthresh,
			(u32)LEDBAT_SLOW_CWND);
	ca->slow_us = 0;
	ca->lost = 0;
	ledbat_set_threshold(sk, LEDBAT_SLOW_CWND);
}

/* Add the time since the round began to the length of the slowdown. */
static void ledbatpp_add_time(const struct tcp_sock *tp, struct ledbat *ca)
{
	ca->slow_us += min((u32)tp->tcp_mstamp - ca->round_start_us,
			   2 * (tp->srtt_us >> 3));
}

/*
 * A reader that lags offers less and less window, and its host acknowledges
 * when it reads, which looks like a queue.
 */
static bool ledbatpp_reader_lags(const struct tcp_sock *tp)
{
	return tp->chrono_type == TCP_CHRONO_RWND_LIMITED &&
	       tp->snd_wnd < tp->max_window / 2;
}

/*
 * A socket buffer, of either host, may hold less than the window; then neither
 * a loss nor delay need end a slow start. Without a queue none need end it.
 */
static void ledbatpp_end_limited_slow_start(struct sock *sk, u32 acked,
					    u32 queuing_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (!tcp_in_slow_start(tp) || ledbat_uses_window(tp, acked) ||
	    tp->chrono_type <= TCP_CHRONO_BUSY || ledbatpp_reader_lags(tp) ||
	    queuing_us <= ca->target_us / 4) {
		ca->limited = 0;
	} else if (++ca->limited == LEDBATPP_LIMITED_ROUNDS) {
		ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
	}
}

static void ledbatpp_end_climb(const struct tcp_sock *tp, struct ledbat *ca)
{
	const u32 least_us = LEDBATPP_ROUNDS * (tp->srtt_us >> 3);
	u64 pause_us;

	ledbatpp_add_time(tp, ca);
	pause_us = (u64)LEDBATPP_PAUSE * max(ca->slow_us, least_us);
	ca->next_slow_ms = div_u64(tp->tcp_mstamp + pause_us, USEC_PER_MSEC);
	ca->phase = LEDBATPP_RUNNING;
}

static void ledbatpp_end_round(struct sock *sk, u32 acked, u32 queuing_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const bool uses_window = ledbat_uses_window(tp, acked);

	ledbatpp_end_limited_slow_start(sk, acked, queuing_us);
	switch (ca->phase) {
	case LEDBATPP_BEFORE_FIRST_SLOWDOWN:
		if (!tcp_in_slow_start(tp) && !--ca->rounds)
			ledbatpp_slow_down(sk);
		break;
	case LEDBATPP_SLOW:
		ledbatpp_add_time(tp, ca);
		if (!--ca->rounds) {
			ledbatpp_enter(ca, LEDBATPP_CLIMBING, LEDBATPP_ROUNDS);
			ledbat_set_threshold(sk, ca->goal);
		}
		break;
	case LEDBATPP_CLIMBING:
		if (uses_window) {
			ca->rounds = LEDBATPP_ROUNDS;
			ledbatpp_add_time(tp, ca);
		} else if (!--ca->rounds) {
			ledbatpp_end_climb(tp, ca);
		}
		break;
	case LEDBATPP_RUNNING:
		if ((s32)(ledbat_now_ms(tp) - ca->next_slow_ms) >= 0 &&
		    (!tcp_in_slow_start(tp) || !uses_window))
			ledbatpp_slow_down(sk);
		break;
	}
	ledbatpp_begin_round(tp, ca);
}

/* Return whether a slow start goes on. */
static bool ledbatpp_in_slow_start(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (tcp_in_slow_start(tp))
		return true;
	if (ca->phase == LEDBATPP_FIRST_SLOW_START) {
		ledbatpp_enter(ca, LEDBATPP_BEFORE_FIRST_SLOWDOWN,
			       LEDBATPP_ROUNDS);
		ledbatpp_begin_round(tp, ca);
	} else if (ca->phase == LEDBATPP_CLIMBING) {
		ledbatpp_end_climb(tp, ca);
	}
	return false;
}

/*
 * During a slowdown the window itself has no meaning; what a loss halves is the
 * goal of the climb.
 */
static u32 ledbatpp_ssthresh(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	if (ca->phase != LEDBATPP_SLOW) {
		ca->reno_ssthresh = tcp_reno_ssthresh(sk);
		return ledbat_halved(ca, tcp_snd_cwnd(tcp_sk(sk)));
	}
	ca->goal = max_t(u32, ca->goal / 2, LEDBAT_SLOW_CWND);
	ca->lost = 1;
	ca->reno_ssthresh = ca->goal;
	return min_t(u32, tcp_snd_cwnd(tcp_sk(sk)), LEDBAT_SLOW_CWND);
}

/* A loss that was none. */
static u32 ledbatpp_undo_cwnd(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	if (ca->phase == LEDBATPP_SLOW && ca->lost) {
		ca->goal *= 2;
		ca->lost = 0;
		ca->reno_ssthresh = ca->goal;
	}
	return ledbat_undo_cwnd(sk);
}

/*
 * Once per RTT above TARGET:
 * W += max(GAIN - W * (queuing delay / TARGET - 1), -W / 2)
 */
static void ledbatpp_decrease(struct sock *sk, u32 queuing_us, u32 divisor)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 cwnd = tcp_snd_cwnd(tp);
	const u32 target_us = ca->target_us;
	const s64 credit_us = min(ca->credit_us, (s64)cwnd * target_us - 1);
	/* in 1/target of a packet */
	const u64 window = (u64)cwnd * target_us +
			   div_u64(max(credit_us, 0LL), max(cwnd, 1U));
	const u64 grown = window + target_us / divisor;
	const u64 fall = mul_u64_u32_div(window, queuing_us - target_us,
					 target_us);
	u32 fraction;
	u64 left = div_u64_rem(max(grown - min(fall, grown), window / 2),
			       target_us, &fraction);

	ca->credit_us = left * fraction;
	if (left < ca->min_window) {
		ca->credit_us = 0;
		left = ca->min_window;
	}
	tcp_snd_cwnd_set(tp, min_t(u64, left, tp->snd_cwnd_clamp));
	/* slow start must not undo the decrease */
	ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
}

static void ledbatpp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_queuing_us(tp, ca);
	const u32 divisor = ledbatpp_divisor(ca);
	const u32 bound_us = ca->phase == LEDBATPP_FIRST_SLOW_START ?
			     ledbat_bound_us(ca) : ca->target_us;
	const bool round_over = ledbat_round_over(tp, ca);
	const bool stands = ledbat_stands(ca, queuing_us, bound_us, round_over);
	u64 step_us = ca->target_us;
	bool slow_start;

	if (round_over)
		ledbatpp_end_round(sk, acked, queuing_us);
	if (ca->phase == LEDBATPP_SLOW) {
		ca->credit_us = 0;
		tcp_snd_cwnd_set(tp, LEDBAT_SLOW_CWND);
		return;
	}
	slow_start = ledbatpp_in_slow_start(sk);
	if (stands && ca->phase == LEDBATPP_FIRST_SLOW_START) {
		ledbat_take_back(sk, ledbat_base(ca), queuing_us);
	} else if (stands && queuing_us > ca->target_us) {
		ledbatpp_decrease(sk, queuing_us, divisor);
	} else if (queuing_us <= bound_us && ledbat_uses_window(tp, acked)) {
		if (slow_start)
			step_us *= tcp_snd_cwnd(tp);
		if (ca->phase == LEDBATPP_FIRST_SLOW_START &&
		    ledbat_nears_bound(ca, queuing_us))
			step_us /= LEDBAT_SLOWER;
		ledbat_add_credit(sk, div_u64(step_us * acked, divisor));
	}
}

/* Set-up and report */

static void ledbat_set_up(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->target_us = ledbat_setting_of(sk, LEDBAT_TARGET_US);
	ca->slots = ledbat_setting_of(sk, LEDBAT_BASE_HISTORY);
	ca->filter = ledbat_setting_of(sk, LEDBAT_CURRENT_FILTER);
	ca->min_window = ledbat_setting_of(sk, LEDBAT_MIN_WINDOW);
	ca->round_end = tp->snd_una - 1;
	ca->reno_ssthresh = tp->snd_ssthresh;
	if (ledbat_setting_of(sk, LEDBAT_PACING))
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
	/*
	 * a connection that switches to this control keeps its window; a new
	 * one has sent nothing but its SYN
	 */
	if (tp->data_segs_out <= tp->syn_data)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), LEDBAT_SLOW_CWND));
}

static void ledbat_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_set_up(sk);
	ca->slow_start = ledbat_setting_of(sk, LEDBAT_SLOW_START);
	ca->gain_ppm = ledbat_setting_of(sk, LEDBAT_GAIN_PPM);
	ca->allowed = ledbat_setting_of(sk, LEDBAT_ALLOWED_INCREASE);
	/* during a recovery the window moves towards the threshold */
	if (!ca->slow_start && inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder)
		ledbat_lower_threshold(sk);
}

/* Leave the threshold as Reno would have kept it, for who may follow. */
static void ledbat_release(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (tp->snd_ssthresh < ca->reno_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, ca->reno_ssthresh);
}

/*
 * Answer to TCP_CC_INFO. The first word is zero, which INET_DIAG_VEGASINFO
 * readers such as ss take for "not in use", so that they do not mistake the
 * rest for Vegas' numbers.
 */
struct ledbat_info {
	u32	zero;
	/* modulo 2^32: only differences have a meaning */
	u32	base_delay_us;
	u32	current_delay_us;
	u32	queuing_delay_us;
	/* in the upper 8 bits what delays are: 0 one way, 1 round trips */
	u32	target_us_and_source;
};

/*
 * Asked without the socket's lock: meanwhile the state may be that of another
 * control, so nothing in it bounds a loop or divides.
 */
static size_t ledbat_get_info(struct sock *sk, u32 ext, int *attr,
			      union tcp_cc_info *info)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat ca = *(const struct ledbat *)inet_csk_ca(sk);
	const u32 unit_us = ledbat_unit_us(tp, &ca);
	const bool sane = ca.used <= LEDBAT_MAX_SLOTS &&
			  ca.recent <= LEDBAT_MAX_FILTER;
	struct ledbat_info words = {
		.target_us_and_source = ca.target_us | !ca.one_way << 24,
	};

	BUILD_BUG_ON(sizeof(words) > sizeof(*info));
	if (!(ext & BIT(INET_DIAG_VEGASINFO - 1)))
		return 0;
	if (ca.used && sane) {
		words.base_delay_us = ledbat_base(&ca) * unit_us;
		words.current_delay_us = ledbat_current(&ca) * unit_us;
		words.queuing_delay_us = ledbat_queuing_us(tp, &ca);
	}
	*attr = INET_DIAG_VEGASINFO;
	memcpy(info, &words, sizeof(words));
	return sizeof(words);
}

static struct tcp_congestion_ops ledbat_ops = {
	.name			= "ledbat",
	.owner			= THIS_MODULE,
	.flags			= TCP_CONG_NON_RESTRICTED,
	.init			= ledbat_init,
	.release		= ledbat_release,
	.pkts_acked		= ledbat_pkts_acked,
	.cong_avoid		= ledbat_cong_avoid,
	.ssthresh		= ledbat_ssthresh,
	.undo_cwnd		= ledbat_undo_cwnd,
	.cwnd_event		= ledbat_cwnd_event,
#ifndef LEDBAT_NO_TX_START	/* before Linux 7.1 */
	.cwnd_event_tx_start	= ledbat_cwnd_event_tx_start,
#endif
	.get_info		= ledbat_get_info,
};

static struct tcp_congestion_ops ledbatpp_ops = {
	.name			= "ledbatpp",
	.owner			= THIS_MODULE,
	.flags			= TCP_CONG_NON_RESTRICTED,
	.init			= ledbat_set_up,
	.release		= ledbat_release,
	.pkts_acked		= ledbatpp_pkts_acked,
	.cong_avoid		= ledbatpp_cong_avoid,
	.ssthresh		= ledbatpp_ssthresh,
	.undo_cwnd		= ledbatpp_undo_cwnd,
	.cwnd_event		= ledbat_cwnd_event,
#ifndef LEDBAT_NO_TX_START
	.cwnd_event_tx_start	= ledbat_cwnd_event_tx_start,
#endif
	.get_info		= ledbat_get_info,
};

#ifndef LEDBAT_OUT_OF_TREE
static int __init ledbat_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct ledbat) > ICSK_CA_PRIV_SIZE);
	error = tcp_register_congestion_control(&ledbat_ops);
	if (error)
		return error;
	error = tcp_register_congestion_control(&ledbatpp_ops);
	if (error)
		tcp_unregister_congestion_control(&ledbat_ops);
	return error;
}

static void __exit ledbat_unregister(void)
{
	tcp_unregister_congestion_control(&ledbatpp_ops);
	tcp_unregister_congestion_control(&ledbat_ops);
}
#endif

module_init(ledbat_register);
module_exit(ledbat_unregister);

/* setsockopt(TCP_CONGESTION) loads "tcp_<name>" */
MODULE_ALIAS("tcp_ledbatpp");

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.7.1");
MODULE_DESCRIPTION("LEDBAT and LEDBAT++ congestion control");
