/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Controller steps: what an ACK adds to the window or takes from it.
 *
 * A window is cwnd whole packets and a credit below one packet. A whole packet
 * costs cwnd * target, because the controllers add (target - queuing delay) /
 * target / cwnd for a packet acknowledged. In this unit that is just target -
 * queuing delay, so no rounding error grows however long a flow runs.
 */
#ifndef LEDBAT_WINDOW_H
#define LEDBAT_WINDOW_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/time64.h>
#include <linux/types.h>

#define LEDBAT_PPM	1000000

/* TARGET, in milliseconds, as it MUST be in the papers' draft */
#define LEDBAT_DRAFT00_TARGET	25

/* Turn credit into packets; the window stays at or above `floor`. */
static inline u32 ledbat_apply_credit(s64 *credit_us, u32 cwnd, u32 target_us,
				      u32 floor)
{
	while (*credit_us >= (s64)cwnd * target_us) {
		*credit_us -= (s64)cwnd * target_us;
		cwnd++;
	}
	while (*credit_us < 0) {
		if (cwnd <= floor) {
			*credit_us = 0;
			return floor;
		}
		cwnd--;
		*credit_us += (s64)cwnd * target_us;
	}
	return max(cwnd, floor);
}

/*
 * The same in whole packets, as the authors of ICCCN 2010 published it: what is
 * beyond a packet is dropped, and a step down begins a whole packet below the
 * next step up.
 */
static inline u32 ledbat_counted(s64 *count_us, u32 cwnd, u32 target_us,
				 u32 floor)
{
	if (*count_us >= (s64)cwnd * target_us) {
		*count_us = 0;
		return cwnd + 1;
	}
	if (*count_us >= 0)
		return cwnd;
	*count_us = cwnd > floor ? (s64)(cwnd - 2) * target_us : 0;
	return max(cwnd - 1, floor);
}

/* The window with its fraction, in 1/target of a packet, and back. */
static inline u64 ledbat_exact_window(s64 credit_us, u32 cwnd, u32 target_us)
{
	return (u64)cwnd * target_us + div_u64(max(credit_us, 0LL), cwnd);
}

static inline u32 ledbat_set_exact_window(s64 *credit_us, u64 window,
					  u32 target_us, u32 floor)
{
	u32 fraction;
	const u64 cwnd = div_u64_rem(window, target_us, &fraction);

	if (cwnd < floor) {
		*credit_us = 0;
		return floor;
	}
	*credit_us = (s64)cwnd * fraction;
	return cwnd;
}

/*
 * Draft-00: +1 packet per RTT without a queue, -1 at
 * twice the target.
 */
static inline s64 ledbat_linear_us(u32 target_us, u32 queuing_us)
{
	return (s64)target_us - queuing_us;
}

/*
 * A step for each of the packets that an ACK acknowledges. With the delays that
 * forged stamps can show it may be more than there are numbers for: down then.
 */
static inline s64 ledbat_times(s64 step_us, u32 acked)
{
	s64 credit_us;

	if (check_mul_overflow(step_us, (s64)acked, &credit_us))
		return S64_MIN / 2;
	return credit_us;
}

/*
 * EUNICE 2011 section 3.2: above the target GAIN = TARGET * N, which gives N
 * packets per RTT for each millisecond of excess. The paper's stamps are in
 * milliseconds, so any excess is at least one.
 */
static inline s64 ledbat_min_decrease_us(u32 target_us, u32 queuing_us,
					 u32 packets)
{
	s64 excess_us;

	if (queuing_us <= target_us)
		return ledbat_linear_us(target_us, queuing_us);
	excess_us = max_t(u32, queuing_us - target_us, USEC_PER_MSEC);
	return -div_s64(excess_us * packets * target_us, USEC_PER_MSEC);
}

/*
 * Fair LEDBAT: alpha / w for a packet acknowledged; above the target less
 * zeta * (queuing delay - target) / target.
 */
static inline s64 ledbat_fair_us(u32 target_us, u32 queuing_us, u32 zeta_ppm,
				 u32 cwnd)
{
	u64 excess_us;

	if (queuing_us <= target_us)
		return target_us;
	excess_us = queuing_us - target_us;
	excess_us = div_u64(excess_us * zeta_ppm, LEDBAT_PPM);
	return target_us - (s64)excess_us * cwnd;
}

/* EUNICE 2011 section 3.2, MD: w = beta * w. */
static inline u64 ledbat_multiplied(u64 window, u32 beta_ppm)
{
	return mul_u64_u32_div(window, beta_ppm, LEDBAT_PPM);
}

/*
 * EUNICE 2011 section 3.2 in its erratum's form, MDvar:
 * w = (1 - TARGET / current RTT) * w - 3 packets.
 */
#define LEDBAT_MDVAR_PACKETS	3

static inline u64 ledbat_drained(u64 window, u32 target_us, u32 rtt_us)
{
	const u64 extra = (u64)LEDBAT_MDVAR_PACKETS * target_us;
	u64 kept = 0;

	if (rtt_us > target_us)
		kept = mul_u64_u32_div(window, rtt_us - target_us, rtt_us);
	return kept > extra ? kept - extra : 0;
}

/*
 * On loss: RFC 6817 section 2.4.2, and with a floor of one packet all the
 * papers' variants.
 */
static inline u32 ledbat_halved(u32 cwnd, u32 floor)
{
	return min(cwnd, max(cwnd / 2, floor));
}

/* A round, of one RTT, ends with the first ACK of data sent after it began. */
static inline bool ledbat_round_over(u32 snd_una, u32 round_end)
{
	return (s32)(snd_una - round_end) > 0;
}

#endif
