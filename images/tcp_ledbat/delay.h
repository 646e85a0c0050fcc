/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delay estimation: the base delay as the smallest sample of some minutes, the current delay as the smallest of the
 * newest samples. Nothing here knows of sockets or clocks, so that it can be tested as it is.
 *
 * Samples are microseconds relative to the connection's first one: the offset between the hosts' clocks never
 * overflows, and only differences are used.
 */
#ifndef LEDBAT_DELAY_H
#define LEDBAT_DELAY_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#define LEDBAT_SLOT_JIFFIES	(60 * HZ)	/* one minimum of the base delay history each minute */
#define LEDBAT_MAX_SLOTS	10		/* draft-00, RFC 6817: 10 minutes */
#define LEDBAT_MAX_FILTER	4		/* RFC 6817: 4 samples */

struct ledbat_history;

struct ledbat_delay {
	s32	minimum_us[LEDBAT_MAX_SLOTS];
	s32	base_us;
	s32	current_us;
	u32	first_sample;		/* difference of the first two stamps, in their unit */
	u32	slot_start;		/* jiffies */
	union {
		s32			recent_us[LEDBAT_MAX_FILTER];
		struct ledbat_history	*history;	/* ledbat_aina: many more of them */
	};
	u8	slot;
	u8	slots_used;
	u8	slots;
	u8	filter;			/* how many recent samples count */
	u8	newest;
	u8	recent;			/* how many there are */
	bool	have_sample;
};

/* The difference of two stamps as a sample; `unit_us` is 1 or 1000. Modulo 2^32, so that a wrap is none. */
static inline s32 ledbat_relative_us(struct ledbat_delay *delay, u32 difference, s32 unit_us)
{
	if (!delay->have_sample)
		delay->first_sample = difference;
	return (s32)(difference - delay->first_sample) * unit_us;
}

/* Base delay: it follows a decrease at once, an increase when all the minutes before it are forgotten. */
static inline void ledbat_update_base(struct ledbat_delay *delay, s32 sample_us, u32 now)
{
	int i;

	if (!delay->have_sample) {
		delay->have_sample = true;
		delay->slot_start = now;
		delay->slots_used = 1;
		delay->minimum_us[0] = sample_us;
	}
	while ((s32)(now - delay->slot_start) >= LEDBAT_SLOT_JIFFIES) {
		delay->slot_start += LEDBAT_SLOT_JIFFIES;
		delay->slot = (delay->slot + 1) % delay->slots;
		delay->slots_used = min(delay->slots_used + 1, (int)delay->slots);
		delay->minimum_us[delay->slot] = sample_us;
	}
	delay->minimum_us[delay->slot] = min(delay->minimum_us[delay->slot], sample_us);

	delay->base_us = delay->minimum_us[0];
	for (i = 1; i < delay->slots_used; i++)
		delay->base_us = min(delay->base_us, delay->minimum_us[i]);
}

/* Current delay: the smallest of the newest `filter` samples. */
static inline void ledbat_update_current(struct ledbat_delay *delay, s32 sample_us)
{
	int i;

	delay->newest = (delay->newest + 1) % delay->filter;
	delay->recent_us[delay->newest] = sample_us;
	delay->recent = min(delay->recent + 1, (int)delay->filter);

	delay->current_us = sample_us;
	for (i = 1; i < delay->recent; i++)
		delay->current_us = min(delay->current_us,
					delay->recent_us[(delay->newest + delay->filter - i) % delay->filter]);
}

/* Never negative: the current delay may still remember a sample that the base delay has just forgotten. */
static inline u32 ledbat_queuing_delay_us(const struct ledbat_delay *delay)
{
	return max(delay->current_us - delay->base_us, 0);
}

/*
 * The smallest of the newest m samples, with an m that follows the window: only samples smaller than all later ones
 * can ever be asked for, so these are kept, oldest and smallest first. Exact as long as no more than
 * LEDBAT_HISTORY_LENGTH samples in a row rise.
 */
#define LEDBAT_HISTORY_LENGTH	512		/* a power of 2 */
#define LEDBAT_HISTORY_AGE	(1U << 20)	/* samples; beyond any window */

struct ledbat_history {
	u32	count;		/* samples so far */
	u32	first;		/* oldest entry; entries are taken modulo LEDBAT_HISTORY_LENGTH */
	u32	length;
	struct {
		u32	number;
		s32	sample_us;
	} entry[LEDBAT_HISTORY_LENGTH];
};

#define ledbat_entry(history, i) (&(history)->entry[((history)->first + (i)) % LEDBAT_HISTORY_LENGTH])

static inline void ledbat_remember(struct ledbat_history *history, s32 sample_us)
{
	history->count++;
	while (history->length && ledbat_entry(history, history->length - 1)->sample_us >= sample_us)
		history->length--;
	if (history->length == LEDBAT_HISTORY_LENGTH ||
	    (history->length && history->count - ledbat_entry(history, 0)->number >= LEDBAT_HISTORY_AGE)) {
		history->first++;
		history->length--;
	}
	ledbat_entry(history, history->length)->number = history->count;
	ledbat_entry(history, history->length)->sample_us = sample_us;
	history->length++;
}

static inline s32 ledbat_smallest_us(const struct ledbat_history *history, u32 newest)
{
	u32 low = 0, high = history->length - 1;

	while (low < high) {
		const u32 middle = (low + high) / 2;

		if (history->count - ledbat_entry(history, middle)->number < newest)
			high = middle;
		else
			low = middle + 1;
	}
	return ledbat_entry(history, low)->sample_us;
}

#endif
