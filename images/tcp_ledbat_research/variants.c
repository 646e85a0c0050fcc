// SPDX-License-Identifier: GPL-2.0-only
/*
 * The variants: how each reacts to an ACK, by its paper.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "ledbat.h"

/*
 * Slow start, if it is switched on. Return what is left of `acked` for
 * congestion avoidance.
 */
static u32 ledbat_slow_start(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (!tcp_in_slow_start(tp))
		return acked;
	if (!ca->slow_start) {
		/*
		 * the stack or an earlier control left this threshold; in a
		 * recovery the window moves towards it
		 */
		if (inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder)
			ledbat_set_threshold(sk, tcp_snd_cwnd(tp));
		return acked;
	}
	return tcp_is_cwnd_limited(sk) ? tcp_slow_start(tp, acked) : 0;
}

/*
 * Slow start as ICCCN 2010 section IV.C has it: on a loss the threshold is half
 * the window, and slow start begins again from the smallest window. A recovery
 * moves the window to the value of ledbat_ssthresh(), which is the smallest
 * window here, and ledbat_repair() opens it. At the end of the recovery, or
 * after a timeout, the threshold becomes half the old window.
 */
static void ledbat_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (ca->restarts &&
	    (event == CA_EVENT_COMPLETE_CWR || event == CA_EVENT_LOSS)) {
		WRITE_ONCE(tp->snd_ssthresh, ca->reno_ssthresh);
		ca->restarts = 0;
	}
}

static void ledbat_step(struct sock *sk, u32 acked, s64 step_us)
{
	const s64 credit_us = ledbat_times(step_us, acked);

	if (credit_us <= 0 || ledbat_uses_window(tcp_sk(sk), acked))
		ledbat_add_credit(sk, credit_us);
}

/*
 * ledbat_draft00: draft-shalunov-ledbat-congestion-00 (March 2009) as evaluated
 *	by Rossi, Testa, Valenti and Muscariello, "LEDBAT: the new BitTorrent
 *	congestion control protocol", ICCCN 2010, section II: for every packet
 *	acknowledged
 *
 *		window += (TARGET - queuing delay) / TARGET / window
 *
 * ledbat_ld: the same with TARGET and GAIN normalised as in section 3.1 of
 *	Kuehlewind and Fisches, "Evaluation of Different Decrease Schemes for
 *	LEDBAT Congestion Control", EUNICE 2011; without pacing.
 */
static void ledbat_linear_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_known_queuing_us(ca);

	acked = ledbat_slow_start(sk, acked);
	if (acked)
		ledbat_step(sk, acked, ledbat_linear_us(ca->target_us,
							queuing_us));
}

/*
 * ledbat_icccn: the same rule by the description of the module that the authors
 * of ICCCN 2010 published. Each ACK moves a counter, and a window of whole
 * packets follows it, in either direction only while it is what limits the
 * flow.
 */
static void ledbat_counting_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_known_queuing_us(ca);

	if (tcp_is_cwnd_limited(sk) && ledbat_slow_start(sk, acked))
		ledbat_count(sk, ledbat_linear_us(ca->target_us, queuing_us));
}

/*
 * ledbat_ldmin: EUNICE 2011 section 3.2, a decrease of at least N packets per
 * RTT once the delay exceeds TARGET.
 */
static void ledbat_ldmin_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->step = ledbat_setting_of(sk, LEDBAT_MIN_DECREASE);
}

static void ledbat_ldmin_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const s64 step_us = ledbat_min_decrease_us(ca->target_us,
						   ledbat_known_queuing_us(ca),
						   ca->step);

	acked = ledbat_slow_start(sk, acked);
	if (acked)
		ledbat_step(sk, acked, step_us);
}

/*
 * ledbat_md, ledbat_mdvar: EUNICE 2011 section 3.2. Above TARGET the window
 * falls to a fraction of itself, at most once per RTT; below, it grows as in
 * ledbat_ld. The paper's "MD-NF1" and "MD-NF2" are ledbat_md with a current
 * filter of 1 and 2 samples.
 *
 * The current RTT in ledbat_mdvar's formula is the one measured with the ACK
 * that crosses TARGET: base RTT plus queuing delay. Where the queue grows
 * slowly, that is the paper's 2 * base delay + TARGET. Where TCP fills the
 * queue, the RTT is longer and the decrease smaller: with 150 ms of queue at a
 * base RTT of 40 ms, 0.87 of the window stays, not 0.615.
 */
static void ledbat_md_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->factor_ppm = ledbat_setting_of(sk, LEDBAT_BETA_PPM);
}

/*
 * Whether this ACK lowers the window: true at most once per RTT, and only above
 * TARGET.
 */
static bool ledbat_md_decreases(struct sock *sk, u32 queuing_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const bool above = queuing_us > ca->target_us;

	if (!ledbat_round_over(tp->snd_una, ca->round_end))
		return false;
	/* stay close behind snd_una: sequence numbers wrap */
	ca->round_end = above ? tp->snd_nxt : tp->snd_una - 1;
	return above;
}

typedef u64 (*ledbat_lowered)(const struct ledbat *ca, u64 window);

static void ledbat_md_avoid(struct sock *sk, u32 acked, ledbat_lowered lowered)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_known_queuing_us(ca);

	acked = ledbat_slow_start(sk, acked);
	if (!acked)
		return;
	if (ledbat_md_decreases(sk, queuing_us))
		ledbat_set_window(sk, lowered(ca, ledbat_window(sk)));
	else if (queuing_us < ca->target_us)
		ledbat_step(sk, acked, ledbat_linear_us(ca->target_us,
							queuing_us));
}

static u64 ledbat_md_lowered(const struct ledbat *ca, u64 window)
{
	return ledbat_multiplied(window, ca->factor_ppm);
}

static void ledbat_md_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	ledbat_md_avoid(sk, acked, ledbat_md_lowered);
}

static void ledbat_mdvar_pkts_acked(struct sock *sk,
				    const struct ack_sample *sample)
{
	struct ledbat *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		ca->rtt_us = sample->rtt_us;
	ledbat_pkts_acked(sk, sample);
}

static u64 ledbat_mdvar_lowered(const struct ledbat *ca, u64 window)
{
	return ledbat_drained(window, ca->target_us, ca->rtt_us);
}

static void ledbat_mdvar_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	ledbat_md_avoid(sk, acked, ledbat_mdvar_lowered);
}

/*
 * ledbat_aina: draft-ietf-ledbat-congestion-00 as modelled by Abu and Gordon,
 * "Impact of delay variability on LEDBAT performance", AINA 2011: the linear
 * controller, whose current delay is the smallest of the newest window / 2
 * samples.
 */
static void ledbat_aina_init(struct sock *sk)
{
	const struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	/* without memory the newest sample is the current delay */
	if (ca->delay)
		ca->delay->history = kzalloc(sizeof(*ca->delay->history),
					     LEDBAT_GFP);
}

static void ledbat_aina_update(const struct sock *sk, s32 sample_us)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const u32 half = tcp_snd_cwnd(tcp_sk(sk)) / 2;

	ca->delay->current_us = sample_us;
	if (ca->delay->history) {
		ledbat_remember(ca->delay->history, sample_us);
		ca->delay->current_us = ledbat_smallest_us(ca->delay->history,
							   max(half, 1U));
	}
}

static void ledbat_aina_pkts_acked(struct sock *sk,
				   const struct ack_sample *sample)
{
	s32 sample_us;

	if (ledbat_take_sample(sk, sample, &sample_us))
		ledbat_aina_update(sk, sample_us);
	ledbat_report(inet_csk_ca(sk));
}

/*
 * fledbat: Carofiglio, Muscariello, Rossi, Testa and Valenti, "The quest for
 * LEDBAT fairness", Globecom 2010: additive increase whatever the delay, and
 * above TARGET a decrease in proportion to the window and to the excess,
 *
 *	window += alpha / window - zeta * (queuing delay - TARGET) / TARGET
 *
 * for every packet acknowledged, so that late-comers and earlier flows
 * converge.
 */
static void ledbat_fair_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->factor_ppm = ledbat_setting_of(sk, LEDBAT_ZETA_PPM);
}

static void ledbat_fair_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const s64 step_us = ledbat_fair_us(ca->target_us,
					   ledbat_known_queuing_us(ca),
					   ca->factor_ppm,
					   tcp_snd_cwnd(tcp_sk(sk)));

	ledbat_step(sk, acked, step_us);
}

#define LEDBAT_COMMON						\
	(BIT(LEDBAT_TARGET_US) | BIT(LEDBAT_BASE_HISTORY) |	\
	 BIT(LEDBAT_MIN_WINDOW) | BIT(LEDBAT_PACING))
#define LEDBAT_LINEAR						\
	(LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_SLOW_START))

#define LEDBAT_OPS(_name)					\
	.name		= _name,				\
	.owner		= THIS_MODULE,				\
	.flags		= TCP_CONG_NON_RESTRICTED,		\
	.cwnd_event	= ledbat_cwnd_event,			\
	.undo_cwnd	= ledbat_undo_cwnd,			\
	.release	= ledbat_release,			\
	.get_info	= ledbat_get_info

#define LEDBAT_DEFAULTS(_target_ms, _base_minutes)		\
	[LEDBAT_TARGET_US]	= (_target_ms) * USEC_PER_MSEC,	\
	[LEDBAT_BASE_HISTORY]	= _base_minutes

struct ledbat_variant ledbat_variants[LEDBAT_VARIANTS] = {
	[LEDBAT_DRAFT00] = {
		.ops = {
			LEDBAT_OPS("ledbat_draft00"),
			.init		= ledbat_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_pkts_acked,
			.cong_avoid	= ledbat_linear_cong_avoid,
		},
		.mask = LEDBAT_LINEAR,
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 10),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_PACING]			= 1,
		},
	},
	[LEDBAT_ICCCN] = {
		.ops = {
			LEDBAT_OPS("ledbat_icccn"),
			.init		= ledbat_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_pkts_acked,
			.cong_avoid	= ledbat_counting_cong_avoid,
		},
		.mask = LEDBAT_LINEAR,
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 6),
			[LEDBAT_CURRENT_FILTER]		= 3,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_PACING]			= 1,
		},
	},
	[LEDBAT_LD] = {
		.ops = {
			LEDBAT_OPS("ledbat_ld"),
			.init		= ledbat_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_pkts_acked,
			.cong_avoid	= ledbat_linear_cong_avoid,
		},
		.mask = LEDBAT_LINEAR,
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 10),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
		},
	},
	[LEDBAT_LDMIN] = {
		.ops = {
			LEDBAT_OPS("ledbat_ldmin"),
			.init		= ledbat_ldmin_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_pkts_acked,
			.cong_avoid	= ledbat_ldmin_cong_avoid,
		},
		.mask = LEDBAT_LINEAR | BIT(LEDBAT_MIN_DECREASE),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 10),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_MIN_DECREASE]		= 1,
		},
	},
	[LEDBAT_MD] = {
		.ops = {
			LEDBAT_OPS("ledbat_md"),
			.init		= ledbat_md_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_pkts_acked,
			.cong_avoid	= ledbat_md_cong_avoid,
		},
		.mask = LEDBAT_LINEAR | BIT(LEDBAT_BETA_PPM),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 10),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_BETA_PPM]		= 600000,
		},
	},
	[LEDBAT_MDVAR] = {
		.ops = {
			LEDBAT_OPS("ledbat_mdvar"),
			.init		= ledbat_md_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_mdvar_pkts_acked,
			.cong_avoid	= ledbat_mdvar_cong_avoid,
		},
		.mask = LEDBAT_LINEAR,
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 10),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
		},
	},
	[LEDBAT_AINA] = {
		.ops = {
			LEDBAT_OPS("ledbat_aina"),
			.init		= ledbat_aina_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_aina_pkts_acked,
			.cong_avoid	= ledbat_linear_cong_avoid,
		},
		.mask = LEDBAT_COMMON | BIT(LEDBAT_SLOW_START),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 10),
			[LEDBAT_MIN_WINDOW]		= 1,
		},
	},
	[LEDBAT_FAIR] = {
		.ops = {
			LEDBAT_OPS("fledbat"),
			.init		= ledbat_fair_init,
			.ssthresh	= ledbat_ssthresh,
			.pkts_acked	= ledbat_pkts_acked,
			.cong_avoid	= ledbat_fair_cong_avoid,
		},
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) |
			BIT(LEDBAT_ZETA_PPM),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET, 10),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_PACING]			= 1,
			[LEDBAT_ZETA_PPM]		= 5 * LEDBAT_PPM,
		},
	},
};
