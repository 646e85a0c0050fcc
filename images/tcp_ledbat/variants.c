// SPDX-License-Identifier: GPL-2.0-only
/*
 * The variants: what each does with an ACK, from its paper or RFC. LEDBAT++ has a file of its own.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "ledbat.h"

/* Slow start, where it is switched on: what is left of `acked` for congestion avoidance. */
static u32 ledbat_slow_start(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (!ca->slow_start || !tcp_in_slow_start(tp))
		return acked;
	return tcp_is_cwnd_limited(sk) ? tcp_slow_start(tp, acked) : 0;
}

/* Without timestamps nothing is known of the queue: additive increase, as a plain TCP. */
static u32 ledbat_known_queuing_us(const struct ledbat *ca)
{
	return ca->delay.have_sample ? ledbat_queuing_delay_us(&ca->delay) : 0;
}

static void ledbat_step(struct sock *sk, u32 acked, s64 credit_us)
{
	if (credit_us <= 0 || ledbat_uses_window(tcp_sk(sk), acked))
		ledbat_add_credit(sk, credit_us);
}

/*
 * ledbat_draft00: draft-shalunov-ledbat-congestion-00 (March 2009) as evaluated by Rossi, Testa, Valenti and
 *	Muscariello, "LEDBAT: the new BitTorrent congestion control protocol", ICCCN 2010, section II: for every packet
 *	acknowledged
 *
 *		window += (TARGET - queuing delay) / TARGET / window
 *
 * ledbat_ld: the same with TARGET and GAIN as Kuehlewind and Fisches, "Evaluation of Different Decrease Schemes for
 *	LEDBAT Congestion Control", EUNICE 2011, section 3.1 normalise them; without pacing.
 */
static void ledbat_linear_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct ledbat *ca = inet_csk_ca(sk);

	acked = ledbat_slow_start(sk, acked);
	if (acked)
		ledbat_step(sk, acked, ledbat_linear_us(ca->target_us, ledbat_known_queuing_us(ca)) * acked);
}

/* ledbat_ldmin: EUNICE 2011 section 3.2, at least N packets per RTT less as soon as the delay exceeds TARGET. */
static void ledbat_ldmin_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->step = ledbat_settings_of(sk, ledbat_variant_of(sk))->value[LEDBAT_MIN_DECREASE];
}

static void ledbat_ldmin_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct ledbat *ca = inet_csk_ca(sk);

	acked = ledbat_slow_start(sk, acked);
	if (acked)
		ledbat_step(sk, acked,
			    ledbat_min_decrease_us(ca->target_us, ledbat_known_queuing_us(ca), ca->step) * acked);
}

/*
 * ledbat_md, ledbat_mdvar: EUNICE 2011 section 3.2. Above TARGET the window falls to a share of itself, at most once
 * per RTT; below, it grows as in ledbat_ld. The paper's "MD-NF1" and "MD-NF2" are ledbat_md with a current filter of 1
 * and 2 samples.
 *
 * The current RTT in ledbat_mdvar's formula is the one measured with the ACK that crosses TARGET: base RTT plus queuing
 * delay. The paper's 2 * base delay + TARGET is the same to within the excess.
 */
static void ledbat_md_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->round_end = tcp_sk(sk)->snd_una - 1;
	ca->factor_ppm = ledbat_settings_of(sk, ledbat_variant_of(sk))->value[LEDBAT_BETA_PPM];
}

/* Whether this ACK takes the window down: true at most once per RTT, and only above TARGET. */
static bool ledbat_md_decreases(struct sock *sk, u32 queuing_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (!ledbat_round_over(tp->snd_una, ca->round_end))
		return false;
	/* kept close behind: sequence numbers wrap */
	ca->round_end = queuing_us > ca->target_us ? tp->snd_nxt : tp->snd_una - 1;
	return queuing_us > ca->target_us;
}

static u64 ledbat_window(struct sock *sk)
{
	const struct ledbat *ca = inet_csk_ca(sk);

	return ledbat_exact_window(ca->credit_us, tcp_snd_cwnd(tcp_sk(sk)), ca->target_us);
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
		ledbat_step(sk, acked, ledbat_linear_us(ca->target_us, queuing_us) * acked);
}

static u64 ledbat_md_lowered(const struct ledbat *ca, u64 window)
{
	return ledbat_multiplied(window, ca->factor_ppm);
}

static void ledbat_md_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	ledbat_md_avoid(sk, acked, ledbat_md_lowered);
}

static void ledbat_mdvar_pkts_acked(struct sock *sk, const struct ack_sample *sample)
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
 * ledbat_aina: draft-ietf-ledbat-congestion-00 as modelled by Abu and Gordon, "Impact of delay variability on LEDBAT
 * performance", AINA 2011: the linear controller, its current delay the smallest of the newest window / 2 samples.
 */
static void ledbat_aina_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	/* set-up of an accepted connection must not sleep; without memory the newest sample is the current delay */
	ca->delay.history = kzalloc(sizeof(*ca->delay.history), GFP_ATOMIC | __GFP_NOWARN);
}

static void ledbat_aina_release(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	kfree(ca->delay.history);
	ca->delay.history = NULL;
}

static void ledbat_aina_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat_delay *delay = &((struct ledbat *)inet_csk_ca(sk))->delay;
	s32 sample_us;

	if (!sample->pkts_acked || !ledbat_delay_sample(sk, delay, &sample_us))
		return;
	ledbat_update_base(delay, sample_us, tcp_jiffies32);
	delay->current_us = sample_us;
	if (delay->history) {
		ledbat_remember(delay->history, sample_us);
		delay->current_us = ledbat_smallest_us(delay->history, max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 1U));
	}
}

/*
 * ledbat: RFC 6817, Low Extra Delay Background Transport (LEDBAT), section 2.4.2. No sample of the current delay is
 * older than an RTT; the window is never more than ALLOWED_INCREASE packets beyond what was in flight. The congestion
 * timeout (CTO) is TCP's retransmission timeout: the stack sets the window to one packet and doubles the timeout.
 */
#define LEDBAT_INIT_CWND	2

static void ledbat_rfc6817_init(struct sock *sk)
{
	const struct ledbat_settings *settings = ledbat_settings_of(sk, ledbat_variant_of(sk));
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->factor_ppm = READ_ONCE(settings->value[LEDBAT_GAIN_PPM]);
	ca->step = READ_ONCE(settings->value[LEDBAT_ALLOWED_INCREASE]);
	/* a connection that changes over to LEDBAT keeps its window */
	if (!tp->data_segs_out)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), LEDBAT_INIT_CWND));
}

static void ledbat_rfc6817_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	/* wraps after 67 s, when a sample of then would pass for new: RTTs are shorter, and it would cost one step */
	const u16 now = tp->tcp_mstamp >> 10, rtt = min_t(u32, (tp->srtt_us >> 3 >> 10) + 1, U16_MAX);
	struct ledbat_delay *delay = &ca->delay;

	while (delay->recent &&
	       (u16)(now - ca->taken[(delay->newest + delay->filter + 1 - delay->recent) % delay->filter]) > rtt)
		delay->recent--;
	ledbat_pkts_acked(sk, sample);
	ca->taken[delay->newest] = now;
}

static void ledbat_rfc6817_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	u32 allowed;

	acked = ledbat_slow_start(sk, acked);
	if (!acked)
		return;
	ledbat_add_credit(sk, ledbat_gain_us(ca->target_us, ledbat_known_queuing_us(ca), ca->factor_ppm, acked));

	/* what was in flight before this ACK */
	allowed = max_t(u32, tcp_packets_in_flight(tp) + acked + ca->step, ca->min_window);
	if (tcp_snd_cwnd(tp) >= allowed) {
		tcp_snd_cwnd_set(tp, allowed);
		ca->credit_us = 0;
	}
}

/*
 * fledbat: Carofiglio, Muscariello, Rossi, Testa and Valenti, "The quest for LEDBAT fairness", Globecom 2010: additive
 * increase whatever the delay, and above TARGET a decrease in proportion to the window and the distance,
 *
 *	window += alpha / window - zeta * (queuing delay - TARGET) / TARGET
 *
 * for every packet acknowledged, so that late-comers and early ones meet.
 */
static void ledbat_fair_init(struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ledbat_init(sk);
	ca->factor_ppm = ledbat_settings_of(sk, ledbat_variant_of(sk))->value[LEDBAT_ZETA_PPM];
}

static void ledbat_fair_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const u32 queuing_us = ledbat_known_queuing_us(ca);

	ledbat_step(sk, acked, ledbat_fair_us(ca->target_us, queuing_us, ca->factor_ppm,
					      tcp_snd_cwnd(tcp_sk(sk))) * acked);
}

#define LEDBAT_COMMON	(BIT(LEDBAT_TARGET_US) | BIT(LEDBAT_BASE_HISTORY) | BIT(LEDBAT_MIN_WINDOW) | BIT(LEDBAT_PACING))

#define LEDBAT_OPS(_name, _init, _pkts_acked, _cong_avoid)	\
	.name		= _name,				\
	.owner		= THIS_MODULE,				\
	.flags		= TCP_CONG_NON_RESTRICTED,		\
	.init		= _init,				\
	.pkts_acked	= _pkts_acked,				\
	.cong_avoid	= _cong_avoid,				\
	.ssthresh	= ledbat_ssthresh,			\
	.undo_cwnd	= tcp_reno_undo_cwnd,			\
	.get_info	= ledbat_get_info

#define LEDBAT_DEFAULTS(_target_ms)				\
	[LEDBAT_TARGET_US]	= (_target_ms) * USEC_PER_MSEC,	\
	[LEDBAT_BASE_HISTORY]	= LEDBAT_MAX_SLOTS

struct ledbat_variant ledbat_variants[LEDBAT_VARIANTS] = {
	[LEDBAT_RFC6817] = {
		.ops = { LEDBAT_OPS("ledbat", ledbat_rfc6817_init, ledbat_rfc6817_pkts_acked,
				    ledbat_rfc6817_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_SLOW_START) | BIT(LEDBAT_GAIN_PPM) |
			BIT(LEDBAT_ALLOWED_INCREASE),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_RFC6817_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 4,
			[LEDBAT_MIN_WINDOW]		= 2,
			[LEDBAT_GAIN_PPM]		= LEDBAT_PPM,
			[LEDBAT_ALLOWED_INCREASE]	= 1,
		},
	},
	[LEDBAT_DRAFT00] = {
		.ops = { LEDBAT_OPS("ledbat_draft00", ledbat_init, ledbat_pkts_acked, ledbat_linear_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_SLOW_START),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_PACING]			= 1,
		},
	},
	[LEDBAT_LD] = {
		.ops = { LEDBAT_OPS("ledbat_ld", ledbat_init, ledbat_pkts_acked, ledbat_linear_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_SLOW_START),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
		},
	},
	[LEDBAT_LDMIN] = {
		.ops = { LEDBAT_OPS("ledbat_ldmin", ledbat_ldmin_init, ledbat_pkts_acked, ledbat_ldmin_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_SLOW_START) | BIT(LEDBAT_MIN_DECREASE),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_MIN_DECREASE]		= 1,
		},
	},
	[LEDBAT_MD] = {
		.ops = { LEDBAT_OPS("ledbat_md", ledbat_md_init, ledbat_pkts_acked, ledbat_md_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_SLOW_START) | BIT(LEDBAT_BETA_PPM),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_BETA_PPM]		= 600000,
		},
	},
	[LEDBAT_MDVAR] = {
		.ops = { LEDBAT_OPS("ledbat_mdvar", ledbat_md_init, ledbat_mdvar_pkts_acked, ledbat_mdvar_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_SLOW_START),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
		},
	},
	[LEDBAT_AINA] = {
		.ops = {
			LEDBAT_OPS("ledbat_aina", ledbat_aina_init, ledbat_aina_pkts_acked, ledbat_linear_cong_avoid),
			.release = ledbat_aina_release,
		},
		.mask = LEDBAT_COMMON | BIT(LEDBAT_SLOW_START),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET),
			[LEDBAT_MIN_WINDOW]		= 1,
		},
	},
	[LEDBAT_PLUS_PLUS] = {
		.ops = { LEDBAT_OPS("ledbatpp", ledbatpp_init, ledbatpp_pkts_acked, ledbatpp_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBATPP_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 4,
			[LEDBAT_MIN_WINDOW]		= 2,
			[LEDBAT_SLOW_START]		= 1,
		},
	},
	[LEDBAT_FAIR] = {
		.ops = { LEDBAT_OPS("fledbat", ledbat_fair_init, ledbat_pkts_acked, ledbat_fair_cong_avoid) },
		.mask = LEDBAT_COMMON | BIT(LEDBAT_CURRENT_FILTER) | BIT(LEDBAT_ZETA_PPM),
		.defaults.value = {
			LEDBAT_DEFAULTS(LEDBAT_DRAFT00_TARGET),
			[LEDBAT_CURRENT_FILTER]		= 1,
			[LEDBAT_MIN_WINDOW]		= 1,
			[LEDBAT_PACING]			= 1,
			[LEDBAT_ZETA_PPM]		= 5 * LEDBAT_PPM,
		},
	},
};
