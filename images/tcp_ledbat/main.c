// SPDX-License-Identifier: GPL-2.0-only
/*
 * LEDBAT: low extra delay background transport, as Linux congestion controls.
 *
 * The sender compares the one-way delay it sees now with the smallest it has seen for some minutes; the difference is
 * the delay that queues add. The window grows while that queuing delay is below TARGET and shrinks while it is above.
 * A flow that backs off before a loss-based TCP does leaves the bottleneck to that TCP.
 *
 * One-way delay comes from TCP timestamps (RFC 7323): the difference of the two stamps on an ACK is the delay of the
 * forward path plus a constant, the offset between the hosts' clocks, which the subtraction of the base delay
 * removes. Both hosts must stamp in the same unit: milliseconds, or microseconds on routes with the tcp_usec_ts
 * feature.
 *
 * This file is what all variants share: from an ACK to a queuing delay, from a controller's step to the socket's
 * window, set-up and report. variants.c holds the variants, delay.h and window.h their arithmetic, settings.c what can
 * be set.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ledbat.h"

/*
 * Answer to TCP_CC_INFO. The first word is zero, which INET_DIAG_VEGASINFO readers such as ss take for "not in use",
 * so that they do not mistake the rest for Vegas' numbers.
 */
struct ledbat_info {
	u32	zero;
	u32	base_delay_us;		/* unsigned remainder: only differences have a meaning */
	u32	current_delay_us;
	u32	queuing_delay_us;
	u32	target_us;
};

const struct ledbat_variant *ledbat_variant_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct ledbat_variant, ops);
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

bool ledbat_delay_sample(const struct sock *sk, struct ledbat_delay *delay, s32 *sample_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	/* the ACK of the SYN comes before init: the state is all zero then */
	if (!delay->slots || !tp->rx_opt.saw_tstamp || !tp->rx_opt.rcv_tsecr)
		return false;
	*sample_us = ledbat_relative_us(delay, tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr, ledbat_stamp_unit_us(tp));
	return true;
}

/*
 * Every ACK passes here, before the window is touched. Only one that acknowledges new data carries the stamp of the
 * segment that caused it; others echo an old one (RFC 7323 section 4.3).
 */
void ledbat_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat *ca = inet_csk_ca(sk);
	s32 sample_us;

	if (!sample->pkts_acked || !ledbat_delay_sample(sk, &ca->delay, &sample_us))
		return;
	ledbat_update_base(&ca->delay, sample_us, tcp_jiffies32);
	ledbat_update_current(&ca->delay, sample_us);
}

/* Window */

/* The window may grow only as far as the flow makes use of it (RFC 6817 section 2.4.2, ALLOWED_INCREASE = 1). */
bool ledbat_uses_window(const struct tcp_sock *tp, u32 acked)
{
	return tcp_packets_in_flight(tp) + acked + 1 >= tcp_snd_cwnd(tp);
}

/* Where the delay has taken the window, slow start must not bring it back. */
static void ledbat_lower_threshold(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = inet_csk_ca(sk);

	if (ca->slow_start && tp->snd_ssthresh > tcp_snd_cwnd(tp))
		WRITE_ONCE(tp->snd_ssthresh, tcp_snd_cwnd(tp));
}

void ledbat_add_credit(struct sock *sk, s64 credit_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	/* the stack may have moved the window since (loss, idle): the fraction stays below one packet */
	ca->credit_us = min(ca->credit_us, (s64)cwnd * ca->target_us - 1);
	ca->credit_us += credit_us;
	cwnd = ledbat_apply_credit(&ca->credit_us, cwnd, ca->target_us, ca->min_window);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	if (credit_us < 0)
		ledbat_lower_threshold(sk);
}

/* For a step that is a share of the window, in 1/target of a packet. */
void ledbat_set_window(struct sock *sk, u64 window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);
	const u32 cwnd = ledbat_set_exact_window(&ca->credit_us, window, ca->target_us, ca->min_window);

	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	ledbat_lower_threshold(sk);
}

/* Halved on loss; the stack asks once per recovery, that is at most once per RTT. */
u32 ledbat_ssthresh(struct sock *sk)
{
	const struct ledbat *ca = inet_csk_ca(sk);

	return ledbat_halved(tcp_snd_cwnd(tcp_sk(sk)), ca->min_window);
}

/* Set-up and report */

void ledbat_init(struct sock *sk)
{
	const struct ledbat_variant *variant = ledbat_variant_of(sk);
	const struct ledbat_settings *settings = ledbat_settings_of(sk, variant);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->target_us = READ_ONCE(settings->value[LEDBAT_TARGET_US]);
	ca->min_window = READ_ONCE(settings->value[LEDBAT_MIN_WINDOW]);
	ca->slow_start = READ_ONCE(settings->value[LEDBAT_SLOW_START]);
	ca->delay.slots = READ_ONCE(settings->value[LEDBAT_BASE_HISTORY]);
	ca->delay.filter = READ_ONCE(settings->value[LEDBAT_CURRENT_FILTER]);

	/* a threshold at the floor: neither the stack nor its pacing takes the flow to be in slow start */
	if (!ca->slow_start)
		WRITE_ONCE(tp->snd_ssthresh, 1);
	if (READ_ONCE(settings->value[LEDBAT_PACING]))
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

size_t ledbat_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct ledbat *ca = inet_csk_ca(sk);
	const struct ledbat_info answer = {
		.base_delay_us		= ca->delay.first_sample + ca->delay.base_us,
		.current_delay_us	= ca->delay.first_sample + ca->delay.current_us,
		.queuing_delay_us	= ledbat_queuing_delay_us(&ca->delay),
		.target_us		= ca->target_us,
	};

	BUILD_BUG_ON(sizeof(answer) > sizeof(*info));
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	*attr = INET_DIAG_VEGASINFO;
	memcpy(info, &answer, sizeof(answer));
	return sizeof(answer);
}

static int __init ledbat_register(void)
{
	int error, i;

	BUILD_BUG_ON(sizeof(struct ledbat) > ICSK_CA_PRIV_SIZE);

	error = ledbat_settings_register();
	if (error)
		return error;
	for (i = 0; i < LEDBAT_VARIANTS; i++) {
		error = tcp_register_congestion_control(&ledbat_variants[i].ops);
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
	int i;

	for (i = 0; i < LEDBAT_VARIANTS; i++)
		tcp_unregister_congestion_control(&ledbat_variants[i].ops);
	ledbat_settings_unregister();
}

module_init(ledbat_register);
module_exit(ledbat_unregister);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
MODULE_DESCRIPTION("LEDBAT congestion control");
