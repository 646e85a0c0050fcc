/* SPDX-License-Identifier: GPL-2.0-only */
/* A socket's state, the variants and their settings: what all parts share. */
#ifndef LEDBAT_H
#define LEDBAT_H

#include <net/tcp.h>

#include "delay.h"
#include "window.h"

/* set-up of an accepted connection must not sleep */
#define LEDBAT_GFP	(GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT)

enum ledbat_setting {
	LEDBAT_TARGET_US,
	LEDBAT_BASE_HISTORY,		/* minutes */
	LEDBAT_CURRENT_FILTER,		/* samples */
	LEDBAT_MIN_WINDOW,		/* packets */
	LEDBAT_SLOW_START,		/* enum ledbat_slow_start */
	LEDBAT_PACING,			/* 0: packets leave when ACKs arrive */
	LEDBAT_BETA_PPM,
	LEDBAT_MIN_DECREASE,		/* packets per RTT and ms of excess */
	LEDBAT_ZETA_PPM,
	LEDBAT_SETTINGS
};

enum ledbat_slow_start {
	LEDBAT_NO_SLOW_START,		/* additive increase from the start */
	/* until the first loss, or until delay has lowered the window */
	LEDBAT_SLOW_START_ONCE,
	/* the same as once, and from the floor after every loss */
	LEDBAT_SLOW_START_AFTER_LOSS,
	/* the same as once, and again whenever the window is at its floor */
	LEDBAT_SLOW_START_AT_FLOOR,
	/* the same as once, and from the floor after a loss in slow start */
	LEDBAT_SLOW_START_AFTER_OVERSHOOT,
	LEDBAT_SLOW_STARTS
};

enum ledbat_name {
	LEDBAT_DRAFT00,
	LEDBAT_ICCCN,
	LEDBAT_LD,
	LEDBAT_LDMIN,
	LEDBAT_MD,
	LEDBAT_MDVAR,
	LEDBAT_AINA,
	LEDBAT_FAIR,
	LEDBAT_VARIANTS
};

struct ledbat_settings {
	unsigned int value[LEDBAT_SETTINGS];
};

/* A congestion control of this module; its settings are those in the mask. */
struct ledbat_variant {
	struct tcp_congestion_ops	ops;
	u32				mask;
	struct ledbat_settings		defaults; /* of new namespaces */
};

extern struct ledbat_variant ledbat_variants[LEDBAT_VARIANTS];

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
	/* in the upper 8 bits the source, enum ledbat_source */
	u32	target_us_and_source;
};

/* The state of a socket, at most ICSK_CA_PRIV_SIZE bytes. */
struct ledbat {
	struct ledbat_delay *delay;	/* NULL: no memory for it */
	s64	credit_us;		/* see window.h */
	u32	target_us	: 20,
		min_window	: 6,
		step		: 6;	/* packets up or down; variants.c */
	u32	factor_ppm	: 24;	/* beta or zeta */
	u32	slow_start	: 3,
		restarts	: 1;	/* slow start follows recovery */
	u32	reno_ssthresh;		/* as Reno would have the threshold */
	u32	undo_ssthresh;		/* the same before the last loss */
	u32	round_end;		/* snd_nxt when the current RTT began */
	u32	rtt_us;			/* ledbat_mdvar: of the newest ACK */
	struct ledbat_info info;
};

/* settings.c */
int ledbat_settings_register(void);
void ledbat_settings_unregister(void);
u32 ledbat_setting_of(const struct sock *sk, enum ledbat_setting setting);

/* main.c */
const struct ledbat_variant *ledbat_variant_of(const struct sock *sk);
void ledbat_init(struct sock *sk);
void ledbat_release(struct sock *sk);
u32 ledbat_ssthresh(struct sock *sk);
u32 ledbat_undo_cwnd(struct sock *sk);
void ledbat_set_threshold(struct sock *sk, u32 threshold);
bool ledbat_take_sample(struct sock *sk, const struct ack_sample *sample,
			s32 *sample_us);
void ledbat_pkts_acked(struct sock *sk, const struct ack_sample *sample);
void ledbat_report(struct ledbat *ca);
u32 ledbat_known_queuing_us(const struct ledbat *ca);
bool ledbat_uses_window(const struct tcp_sock *tp, u32 acked);
u64 ledbat_window(const struct sock *sk);
void ledbat_add_credit(struct sock *sk, s64 credit_us);
void ledbat_count(struct sock *sk, s64 credit_us);
void ledbat_set_window(struct sock *sk, u64 window);
size_t ledbat_get_info(struct sock *sk, u32 ext, int *attr,
		       union tcp_cc_info *info);

#endif
