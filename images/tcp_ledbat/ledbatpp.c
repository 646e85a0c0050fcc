// SPDX-License-Identifier: GPL-2.0-only
/*
 * ledbatpp: LEDBAT++, draft-irtf-iccrg-ledbat-plus-plus-01 (August 2020; the
 * newest is -06 of January 2026). Changes from RFC 6817:
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
 * Below TARGET the window grows by GAIN per RTT, whatever the distance (section
 * 4.3); the formula for the decrease applies only above TARGET. Where the draft
 * leaves a choice:
 *
 * - the climb ends when the old window is reached or a packet is lost, not when
 *   the delay exceeds 3/4 of TARGET: a climb cut short would schedule the next
 *   slowdown too early;
 * - decreases do not postpone the next slowdown;
 * - a loss during a slowdown halves the window that the flow climbs back to;
 * - a slowdown that is due while the flow recovers from a timeout waits until
 *   it has recovered;
 * - a round trip adds at most twice the smoothed RTT to the length of a
 *   slowdown, and none to a climb while the application leaves part of the
 *   window unused: an application that is silent or slow meanwhile does not
 *   postpone the next one.
 */
#include "ledbat.h"

enum ledbatpp_phase {
	LEDBATPP_FIRST_SLOW_START,
	LEDBATPP_BEFORE_FIRST_SLOWDOWN,
	LEDBATPP_SLOW,
	LEDBATPP_CLIMBING,
	LEDBATPP_RUNNING
};

/* packets during a slowdown, and at the start */
#define LEDBATPP_SLOW_CWND	2
/* RTTs from slow start to the first slowdown, and of a slowdown */
#define LEDBATPP_ROUNDS		2
/* times a slowdown's length until the next: a tenth of the time at most */
#define LEDBATPP_PAUSE		9

void ledbatpp_init(struct sock *sk)
{
	ledbat_init_from_round_trips(sk);
	/* a connection that has had a loss is past its first slow start */
	ledbat_start_small(sk);
}

static void ledbatpp_enter(struct sock *sk, enum ledbatpp_phase phase,
			   int rounds)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ca->phase = phase;
	ca->rounds = rounds;
}

static void ledbatpp_slow_down(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_set_threshold(sk,
			     max_t(u32, tcp_snd_cwnd(tp), LEDBATPP_SLOW_CWND));
	ca->slow_us = 0;
	ledbatpp_enter(sk, LEDBATPP_SLOW, LEDBATPP_ROUNDS);
}

/* Add the time since the round began to the length of the slowdown. */
static void ledbatpp_add_time(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ca->slow_us += min((u32)tp->tcp_mstamp - ca->round_start_us,
			   2 * (tp->srtt_us >> 3));
}

static void ledbatpp_begin_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ca->round_end = tp->snd_nxt;
	ca->round_start_us = tp->tcp_mstamp;
}

static void ledbatpp_end_round(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	switch (ca->phase) {
	case LEDBATPP_BEFORE_FIRST_SLOWDOWN:
		if (!tcp_in_slow_start(tp) && !--ca->rounds)
			ledbatpp_slow_down(sk);
		break;
	case LEDBATPP_SLOW:
		ledbatpp_add_time(sk);
		if (!--ca->rounds)
			ledbatpp_enter(sk, LEDBATPP_CLIMBING, 0);
		break;
	case LEDBATPP_CLIMBING:
		if (ledbat_uses_window(tp, acked))
			ledbatpp_add_time(sk);
		break;
	case LEDBATPP_RUNNING:
		if (tp->tcp_mstamp >= ca->next_slow_us &&
		    !tcp_in_slow_start(tp))
			ledbatpp_slow_down(sk);
		break;
	}
	ledbatpp_begin_round(sk);
}

/* Return whether the first slow start, or a slowdown's climb, goes on. */
static bool ledbatpp_in_slow_start(struct sock *sk, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (ca->phase == LEDBATPP_FIRST_SLOW_START) {
		if (tcp_in_slow_start(tp) && queuing_us > ca->target_us / 4 * 3)
			ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
		if (!tcp_in_slow_start(tp)) {
			ledbatpp_enter(sk, LEDBATPP_BEFORE_FIRST_SLOWDOWN,
				       LEDBATPP_ROUNDS);
			ledbatpp_begin_round(sk);
		}
	} else if (ca->phase == LEDBATPP_CLIMBING && !tcp_in_slow_start(tp)) {
		const u32 least_us = LEDBATPP_ROUNDS * (tp->srtt_us >> 3);

		ledbatpp_add_time(sk);
		ca->next_slow_us = tp->tcp_mstamp + (u64)LEDBATPP_PAUSE *
				   max(ca->slow_us, least_us);
		ledbatpp_enter(sk, LEDBATPP_RUNNING, 0);
	}
	return tcp_in_slow_start(tp);
}

/*
 * During a slowdown the threshold is the window to climb back to, and the
 * window itself has no meaning.
 */
u32 ledbatpp_ssthresh(struct sock *sk)
{
	const struct ledbat *ca = inet_csk_ca(sk);

	if (ca->phase != LEDBATPP_SLOW)
		return ledbat_ssthresh(sk);
	return ledbat_lost(sk, max_t(u32, tcp_sk(sk)->snd_ssthresh / 2,
				     LEDBATPP_SLOW_CWND));
}

void ledbatpp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_known_queuing_us(ca);
	const u32 base_us = ca->delay ? ca->delay->round_trip.smallest_us : 0;
	const u32 divisor = ledbatpp_gain_divisor(ca->target_us, base_us);
	const bool round_over = ledbat_round_over(tp->snd_una, ca->round_end);
	u64 window, step_us;
	bool slow_start;

	if (round_over)
		ledbatpp_end_round(sk, acked);
	if (ca->phase == LEDBATPP_SLOW) {
		ca->credit_us = 0;
		tcp_snd_cwnd_set(tp, LEDBATPP_SLOW_CWND);
		return;
	}

	slow_start = ledbatpp_in_slow_start(sk, queuing_us);
	if (queuing_us > ca->target_us && !slow_start) {
		if (round_over) {
			window = ledbat_exact_window(ca->credit_us,
						     tcp_snd_cwnd(tp),
						     ca->target_us);
			window = ledbatpp_decreased(window, ca->target_us,
						    queuing_us, divisor);
			ledbat_set_window(sk, window);
			/* slow start must not undo the decrease */
			ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
		}
	} else if (ledbat_uses_window(tp, acked)) {
		step_us = ca->target_us;
		if (slow_start)
			step_us *= tcp_snd_cwnd(tp);
		ledbat_add_credit(sk, div_u64(step_us * acked, divisor));
	}
}
