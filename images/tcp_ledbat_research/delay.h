/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delay estimation: the base delay is the smallest sample of the last minutes,
 * the current delay the smallest of the newest samples. Nothing here depends on
 * sockets or clocks, so unit tests reach all of it.
 *
 * One-way samples are microseconds relative to the connection's first one. The
 * offset between the hosts' clocks therefore never overflows; only differences
 * are used.
 */
#ifndef LEDBAT_DELAY_H
#define LEDBAT_DELAY_H

#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/types.h>

#define LEDBAT_SLOT_JIFFIES	(60 * HZ) /* one minimum per minute */
#define LEDBAT_MAX_SLOTS	12	/* RFC 6817: 10; AINA 2011's fit 12 */
#define LEDBAT_MAX_FILTER	4	/* samples */

struct ledbat_history;

/* The smallest sample of each of the newest minutes. */
struct ledbat_base {
	s32	minimum_us[LEDBAT_MAX_SLOTS];
	s32	smallest_us;
	u32	slot_start;		/* jiffies */
	u8	slot;
	u8	used;			/* 0: no sample yet */
};

enum ledbat_source {
	LEDBAT_ONE_WAY,			/* TCP timestamps */
	LEDBAT_ROUND_TRIP,		/* no timestamps that can be trusted */
};

struct ledbat_delay {
	struct ledbat_base	one_way;
	struct ledbat_base	round_trip;
	struct ledbat_history	*history;	/* ledbat_aina: more samples */
	s32	recent_us[LEDBAT_MAX_FILTER];
	s32	current_us;
	s32	rtt_us;			/* newest; 0: none yet */
	u32	first_sample;		/* of the two stamps, in their unit */
	u32	remote_stamp;		/* when the check of clocks began */
	u32	local_ms;		/* this host's time then */
	s32	queued_us;		/* when one-way delays began again */
	u8	slots;
	u8	filter;			/* how many recent samples are used */
	u8	newest;
	u8	recent;			/* how many there are */
	u8	source;
	u8	trust;			/* in the other host's stamps */
	bool	checking;		/* of clocks has begun */
};

/*
 * The difference of two stamps as a sample; `unit_us` is 1 or 1000. Arithmetic
 * is modulo 2^32, so wraparound is harmless. Stamps in different units drift
 * apart without bound: saturate until ledbat_clocks_agree() detects it.
 */
static inline s32 ledbat_relative_us(struct ledbat_delay *delay, u32 difference,
				     s32 unit_us)
{
	if (!delay->one_way.used)
		delay->first_sample = difference;
	return clamp((s64)(s32)(difference - delay->first_sample) * unit_us,
		     (s64)S32_MIN / 2, (s64)S32_MAX / 2);
}

/*
 * Whether the other host's stamps advance as fast as this host's clock, within
 * a factor of two. Units of 1 us, 1 ms, 4 ms and 10 ms differ by more than
 * that; a queue that fills or drains meanwhile makes less of a difference. Both
 * arguments are the time since the check began, at least LEDBAT_CLOCK_CHECK_MS.
 */
#define LEDBAT_CLOCK_CHECK_MS	2000
/* no ACK for longer than samples, which are clamped, reach: begin again */
#define LEDBAT_CLOCK_STALE_MS	(10 * 60 * MSEC_PER_SEC)
#define LEDBAT_MOST_TRUST	3	/* checks */
#define LEDBAT_ENOUGH_TRUST	2	/* to return to one-way delays */

static inline bool ledbat_clocks_agree(u64 remote_us, u32 local_ms)
{
	const u64 local_us = (u64)local_ms * USEC_PER_MSEC;

	return remote_us > local_us / 2 && remote_us < local_us * 2;
}

/*
 * The base delay follows a decrease at once, and an increase when all earlier
 * minutes are forgotten.
 */
static inline void ledbat_update_base(struct ledbat_base *base, u8 slots,
				      s32 sample_us, u32 now)
{
	u32 passed;
	int i;

	if (!base->used) {
		base->slot_start = now;
		base->used = 1;
		base->minimum_us[0] = sample_us;
	}
	passed = (now - base->slot_start) / LEDBAT_SLOT_JIFFIES;
	base->slot_start += passed * LEDBAT_SLOT_JIFFIES;
	for (passed = min_t(u32, passed, slots); passed; passed--) {
		base->slot = (base->slot + 1) % slots;
		base->used = min(base->used + 1, (int)slots);
		base->minimum_us[base->slot] = sample_us;
	}
	base->minimum_us[base->slot] =
		min(base->minimum_us[base->slot], sample_us);

	base->smallest_us = base->minimum_us[0];
	for (i = 1; i < base->used; i++)
		base->smallest_us = min(base->smallest_us, base->minimum_us[i]);
}

/* Where the sample is that came `age` samples before the newest. */
static inline int ledbat_nth(const struct ledbat_delay *delay, int age)
{
	return (delay->newest + delay->filter - age) % delay->filter;
}

/* Current delay: the smallest of the newest `filter` samples. */
static inline void ledbat_update_current(struct ledbat_delay *delay,
					 s32 sample_us)
{
	int i;

	delay->newest = (delay->newest + 1) % delay->filter;
	delay->recent_us[delay->newest] = sample_us;
	delay->recent = min(delay->recent + 1, (int)delay->filter);

	delay->current_us = sample_us;
	for (i = 1; i < delay->recent; i++)
		delay->current_us = min(delay->current_us,
					delay->recent_us[ledbat_nth(delay, i)]);
}

static inline const struct ledbat_base *
ledbat_base_of(const struct ledbat_delay *delay)
{
	if (delay->source == LEDBAT_ONE_WAY)
		return &delay->one_way;
	return &delay->round_trip;
}

/*
 * Never negative: the current delay may still remember a sample that the base
 * delay has just forgotten.
 */
static inline u32 ledbat_queuing_delay_us(const struct ledbat_delay *delay)
{
	s32 queuing_us = delay->current_us - ledbat_base_of(delay)->smallest_us;

	if (!ledbat_base_of(delay)->used)
		return 0;
	return max(queuing_us, 0);
}

/*
 * The smallest of the newest m samples, where m follows the window. Only a
 * sample smaller than all later ones can ever be the answer, so only these are
 * kept, oldest and smallest first. Exact as long as no more than
 * LEDBAT_HISTORY_LENGTH samples in a row rise.
 */
#define LEDBAT_HISTORY_LENGTH	256		/* a power of 2 */
#define LEDBAT_HISTORY_AGE	BIT(20)		/* samples; beyond any window */

struct ledbat_history {
	u32	count;		/* samples so far */
	u32	first;		/* oldest entry, modulo the length */
	u32	length;
	struct {
		u32	number;
		s32	sample_us;
	} entry[LEDBAT_HISTORY_LENGTH];
};

/* Where the i-th oldest entry is. */
static inline u32 ledbat_ith(const struct ledbat_history *history, u32 i)
{
	return (history->first + i) % LEDBAT_HISTORY_LENGTH;
}

/* How many samples have come since the i-th oldest entry. */
static inline u32 ledbat_age(const struct ledbat_history *history, u32 i)
{
	return history->count - history->entry[ledbat_ith(history, i)].number;
}

static inline s32 ledbat_ith_us(const struct ledbat_history *history, u32 i)
{
	return history->entry[ledbat_ith(history, i)].sample_us;
}

static inline void ledbat_remember(struct ledbat_history *history,
				   s32 sample_us)
{
	u32 end;

	history->count++;
	while (history->length &&
	       ledbat_ith_us(history, history->length - 1) >= sample_us)
		history->length--;
	if (history->length == LEDBAT_HISTORY_LENGTH ||
	    (history->length && ledbat_age(history, 0) >= LEDBAT_HISTORY_AGE)) {
		history->first++;
		history->length--;
	}
	end = ledbat_ith(history, history->length);
	history->entry[end].number = history->count;
	history->entry[end].sample_us = sample_us;
	history->length++;
}

static inline s32 ledbat_smallest_us(const struct ledbat_history *history,
				     u32 newest)
{
	u32 low = 0, high = history->length - 1;

	while (low < high) {
		const u32 middle = (low + high) / 2;

		if (ledbat_age(history, middle) < newest)
			high = middle;
		else
			low = middle + 1;
	}
	return ledbat_ith_us(history, low);
}

#endif
