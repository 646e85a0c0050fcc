/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LEDBAT as the texts of 2009 and 2010 describe it (draft-shalunov-ledbat-congestion-00; Rossi et al., ICCCN 2010,
 * Fig. 1 and sec. II and IV.C), for ns-2's agent TCP/Linux, whose congestion controls have Linux' interface of 2006.
 *
 * Delays are one-way, in microseconds, by the simulation's clock.
 */
#define NS_PROTOCOL "tcp_ledbat.c"
#include "../ns-linux-c.h"
#include "../ns-linux-util.h"

#define HISTORY 10 /* minutes of base delay */
#define FILTER 10 /* samples of current delay, at most */
#define TARGET_US 25000
#define MINUTE_MS 60000
#define NONE 0xffffffffu

static int filter = 1; /* the smallest of so many samples is the current delay */
static int slow_start = 0; /* again from one packet after a loss in it (sec. IV.C) */
module_param(filter, int, 0644);
module_param(slow_start, int, 0644);

struct ledbat {
	double window; /* packets */
	u32 base[HISTORY]; /* smallest delay of each minute, newest first */
	u32 current[FILTER]; /* last delays, newest first */
	u32 minute_began_ms;
	u8 in_slow_start;
	u8 overshot;
};

static struct ledbat *ledbat_of(struct sock *sk)
{
	return *(struct ledbat **)inet_csk_ca(sk);
}

static void ledbat_init(struct sock *sk)
{
	struct ledbat *ledbat = (struct ledbat *)malloc(sizeof(*ledbat));
	int i;

	*(struct ledbat **)inet_csk_ca(sk) = ledbat;
	for (i = 0; i < HISTORY; i++)
		ledbat->base[i] = NONE;
	for (i = 0; i < FILTER; i++)
		ledbat->current[i] = NONE;
	ledbat->window = sk->snd_cwnd;
	ledbat->minute_began_ms = tcp_time_stamp;
	ledbat->in_slow_start = slow_start;
	ledbat->overshot = 0;
}

static void ledbat_release(struct sock *sk)
{
	free(ledbat_of(sk));
}

static void put_first(u32 *list, int length, u32 value)
{
	memmove(list + 1, list, (length - 1) * sizeof(*list));
	list[0] = value;
}

static u32 smallest(const u32 *list, int length)
{
	u32 least = NONE;
	int i;

	for (i = 0; i < length; i++)
		least = min(least, list[i]);
	return least;
}

static void ledbat_pkts_acked(struct sock *sk, u32 count, ktime_t last)
{
	struct ledbat *ledbat = ledbat_of(sk);
	u32 delay = sk->owd_us;

	if (!last) /* not sure which packet this is the acknowledgment of */
		return;
	put_first(ledbat->current, filter, delay);
	if (tcp_time_stamp - ledbat->minute_began_ms >= MINUTE_MS) {
		put_first(ledbat->base, HISTORY, NONE);
		ledbat->minute_began_ms = tcp_time_stamp;
	}
	ledbat->base[0] = min(ledbat->base[0], delay);
}

/* Slow start, as standard TCP's; after a loss in it, again from one packet. */
static int starts_slowly(struct sock *sk, struct ledbat *ledbat)
{
	if (ledbat->overshot) {
		ledbat->overshot = 0;
		ledbat->in_slow_start = 1;
		ledbat->window = 1;
	}
	if (!ledbat->in_slow_start)
		return 0;
	if (ledbat->window >= sk->snd_ssthresh) {
		ledbat->in_slow_start = 0;
		return 0;
	}
	ledbat->window += 1;
	return 1;
}

/* One acknowledgment: cwnd += GAIN * off_target / cwnd, with a GAIN of one packet per target. */
static void ledbat_cong_avoid(struct sock *sk, u32 ack, u32 rtt, u32 in_flight, int flag)
{
	struct ledbat *ledbat = ledbat_of(sk);
	double queuing_us;

	if (ledbat->base[0] == NONE)
		return;
	if ((u32)ledbat->window != sk->snd_cwnd) /* a loss changed it */
		ledbat->window = sk->snd_cwnd;
	if (!starts_slowly(sk, ledbat)) {
		queuing_us = (double)smallest(ledbat->current, filter) - smallest(ledbat->base, HISTORY);
		ledbat->window += (TARGET_US - queuing_us) / TARGET_US / ledbat->window;
	}
	ledbat->window = min(max(ledbat->window, 1.0), (double)sk->snd_cwnd_clamp);
	sk->snd_cwnd = (u32)ledbat->window;
}

/* A loss halves the window, at most once a round trip: the agent calls this once for each recovery. */
static u32 ledbat_ssthresh(struct sock *sk)
{
	struct ledbat *ledbat = ledbat_of(sk);

	if (ledbat) /* the agent calls `init` with the first acknowledgment, and the first packet may be lost */
		ledbat->overshot = ledbat->in_slow_start;
	return max(sk->snd_cwnd / 2, 1u);
}

static struct tcp_congestion_ops ledbat_ops = {
	.flags = TCP_CONG_RTT_STAMP,
	.init = ledbat_init,
	.release = ledbat_release,
	.ssthresh = ledbat_ssthresh,
	.cong_avoid = ledbat_cong_avoid,
	.min_cwnd = tcp_reno_min_cwnd, /* as the controls that come with ns-2 */
	.pkts_acked = ledbat_pkts_acked,
	.owner = THIS_MODULE,
	.name = "ledbat",
};

static int __init ledbat_register(void)
{
	return tcp_register_congestion_control(&ledbat_ops);
}

static void __exit ledbat_unregister(void)
{
	tcp_unregister_congestion_control(&ledbat_ops);
}

module_init(ledbat_register);
module_exit(ledbat_unregister);
