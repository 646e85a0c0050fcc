/* SPDX-License-Identifier: GPL-2.0-only */
/* What LEDBAT++ decides: from samples and ACKs to a window. */
#ifndef LEDBATPP_BPF_H
#define LEDBATPP_BPF_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* What is read of the kernel's structures; libbpf finds where it lies. */
#pragma clang attribute push(__attribute__((preserve_access_index)),\
			     apply_to = record)

struct sock {
};

struct tcp_sock {
	__u32 snd_una, snd_nxt, snd_cwnd, snd_ssthresh, snd_cwnd_clamp;
	__u32 packets_out, retrans_out, sacked_out, lost_out;
	__u32 data_segs_out, prior_cwnd, srtt_us;
	__u64 tcp_mstamp;
	__u8 is_cwnd_limited : 1, syn_data : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
	void *owner;
};

#pragma clang attribute pop

extern int CONFIG_HZ __kconfig;

#define TARGET_US	60000U
#define FILTER		4U		/* samples */
#define SLOTS		10U		/* minutes */
#define FLOOR		2U		/* packets */
#define MAX_DIVISOR	16U

static __always_inline __u64 min(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 max(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

enum phase {
	FIRST_SLOW_START,
	BEFORE_FIRST_SLOWDOWN,
	SLOW,
	CLIMBING,
	RUNNING
};

struct ledbatpp {
	__u64 credit_us, next_slow_us;
	__u32 reno_ssthresh, undo_ssthresh;
	__u32 round_end, round_start_us, slow_us;
	__u8 phase, rounds;
	/* the base delay: the smallest RTT of each of the last minutes */
	__u8 slot, slots;
	__u32 slot_start, base_us, minimum_us[16];
	/* the current delay: the smallest of the newest samples */
	__u32 recent_us[FILTER], current_us, rtt_us;
	__u16 taken[FILTER];
	__u8 newest, recent;
};

/* What the socket says, and what is decided: cwnd and ssthresh. */
struct window {
	__u64 now_us;
	__u32 cwnd, ssthresh, clamp;
	__u32 una, nxt, in_flight, srtt_us, acked;
	bool limited, fresh;
};

static __always_inline struct window window_of(struct tcp_sock *tp,
					       __u32 acked)
{
	const __u32 left = tp->sacked_out + tp->lost_out;

	return (struct window) {
		.now_us = tp->tcp_mstamp,
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.clamp = tp->snd_cwnd_clamp,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.in_flight = tp->packets_out - left + tp->retrans_out,
		.srtt_us = tp->srtt_us >> 3,
		.acked = acked,
		.limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited),
		.fresh = tp->data_segs_out <=
			 BPF_CORE_READ_BITFIELD(tp, syn_data),
	};
}

static __always_inline void begin(struct ledbatpp *ca, struct window *w)
{
	__builtin_memset(ca, 0, sizeof(*ca));
	ca->round_end = w->una - 1;
	ca->reno_ssthresh = w->ssthresh;
	if (w->fresh)
		w->cwnd = min(w->cwnd, FLOOR);
}

static __always_inline void update_base(struct ledbatpp *ca, __u32 rtt_us,
					__u32 now)
{
	const __u32 slot_jiffies = 60 * (__u32)CONFIG_HZ;
	__u32 passed, slot, i;

	if (!ca->slots) {
		ca->slot_start = now;
		ca->slots = 1;
		ca->minimum_us[0] = rtt_us;
	}
	passed = (now - ca->slot_start) / slot_jiffies;
	ca->slot_start += passed * slot_jiffies;
	for (i = 0; i < SLOTS && i < passed; i++) {
		/* the verifier loses track of what % gives */
		ca->slot = ca->slot + 1U < SLOTS ? ca->slot + 1 : 0;
		ca->slots = min(ca->slots + 1, SLOTS);
		ca->minimum_us[ca->slot & 15] = rtt_us;
	}
	slot = ca->slot & 15;
	ca->minimum_us[slot] = min(ca->minimum_us[slot], rtt_us);
	ca->base_us = ca->minimum_us[0];
	for (i = 1; i < SLOTS && i < ca->slots; i++)
		ca->base_us = min(ca->base_us, ca->minimum_us[i]);
}

static __always_inline void take(struct ledbatpp *ca,
				 const struct tcp_sock *tp, __s32 rtt_us)
{
	const __u16 now = tp->tcp_mstamp >> 10;
	const __u16 oldest = min((tp->srtt_us >> 13) + 1, 0xffff);
	__u32 i, last;

	for (i = 0; i < FILTER && ca->recent; i++) {
		last = (ca->newest + FILTER + 1 - ca->recent) % FILTER;
		if ((__u16)(now - ca->taken[last]) <= oldest)
			break;
		ca->recent--;
	}
	if (rtt_us <= 0)
		return;
	ca->rtt_us = rtt_us;
	update_base(ca, rtt_us, bpf_jiffies64());
	ca->newest = (ca->newest + 1) % FILTER;
	ca->recent_us[ca->newest % FILTER] = rtt_us;
	ca->taken[ca->newest % FILTER] = now;
	ca->recent = min(ca->recent + 1, FILTER);
	ca->current_us = rtt_us;
	for (i = 1; i < FILTER && i < ca->recent; i++) {
		last = (ca->newest + FILTER - i) % FILTER;
		ca->current_us = min(ca->current_us, ca->recent_us[last]);
	}
}

/* Never more than the newest round trip shows. */
static __always_inline __u32 queuing_us(const struct ledbatpp *ca)
{
	const __u32 seen_us = min(ca->current_us, ca->rtt_us);

	if (!ca->slots || seen_us < ca->base_us)
		return 0;
	return seen_us - ca->base_us;
}

static __always_inline void set_threshold(struct ledbatpp *ca,
					  struct window *w, __u32 threshold)
{
	ca->reno_ssthresh = max(ca->reno_ssthresh, w->ssthresh);
	w->ssthresh = threshold;
}

static __always_inline void begin_round(struct ledbatpp *ca,
					const struct window *w)
{
	ca->round_end = w->nxt;
	ca->round_start_us = w->now_us;
}

static __always_inline void add_time(struct ledbatpp *ca,
				     const struct window *w)
{
	const __u32 passed_us = (__u32)w->now_us - ca->round_start_us;

	ca->slow_us += min(passed_us, 2 * w->srtt_us);
}

static __always_inline void slow_down(struct ledbatpp *ca, struct window *w)
{
	set_threshold(ca, w, max(w->cwnd, FLOOR));
	ca->slow_us = 0;
	ca->phase = SLOW;
	ca->rounds = 2;
}

static __always_inline bool uses_window(const struct window *w)
{
	return w->limited || w->in_flight + w->acked + 1 >= w->cwnd;
}

static __always_inline void end_round(struct ledbatpp *ca, struct window *w)
{
	if (ca->phase == SLOW || (ca->phase == CLIMBING && uses_window(w)))
		add_time(ca, w);
	if (ca->phase == BEFORE_FIRST_SLOWDOWN) {
		if (w->cwnd >= w->ssthresh && !--ca->rounds)
			slow_down(ca, w);
	} else if (ca->phase == SLOW) {
		if (!--ca->rounds)
			ca->phase = CLIMBING;
	} else if (ca->phase == RUNNING && w->now_us >= ca->next_slow_us &&
		   w->cwnd >= w->ssthresh) {
		slow_down(ca, w);
	}
	begin_round(ca, w);
}

static __always_inline bool in_slow_start(struct ledbatpp *ca, struct window *w)
{
	if (ca->phase == FIRST_SLOW_START) {
		if (w->cwnd < w->ssthresh &&
		    queuing_us(ca) > TARGET_US / 4 * 3)
			set_threshold(ca, w, w->cwnd);
		if (w->cwnd >= w->ssthresh) {
			ca->phase = BEFORE_FIRST_SLOWDOWN;
			ca->rounds = 2;
			begin_round(ca, w);
		}
	} else if (ca->phase == CLIMBING && w->cwnd >= w->ssthresh) {
		add_time(ca, w);
		ca->next_slow_us = w->now_us +
				   9 * max(ca->slow_us, 2 * w->srtt_us);
		ca->phase = RUNNING;
		ca->rounds = 0;
	}
	return w->cwnd < w->ssthresh;
}

/* Once per round trip: W += max(GAIN - W * (delay / TARGET - 1), -W / 2) */
static __always_inline void decrease(struct ledbatpp *ca, struct window *w,
				     __u32 delay_us, __u32 divisor)
{
	/* in 1/TARGET of a packet */
	__u64 window = (__u64)w->cwnd * TARGET_US +
		       (w->cwnd ? ca->credit_us / w->cwnd : 0);
	const __u64 grown = window + TARGET_US / divisor;
	const __u64 fall = window * (delay_us - TARGET_US) / TARGET_US;

	window = max(grown - min(fall, grown), window / 2);
	w->cwnd = window / TARGET_US;
	ca->credit_us = w->cwnd * (window % TARGET_US);
	if (w->cwnd < FLOOR) {
		w->cwnd = FLOOR;
		ca->credit_us = 0;
	}
	w->cwnd = min(w->cwnd, w->clamp);
	set_threshold(ca, w, w->cwnd);
}

static __always_inline void increase(struct ledbatpp *ca, struct window *w,
				     __u64 credit_us)
{
	int i;

	if (w->cwnd)
		ca->credit_us = min(ca->credit_us,
				    (__u64)w->cwnd * TARGET_US - 1);
	ca->credit_us += credit_us;
	bpf_for(i, 0, 1 << 20) {
		if (ca->credit_us < (__u64)w->cwnd * TARGET_US)
			break;
		ca->credit_us -= (__u64)w->cwnd * TARGET_US;
		w->cwnd++;
	}
	w->cwnd = min(max(w->cwnd, FLOOR), w->clamp);
}

static __always_inline void avoid(struct ledbatpp *ca, struct window *w)
{
	const __u32 delay_us = queuing_us(ca);
	__u32 divisor = MAX_DIVISOR;
	const bool over = (__s32)(w->una - ca->round_end) > 0;
	bool slow_start;

	if (ca->base_us)
		divisor = min((2 * TARGET_US + ca->base_us - 1) / ca->base_us,
			      MAX_DIVISOR);
	if (over)
		end_round(ca, w);
	if (ca->phase == SLOW) {
		ca->credit_us = 0;
		w->cwnd = FLOOR;
		return;
	}
	slow_start = in_slow_start(ca, w);
	if (delay_us > TARGET_US && !slow_start) {
		if (over)
			decrease(ca, w, delay_us, divisor);
	} else if (uses_window(w)) {
		const __u64 steps = slow_start ? w->cwnd : 1;

		increase(ca, w, steps * TARGET_US * w->acked / divisor);
	}
}

/* A loss: in a slowdown it is the window to climb back to that is halved. */
static __always_inline __u32 lost(struct ledbatpp *ca,
				  const struct window *w)
{
	ca->undo_ssthresh = ca->reno_ssthresh;
	ca->reno_ssthresh = max(w->cwnd / 2, 2);
	if (ca->phase == SLOW)
		return max(w->ssthresh / 2, FLOOR);
	return min(w->cwnd, max(w->cwnd / 2, FLOOR));
}

#endif
