// SPDX-License-Identifier: GPL-2.0-only
/*
 * ledbatpp: LEDBAT++, draft-irtf-iccrg-ledbat-plus-plus. What it changes against RFC 6817:
 *
 * - the delay is the round-trip time, so that nothing depends on timestamps or the other host;
 * - GAIN is 1 / min(16, ceil(2 * TARGET / base RTT)), in slow start, too;
 * - above TARGET the window falls in proportion to itself, once per RTT, to a half at most;
 * - slow start ends at 3/4 of TARGET, the first time;
 * - now and then the flow slows down to two packets for two RTTs, so that every flow gets to see an empty queue and
 *   none starves an older one.
 *
 * Below TARGET the window grows by GAIN per RTT, whatever the distance (section 4.3); the formula for the decrease is
 * for delays above TARGET only. Where the draft leaves a choice:
 *
 * - the climb back after a slowdown is a slow start and therefore scaled with GAIN;
 * - it ends when the old window is reached or a packet is lost, not when the delay exceeds 3/4 of TARGET: a climb cut
 *   short would schedule the next slowdown too early;
 * - decreases do not put the next slowdown off.
 */
#include "ledbat.h"

enum ledbatpp_phase {
	LEDBATPP_FIRST_SLOW_START,
	LEDBATPP_TWO_RTTS_MORE,		/* the first slowdown comes two RTTs after slow start */
	LEDBATPP_ONE_RTT_MORE,
	LEDBATPP_SLOW_FIRST_RTT,
	LEDBATPP_SLOW_SECOND_RTT,
	LEDBATPP_CLIMBING,
	LEDBATPP_RUNNING
};

#define LEDBATPP_SLOW_CWND	2	/* packets during a slowdown, and at the start */
#define LEDBATPP_PAUSE		9	/* times the length of a slowdown until the next: a tenth of the time at most */

void ledbatpp_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->round_end = tp->snd_una - 1;
	/* a connection that changes over keeps its window, and is past its first slow start if it has ever lost */
	if (!tp->data_segs_out)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), LEDBATPP_SLOW_CWND));
}

void ledbatpp_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat *ca = inet_csk_ca(sk);

	/* the stack measures none on a retransmission; the ACK of the SYN comes before init */
	if (sample->rtt_us <= 0 || !ca->delay.slots)
		return;
	ledbat_update_base(&ca->delay, sample->rtt_us, tcp_jiffies32);
	ledbat_update_current(&ca->delay, sample->rtt_us);
}

/* Phases that last an RTT, and the one that lasts until its time has come. */
static void ledbatpp_next_phase(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	switch (ca->phase) {
	case LEDBATPP_TWO_RTTS_MORE:
	case LEDBATPP_SLOW_FIRST_RTT:
	case LEDBATPP_SLOW_SECOND_RTT:
		ca->phase++;
		break;
	case LEDBATPP_RUNNING:
		if (time_before32(tcp_jiffies32, ca->since))
			break;
		fallthrough;
	case LEDBATPP_ONE_RTT_MORE:
		WRITE_ONCE(tp->snd_ssthresh, max_t(u32, tcp_snd_cwnd(tp), LEDBATPP_SLOW_CWND));
		ca->since = tcp_jiffies32;
		ca->phase = LEDBATPP_SLOW_FIRST_RTT;
		break;
	}
}

/* Return whether the first slow start, or the climb after a slowdown, goes on. */
static bool ledbatpp_in_slow_start(struct sock *sk, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (ca->phase == LEDBATPP_FIRST_SLOW_START) {
		if (tcp_in_slow_start(tp) && queuing_us > ca->target_us / 4 * 3)
			WRITE_ONCE(tp->snd_ssthresh, tcp_snd_cwnd(tp));
		if (!tcp_in_slow_start(tp))
			ca->phase = LEDBATPP_TWO_RTTS_MORE;
	} else if (ca->phase == LEDBATPP_CLIMBING && !tcp_in_slow_start(tp)) {
		ca->since = tcp_jiffies32 + LEDBATPP_PAUSE * (tcp_jiffies32 - ca->since);
		ca->phase = LEDBATPP_RUNNING;
	}
	return tcp_in_slow_start(tp);
}

void ledbatpp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_queuing_delay_us(&ca->delay);
	const u32 divisor = ledbatpp_gain_divisor(ca->target_us, ca->delay.base_us);
	const bool round_over = ledbat_round_over(tp->snd_una, ca->round_end);
	bool slow_start;

	if (round_over) {
		ca->round_end = tp->snd_nxt;
		ledbatpp_next_phase(sk);
	}
	if (ca->phase == LEDBATPP_SLOW_FIRST_RTT || ca->phase == LEDBATPP_SLOW_SECOND_RTT) {
		ca->credit_us = 0;
		tcp_snd_cwnd_set(tp, LEDBATPP_SLOW_CWND);
		return;
	}

	slow_start = ledbatpp_in_slow_start(sk, queuing_us);
	if (queuing_us > ca->target_us && !slow_start) {
		if (round_over) {
			const u64 window = ledbat_exact_window(ca->credit_us, tcp_snd_cwnd(tp), ca->target_us);

			ledbat_set_window(sk, ledbatpp_decreased(window, ca->target_us, queuing_us, divisor));
			/* what was taken must not come back by slow start */
			WRITE_ONCE(tp->snd_ssthresh, tcp_snd_cwnd(tp));
		}
	} else if (ledbat_uses_window(tp, acked)) {
		const u64 step_us = slow_start ? (u64)ca->target_us * tcp_snd_cwnd(tp) : ca->target_us;

		ledbat_add_credit(sk, div_u64(step_us * acked, divisor));
	}
}
