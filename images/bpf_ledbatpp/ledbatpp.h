/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What LEDBAT++ decides, as ../tcp_ledbat does: from samples and ACKs to a
 * window.
 */
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
	__u32 sk_pacing_status;
};

struct tcp_sock {
	__u32 snd_una, snd_nxt, snd_cwnd, snd_ssthresh, snd_cwnd_clamp;
	__u32 packets_out, retrans_out, sacked_out, lost_out;
	__u32 data_segs_out, prior_cwnd, srtt_us, mss_cache;
	__u32 snd_wnd, max_window;
	__u64 tcp_mstamp;
	__u8 is_cwnd_limited : 1, syn_data : 1, chrono_type : 2;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
	void *owner;
};

#pragma clang attribute pop

/* What a sample says, in the program's own memory. */
struct acked {
	__u32 packets;
	__s32 rtt_us;
	__u32 in_flight;
};

/* Settings: those of the module, which the compiler may be given. */
#ifndef TARGET_US
#define TARGET_US	60000U
#endif
#ifndef BASE_HISTORY
#define BASE_HISTORY	10U		/* minutes, at most 10 */
#endif
#ifndef CURRENT_FILTER
#define CURRENT_FILTER	4U		/* samples, at most 4 */
#endif
#ifndef MIN_WINDOW
#define MIN_WINDOW	2U		/* packets */
#endif
#ifndef PACING
#define PACING		0
#endif

#define SLOTS		16U		/* powers of two: the verifier loses */
#define SAMPLES		4U		/* track of what other % give */
#define SLOW_CWND	2U		/* packets */
#define MAX_DIVISOR	16U
#define ROUNDS		2
#define PAUSE		9
#define LIMITED_ROUNDS	2
#define BOUND_US	(TARGET_US / 4 * 3)
#define SLOWER		4U		/* near the bound */

/* of the kernel */
#define PACING_NONE	0
#define PACING_NEEDED	1
#define CHRONO_BUSY	1
#define CHRONO_RWND_LIMITED 2
#define TX_START	0
#define CWND_RESTART	1

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
	__u64 credit_us;
	__u32 reno_ssthresh, round_end, round_start_us, slow_us, goal;
	__u32 next_slow_ms;
	__u8 phase, rounds, limited;
	bool lost, restarts, below;
	/* the base delay: the smallest RTT of each of the last minutes */
	__u8 slot, used;
	__u16 minute;
	__u32 minimum_us[SLOTS], base_us;
	/* the current delay: the smallest of the newest samples */
	__u32 sample_us[SAMPLES], current_us;
	__u16 taken[SAMPLES];
	__u8 newest, recent;
};

/* What the socket says, and what is decided: cwnd and ssthresh. */
struct window {
	__u64 now_us;
	__u32 cwnd, ssthresh, clamp;
	__u32 una, nxt, in_flight, srtt_us, acked;
	bool limited, by_buffer, fresh;
};

static __always_inline struct window window_of(struct tcp_sock *tp,
					       __u32 acked)
{
	const __u32 left = tp->sacked_out + tp->lost_out;
	const __u8 chrono = BPF_CORE_READ_BITFIELD(tp, chrono_type);
	/* it acknowledges when it reads, which looks like a queue */
	const bool reader_lags = chrono == CHRONO_RWND_LIMITED &&
				 tp->snd_wnd < tp->max_window / 2;

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
		.by_buffer = chrono > CHRONO_BUSY && !reader_lags,
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
		w->cwnd = min(w->cwnd, SLOW_CWND);
}

static __always_inline void update_base(struct ledbatpp *ca, __u32 rtt_us,
					__u16 minute)
{
	__u32 passed, slot, i;

	if (!ca->used) {
		ca->used = 1;
		ca->slot = 0;
		ca->minute = minute;
		ca->minimum_us[0] = rtt_us;
	}
	passed = (__u16)(minute - ca->minute);
	ca->minute = minute;
	for (i = 0; i < BASE_HISTORY && i < passed; i++) {
		ca->slot = ca->slot + 1U < BASE_HISTORY ? ca->slot + 1 : 0;
		ca->used = min(ca->used + 1, BASE_HISTORY);
		ca->minimum_us[ca->slot % SLOTS] = rtt_us;
	}
	slot = ca->slot % SLOTS;
	ca->minimum_us[slot] = min(ca->minimum_us[slot], rtt_us);
	ca->base_us = ca->minimum_us[0];
	for (i = 1; i < BASE_HISTORY && i < ca->used; i++)
		ca->base_us = min(ca->base_us, ca->minimum_us[i]);
}

/* Where the sample is that came `age` samples before the newest. */
static __always_inline __u32 nth(const struct ledbatpp *ca, __u32 age)
{
	return (ca->newest + SAMPLES - age) % SAMPLES;
}

static __always_inline void update_current(struct ledbatpp *ca)
{
	__u32 i;

	ca->current_us = ca->sample_us[nth(ca, 0)];
	for (i = 1; i < SAMPLES && i < ca->recent; i++)
		ca->current_us = min(ca->current_us, ca->sample_us[nth(ca, i)]);
}

/* Whether an ACK may have waited for a timer, and shows too much to count. */
static __always_inline bool is_held(const struct ledbatpp *ca,
				    const struct tcp_sock *tp,
				    const struct acked *ack)
{
	return ack->packets == 1 &&
	       ack->in_flight <= SLOW_CWND * tp->mss_cache && ca->used &&
	       ack->rtt_us > (__s64)ca->base_us + BOUND_US;
}

static __always_inline void take(struct ledbatpp *ca,
				 const struct tcp_sock *tp,
				 const struct acked *ack)
{
	const __u16 now = tp->tcp_mstamp >> 10;
	const __u16 oldest = min((tp->srtt_us >> 13) + 1, 0xffff);
	__u32 i;

	for (i = 0; i < SAMPLES && ca->recent; i++) {
		if ((__u16)(now - ca->taken[nth(ca, ca->recent - 1)]) <= oldest)
			break;
		ca->recent--;
	}
	if (ack->rtt_us > 0 && !is_held(ca, tp, ack)) {
		update_base(ca, ack->rtt_us, tp->tcp_mstamp / 60000000);
		ca->newest = (ca->newest + 1) % SAMPLES;
		ca->sample_us[nth(ca, 0)] = ack->rtt_us;
		ca->taken[nth(ca, 0)] = now;
		ca->recent = min(ca->recent + 1, CURRENT_FILTER);
	} else if (ack->rtt_us > 0 && !ca->recent) {
		ca->sample_us[nth(ca, 0)] = ca->base_us;
	}
	update_current(ca);
}

static __always_inline __u32 queuing_us(const struct ledbatpp *ca)
{
	if (!ca->used || ca->current_us < ca->base_us)
		return 0;
	return ca->current_us - ca->base_us;
}

static __always_inline __u32 gain_divisor(const struct ledbatpp *ca)
{
	if (!ca->used || !ca->base_us)
		return MAX_DIVISOR;
	return min((2 * TARGET_US + ca->base_us - 1) / ca->base_us,
		   MAX_DIVISOR);
}

static __always_inline bool in_slow_start(const struct window *w)
{
	return w->cwnd < w->ssthresh;
}

static __always_inline bool uses_window(const struct window *w)
{
	return w->limited || w->in_flight + w->acked + 1 >= w->cwnd;
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
	ca->phase = SLOW;
	ca->rounds = ROUNDS;
	ca->goal = max(max(w->cwnd, w->ssthresh), SLOW_CWND);
	ca->slow_us = 0;
	ca->lost = false;
	set_threshold(ca, w, SLOW_CWND);
}

static __always_inline void end_limited_slow_start(struct ledbatpp *ca,
						   struct window *w,
						   __u32 delay_us)
{
	if (!in_slow_start(w) || uses_window(w) || !w->by_buffer ||
	    delay_us <= TARGET_US / 4)
		ca->limited = 0;
	else if (++ca->limited == LIMITED_ROUNDS)
		set_threshold(ca, w, w->cwnd);
}

static __always_inline void end_climb(struct ledbatpp *ca,
				      const struct window *w)
{
	add_time(ca, w);
	ca->next_slow_ms = (w->now_us + (__u64)PAUSE *
			    max(ca->slow_us, ROUNDS * w->srtt_us)) / 1000;
	ca->phase = RUNNING;
}

static __always_inline void end_round(struct ledbatpp *ca, struct window *w,
				      __u32 delay_us)
{
	const __u32 now_ms = w->now_us / 1000;

	end_limited_slow_start(ca, w, delay_us);
	if (ca->phase == BEFORE_FIRST_SLOWDOWN) {
		if (!in_slow_start(w) && !--ca->rounds)
			slow_down(ca, w);
	} else if (ca->phase == SLOW) {
		add_time(ca, w);
		if (!--ca->rounds) {
			ca->phase = CLIMBING;
			ca->rounds = ROUNDS;
			set_threshold(ca, w, ca->goal);
		}
	} else if (ca->phase == CLIMBING) {
		if (uses_window(w)) {
			ca->rounds = ROUNDS;
			add_time(ca, w);
		} else if (!--ca->rounds) {
			end_climb(ca, w);
		}
	} else if (ca->phase == RUNNING &&
		   (!in_slow_start(w) || !uses_window(w)) &&
		   (__s32)(now_ms - ca->next_slow_ms) >= 0) {
		slow_down(ca, w);
	}
	begin_round(ca, w);
}

/*
 * Note a delay. Return whether a round trip is over in which none was below the
 * bound.
 */
static __always_inline bool stands(struct ledbatpp *ca, __u32 delay_us,
				   __u32 bound_us, bool over)
{
	const bool below = ca->below || delay_us <= bound_us;

	ca->below = below && !over;
	return over && !below;
}

/* End the first slow start with the part of the window for the bound. */
static __always_inline void take_back(struct ledbatpp *ca, struct window *w,
				      __u32 delay_us)
{
	const __u64 part = (__u64)w->cwnd * (ca->base_us + BOUND_US) /
			   ((__u64)ca->base_us + delay_us);
	const __u64 half = min(w->cwnd, max(w->cwnd / 2, MIN_WINDOW));

	w->cwnd = min(max(part, half), w->cwnd);
	set_threshold(ca, w, w->cwnd);
}

/* Return whether a slow start goes on. */
static __always_inline bool goes_on(struct ledbatpp *ca, struct window *w)
{
	if (in_slow_start(w))
		return true;
	if (ca->phase == FIRST_SLOW_START) {
		ca->phase = BEFORE_FIRST_SLOWDOWN;
		ca->rounds = ROUNDS;
		begin_round(ca, w);
	} else if (ca->phase == CLIMBING) {
		end_climb(ca, w);
	}
	return false;
}

/* Once per round trip: W += max(GAIN - W * (delay / TARGET - 1), -W / 2) */
static __always_inline void decrease(struct ledbatpp *ca, struct window *w,
				     __u32 delay_us, __u32 divisor)
{
	const __u64 cwnd = max(w->cwnd, 1);
	/* more halves the window in any case, and could overflow */
	const __u64 excess_us = min(delay_us - TARGET_US, 2 * TARGET_US);
	/* in 1/TARGET of a packet */
	__u64 window = cwnd * TARGET_US +
		       min(ca->credit_us, cwnd * TARGET_US - 1) / cwnd;
	const __u64 grown = window + TARGET_US / divisor;
	const __u64 fall = window * excess_us / TARGET_US;

	window = max(grown - min(fall, grown), window / 2);
	w->cwnd = window / TARGET_US;
	ca->credit_us = w->cwnd * (window % TARGET_US);
	if (w->cwnd < MIN_WINDOW) {
		w->cwnd = MIN_WINDOW;
		ca->credit_us = 0;
	}
	w->cwnd = min(w->cwnd, w->clamp);
	set_threshold(ca, w, w->cwnd);
}

static __always_inline void increase(struct ledbatpp *ca, struct window *w,
				     __u64 credit_us)
{
	int i;

	/* the verifier would try each window that follows a known one */
	if (!w->cwnd)
		return;
	ca->credit_us = min(ca->credit_us, (__u64)w->cwnd * TARGET_US - 1);
	ca->credit_us += credit_us;
	bpf_for(i, 0, 1 << 20) {
		if (ca->credit_us < (__u64)w->cwnd * TARGET_US)
			break;
		ca->credit_us -= (__u64)w->cwnd * TARGET_US;
		w->cwnd++;
	}
	w->cwnd = min(max(w->cwnd, MIN_WINDOW), w->clamp);
}

static __always_inline void avoid(struct ledbatpp *ca, struct window *w)
{
	const __u32 delay_us = queuing_us(ca), divisor = gain_divisor(ca);
	const __u32 bound_us = ca->phase == FIRST_SLOW_START ? BOUND_US :
							       TARGET_US;
	const bool over = (__s32)(w->una - ca->round_end) > 0;
	const bool full = stands(ca, delay_us, bound_us, over);
	bool slow_start;

	if (over)
		end_round(ca, w, delay_us);
	if (ca->phase == SLOW) {
		ca->credit_us = 0;
		w->cwnd = SLOW_CWND;
		return;
	}
	slow_start = goes_on(ca, w);
	if (full && ca->phase == FIRST_SLOW_START) {
		take_back(ca, w, delay_us);
	} else if (full && delay_us > TARGET_US) {
		decrease(ca, w, delay_us, divisor);
	} else if (delay_us <= bound_us && uses_window(w)) {
		__u64 step_us = TARGET_US;

		if (slow_start)
			step_us *= w->cwnd;
		if (ca->phase == FIRST_SLOW_START &&
		    delay_us > BOUND_US / SLOWER)
			step_us /= SLOWER;
		increase(ca, w, step_us * w->acked / divisor);
	}
}

/* A loss: in a slowdown it is the goal of the climb that is halved. */
static __always_inline __u32 lost(struct ledbatpp *ca, const struct window *w)
{
	if (ca->phase != SLOW) {
		ca->reno_ssthresh = max(w->cwnd / 2, 2);
		return min(w->cwnd, max(w->cwnd / 2, MIN_WINDOW));
	}
	ca->goal = max(ca->goal / 2, SLOW_CWND);
	ca->lost = true;
	ca->reno_ssthresh = ca->goal;
	return min(w->cwnd, SLOW_CWND);
}

/* A loss that was none. */
static __always_inline void undo(struct ledbatpp *ca, __u32 prior_cwnd)
{
	if (ca->phase == SLOW && ca->lost) {
		ca->goal *= 2;
		ca->lost = false;
		ca->reno_ssthresh = ca->goal;
	}
	ca->reno_ssthresh = max(ca->reno_ssthresh, prior_cwnd);
}

/* Before Linux 7.1 it hears of sending after idleness. */
static __always_inline void happened(struct ledbatpp *ca, struct window *w,
				     __u32 event)
{
	if (event == CWND_RESTART) {
		ca->restarts = true;
	} else if (event == TX_START && ca->restarts) {
		ca->restarts = false;
		ca->credit_us = 0;
		w->cwnd = min(w->cwnd, SLOW_CWND);
	}
}

#endif
