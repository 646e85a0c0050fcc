// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the module. Its source is part of this one, which therefore is
 * loaded instead of it: the sockets are pieces of memory in which the tests set
 * what the stack would set, by the rules of Linux's tcp_input.c, tcp_output.c
 * and tcp_timer.c. The first sequence number of each is another.
 *
 * Copyright (C) 2026 The LEDBAT testbed developers
 */
#include <kunit/test.h>
#include <linux/win_minmax.h>

#include "tcp_ledbat.c"

#define MSS	1448
#define BASE_US	25000U		/* one-way, with the clocks' offset */
#define RTT_US	50000
#define CASE(_name, _function) { .run_case = _function, .name = _name }

enum ledbat_name { LEDBAT_RFC6817, LEDBAT_PLUS_PLUS };

/* The next one is close to where sequence numbers wrap, or signs change. */
static u32 next_sequence(void)
{
	static const u32 first[] = {
		1, U32_MAX - 20 * MSS, S32_MAX - 20 * MSS, 0x8badf00d
	};
	static unsigned int next;

	return first[next++ % ARRAY_SIZE(first)];
}

static struct sock *new_socket(struct kunit *test, enum ledbat_name name)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	sock_net_set(sk, &init_net);
	inet_csk(sk)->icsk_ca_ops = &ledbat_controls[name].ops;
	tp->rx_opt.tstamp_ok = 1;
	tp->rx_opt.saw_tstamp = 1;
	tp->rx_opt.rcv_tsecr = 1;
	tp->tcp_usec_ts = 1;
	tp->tcp_mstamp = 10 * USEC_PER_SEC;
	tp->srtt_us = RTT_US << 3;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, ~0U);
	tp->snd_una = next_sequence();
	tp->snd_nxt = tp->snd_una;
	tp->snd_cwnd_clamp = ~0;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd = 10;
	tp->mss_cache = MSS;
	return sk;
}

static const struct tcp_congestion_ops *ops_of(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops;
}

static struct ledbat *ca_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* One that has sent for a while. */
static struct sock *old_socket(struct kunit *test, enum ledbat_name name,
			       u32 cwnd)
{
	struct sock *sk = new_socket(test, name);

	tcp_sk(sk)->data_segs_out = 1000;
	tcp_sk(sk)->snd_cwnd = cwnd;
	ops_of(sk)->init(sk);
	/* stamps have passed the checks */
	if (name == LEDBAT_RFC6817) {
		ca_of(sk)->one_way = 1;
		ca_of(sk)->trust = LEDBAT_ENOUGH_TRUST;
	}
	return sk;
}

static void release(struct sock *sk)
{
	ops_of(sk)->release(sk);
}

static u32 cwnd_of(const struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static u32 queuing_us_of(const struct sock *sk)
{
	return ledbat_queuing_us(tcp_sk(sk), ca_of(sk));
}

/*
 * What the stack does first with an ACK of `acked` packets, the last of which
 * was sent when so many were in flight.
 */
static void taken_of(struct sock *sk, u32 acked, s32 rtt_us, u32 in_flight)
{
	const struct ack_sample sample = {
		.pkts_acked	= acked,
		.rtt_us		= rtt_us,
		.in_flight	= in_flight * MSS,
	};

	if (rtt_us > 0)
		minmax_running_min(&tcp_sk(sk)->rtt_min, 300 * HZ,
				   tcp_jiffies32, rtt_us);
	ops_of(sk)->pkts_acked(sk, &sample);
}

static void taken(struct sock *sk, u32 acked, s32 rtt_us)
{
	taken_of(sk, acked, rtt_us, max(cwnd_of(sk), 3U));
}

static void sample(struct sock *sk, u32 acked, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + BASE_US + queuing_us;
	taken(sk, acked, RTT_US + queuing_us);
}

/* The same, and then the window. */
static void ack(struct sock *sk, u32 acked, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, acked, queuing_us);
	tp->snd_una += acked * MSS;
	/* a full window again */
	tp->snd_nxt = tp->snd_una + cwnd_of(sk) * MSS;
	tp->packets_out = cwnd_of(sk);
	ops_of(sk)->cong_avoid(sk, tp->snd_una, acked);
}

/* A round trip in which each ACK sees this delay. */
static void round_trip(struct sock *sk, u32 queuing_us)
{
	u32 left = cwnd_of(sk);

	tcp_sk(sk)->tcp_mstamp += RTT_US + queuing_us;
	tcp_sk(sk)->rx_opt.rcv_tsecr += RTT_US + queuing_us;
	while (left--)
		ack(sk, 1, queuing_us);
}

/* Like tcp_current_ssthresh(). */
static u32 current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (cwnd_of(sk) >> 1) + (cwnd_of(sk) >> 2));
}

static void ask_for_threshold(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_ssthresh = current_ssthresh(sk);
	tp->prior_cwnd = cwnd_of(sk);
	tp->snd_ssthresh = ops_of(sk)->ssthresh(sk);
}

/* tcp_enter_recovery() */
static void enter_recovery(struct sock *sk)
{
	ask_for_threshold(sk);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
}

/* tcp_end_cwnd_reduction(): the window becomes the threshold. */
static void end_recovery(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
	tcp_ca_event(sk, CA_EVENT_COMPLETE_CWR);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
}

/* tcp_undo_cwnd_reduction() */
static void undo_recovery(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, ops_of(sk)->undo_cwnd(sk));
	tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_ssthresh);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
}

/* tcp_enter_loss(), with all packets lost */
static void time_out(struct sock *sk)
{
	ask_for_threshold(sk);
	tcp_ca_event(sk, CA_EVENT_LOSS);
	tcp_snd_cwnd_set(tcp_sk(sk), 1);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
}

/* tcp_slow_start_after_idle_check(), then tcp_event_data_sent() */
static void fall_idle(struct sock *sk, u64 idle_us, u64 rto_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 before = cwnd_of(sk), restart = min(before, TCP_INIT_CWND);
	u32 cwnd = before;
	s64 left_us;

	tp->tcp_mstamp += idle_us;
	tp->rx_opt.rcv_tsecr += (u32)idle_us;
	tp->packets_out = 0;
	tcp_ca_event(sk, CA_EVENT_CWND_RESTART);
	tp->snd_ssthresh = current_ssthresh(sk);
	for (left_us = idle_us - rto_us; left_us > 0 && cwnd > restart;
	     left_us -= rto_us)
		cwnd >>= 1;
	tcp_snd_cwnd_set(tp, max(cwnd, restart));
	tcp_ca_event(sk, CA_EVENT_TX_START);
}

/* An ACK each 10 ms, while the other host's clock runs or stands. */
static void acks_for(struct sock *sk, int ms, u32 one_way_us, s32 rtt_us,
		     bool clock_runs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 frozen = tp->rx_opt.rcv_tsval;
	int i;

	for (i = 0; i < ms / 10; i++) {
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsecr = tp->tcp_mstamp - rtt_us;
		tp->rx_opt.rcv_tsval = clock_runs ?
				       tp->rx_opt.rcv_tsecr + one_way_us :
				       frozen;
		taken(sk, 1, rtt_us);
	}
}

/* Write a setting as sysctl(8) does. */
static int write_setting(enum ledbat_name name, int index, const char *text)
{
	struct ledbat_net *ln = net_generic(&init_net, ledbat_net_id);
	const struct ctl_table *entry = &ln[name].table[index];
	size_t length = strlen(text);
	char buffer[16];
	loff_t at = 0;

	strscpy(buffer, text);
	return entry->proc_handler(entry, 1, buffer, &length, &at);
}

/* A flow in a slowdown, with this window to climb back to. */
static struct sock *pp_frozen(struct kunit *test, u32 cwnd)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, cwnd);
	int i;

	tcp_sk(sk)->snd_ssthresh = cwnd;
	sample(sk, 1, 0);
	for (i = 0; i < 9 && cwnd_of(sk) > 2; i++)
		round_trip(sk, 50000);
	KUNIT_ASSERT_EQ(test, cwnd_of(sk), 2U);
	return sk;
}

static void delay_bounds_a_climb(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 100);
	int i;

	for (i = 0; i < 30; i++) {
		round_trip(sk, 300000);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), 4U);
	}
	release(sk);
}

static void delay_bounds_what_follows_a_timeout(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 100);
	int i;

	for (i = 0; i < 30; i++)
		round_trip(sk, 0);
	KUNIT_ASSERT_GE(test, cwnd_of(sk), 90U);
	time_out(sk);
	for (i = 0; i < 20; i++) {
		round_trip(sk, 300000);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), 4U);
	}
	release(sk);
}

static void two_packets_after_idleness(struct kunit *test)
{
	static const enum ledbat_name names[] = {
		LEDBAT_RFC6817, LEDBAT_PLUS_PLUS
	};
	struct sock *sk;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 200);
		tcp_sk(sk)->snd_ssthresh = 200;
		sample(sk, 1, 0);
		fall_idle(sk, 6 * USEC_PER_SEC, 250 * USEC_PER_MSEC);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
		for (j = 0; j < 20; j++) {
			round_trip(sk, 300000);
			KUNIT_EXPECT_LE(test, cwnd_of(sk), 4U);
		}
		release(sk);
	}
}

static void loss_in_a_slowdown(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 100);
	u32 before;
	int i;

	enter_recovery(sk);
	sample(sk, 1, 0);
	end_recovery(sk);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 2U);
	/* it climbs to half of what was, by a third in each round trip */
	for (i = 0; i < 30; i++) {
		before = cwnd_of(sk);
		round_trip(sk, 0);
		if (cwnd_of(sk) >= 50)
			break;
		KUNIT_EXPECT_LE(test, cwnd_of(sk), before + before / 3 + 1);
	}
	KUNIT_EXPECT_LT(test, i, 20);
	for (i = 0; i < 3; i++)
		round_trip(sk, 0);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 52U);
	release(sk);
}

/* ACKs wait for three seconds and come together. */
static void a_stall_of_acks(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	acks_for(sk, 10000, BASE_US, RTT_US, true);
	tp->tcp_mstamp += 3 * USEC_PER_SEC;
	acks_for(sk, 10, BASE_US, 3050000, true);
	tp->rx_opt.rcv_tsecr += 3 * USEC_PER_SEC;
	acks_for(sk, 10000, BASE_US, RTT_US, true);
	/* then a queue on the reverse path, which does not count */
	acks_for(sk, 1000, BASE_US, RTT_US + 100000, true);
	KUNIT_EXPECT_LE(test, queuing_us_of(sk), 1000U);
	release(sk);
}

/* Nor does a clock that failed for a while fail for good. */
static void clocks_that_agree_again(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);

	acks_for(sk, 100, BASE_US, RTT_US, true);
	acks_for(sk, 10000, BASE_US, RTT_US, false);
	acks_for(sk, 500, BASE_US, RTT_US + 100000, false);
	KUNIT_EXPECT_GE(test, queuing_us_of(sk), 99000U);
	acks_for(sk, 12000, BASE_US, RTT_US, true);
	acks_for(sk, 500, BASE_US, RTT_US + 100000, true);
	KUNIT_EXPECT_LE(test, queuing_us_of(sk), 1000U);
	acks_for(sk, 500, BASE_US + 40000, RTT_US + 40000, true);
	KUNIT_EXPECT_GE(test, queuing_us_of(sk), 39000U);
	release(sk);
}

/* The receiver sleeps for `slept_s` of the time in which the sender is idle. */
static u32 queue_after_sleep(struct kunit *test, u32 idle_s, u32 slept_s)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	const u32 behind_us = BASE_US - slept_s * (u32)USEC_PER_SEC;
	u32 queuing_us;

	acks_for(sk, 10000, BASE_US, RTT_US, true);
	fall_idle(sk, idle_s * (u64)USEC_PER_SEC, USEC_PER_SEC);
	acks_for(sk, 10000, behind_us, RTT_US, true);
	acks_for(sk, 1000, behind_us + 40000, RTT_US + 40000, true);
	queuing_us = queuing_us_of(sk);
	release(sk);
	return queuing_us;
}

static void receiver_that_slept(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue_after_sleep(test, 35 * 60, 20 * 60),
			40000U);
	KUNIT_EXPECT_EQ(test, queue_after_sleep(test, 35 * 60, 0), 40000U);
	KUNIT_EXPECT_EQ(test, queue_after_sleep(test, 9 * 60, 8 * 60), 40000U);
	KUNIT_EXPECT_EQ(test, queue_after_sleep(test, 60, 55), 40000U);
}

/* How many slots are used when the first ACK comes on a longer path. */
static u32 slots_after_silence(struct kunit *test, u64 minutes)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 used;

	sample(sk, 1, 0);
	tp->tcp_mstamp += minutes * 60 * USEC_PER_SEC;
	tp->rx_opt.rcv_tsecr += (u32)minutes * 60 * USEC_PER_SEC;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, RTT_US + 40000);
	sample(sk, 1, 40000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	KUNIT_EXPECT_EQ(test, ledbat_round_trip_growth(ca_of(sk)),
			minutes > 10 ? 0U : 40000U);
	used = ca_of(sk)->used;
	release(sk);
	return used;
}

static void longer_path_after_silence(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, slots_after_silence(test, 10), 10U);
	KUNIT_EXPECT_EQ(test, slots_after_silence(test, 11), 1U);
	/* minutes are known modulo 16 */
	KUNIT_EXPECT_EQ(test, slots_after_silence(test, 20), 1U);
}

static void credit_of_a_larger_window(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 200);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_ssthresh = 2;
	sample(sk, 1, 0);
	ack(sk, 1, 0);
	ca_of(sk)->credit_us = 200LL * 60000 - 1;
	tcp_snd_cwnd_set(tp, 10);
	tp->tcp_mstamp += USEC_PER_SEC;
	tp->snd_una = ca_of(sk)->round_end + 1;
	ack(sk, 1, 63000);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 10U);
	release(sk);
}

/*
 * The two packets of a slowdown have lost each other: the other host holds each
 * of them until its timer ends, but packets that come together not.
 */
static void a_slowdown_ends(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 100);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 before;
	int i;

	for (i = 0; i < 60 && cwnd_of(sk) < 90; i++) {
		before = cwnd_of(sk);
		tp->tcp_mstamp += (RTT_US + 200000) / 2;
		taken_of(sk, 1, RTT_US + 200000, 2);
		tp->snd_una += MSS;
		tp->snd_nxt = tp->snd_una + before * MSS;
		tp->packets_out = before - 1;
		ops_of(sk)->cong_avoid(sk, tp->snd_una, 1);
		if (cwnd_of(sk) <= before)
			continue;
		/* two leave for one that has come */
		tp->tcp_mstamp += RTT_US;
		taken_of(sk, 2, RTT_US, 3);
		tp->snd_una += 2 * MSS;
		tp->snd_nxt = tp->snd_una + cwnd_of(sk) * MSS;
		tp->packets_out = cwnd_of(sk) - 1;
		ops_of(sk)->cong_avoid(sk, tp->snd_una, 2);
		while (cwnd_of(sk) > before && cwnd_of(sk) < 90 && i++ < 60) {
			before = cwnd_of(sk);
			round_trip(sk, 0);
		}
	}
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 90U);
	release(sk);
}

/* What may have waited for a timer, and what may not. */
static void acks_that_waited(struct kunit *test)
{
	static const enum ledbat_name names[] = {
		LEDBAT_RFC6817, LEDBAT_PLUS_PLUS
	};
	struct tcp_sock *tp;
	struct sock *sk;
	u32 bound_us;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 2);
		tp = tcp_sk(sk);
		ca_of(sk)->one_way = 0;
		ca_of(sk)->filter = 1;
		bound_us = ledbat_bound_us(ca_of(sk));
		/* the first one is all there is */
		taken_of(sk, 1, RTT_US, 1);
		KUNIT_EXPECT_EQ(test, ledbat_base(ca_of(sk)), (u32)RTT_US);
		/* at most the bound counts */
		taken_of(sk, 1, RTT_US + bound_us, 2);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), bound_us);
		taken_of(sk, 1, RTT_US + bound_us + 1, 2);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), bound_us);
		/* a third packet, or two that come together, tell */
		taken_of(sk, 1, RTT_US + 150000, 3);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 150000U);
		taken_of(sk, 2, RTT_US + 160000, 2);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 160000U);
		/* for a round trip that is what is known */
		tp->tcp_mstamp += RTT_US / 2;
		taken_of(sk, 1, RTT_US + 200000, 2);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 160000U);
		tp->tcp_mstamp += RTT_US;
		taken_of(sk, 1, RTT_US + 200000, 2);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
		/* a shorter path is one in any case */
		taken_of(sk, 1, RTT_US - 5000, 1);
		KUNIT_EXPECT_EQ(test, ledbat_base(ca_of(sk)), RTT_US - 5000U);
		release(sk);
	}
	/* nor do stamps */
	sk = old_socket(test, LEDBAT_RFC6817, 2);
	sample(sk, 1, 0);
	tcp_sk(sk)->rx_opt.rcv_tsval += 200000;
	taken_of(sk, 1, RTT_US + 200000, 2);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, 1U);
	release(sk);
}

/*
 * Packets leave when ACKs come, two for each, and a bottleneck takes one of
 * them each millisecond: a train has half of its packets as a queue at its end.
 * What is on its way is more than a kernel's stack holds.
 */
static u32 trains(struct sock *sk, u32 base_us, int rounds)
{
	static u64 came_us[4096];
	static u32 sent[ARRAY_SIZE(came_us)];
	struct tcp_sock *tp = tcp_sk(sk);
	u64 free_us = tp->tcp_mstamp;
	u32 in_queue = 0, out = 0, i;
	u64 end_us = tp->tcp_mstamp + (u64)rounds * base_us;
	u64 now_us = tp->tcp_mstamp, leaves_us;

	while (now_us < end_us) {
		while (in_queue - out < cwnd_of(sk)) {
			i = in_queue++ % ARRAY_SIZE(sent);
			leaves_us = max(free_us, now_us) + 1000;
			free_us = leaves_us;
			sent[i] = now_us;
			came_us[i] = leaves_us - 1000 + base_us;
		}
		i = out++ % ARRAY_SIZE(sent);
		now_us = max(now_us, came_us[i]);
		tp->tcp_mstamp = now_us;
		tp->srtt_us = base_us << 3;
		taken(sk, 1, (u32)now_us - sent[i]);
		tp->snd_una += MSS;
		tp->snd_nxt = tp->snd_una + (in_queue - out) * MSS;
		tp->packets_out = in_queue - out;
		tp->is_cwnd_limited = 1;
		ops_of(sk)->cong_avoid(sk, tp->snd_una, 1);
	}
	return cwnd_of(sk);
}

/* A slow start does not end before the path is full, nor far behind it. */
static void slow_start_fills_a_long_path(struct kunit *test)
{
	static const u32 base_ms[] = { 60, 150, 300, 600 };
	struct sock *sk;
	u32 cwnd;
	int i;

	KUNIT_EXPECT_EQ(test, write_setting(0, LEDBAT_SLOW_START, "1"), 0);
	for (i = 0; i < ARRAY_SIZE(base_ms); i++) {
		sk = new_socket(test, LEDBAT_PLUS_PLUS);
		ops_of(sk)->init(sk);
		/* slow start, the first slowdown and its climb */
		cwnd = trains(sk, base_ms[i] * 1000, 45);
		KUNIT_EXPECT_GE(test, cwnd, base_ms[i]);
		KUNIT_EXPECT_LE(test, cwnd, base_ms[i] + 62);
		release(sk);
		sk = new_socket(test, LEDBAT_RFC6817);
		ops_of(sk)->init(sk);
		cwnd = trains(sk, base_ms[i] * 1000, 20);
		KUNIT_EXPECT_GE(test, cwnd, base_ms[i]);
		KUNIT_EXPECT_LE(test, cwnd, base_ms[i] + 102);
		release(sk);
	}
	KUNIT_EXPECT_EQ(test, write_setting(0, LEDBAT_SLOW_START, "0"), 0);
}

/* A round trip in which a socket buffer holds no more than 20 packets. */
static void buffered_round_trip(struct sock *sk, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tp->tcp_mstamp += RTT_US + queuing_us;
	for (i = 0; i < min(20U, cwnd_of(sk)); i++) {
		sample(sk, 1, queuing_us);
		tp->snd_una += MSS;
		tp->packets_out = min(20U, cwnd_of(sk)) - 1;
		tp->snd_nxt = tp->snd_una + tp->packets_out * MSS;
		ops_of(sk)->cong_avoid(sk, tp->snd_una, 1);
	}
}

static void buffer_ends_slow_start(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 60);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tp->chrono_type = TCP_CHRONO_SNDBUF_LIMITED;
	sample(sk, 1, 0);
	for (i = 0; i < 3; i++)
		buffered_round_trip(sk, 30000);
	KUNIT_EXPECT_LE(test, tp->snd_ssthresh, 60U);
	for (i = 0; i < 4 && cwnd_of(sk) > 2; i++)
		buffered_round_trip(sk, 30000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	/* nor does a climb wait for a window that the buffer never fills */
	for (i = 0; i < 30; i++)
		buffered_round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->phase, (u32)LEDBATPP_RUNNING);
	release(sk);
}

/* A reader that is slow for two round trips at the start costs no more. */
static void slow_reader_at_the_start(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 60);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tp->chrono_type = TCP_CHRONO_RWND_LIMITED;
	sample(sk, 1, 0);
	for (i = 0; i < 4; i++)
		buffered_round_trip(sk, 15000);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
	tp->chrono_type = TCP_CHRONO_BUSY;
	for (i = 0; i < 5; i++)
		round_trip(sk, 0);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 200U);
	/* with more of a queue it ends */
	tp->chrono_type = TCP_CHRONO_RWND_LIMITED;
	buffered_round_trip(sk, 15001);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
	buffered_round_trip(sk, 15001);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tp));
	release(sk);
}

/* Nor does one that acknowledges late, since it offers less than half. */
static void slow_reader_that_delays(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 60);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tp->chrono_type = TCP_CHRONO_RWND_LIMITED;
	tp->max_window = 64000;
	tp->snd_wnd = 31999;
	sample(sk, 1, 0);
	for (i = 0; i < 40; i++)
		buffered_round_trip(sk, 22000);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
	/* one that keeps up offers more; a sender's buffer has no reader */
	tp->snd_wnd = 32000;
	buffered_round_trip(sk, 22000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->limited, 1U);
	tp->snd_wnd = 31999;
	buffered_round_trip(sk, 22000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->limited, 0U);
	tp->chrono_type = TCP_CHRONO_SNDBUF_LIMITED;
	buffered_round_trip(sk, 22000);
	buffered_round_trip(sk, 22000);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tp));
	release(sk);
}

/* An application that leaves part of its window unused: slowdowns come. */
static void slowdowns_of_a_limited_application(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 100);
	struct tcp_sock *tp = tcp_sk(sk);
	int slowdowns = 0, i;
	u32 before;

	for (i = 0; i < 30; i++)
		round_trip(sk, 0);
	tp->chrono_type = TCP_CHRONO_BUSY;
	for (i = 0; i < 2000; i++) {
		/* tcp_cwnd_application_limited() */
		if (cwnd_of(sk) > 20) {
			tp->snd_ssthresh = current_ssthresh(sk);
			tcp_snd_cwnd_set(tp, (cwnd_of(sk) + 20) / 2);
		}
		before = cwnd_of(sk);
		buffered_round_trip(sk, 10000);
		slowdowns += before > 2 && cwnd_of(sk) == 2;
	}
	/* 120 s, of which each takes some seconds */
	KUNIT_EXPECT_GE(test, slowdowns, 4);
	release(sk);
}

/* Delay */

static void delay_of_one_way(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	ca_of(sk)->filter = 1;
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	sample(sk, 1, 5000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	sample(sk, 1, 0);
	sample(sk, 1, 12000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 12000U);
	/* what acknowledges nothing, or echoes no stamp, says nothing */
	sample(sk, 0, 30000);
	tp->rx_opt.rcv_tsecr = 0;
	sample(sk, 1, 30000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 12000U);
	/* the base delay follows a decrease at once */
	tp->rx_opt.rcv_tsecr = 1;
	tp->rx_opt.rcv_tsval = 1 + BASE_US - 3000;
	taken(sk, 1, RTT_US + 12000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	sample(sk, 1, 12000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 12000U);
	release(sk);
}

static void delay_of_round_trips(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);

	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->one_way, 0U);
	KUNIT_EXPECT_EQ(test, ledbatpp_divisor(ca_of(sk)), 16U);
	taken(sk, 1, 80000);
	taken(sk, 1, 50000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	/* of what was sent twice the stack measures none */
	taken(sk, 1, -1);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, 2U);
	taken(sk, 0, 130000);
	taken(sk, 1, 120000);
	taken(sk, 1, 130000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	taken(sk, 1, 140000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 70000U);
	release(sk);
}

/* Each minute has its smallest; the oldest is forgotten first. */
static void history_of_base_delay(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);
	int minute;

	ca->slots = 3;
	for (minute = 0; minute < 3; minute++) {
		taken(sk, 1, 50000 + 10000 * minute);
		taken(sk, 1, 55000 + 10000 * minute);
		KUNIT_EXPECT_EQ(test, ledbat_base(ca), 50000U);
		KUNIT_EXPECT_EQ(test, (int)ca->used, minute + 1);
		tp->tcp_mstamp += 60 * USEC_PER_SEC;
	}
	taken(sk, 1, 90000);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca), 60000U);
	KUNIT_EXPECT_EQ(test, (u32)ca->slot, 0U);
	/* within a minute, nothing */
	tp->tcp_mstamp += 19 * USEC_PER_SEC;
	taken(sk, 1, 90000);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca), 60000U);
	/* two minutes at once */
	tp->tcp_mstamp += 120 * USEC_PER_SEC;
	taken(sk, 1, 95000);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca), 90000U);
	/* all of them */
	tp->tcp_mstamp += 7 * 60 * USEC_PER_SEC;
	taken(sk, 1, 99000);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca), 99000U);
	KUNIT_EXPECT_EQ(test, (u32)ca->used, 3U);
	/* and again when they have been forgotten */
	ledbat_forget(ca);
	taken(sk, 1, 120000);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca), 120000U);
	KUNIT_EXPECT_EQ(test, (u32)ca->used, 1U);
	KUNIT_EXPECT_EQ(test, (u32)ca->recent, 1U);
	KUNIT_EXPECT_EQ(test, (u32)ca->slot, 0U);
	/* no delay is below zero: the base may forget a sample before */
	ca->slots = 1;
	ca->filter = 2;
	tp->srtt_us = 60U * USEC_PER_SEC << 3;
	taken(sk, 1, 50000);
	tp->tcp_mstamp += 50 * USEC_PER_SEC;
	taken(sk, 1, 60000);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca), 60000U);
	KUNIT_EXPECT_EQ(test, ledbat_current(ca), 50000U);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	release(sk);
}

/* The stack has none for a retransmission. */
static void without_round_trips(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);

	taken(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->used, 0U);
	taken(sk, 1, 1);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->used, 1U);
	release(sk);
	sk = old_socket(test, LEDBAT_RFC6817, 10);
	taken(sk, 1, 1);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->rtt_us, 1U);
	taken(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->rtt_us, 1U);
	release(sk);
}

static void current_delay(struct kunit *test)
{
	static const u32 rtt_us[] = { 53000, 51000, 54000, 55000, 56000 };
	static const u32 smallest[LEDBAT_MAX_FILTER][ARRAY_SIZE(rtt_us)] = {
		{ 53000, 51000, 54000, 55000, 56000 },
		{ 53000, 51000, 51000, 54000, 55000 },
		{ 53000, 51000, 51000, 51000, 54000 },
		{ 53000, 51000, 51000, 51000, 51000 },
	};
	struct sock *sk;
	int i, filter;

	for (filter = 0; filter < LEDBAT_MAX_FILTER; filter++) {
		sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);
		ca_of(sk)->filter = filter + 1;
		for (i = 0; i < ARRAY_SIZE(rtt_us); i++) {
			taken(sk, 1, rtt_us[i]);
			KUNIT_EXPECT_EQ(test, ledbat_current(ca_of(sk)),
					smallest[filter][i]);
		}
		release(sk);
	}
}

static void old_samples_do_not_count(struct kunit *test)
{
	static const enum ledbat_name names[] = {
		LEDBAT_RFC6817, LEDBAT_PLUS_PLUS
	};
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 10);
		sample(sk, 1, 0);
		sample(sk, 1, 1000);
		/* an RTT is 49 units of 1.024 ms here */
		tcp_sk(sk)->tcp_mstamp += 49 << 10;
		sample(sk, 1, 20000);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
		tcp_sk(sk)->tcp_mstamp += 1 << 10;
		sample(sk, 1, 20000);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 20000U);
		KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, 2U);
		/* without a new one, the newest is known */
		tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
		taken(sk, 0, -1);
		KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, 0U);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 20000U);
		release(sk);
	}
	/* beyond 67 s the RTT has no number */
	sk = old_socket(test, LEDBAT_RFC6817, 10);
	tcp_sk(sk)->srtt_us = 100U * USEC_PER_SEC << 3;
	sample(sk, 1, 0);
	tcp_sk(sk)->tcp_mstamp += 50 * USEC_PER_SEC;
	sample(sk, 1, 1000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, 2U);
	release(sk);
	sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);
	tcp_sk(sk)->srtt_us = 100U * USEC_PER_SEC << 3;
	sample(sk, 1, 0);
	tcp_sk(sk)->tcp_mstamp += 50 * USEC_PER_SEC;
	sample(sk, 1, 1000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, 2U);
	release(sk);
}

static void stamps_of_milliseconds(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	union tcp_cc_info answer = {};
	const struct ledbat_info *words = (const void *)&answer;
	int attr;

	tp->tcp_usec_ts = 0;
	ca_of(sk)->filter = 1;
	tp->rx_opt.rcv_tsval = 26;
	taken(sk, 1, RTT_US);
	tp->rx_opt.rcv_tsval = 35;
	taken(sk, 1, RTT_US + 20000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 9000U);
	ops_of(sk)->get_info(sk, ~0, &attr, &answer);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, 25000U);
	KUNIT_EXPECT_EQ(test, words->current_delay_us, 34000U);
	release(sk);
}

/* The base is far from the newest: as with stamps that are forged. */
static void delays_beyond_numbers(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_usec_ts = 0;
	sample(sk, 1, 0);
	tp->tcp_mstamp += USEC_PER_SEC;
	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + BASE_US + S32_MAX - 9;
	ca_of(sk)->rtt_us = 0;
	ca_of(sk)->min_rtt_us = 0;
	taken(sk, 1, -1);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), (u32)S32_MAX);
	ops_of(sk)->cong_avoid(sk, 0, 100000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	release(sk);
}

static void bounded_by_round_trips(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	tp->tcp_mstamp += 200 * USEC_PER_MSEC;
	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + BASE_US + 40000;
	taken(sk, 1, RTT_US + 10000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 10000U);
	/* a queue on the reverse path does not count */
	tp->tcp_mstamp += 200 * USEC_PER_MSEC;
	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + BASE_US + 20000;
	taken(sk, 1, RTT_US + 90000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 20000U);
	release(sk);
	/* what the stack measured before counts */
	sk = old_socket(test, LEDBAT_RFC6817, 10);
	minmax_reset(&tcp_sk(sk)->rtt_min, tcp_jiffies32, RTT_US);
	sample(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, ledbat_round_trip_growth(ca_of(sk)), 0U);
	minmax_reset(&tcp_sk(sk)->rtt_min, tcp_jiffies32, RTT_US / 2);
	sample(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, ledbat_round_trip_growth(ca_of(sk)), 0U);
	release(sk);
	sk = old_socket(test, LEDBAT_RFC6817, 10);
	minmax_reset(&tcp_sk(sk)->rtt_min, tcp_jiffies32, RTT_US - 3000);
	sample(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, ledbat_round_trip_growth(ca_of(sk)), 3000U);
	/* the field of a round trip is full */
	taken(sk, 1, S32_MAX);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->rtt_us, (1U << 24) - 1);
	release(sk);
}

/* Each minute an ACK; the path grows longer, and Linux forgets it sooner. */
static void longer_path(struct kunit *test, u32 slots)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	int minute;

	ca_of(sk)->slots = slots;
	ca_of(sk)->filter = 1;
	sample(sk, 1, 0);
	for (minute = 1; minute < 30; minute++) {
		tp->tcp_mstamp += 60 * USEC_PER_SEC;
		tp->rx_opt.rcv_tsecr = tp->tcp_mstamp - RTT_US;
		if (minute == 5)
			sample(sk, 1, 0);
		tp->rx_opt.rcv_tsecr -= 40000;
		if (minute >= 7)
			minmax_reset(&tp->rtt_min, tcp_jiffies32,
				     RTT_US + 40000);
		sample(sk, 1, 40000);
		KUNIT_EXPECT_EQ(test, queuing_us_of(sk),
				minute < 5 + slots ? 40000U : 0U);
		/* a minute longer than base delays */
		KUNIT_EXPECT_EQ(test, ledbat_round_trip_growth(ca_of(sk)),
				minute <= 5 + slots ? 40000U : 0U);
	}
	release(sk);
}

static void history_of_round_trips(struct kunit *test)
{
	longer_path(test, 10);
	longer_path(test, 7);
}

/*
 * Whether delays are of one way when the other host's clock, which is right
 * otherwise, has lost so many thousandths of its time since the socket began.
 */
static bool one_way_with(struct kunit *test, s64 lost_per_mille, int seconds)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);
	const u64 begin = tp->tcp_mstamp;
	bool one_way;
	int i;

	ops_of(sk)->init(sk);
	for (i = 0; i < seconds * 100; i++) {
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsval =
			7 + div_s64((s64)(tp->tcp_mstamp - begin) *
				    (1000 - lost_per_mille), 1000);
		tp->rx_opt.rcv_tsecr = tp->tcp_mstamp;
		taken(sk, 1, RTT_US);
	}
	one_way = ca_of(sk)->one_way;
	release(sk);
	return one_way;
}

static void clocks_that_differ(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, one_way_with(test, 0, 3));
	KUNIT_EXPECT_TRUE(test, one_way_with(test, 0, 5));
	KUNIT_EXPECT_TRUE(test, one_way_with(test, 4, 5));
	/* what is lost adds up */
	KUNIT_EXPECT_FALSE(test, one_way_with(test, 4, 7));
	KUNIT_EXPECT_FALSE(test, one_way_with(test, 6, 5));
	KUNIT_EXPECT_FALSE(test, one_way_with(test, 20, 5));
	KUNIT_EXPECT_FALSE(test, one_way_with(test, 450, 5));
	/* a fast clock hides nothing; one of another unit is none */
	KUNIT_EXPECT_TRUE(test, one_way_with(test, -450, 5));
	KUNIT_EXPECT_FALSE(test, one_way_with(test, -550, 9));
	KUNIT_EXPECT_FALSE(test, one_way_with(test, -999000, 9));
	KUNIT_EXPECT_FALSE(test, one_way_with(test, 999, 9));
}

/* The bounds of a check, in microseconds. */
static void bounds_of_a_check(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct ledbat *ca = ca_of(sk);

	sample(sk, 1, 0);
	KUNIT_EXPECT_TRUE(test, ledbat_clocks_agree(ca, 20000));
	KUNIT_EXPECT_FALSE(test, ledbat_clocks_agree(ca, 20001));
	KUNIT_EXPECT_TRUE(test, ledbat_clocks_agree(ca, -1000000));
	KUNIT_EXPECT_FALSE(test, ledbat_clocks_agree(ca, -1000001));
	/* a queue that the round trip shows may hold ACKs */
	sample(sk, 1, 70000);
	KUNIT_EXPECT_TRUE(test, ledbat_clocks_agree(ca, 90000));
	KUNIT_EXPECT_FALSE(test, ledbat_clocks_agree(ca, 90001));
	/* but says nothing of a clock that is not known */
	ca->one_way = 0;
	KUNIT_EXPECT_FALSE(test, ledbat_clocks_agree(ca, 20001));
	release(sk);
}

/* Trust comes with two checks, one each two seconds, and goes with one. */
static void trust_in_clocks(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	const struct ledbat *ca = ca_of(sk);
	static const u32 trust[] = { 0, 1, 2, 2 };
	int i;

	ops_of(sk)->init(sk);
	for (i = 0; i < ARRAY_SIZE(trust); i++) {
		acks_for(sk, i ? 2000 : 10, BASE_US, RTT_US, true);
		KUNIT_EXPECT_EQ(test, (u32)ca->trust, trust[i]);
		KUNIT_EXPECT_EQ(test, (u32)ca->one_way, (u32)(i > 1));
	}
	acks_for(sk, 2000, BASE_US, RTT_US, false);
	KUNIT_EXPECT_EQ(test, (u32)ca->trust, 0U);
	KUNIT_EXPECT_EQ(test, (u32)ca->one_way, 0U);
	/* what fails again is not forgotten again */
	acks_for(sk, 2000, BASE_US, RTT_US + 9000, false);
	KUNIT_EXPECT_EQ(test, (u32)ca->trust, 0U);
	KUNIT_EXPECT_EQ(test, (u32)ca->recent, 4U);
	/* the stamp leaps: nothing that hides a queue, and the new reference */
	acks_for(sk, 2000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca->trust, 0U);
	acks_for(sk, 2000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca->trust, 1U);
	acks_for(sk, 2000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca->one_way, 1U);
	/* an ACK without a round trip is no check */
	tcp_sk(sk)->tcp_mstamp += 3 * USEC_PER_SEC;
	taken(sk, 1, -1);
	KUNIT_EXPECT_EQ(test, (u32)ca->one_way, 1U);
	taken(sk, 1, RTT_US);
	KUNIT_EXPECT_EQ(test, (u32)ca->one_way, 0U);
	release(sk);
}

/* The queue that counts at the end, of 200 ms that stand since five seconds. */
static u32 queue_behind_clock(struct kunit *test, u32 per_mille, int seconds,
			      bool usec)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 unit_us = usec ? 1 : 1000;
	u32 queue_us, remote_us, least_us = U32_MAX;
	int i;

	ops_of(sk)->init(sk);
	tp->tcp_usec_ts = usec;
	for (i = 0; i < seconds * 100; i++) {
		queue_us = i < 500 ? 0 : 200000;
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
		remote_us = div_u64((tp->tcp_mstamp - RTT_US / 2) * per_mille,
				    1000);
		tp->rx_opt.rcv_tsecr =
			div_u64(tp->tcp_mstamp - RTT_US - queue_us, unit_us);
		tp->rx_opt.rcv_tsval = 777 + remote_us / unit_us;
		taken(sk, 1, RTT_US + queue_us);
		if (i > 600)
			least_us = min(least_us, queuing_us_of(sk));
	}
	release(sk);
	return least_us;
}

static void clocks_that_are_slow(struct kunit *test)
{
	static const u32 per_mille[] = { 1100, 1000, 980, 900, 550, 250, 1 };
	int i;

	for (i = 0; i < ARRAY_SIZE(per_mille); i++) {
		KUNIT_EXPECT_GE(test,
				queue_behind_clock(test, per_mille[i], 60,
						   false), 199000U);
		KUNIT_EXPECT_GE(test,
				queue_behind_clock(test, per_mille[i], 60,
						   true), 199000U);
	}
}

/* The other host's unit is `divisor` of this one's; the queue grows at once. */
static u32 queue_of_first_seconds(struct kunit *test, u32 divisor)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 queuing_us, queue_us;
	int i;

	ops_of(sk)->init(sk);
	tp->tcp_usec_ts = 0;
	for (i = 0; i < 190; i++) {
		queue_us = i * 2000;
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsecr =
			div_u64(tp->tcp_mstamp - RTT_US - queue_us, 1000);
		tp->rx_opt.rcv_tsval =
			777 + div_u64(tp->tcp_mstamp, 1000 * divisor);
		taken(sk, 1, RTT_US + queue_us);
	}
	queuing_us = queuing_us_of(sk);
	release(sk);
	return queuing_us;
}

static void first_seconds(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, queue_of_first_seconds(test, 1), 370000U);
	KUNIT_EXPECT_GE(test, queue_of_first_seconds(test, 4), 370000U);
	KUNIT_EXPECT_GE(test, queue_of_first_seconds(test, 10), 370000U);
}

/* Delays of one way and of round trips are not compared. */
static void change_of_source(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	sample(sk, 1, 7000);
	/* this host's clock advances, the other's does not */
	tp->tcp_mstamp += 3 * USEC_PER_SEC;
	taken(sk, 1, RTT_US + 7000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->one_way, 0U);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 7000U);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca_of(sk)), (u32)RTT_US);
	tp->tcp_mstamp += USEC_PER_SEC;
	sample(sk, 1, 40000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 40000U);
	/* one-way delays begin with the shortest round trip */
	ca_of(sk)->ahead = RTT_US - BASE_US;
	ledbat_use_one_way(tp, ca_of(sk));
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca_of(sk)), BASE_US);
	sample(sk, 1, 30000);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 30000U);
	tp->tcp_usec_ts = 0;
	ca_of(sk)->ahead = 777;
	ledbat_use_one_way(tp, ca_of(sk));
	KUNIT_EXPECT_EQ(test, ledbat_base(ca_of(sk)), RTT_US / 1000 - 777U);
	release(sk);
}

/*
 * What counts at the end of a queue of 30 ms, when one-way delays begin while
 * ACKs have waited so long for a timer, which only their stamps show, and so
 * long on their way back.
 */
static u32 queue_when_delays_begin(struct kunit *test, bool usec, u32 held_us,
				   u32 back_us)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 unit_us = usec ? 1 : 1000;
	u32 queuing_us;
	int i;

	ops_of(sk)->init(sk);
	tp->tcp_usec_ts = usec;
	for (i = 0; i < 600; i++) {
		const u32 queue_us = i < 100 ? 0 : 30000;
		const bool begins = i >= 350 && i < 450;
		const u32 back = RTT_US / 2 + (begins ? back_us : 0);
		const u32 rtt_us = RTT_US / 2 + queue_us + back;
		const u64 sent_us = tp->tcp_mstamp - rtt_us -
				    (begins ? held_us : 0);

		tp->rx_opt.rcv_tsecr = div_u64(sent_us, unit_us);
		tp->rx_opt.rcv_tsval = 777 + div_u64(tp->tcp_mstamp - back,
						     unit_us);
		taken(sk, 1, rtt_us);
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
	}
	KUNIT_EXPECT_TRUE(test, ca_of(sk)->one_way);
	queuing_us = queuing_us_of(sk);
	release(sk);
	return queuing_us;
}

static void delays_of_one_way_begin(struct kunit *test)
{
	static const u32 waits_us[][2] = {
		{ 0, 0 }, { 40000, 0 }, { 200000, 0 }, { 0, 9000 },
		{ 40000, 9000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(waits_us); i++) {
		const u32 held_us = waits_us[i][0], back_us = waits_us[i][1];

		KUNIT_EXPECT_EQ(test, 30000U,
				queue_when_delays_begin(test, true, held_us,
							back_us));
		KUNIT_EXPECT_EQ(test, 30000U,
				queue_when_delays_begin(test, false, held_us,
							back_us));
	}
}

/* No RTT is known when the source changes. */
static void change_of_source_without_round_trips(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);

	tcp_sk(sk)->rx_opt.saw_tstamp = 0;
	taken(sk, 1, -1);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->used, 0U);
	taken(sk, 1, RTT_US);
	taken(sk, 1, RTT_US);
	KUNIT_EXPECT_EQ(test, ledbat_base(ca_of(sk)), (u32)RTT_US);
	release(sk);
}

/* Something on the path begins to remove the stamps, and ceases to. */
static void stamps_that_cease(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);

	acks_for(sk, 9000, BASE_US, RTT_US, true);
	tcp_sk(sk)->rx_opt.saw_tstamp = 0;
	/* an ACK that acknowledges nothing */
	taken(sk, 0, RTT_US);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->one_way, 1U);
	taken(sk, 1, RTT_US + 40000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->one_way, 0U);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 40000U);
	taken(sk, 1, RTT_US + 40000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, 3U);
	/* and again an hour later, when stamps have wrapped */
	tcp_sk(sk)->tcp_mstamp += 3600ULL * USEC_PER_SEC;
	taken(sk, 1, RTT_US);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	tcp_sk(sk)->rx_opt.saw_tstamp = 1;
	/* the first one judges nothing */
	acks_for(sk, 10, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->trust, 0U);
	acks_for(sk, 3000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->trust, 1U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->one_way, 0U);
	acks_for(sk, 2000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->one_way, 1U);
	release(sk);
}

/* Whoever chooses between SYN and SYN-ACK does so before stamps are agreed. */
static void chosen_while_connecting(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);

	tcp_sk(sk)->rx_opt.tstamp_ok = 0;
	ops_of(sk)->init(sk);
	tcp_sk(sk)->rx_opt.tstamp_ok = 1;
	acks_for(sk, 5000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->one_way, 1U);
	release(sk);
}

/* Set-up and report */

static void begins_with_two(struct kunit *test)
{
	static const enum ledbat_name names[] = {
		LEDBAT_RFC6817, LEDBAT_PLUS_PLUS
	};
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = new_socket(test, names[i]);
		ops_of(sk)->init(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
		release(sk);
		/* where the stack begins with less, so does it */
		sk = new_socket(test, names[i]);
		tcp_sk(sk)->snd_cwnd = 1;
		ops_of(sk)->init(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1U);
		release(sk);
		/* TCP Fast Open sends data with its SYN */
		sk = new_socket(test, names[i]);
		tcp_sk(sk)->data_segs_out = 1;
		tcp_sk(sk)->syn_data = 1;
		ops_of(sk)->init(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
		release(sk);
		/* another control's window stays */
		sk = old_socket(test, names[i], 40);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
		release(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
		KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh,
				(u32)TCP_INFINITE_SSTHRESH);
	}
}

/* A state that another control has left means nothing. */
static void begins_anew(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat *ca = ca_of(sk);

	memset(inet_csk_ca(sk), 0xff, ICSK_CA_PRIV_SIZE);
	tp->snd_ssthresh = 17;
	ops_of(sk)->init(sk);
	KUNIT_EXPECT_EQ(test, (u32)ca->used, 0U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 0LL);
	KUNIT_EXPECT_EQ(test, (u32)ca->target_us, 100000U);
	KUNIT_EXPECT_EQ(test, (u32)ca->slots, 10U);
	KUNIT_EXPECT_EQ(test, (u32)ca->filter, 4U);
	KUNIT_EXPECT_EQ(test, (u32)ca->min_window, 2U);
	KUNIT_EXPECT_EQ(test, (u32)ca->slow_start, 0U);
	KUNIT_EXPECT_EQ(test, (u32)ca->gain_ppm, 1000000U);
	KUNIT_EXPECT_EQ(test, (u32)ca->allowed, 1U);
	KUNIT_EXPECT_EQ(test, ca->round_end, tp->snd_una - 1);
	KUNIT_EXPECT_EQ(test, ca->reno_ssthresh, 17U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 2U);
	release(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 17U);
}

static void change_over_in_recovery(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->data_segs_out = 1000;
	tp->snd_cwnd = 5;
	tp->snd_ssthresh = 50;
	ops_of(sk)->init(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 50U);
	/* nor does an ACK then */
	ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50U);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Disorder;
	ack(sk, 1, 0);
	KUNIT_EXPECT_LT(test, tp->snd_ssthresh, 50U);
	release(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50U);
	tp->snd_cwnd = 5;
	ops_of(sk)->init(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 5U);
	release(sk);
}

/* What RFC 6817 says MUST be is so for settings of a namespace, too. */
static void settings_of_a_namespace(struct kunit *test)
{
	static const struct {
		const char *low, *high, *below, *above, *initial;
	} range[] = {
		{ "1000", "100000", "999", "100001", "100000" },
		{ "1", "10", "0", "11", "10" },
		{ "1", "4", "0", "5", "4" },
		{ "1", "2", "0", "3", "2" },
		{ "0", "1", "-1", "2", "0" },
		{ "0", "1", "-1", "2", "0" },
		{ "1", "1000000", "0", "1000001", "1000000" },
		{ "1", "10", "0", "11", "1" },
	};
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(range); i++) {
		KUNIT_EXPECT_LT(test, write_setting(0, i, range[i].below), 0);
		KUNIT_EXPECT_LT(test, write_setting(0, i, range[i].above), 0);
		KUNIT_EXPECT_EQ(test, write_setting(0, i, range[i].high), 0);
		KUNIT_EXPECT_EQ(test, write_setting(0, i, range[i].low), 0);
	}
	sk = old_socket(test, LEDBAT_RFC6817, 10);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->target_us, 1000U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->slots, 1U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->filter, 1U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->min_window, 1U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->gain_ppm, 1U);
	release(sk);
	for (i = 0; i < ARRAY_SIZE(range); i++)
		KUNIT_EXPECT_EQ(test, write_setting(0, i, range[i].initial), 0);
	/* the other algorithm has its own */
	sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->target_us, 60000U);
	release(sk);
}

static void paces(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);

	KUNIT_EXPECT_EQ(test, (u32)sk->sk_pacing_status, (u32)SK_PACING_NONE);
	release(sk);
	KUNIT_EXPECT_EQ(test, write_setting(1, LEDBAT_PACING, "1"), 0);
	sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);
	KUNIT_EXPECT_EQ(test, (u32)sk->sk_pacing_status,
			(u32)SK_PACING_NEEDED);
	release(sk);
	/* fq does it already */
	sk = new_socket(test, LEDBAT_PLUS_PLUS);
	sk->sk_pacing_status = SK_PACING_FQ;
	ops_of(sk)->init(sk);
	KUNIT_EXPECT_EQ(test, (u32)sk->sk_pacing_status, (u32)SK_PACING_FQ);
	release(sk);
	KUNIT_EXPECT_EQ(test, write_setting(1, LEDBAT_PACING, "0"), 0);
}

static void info(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	union tcp_cc_info answer = {};
	const struct ledbat_info *words = (const void *)&answer;
	int attr = 0, i;

	KUNIT_EXPECT_EQ(test, ops_of(sk)->get_info(sk, ~0, &attr, &answer),
			sizeof(*words));
	KUNIT_EXPECT_EQ(test, words->base_delay_us, 0U);
	sample(sk, 1, 0);
	tcp_sk(sk)->tcp_mstamp += 200 * USEC_PER_MSEC;
	sample(sk, 1, 7000);
	attr = 0;
	KUNIT_EXPECT_EQ(test, ops_of(sk)->get_info(sk, 0, &attr, &answer),
			0UL);
	KUNIT_EXPECT_EQ(test, attr, 0);
	KUNIT_EXPECT_EQ(test,
			ops_of(sk)->get_info(sk,
					     1 << (INET_DIAG_VEGASINFO - 1),
					     &attr, &answer),
			sizeof(*words));
	KUNIT_EXPECT_EQ(test, attr, (int)INET_DIAG_VEGASINFO);
	KUNIT_EXPECT_EQ(test, words->zero, 0U);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, BASE_US);
	KUNIT_EXPECT_EQ(test, words->current_delay_us, BASE_US + 7000);
	KUNIT_EXPECT_EQ(test, words->queuing_delay_us, 7000U);
	KUNIT_EXPECT_EQ(test, words->target_us_and_source, 100000U);
	release(sk);
	sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);
	sample(sk, 1, 0);
	ops_of(sk)->get_info(sk, ~0, &attr, &answer);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, (u32)RTT_US);
	KUNIT_EXPECT_EQ(test, words->target_us_and_source, 60000U | 1 << 24);
	/* all that it may have, and nothing after it has forgotten */
	ca_of(sk)->used = LEDBAT_MAX_SLOTS;
	ca_of(sk)->recent = LEDBAT_MAX_FILTER;
	for (i = 0; i < LEDBAT_MAX_SLOTS; i++)
		ca_of(sk)->minimum[i] = RTT_US;
	ops_of(sk)->get_info(sk, ~0, &attr, &answer);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, (u32)RTT_US);
	/* more than it has is another control's */
	ca_of(sk)->recent = LEDBAT_MAX_FILTER + 1;
	ops_of(sk)->get_info(sk, ~0, &attr, &answer);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, 0U);
	ca_of(sk)->recent = 1;
	ca_of(sk)->used = LEDBAT_MAX_SLOTS + 1;
	ops_of(sk)->get_info(sk, ~0, &attr, &answer);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, 0U);
	ledbat_forget(ca_of(sk));
	ops_of(sk)->get_info(sk, ~0, &attr, &answer);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, 0U);
	release(sk);
}

/* The socket is not locked, and another control has come meanwhile. */
static void info_of_another_control(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	union tcp_cc_info answer;
	int attr, i;

	release(sk);
	for (i = 0; i < 256; i++) {
		memset(inet_csk_ca(sk), i, ICSK_CA_PRIV_SIZE);
		KUNIT_EXPECT_EQ(test,
				ops_of(sk)->get_info(sk, ~0, &attr, &answer),
				sizeof(struct ledbat_info));
	}
}

/* Window */

static void used_window(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->packets_out = 8;
	KUNIT_EXPECT_TRUE(test, ledbat_uses_window(tp, 1));
	tp->packets_out = 7;
	KUNIT_EXPECT_FALSE(test, ledbat_uses_window(tp, 1));
	tp->is_cwnd_limited = 1;
	KUNIT_EXPECT_TRUE(test, ledbat_uses_window(tp, 1));
	release(sk);
}

static void losses(struct kunit *test)
{
	static const enum ledbat_name names[] = {
		LEDBAT_RFC6817, LEDBAT_PLUS_PLUS
	};
	struct tcp_sock *tp;
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 40);
		tp = tcp_sk(sk);
		enter_recovery(sk);
		KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 20U);
		KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 20U);
		/* a loss that was none */
		undo_recovery(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
		KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 40U);
		enter_recovery(sk);
		end_recovery(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20U);
		tp->snd_cwnd = 3;
		KUNIT_EXPECT_EQ(test, ops_of(sk)->ssthresh(sk), 2U);
		tp->snd_cwnd = 1;
		KUNIT_EXPECT_EQ(test, ops_of(sk)->ssthresh(sk), 1U);
		KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 2U);
		release(sk);
	}
}

static void thresholds(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 40);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);

	/* the stack may have raised it since */
	ca->reno_ssthresh = 10;
	tp->snd_ssthresh = 80;
	ledbat_set_threshold(sk, 5);
	KUNIT_EXPECT_EQ(test, ca->reno_ssthresh, 80U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 5U);
	/* a decrease never raises it, */
	ledbat_add_credit(sk, -1);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 5U);
	/* and lowers it; an increase does not */
	tp->snd_ssthresh = 60;
	ledbat_add_credit(sk, 1);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 60U);
	ledbat_add_credit(sk, -1);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, cwnd_of(sk));
	release(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 80U);
	/* one that is higher stays */
	tp->snd_ssthresh = 90;
	release(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 90U);
}

static void credit(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);

	/* a packet costs cwnd * target, and not a bit less */
	ledbat_add_credit(sk, 10 * 100000 - 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10U);
	ledbat_add_credit(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 11U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 0LL);
	ledbat_add_credit(sk, (11 + 12) * 100000 + 7);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 13U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 7LL);
	/* and gives as much */
	ledbat_add_credit(sk, -8);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 12U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 12 * 100000 - 1LL);
	ledbat_add_credit(sk, -(12 + 11) * 100000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 10 * 100000 - 1LL);
	/* down to the floor, with nothing owed there */
	ledbat_add_credit(sk, -100LL * 100000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 0LL);
	/* after a timeout the stack has one */
	tp->snd_cwnd = 1;
	ledbat_add_credit(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	/* a fraction of a larger window is less than a packet of a smaller */
	tp->snd_cwnd = 4;
	ca->credit_us = 9LL * 100000;
	ledbat_add_credit(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 4U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 4 * 100000 - 1LL);
	tp->snd_cwnd_clamp = 12;
	ledbat_add_credit(sk, 1000LL * 100000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 12U);
	/* at the floor nothing is given for a packet that does not go */
	tp->snd_cwnd = 2;
	ca->credit_us = 0;
	ledbat_add_credit(sk, -5);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 0LL);
	tp->snd_cwnd = 1;
	ledbat_add_credit(sk, 5);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 5LL);
	/* without a step the threshold stays */
	tp->snd_ssthresh = 100;
	ledbat_add_credit(sk, 0);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 100U);
	release(sk);
}

/* ledbat */

static void gain(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct ledbat *ca = ca_of(sk);

	KUNIT_EXPECT_EQ(test, ledbat_gain_us(ca, 2000, 2), 196000LL);
	KUNIT_EXPECT_EQ(test, ledbat_gain_us(ca, 198000, 2), -196000LL);
	KUNIT_EXPECT_EQ(test, ledbat_gain_us(ca, 100000, 2), 0LL);
	ca->gain_ppm = 500000;
	KUNIT_EXPECT_EQ(test, ledbat_gain_us(ca, 50000, 4), 100000LL);
	KUNIT_EXPECT_EQ(test, ledbat_gain_us(ca, 150000, 4), -100000LL);
	ca->gain_ppm = 1000000;
	KUNIT_EXPECT_EQ(test, ledbat_gain_us(ca, S32_MAX, 10000),
			(100000LL - S32_MAX) * 10000);
	release(sk);
}

static void linear(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 20);
	int i;

	sample(sk, 1, 0);
	for (i = 0; i < 4; i++)
		round_trip(sk, 0);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 23U);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 24U);
	for (i = 0; i < 4; i++)
		round_trip(sk, 200000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 19U);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 20U);
	for (i = 0; i < 100; i++)
		round_trip(sk, 400000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	release(sk);
}

static void an_unused_window(struct kunit *test)
{
	static const enum ledbat_name names[] = {
		LEDBAT_RFC6817, LEDBAT_PLUS_PLUS
	};
	struct sock *sk;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 40);
		tcp_sk(sk)->snd_ssthresh = 40;
		for (j = 0; j < 400; j++) {
			sample(sk, 1, 0);
			tcp_sk(sk)->packets_out = 10;
			tcp_sk(sk)->snd_una += MSS;
			tcp_sk(sk)->snd_nxt = tcp_sk(sk)->snd_una + 10 * MSS;
			ops_of(sk)->cong_avoid(sk, 0, 1);
			if (cwnd_of(sk) == 2)
				break;
		}
		KUNIT_EXPECT_LE(test, cwnd_of(sk), 40U);
		release(sk);
	}
}

static void rfc6817_cap(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 40);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	tp->packets_out = 9;
	ca_of(sk)->credit_us = 30LL * 100000;
	ledbat_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 11U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 0LL);
	/* the window is used, to the last packet: it grows */
	tp->packets_out = 11;
	ledbat_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 11U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 100000LL);
	/* the stack says that the window is what limits */
	tp->snd_cwnd = 40;
	tp->is_cwnd_limited = 1;
	ledbat_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	tp->is_cwnd_limited = 0;
	tp->packets_out = 0;
	ledbat_cong_avoid(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	ledbat_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	release(sk);
	KUNIT_EXPECT_EQ(test, write_setting(0, LEDBAT_ALLOWED_INCREASE, "5"),
			0);
	sk = old_socket(test, LEDBAT_RFC6817, 40);
	sample(sk, 1, 0);
	tcp_sk(sk)->packets_out = 9;
	ledbat_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 15U);
	release(sk);
	KUNIT_EXPECT_EQ(test, write_setting(0, LEDBAT_ALLOWED_INCREASE, "1"),
			0);
}

static void rfc6817_slow_start(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tp->data_segs_out = 1000;
	tp->is_cwnd_limited = 1;
	KUNIT_EXPECT_EQ(test, write_setting(0, LEDBAT_SLOW_START, "1"), 0);
	ops_of(sk)->init(sk);
	KUNIT_EXPECT_EQ(test, write_setting(0, LEDBAT_SLOW_START, "0"), 0);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, (u32)TCP_INFINITE_SSTHRESH);
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20U);
	round_trip(sk, 18750);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	/* it needs a window that is used */
	tp->is_cwnd_limited = 0;
	tp->max_packets_out = 0;
	sample(sk, 1, 0);
	ops_of(sk)->cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 0LL);
	tp->is_cwnd_limited = 1;
	tp->tcp_mstamp += 200 * USEC_PER_MSEC;
	/* beyond 3/4 of TARGET it pauses, */
	ack(sk, 1, 75001);
	ack(sk, 1, 75001);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
	/* goes on, with a quarter beyond a quarter of that, */
	tp->tcp_mstamp += 200 * USEC_PER_MSEC;
	for (i = 0; i < 3; i++)
		ack(sk, 1, i ? 18751 : 75000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	ack(sk, 1, 18751);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 41U);
	/* and ends after a round trip beyond it, with its part */
	tp->tcp_mstamp += 200 * USEC_PER_MSEC;
	tp->snd_una = ca_of(sk)->round_end;
	ack(sk, 1, 125000);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
	ack(sk, 1, 125000);
	tp->snd_una = ca_of(sk)->round_end;
	ack(sk, 1, 125000);
	/* 41 * (50 + 75) / (50 + 125), less RFC 6817's step */
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 28U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 28U);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tp));
	/* a loss in the same round trip takes no more */
	KUNIT_EXPECT_EQ(test, ops_of(sk)->ssthresh(sk), 28U);
	tp->snd_una = ca_of(sk)->round_end;
	KUNIT_EXPECT_EQ(test, ops_of(sk)->ssthresh(sk), 28U);
	tp->snd_una = ca_of(sk)->round_end + 1;
	KUNIT_EXPECT_EQ(test, ops_of(sk)->ssthresh(sk), 14U);
	/* nor does that round trip come back when numbers wrap */
	ops_of(sk)->cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->halved, 0U);
	tp->snd_una = ca_of(sk)->round_end - 1;
	KUNIT_EXPECT_EQ(test, ops_of(sk)->ssthresh(sk), 14U);
	release(sk);
}

static void without_slow_start(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	tp->snd_ssthresh = 100;
	ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10U);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10U);
	tp->snd_ssthresh = 100;
	ack(sk, 1, 90000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10U);
	/* one that has been reached stays */
	tp->snd_ssthresh = 5;
	ack(sk, 1, 90000);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 5U);
	release(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, (u32)TCP_INFINITE_SSTHRESH);
}

/* After a timeout the stack begins with one packet, and the flow grows on. */
static void timeout(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 40);
	int i;

	sample(sk, 1, 0);
	time_out(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 20U);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	for (i = 0; i < 5; i++)
		round_trip(sk, 0);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 5U);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 8U);
	release(sk);
}

/* The idle window is what idleness leaves; only a restart makes it two. */
static void idleness(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 100);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	ca_of(sk)->credit_us = 5;
	tcp_ca_event(sk, CA_EVENT_TX_START);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 100U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 5LL);
	tcp_ca_event(sk, CA_EVENT_COMPLETE_CWR);
	tcp_ca_event(sk, CA_EVENT_TX_START);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 100U);
	fall_idle(sk, USEC_PER_SEC, 300 * USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 0LL);
	tp->snd_cwnd = 30;
	tcp_ca_event(sk, CA_EVENT_TX_START);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 30U);
	/* before Linux 7.1 one function has all events */
	ops_of(sk)->cwnd_event(sk, CA_EVENT_CWND_RESTART);
	ops_of(sk)->cwnd_event(sk, CA_EVENT_TX_START);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	/* other events are none of these */
	tp->snd_cwnd = 30;
	ops_of(sk)->cwnd_event(sk, CA_EVENT_CWND_RESTART);
	ops_of(sk)->cwnd_event(sk, CA_EVENT_COMPLETE_CWR);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 30U);
	/* a window of one stays */
	tp->snd_cwnd = 1;
	ops_of(sk)->cwnd_event(sk, CA_EVENT_CWND_RESTART);
	ops_of(sk)->cwnd_event(sk, CA_EVENT_TX_START);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1U);
	release(sk);
}

/*
 * A tail loss probe is a packet beyond the window, and its ACK has no RTT: it
 * neither ends a round trip early nor counts as a sample.
 */
static void tail_loss_probe(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 60);
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 rounds = ca_of(sk)->rounds, recent = ca_of(sk)->recent;
	const u32 una = tp->snd_una;

	tp->snd_nxt = una + 3 * MSS;
	tp->packets_out = 3;
	taken(sk, 0, -1);
	ops_of(sk)->cong_avoid(sk, una, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->rounds, rounds);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->recent, recent);
	release(sk);
}

/* LEDBAT++ */

static void pp_gain(struct kunit *test)
{
	static const struct {
		u32 base_us, divisor;
	} of[] = {
		{ 50000, 3 }, { 20000, 6 }, { 120000, 1 }, { 119999, 2 },
		{ 500000, 1 }, { 1, 16 }, { 0, 16 },
	};
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 10);
	int i;

	ca_of(sk)->used = 1;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		ca_of(sk)->minimum[0] = of[i].base_us;
		KUNIT_EXPECT_EQ(test, ledbatpp_divisor(ca_of(sk)),
				of[i].divisor);
	}
	ca_of(sk)->used = 0;
	ca_of(sk)->minimum[0] = 50000;
	KUNIT_EXPECT_EQ(test, ledbatpp_divisor(ca_of(sk)), 16U);
	release(sk);
}

static void pp_life(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_PLUS_PLUS);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);
	u64 slowed, regained;
	u32 before, window;

	ops_of(sk)->init(sk);
	sample(sk, 1, 0);
	/* slow start by GAIN, a third */
	tp->snd_cwnd = 30;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_FIRST_SLOW_START);
	/* until the delay is beyond 3/4 of TARGET */
	round_trip(sk, 45000);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_FIRST_SLOW_START);
	window = cwnd_of(sk);
	/* in a whole round trip; until then it pauses */
	round_trip(sk, 46000);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_FIRST_SLOW_START);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), window);
	round_trip(sk, 46000);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase,
			(u32)LEDBATPP_BEFORE_FIRST_SLOWDOWN);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk),
			window * (RTT_US + 45000) / (RTT_US + 46000));
	/* two round trips later two packets, for two round trips */
	before = 0;
	while (ca->phase == LEDBATPP_BEFORE_FIRST_SLOWDOWN && before++ < 5)
		round_trip(sk, 46000);
	KUNIT_EXPECT_EQ(test, before, 2U);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 2U);
	slowed = tp->tcp_mstamp;
	window = ca->goal;
	KUNIT_EXPECT_GE(test, window, 40U);
	before = 0;
	while (ca->phase == LEDBATPP_SLOW && before++ < 9)
		round_trip(sk, 0);
	KUNIT_EXPECT_GE(test, before, 2U);
	KUNIT_EXPECT_LE(test, before, 6U);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, window);
	/* and back, by slow start */
	before = 0;
	while (ca->phase == LEDBATPP_CLIMBING && before++ < 99)
		round_trip(sk, 0);
	regained = tp->tcp_mstamp;
	KUNIT_EXPECT_GE(test, cwnd_of(sk), window);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_RUNNING);
	/* the next one after nine times as long */
	before = 0;
	while (ca->phase == LEDBATPP_RUNNING && before++ < 999)
		round_trip(sk, 30000);
	KUNIT_EXPECT_GE(test, tp->tcp_mstamp - regained,
			8 * (regained - slowed));
	KUNIT_EXPECT_LE(test, tp->tcp_mstamp - regained,
			10 * (regained - slowed));
	release(sk);
}

static struct sock *pp_running(struct kunit *test, u32 cwnd)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, cwnd);

	tcp_sk(sk)->snd_ssthresh = 2;
	ca_of(sk)->phase = LEDBATPP_RUNNING;
	ca_of(sk)->next_slow_ms = 3600 * MSEC_PER_SEC;
	sample(sk, 1, 0);
	tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
	return sk;
}

/* In 1/TARGET of a packet. */
static u64 exact_window(const struct sock *sk)
{
	return (u64)cwnd_of(sk) * ca_of(sk)->target_us +
	       div_u64(ca_of(sk)->credit_us, cwnd_of(sk));
}

static void pp_decrease(struct kunit *test)
{
	struct sock *sk = pp_running(test, 100);
	struct tcp_sock *tp = tcp_sk(sk);

	/* W + GAIN - W * (72 / 60 - 1), with a GAIN of a third */
	ledbatpp_decrease(sk, 72000, 3);
	KUNIT_EXPECT_EQ(test, exact_window(sk), 6000000U + 20000 - 1200000);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, cwnd_of(sk));
	/* a fraction counts */
	tp->snd_cwnd = 10;
	ca_of(sk)->credit_us = 10 * 30000;
	ledbatpp_decrease(sk, 66000, 3);
	KUNIT_EXPECT_EQ(test, exact_window(sk), 630000U + 20000 - 63000);
	/* never more than half, and never below the floor */
	tp->snd_cwnd = 100;
	ca_of(sk)->credit_us = 0;
	ledbatpp_decrease(sk, 600000, 3);
	KUNIT_EXPECT_EQ(test, exact_window(sk), 3000000U);
	tp->snd_cwnd = 3;
	ca_of(sk)->credit_us = 1000;
	ledbatpp_decrease(sk, 600000, 3);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 0LL);
	/* the floor is reached with a fraction, which counts, */
	tp->snd_cwnd = 4;
	ca_of(sk)->credit_us = 4 * 20000;
	ledbatpp_decrease(sk, 600000, 3);
	KUNIT_EXPECT_EQ(test, exact_window(sk), 130000U);
	/* and a fraction is below a packet */
	tp->snd_cwnd = 5;
	ca_of(sk)->credit_us = 100 * 60000;
	ledbatpp_decrease(sk, 600000, 3);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	tp->snd_cwnd = 100;
	tp->snd_cwnd_clamp = 40;
	ledbatpp_decrease(sk, 72000, 3);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	release(sk);
	/* once in a round trip, and not at TARGET */
	sk = pp_running(test, 100);
	round_trip(sk, 90000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 50U);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 51U);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tcp_sk(sk)));
	tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
	round_trip(sk, 60000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 50U);
	release(sk);
}

static void pp_growth(struct kunit *test)
{
	struct sock *sk = pp_running(test, 30);
	int i;

	for (i = 0; i < 6; i++)
		round_trip(sk, 50000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 32U);
	/* for both packets that an ACK acknowledges */
	ca_of(sk)->credit_us = 0;
	ack(sk, 2, 0);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 40000LL);
	release(sk);
}

/* A loss that was none, in a slowdown and after it. */
static void pp_undone_losses(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 100);
	struct ledbat *ca = ca_of(sk);
	const u32 goal = ca->goal;

	enter_recovery(sk);
	KUNIT_EXPECT_EQ(test, ca->goal, goal / 2);
	KUNIT_EXPECT_EQ(test, ca->reno_ssthresh, goal / 2);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 2U);
	undo_recovery(sk);
	KUNIT_EXPECT_EQ(test, ca->goal, goal / 2 * 2);
	KUNIT_EXPECT_GE(test, ca->reno_ssthresh, goal / 2 * 2);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	/* only what was halved is doubled */
	ops_of(sk)->undo_cwnd(sk);
	KUNIT_EXPECT_EQ(test, ca->goal, goal / 2 * 2);
	/* never below two */
	ca->goal = 3;
	enter_recovery(sk);
	KUNIT_EXPECT_EQ(test, ca->goal, 2U);
	end_recovery(sk);
	tcp_snd_cwnd_set(tcp_sk(sk), 1);
	KUNIT_EXPECT_EQ(test, ops_of(sk)->ssthresh(sk), 1U);
	release(sk);
	/* what is shared with the goal has another meaning later */
	sk = pp_running(test, 40);
	ca_of(sk)->lost = 1;
	ca_of(sk)->goal = 7;
	enter_recovery(sk);
	undo_recovery(sk);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->goal, 7U);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	release(sk);
}

static void pp_waits_for_recovery(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);
	struct ledbat *ca = ca_of(sk);

	ca->next_slow_ms = 0;
	tcp_sk(sk)->snd_ssthresh = 20;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_RUNNING);
	tcp_sk(sk)->snd_ssthresh = 10;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	release(sk);
	/* nor does the first slowdown forget how far the flow climbs back */
	sk = pp_running(test, 10);
	ca = ca_of(sk);
	ledbatpp_enter(ca, LEDBATPP_BEFORE_FIRST_SLOWDOWN, 1);
	tcp_sk(sk)->snd_ssthresh = 20;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase,
			(u32)LEDBATPP_BEFORE_FIRST_SLOWDOWN);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 20U);
	tcp_sk(sk)->snd_ssthresh = 10;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	release(sk);
	/* it is due at its millisecond, also when milliseconds wrap */
	sk = pp_running(test, 10);
	ca = ca_of(sk);
	tcp_sk(sk)->tcp_mstamp = (1ULL << 32) * USEC_PER_MSEC - 1;
	ca->next_slow_ms = 0;
	ledbatpp_end_round(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_RUNNING);
	tcp_sk(sk)->tcp_mstamp++;
	ledbatpp_end_round(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	release(sk);
}

/* The parts of a slowdown: two round trips of two packets, then the climb. */
static void pp_slowdown(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);
	int i;

	ca->slow_us = 12345;
	ca->lost = 1;
	ledbatpp_slow_down(sk);
	KUNIT_EXPECT_EQ(test, ca->slow_us, 0U);
	KUNIT_EXPECT_EQ(test, (u32)ca->lost, 0U);
	KUNIT_EXPECT_EQ(test, ca->goal, 10U);
	ca->round_start_us = tp->tcp_mstamp;
	ledbatpp_end_round(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	KUNIT_EXPECT_EQ(test, ca->round_end, tp->snd_nxt);
	ca->credit_us = 1;
	ca->round_end = tp->snd_una;
	ledbatpp_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 0LL);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	tp->tcp_mstamp += RTT_US;
	ledbatpp_end_round(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, ca->slow_us, (u32)RTT_US);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	KUNIT_EXPECT_EQ(test, ca->round_start_us, (u32)tp->tcp_mstamp);
	/* a queue up to TARGET does not end the climb, more does */
	tp->snd_cwnd = 4;
	tp->is_cwnd_limited = 1;
	ack(sk, 1, 0);
	tp->tcp_mstamp += USEC_PER_SEC;
	ack(sk, 4, 60000);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 5U);
	tp->tcp_mstamp += USEC_PER_SEC;
	/* in a whole round trip */
	for (i = 0; i < 2; i++) {
		tp->snd_una = ca->round_end;
		ack(sk, 1, 60001);
		KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
		ack(sk, 1, 60001);
	}
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_RUNNING);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tp));
	/* a slowdown of a tiny window is one of two packets */
	tp->snd_cwnd = 1;
	tp->snd_ssthresh = 1;
	ledbatpp_slow_down(sk);
	KUNIT_EXPECT_EQ(test, ca->goal, 2U);
	/* one in slow start, of an application that limits, climbs as far */
	tp->snd_cwnd = 5;
	tp->snd_ssthresh = 9;
	ledbatpp_slow_down(sk);
	KUNIT_EXPECT_EQ(test, ca->goal, 9U);
	release(sk);
}

static void pp_length_of_a_slowdown(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);

	/* the shortest is one of two round trips */
	ca->phase = LEDBATPP_CLIMBING;
	ca->slow_us = 0;
	ca->round_start_us = tp->tcp_mstamp;
	tp->snd_ssthresh = 10;
	KUNIT_EXPECT_FALSE(test, ledbatpp_in_slow_start(sk));
	KUNIT_EXPECT_EQ(test, ca->next_slow_ms,
			(u32)div_u64(tp->tcp_mstamp + 9 * 2 * RTT_US, 1000));
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_RUNNING);
	/* a longer one has what the last round trip adds */
	ca->phase = LEDBATPP_CLIMBING;
	ca->slow_us = 400000;
	ca->round_start_us = tp->tcp_mstamp - 20000;
	KUNIT_EXPECT_FALSE(test, ledbatpp_in_slow_start(sk));
	KUNIT_EXPECT_EQ(test, ca->next_slow_ms,
			(u32)div_u64(tp->tcp_mstamp + 9 * 420000, 1000));
	/* silence counts little */
	ca->phase = LEDBATPP_SLOW;
	ca->slow_us = 7;
	ca->round_start_us = tp->tcp_mstamp - 5 * USEC_PER_SEC;
	ledbatpp_add_time(tp, ca);
	KUNIT_EXPECT_EQ(test, ca->slow_us, 7U + 2 * RTT_US);
	/* an application that is slow does not make a climb long */
	tp->snd_ssthresh = 20;
	ca->phase = LEDBATPP_CLIMBING;
	ca->slow_us = 0;
	ca->round_start_us = tp->tcp_mstamp - RTT_US;
	tp->packets_out = 1;
	ledbatpp_end_round(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, ca->slow_us, 0U);
	ca->round_start_us = tp->tcp_mstamp - RTT_US;
	tp->packets_out = 8;
	ledbatpp_end_round(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, ca->slow_us, (u32)RTT_US);
	release(sk);
}

/* Only a buffer that limits for two round trips ends a slow start. */
static void buffers(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 60);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	/* the application is slow */
	tp->chrono_type = TCP_CHRONO_BUSY;
	buffered_round_trip(sk, 20000);
	buffered_round_trip(sk, 20000);
	buffered_round_trip(sk, 20000);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
	tp->chrono_type = TCP_CHRONO_RWND_LIMITED;
	buffered_round_trip(sk, 20000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->limited, 1U);
	/* for one round trip the window limits */
	tp->is_cwnd_limited = 1;
	buffered_round_trip(sk, 20000);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->limited, 0U);
	tp->is_cwnd_limited = 0;
	buffered_round_trip(sk, 20000);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
	buffered_round_trip(sk, 20000);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tp));
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, cwnd_of(sk));
	release(sk);
}

/* Settings at load */

static void settings(struct kunit *test)
{
	struct ledbat_control *ledbat = &ledbat_controls[0];
	struct ledbat_control *pp = &ledbat_controls[1];
	const struct ledbat_control kept = *pp;
	const struct kernel_param of_pp = { .arg = pp };
	char *buffer = (char *)get_zeroed_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buffer);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "target_us", "100001"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "target_us", "999"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "target_us", "1000"),
			0);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "target_us", "100000"),
			0);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "min_window", "3"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "gain_ppm", "1000001"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "beta_ppm", "5"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(pp, "slow_start", "1"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(pp, "target_us", NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test,
			ledbat_set_defaults("target_us=20000,,pacing=1\n",
					    &of_pp),
			0);
	KUNIT_EXPECT_EQ(test, pp->value[LEDBAT_TARGET_US], 20000U);
	KUNIT_EXPECT_EQ(test, pp->value[LEDBAT_PACING], 1U);
	KUNIT_EXPECT_EQ(test, ledbat_get_defaults(buffer, &of_pp),
			(int)strlen(buffer));
	KUNIT_EXPECT_STREQ(test, buffer,
			   "target_us=20000,base_history=10,current_filter=4,min_window=2,pacing=1\n");
	KUNIT_EXPECT_EQ(test, ledbat_set_defaults("target_us=x", &of_pp),
			-EINVAL);
	KUNIT_EXPECT_EQ(test,
			ledbat_set_defaults("target_us=x,target_us=30000",
					    &of_pp),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, pp->value[LEDBAT_TARGET_US], 20000U);
	*pp = kept;
	free_page((unsigned long)buffer);
}

static void instances(struct kunit *test)
{
	struct ledbat_control *added = &ledbat_controls[LEDBAT_ALGORITHMS];
	static const char * const wrong[] = {
		"", ":ledbatpp", "mirror", "mirror:", "mirror:cubic",
		"cu/bic:ledbatpp", "a-name-of-16-now:ledbatpp",
		"ledbat:ledbatpp", "mirror:ledbatpp,target_us=100001",
	};
	static const char * const right[] = {
		"mirror:ledbatpp,target_us=20000", "back_up:mirror",
	};
	char name[] = "n0:ledbat";
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		KUNIT_EXPECT_EQ_MSG(test, ledbat_add_instance(wrong[i], NULL),
				    -EINVAL, "%s", wrong[i]);
		ledbat_total = LEDBAT_ALGORITHMS;
	}
	for (i = 0; i < ARRAY_SIZE(right); i++) {
		KUNIT_EXPECT_EQ(test, ledbat_add_instance(right[i], NULL), 0);
		KUNIT_EXPECT_EQ(test, added[i].value[LEDBAT_TARGET_US], 20000U);
		KUNIT_EXPECT_PTR_EQ(test, added[i].of,
				    (const struct tcp_congestion_ops *)
				    &ledbatpp_ops);
	}
	KUNIT_EXPECT_EQ(test, ledbat_total, LEDBAT_ALGORITHMS + 2U);
	memset(&added[0].ops, 0, sizeof(added[0].ops));
	ledbat_fill_ops(&added[0]);
	KUNIT_EXPECT_STREQ(test, added[0].ops.name, "mirror");
	KUNIT_EXPECT_PTR_EQ(test, added[0].ops.cong_avoid,
			    ledbatpp_ops.cong_avoid);
	KUNIT_EXPECT_EQ(test, ledbat_controls[1].value[LEDBAT_TARGET_US],
			60000U);
	/* no name twice, and no more than there is room for */
	KUNIT_EXPECT_EQ(test, ledbat_add_instance(right[0], NULL), -EINVAL);
	for (; ledbat_total < LEDBAT_MAX_CONTROLS; name[1]++)
		KUNIT_ASSERT_EQ(test, ledbat_add_instance(name, NULL), 0);
	KUNIT_EXPECT_EQ(test, ledbat_add_instance(name, NULL), -EINVAL);
	memset(added, 0, LEDBAT_MAX_INSTANCES * sizeof(*added));
	ledbat_total = LEDBAT_ALGORITHMS;
}

/*
 * Changes of control at any time: in any state, in idleness, while the
 * application limits the flow. The stack's part is as in tcp_input.c and
 * tcp_output.c of Linux; Reno stands for every control outside of this module.
 */

static struct tcp_congestion_ops reno_ops = {
	.name		= "kunit_reno",
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static u32 drawn(u64 *state, u32 below)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(*state >> 33) % below;
}

/* What tcp_current_ssthresh() makes of the threshold, which Reno keeps. */
static u32 keep_three_quarters(struct sock *sk, u32 threshold)
{
	const u32 cwnd = cwnd_of(sk);

	return max(threshold, (cwnd >> 1) + (cwnd >> 2));
}

static void change_over(struct sock *sk, u32 number)
{
	const struct tcp_congestion_ops *ops = &reno_ops;

	if (inet_csk(sk)->icsk_ca_ops->release)
		inet_csk(sk)->icsk_ca_ops->release(sk);
	if (number < LEDBAT_ALGORITHMS)
		ops = &ledbat_controls[number].ops;
	inet_csk(sk)->icsk_ca_ops = ops;
	memset(inet_csk_ca(sk), 0, ICSK_CA_PRIV_SIZE);
	if (ops->init)
		ops->init(sk);
}

static void drawn_acks(struct sock *sk, u64 *state)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_mstamp += drawn(state, 100000);
	tp->is_cwnd_limited = drawn(state, 2);
	if (!ops->pkts_acked)
		return;
	if (inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder ||
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		ack(sk, 1 + drawn(state, 3), drawn(state, 200000));
	else
		sample(sk, 1, drawn(state, 200000));
}

static void change_over_at_any_time(struct kunit *test)
{
	u64 state = 1;
	int round, step;
	u32 number;

	for (round = 0; round < 300; round++) {
		struct sock *sk = old_socket(test,
					     drawn(&state, LEDBAT_ALGORITHMS),
					     2 + drawn(&state, 100));
		struct inet_connection_sock *icsk = inet_csk(sk);
		struct tcp_sock *tp = tcp_sk(sk);
		/* what Reno would have kept */
		u32 reno = TCP_INFINITE_SSTHRESH;

		for (step = 0; step < 100; step++) {
			const u32 cwnd = cwnd_of(sk);

			switch (drawn(&state, 12)) {
			case 0:	/* a loss or a mark */
				if (icsk->icsk_ca_state > TCP_CA_Disorder)
					break;
				reno = max(cwnd / 2, 2U);
				enter_recovery(sk);
				if (drawn(&state, 2))
					icsk->icsk_ca_state = TCP_CA_CWR;
				break;
			case 1:	/* the end of what 0 or 2 began */
				if (icsk->icsk_ca_state == TCP_CA_CWR ||
				    icsk->icsk_ca_state == TCP_CA_Recovery)
					end_recovery(sk);
				icsk->icsk_ca_state = TCP_CA_Open;
				break;
			case 2:	/* a timeout */
				reno = max(cwnd / 2, 2U);
				time_out(sk);
				break;
			case 3:	/* reordering */
				if (icsk->icsk_ca_state <= TCP_CA_Disorder)
					icsk->icsk_ca_state ^= TCP_CA_Disorder;
				break;
			case 4:	/* idleness, or an application that limits */
				if (icsk->icsk_ca_state > TCP_CA_Disorder)
					break;
				reno = keep_three_quarters(sk, reno);
				fall_idle(sk, USEC_PER_SEC,
					  250 * USEC_PER_MSEC);
				break;
			case 5:
			case 6:	/* another control */
				number = drawn(&state, LEDBAT_ALGORITHMS + 3);
				change_over(sk, number);
				KUNIT_ASSERT_EQ(test, cwnd_of(sk), cwnd);
				if (icsk->icsk_ca_ops == &reno_ops)
					KUNIT_ASSERT_GE(test, tp->snd_ssthresh,
							reno);
				break;
			default:
				drawn_acks(sk, &state);
			}
			KUNIT_ASSERT_GE(test, cwnd_of(sk), 1U);
		}
		change_over(sk, LEDBAT_ALGORITHMS);
		KUNIT_ASSERT_GE(test, tp->snd_ssthresh, reno);
	}
}

/* At the bound no credit is left, as behind it. */
static void credit_at_the_bound(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	/* with the acknowledged packet and ALLOWED_INCREASE: the window */
	tp->packets_out = 8;
	ops_of(sk)->cong_avoid(sk, tp->snd_una, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 0LL);
	release(sk);
}

/* Until a round ends in which the application leaves part of the window. */
static void limited_round(struct sock *sk)
{
	const u32 end = ca_of(sk)->round_end;
	int i;

	for (i = 0; i < 9 && ca_of(sk)->round_end == end; i++)
		buffered_round_trip(sk, 0);
}

/* One in which it fills its window begins the count anew. */
static void climb_of_a_limited_application(struct kunit *test)
{
	struct sock *sk = pp_frozen(test, 100);
	const struct ledbat *ca = ca_of(sk);
	int i;

	tcp_sk(sk)->chrono_type = TCP_CHRONO_BUSY;
	for (i = 0; i < 20 && cwnd_of(sk) < 40; i++)
		round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	limited_round(sk);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	round_trip(sk, 0);
	limited_round(sk);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	limited_round(sk);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_RUNNING);
	release(sk);
}

/* Two whole ones, counted from the ACK that ends the first slow start. */
static void rounds_before_the_first_slowdown(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 100);
	const struct ledbat *ca = ca_of(sk);
	u32 left;

	sample(sk, 1, 0);
	round_trip(sk, 0);
	for (left = cwnd_of(sk) / 2; left; left--)
		ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_FIRST_SLOW_START);
	tcp_sk(sk)->snd_ssthresh = cwnd_of(sk);
	for (left = cwnd_of(sk) / 4 * 7; left; left--)
		ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase,
			(u32)LEDBATPP_BEFORE_FIRST_SLOWDOWN);
	for (left = cwnd_of(sk) / 2; left; left--)
		ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	release(sk);
}

/* From a quarter of its bound on, the first slow start grows by a quarter. */
static void first_slow_start_near_its_bound(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_PLUS_PLUS, 120);

	sample(sk, 1, 0);
	round_trip(sk, 11250);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 160U);
	round_trip(sk, 11251);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 173U);
	release(sk);
}

/* A host that is older than 256 minutes, or than 65536. */
static void any_uptime(struct kunit *test)
{
	static const u32 minutes[] = { 3, 255, 256, 300, 65536, 70000 };
	struct sock *sk;
	int i, j;

	for (i = 0; i < 2 * ARRAY_SIZE(minutes); i++) {
		sk = old_socket(test, i % 2, 10);
		tcp_sk(sk)->tcp_mstamp = minutes[i / 2] * 60ULL * USEC_PER_SEC;
		ca_of(sk)->filter = 1;
		sample(sk, 1, 0);
		for (j = 0; j < 9; j++) {
			tcp_sk(sk)->tcp_mstamp += 60 * USEC_PER_SEC;
			tcp_sk(sk)->rx_opt.rcv_tsecr += 60 * USEC_PER_SEC;
			sample(sk, 1, 40000);
			KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 40000U);
		}
		release(sk);
	}
}

/* The shortest is kept though Linux forgets it, whatever minute it is. */
static void round_trips_that_linux_forgets(struct kunit *test)
{
	static const u32 minutes[] = { 0, 9, 15, 250 };
	struct tcp_sock *tp;
	struct sock *sk;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(minutes); i++) {
		sk = old_socket(test, LEDBAT_RFC6817, 10);
		tp = tcp_sk(sk);
		tp->tcp_mstamp = minutes[i] * 60ULL * USEC_PER_SEC;
		taken(sk, 1, RTT_US);
		for (j = 0; j < 11; j++) {
			/* asked for its own after the eleventh minute */
			minmax_reset(&tp->rtt_min, tcp_jiffies32,
				     j < 10 ? RTT_US + 40000 : RTT_US + 5000);
			tp->tcp_mstamp += 60 * USEC_PER_SEC;
			tp->rx_opt.rcv_tsecr += 60 * USEC_PER_SEC;
			taken(sk, 1, RTT_US + 40000);
			KUNIT_EXPECT_EQ(test,
					ledbat_round_trip_growth(ca_of(sk)),
					j < 10 ? 40000U : 35000U);
		}
		/* and keeps that as long */
		minmax_reset(&tp->rtt_min, tcp_jiffies32, RTT_US + 40000);
		taken(sk, 1, RTT_US + 40000);
		KUNIT_EXPECT_EQ(test, ledbat_round_trip_growth(ca_of(sk)),
				35000U);
		release(sk);
	}
}

/* With stamps in milliseconds, too; one of them may be beyond the bound. */
static void milliseconds_that_waited(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 2);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_usec_ts = 0;
	ca_of(sk)->filter = 1;
	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + 25;
	taken_of(sk, 1, RTT_US, 3);
	tp->rx_opt.rcv_tsval += 150;
	taken_of(sk, 1, RTT_US + 150000, 2);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	ca_of(sk)->target_us = 1000;
	tp->rx_opt.rcv_tsval -= 149;
	taken_of(sk, 1, RTT_US + 1000, 2);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 0U);
	taken_of(sk, 1, RTT_US + 1000, 3);
	KUNIT_EXPECT_EQ(test, queuing_us_of(sk), 1000U);
	release(sk);
}

/* Two checks in a row; one that fails forgets no round trip. */
static void checks_in_a_row(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct ledbat *ca = ca_of(sk);
	u16 checked;
	int i;

	ops_of(sk)->init(sk);
	/* a round trip of no time is no check, the shortest is one */
	taken(sk, 1, 0);
	KUNIT_EXPECT_FALSE(test, ca->checking);
	taken(sk, 1, 1);
	KUNIT_EXPECT_TRUE(test, ca->checking);
	release(sk);

	sk = new_socket(test, LEDBAT_RFC6817);
	ca = ca_of(sk);
	ops_of(sk)->init(sk);
	acks_for(sk, 10, BASE_US, RTT_US, true);
	acks_for(sk, 2000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca->trust, 1U);
	checked = ca->checked;
	for (i = 0; i < 300 && ca->checked == checked; i++)
		acks_for(sk, 10, BASE_US - 30000, RTT_US, true);
	KUNIT_EXPECT_EQ(test, (u32)ca->trust, 0U);
	KUNIT_EXPECT_EQ(test, (u32)ca->recent, 4U);
	acks_for(sk, 2100, BASE_US - 30000, RTT_US, true);
	KUNIT_EXPECT_FALSE(test, ca->one_way);
	acks_for(sk, 2100, BASE_US - 30000, RTT_US, true);
	KUNIT_EXPECT_TRUE(test, ca->one_way);
	release(sk);
}

/* What the other clock has lost without stamps is no failure. */
static void stamps_that_come_again(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	const u32 behind_us = BASE_US - (u32)USEC_PER_SEC;

	acks_for(sk, 3000, BASE_US, RTT_US, true);
	KUNIT_EXPECT_TRUE(test, ca_of(sk)->one_way);
	tcp_sk(sk)->rx_opt.saw_tstamp = 0;
	acks_for(sk, 500, BASE_US, RTT_US, true);
	KUNIT_EXPECT_FALSE(test, ca_of(sk)->one_way);
	tcp_sk(sk)->rx_opt.saw_tstamp = 1;
	acks_for(sk, 4300, behind_us, RTT_US, true);
	KUNIT_EXPECT_TRUE(test, ca_of(sk)->one_way);
	release(sk);
}

/* Nor is what it has lost in a silence that outlives the base delay. */
static void silence_of_a_clock(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	const u32 behind_us = BASE_US - (u32)USEC_PER_SEC;

	acks_for(sk, 3000, BASE_US, RTT_US, true);
	tcp_sk(sk)->tcp_mstamp += 12 * 60 * USEC_PER_SEC;
	tcp_sk(sk)->rx_opt.rcv_tsecr += 12 * 60 * (u32)USEC_PER_SEC;
	acks_for(sk, 10, behind_us, RTT_US, true);
	acks_for(sk, 500, behind_us, RTT_US + 100000, true);
	KUNIT_EXPECT_LE(test, queuing_us_of(sk), 1000U);
	KUNIT_EXPECT_TRUE(test, ca_of(sk)->one_way);
	release(sk);
}

/* What arrived or is lost is not in flight; what was sent again is. */
static void packets_in_flight(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 100);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->packets_out = 100;
	KUNIT_EXPECT_TRUE(test, ledbat_uses_window(tp, 1));
	tp->sacked_out = 30;
	tp->lost_out = 20;
	KUNIT_EXPECT_FALSE(test, ledbat_uses_window(tp, 1));
	tp->retrans_out = 48;
	KUNIT_EXPECT_TRUE(test, ledbat_uses_window(tp, 1));
	/* RFC 6817's bound of the window */
	tp->retrans_out = 10;
	sample(sk, 1, 0);
	tp->snd_una += MSS;
	ops_of(sk)->cong_avoid(sk, tp->snd_una, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 62U);
	release(sk);
}

/* Another namespace has its own settings, and any user may choose a control. */
static void settings_of_another_namespace(struct kunit *test)
{
	const size_t size = (ledbat_net_id + 1) * sizeof(void *);
	struct net_generic *gen = kunit_kzalloc(test, size, GFP_KERNEL);
	struct net *net = kunit_kzalloc(test, sizeof(*net), GFP_KERNEL);
	struct ledbat_net *ln;
	struct sock *sk;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, gen);
	KUNIT_ASSERT_NOT_NULL(test, net);
	ln = kunit_kzalloc(test, ledbat_net_ops.size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ln);
	gen->ptr[ledbat_net_id] = ln;
	rcu_assign_pointer(net->gen, gen);
	for (i = 0; i < LEDBAT_ALGORITHMS; i++) {
		memcpy(ln[i].value, ledbat_controls[i].value,
		       sizeof(ln[i].value));
		ln[i].value[LEDBAT_TARGET_US] = 7000 + i;
		sk = new_socket(test, i);
		sock_net_set(sk, net);
		ops_of(sk)->init(sk);
		KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->target_us, 7000U + i);
		release(sk);
		KUNIT_EXPECT_TRUE(test, ops_of(sk)->flags &
					TCP_CONG_NON_RESTRICTED);
	}
	/* of which only root changes one */
	ln = net_generic(&init_net, ledbat_net_id);
	for (i = 0; i < LEDBAT_SETTINGS; i++)
		KUNIT_EXPECT_EQ(test, (u32)ln[0].table[i].mode, 0644U);
}

static struct kunit_case ledbat_cases[] = {
	CASE("credit-at-the-bound", credit_at_the_bound),
	CASE("delay-bounds-a-climb", delay_bounds_a_climb),
	CASE("delay-bounds-what-follows-a-timeout",
	     delay_bounds_what_follows_a_timeout),
	CASE("two-packets-after-idleness", two_packets_after_idleness),
	CASE("loss-in-a-slowdown", loss_in_a_slowdown),
	CASE("a-stall-of-acks", a_stall_of_acks),
	CASE("clocks-that-agree-again", clocks_that_agree_again),
	CASE("receiver-that-slept", receiver_that_slept),
	CASE("history-of-round-trips", history_of_round_trips),
	CASE("longer-path-after-silence", longer_path_after_silence),
	CASE("credit-of-a-larger-window", credit_of_a_larger_window),
	CASE("buffer-ends-slow-start", buffer_ends_slow_start),
	CASE("a-slowdown-ends", a_slowdown_ends),
	CASE("acks-that-waited", acks_that_waited),
	CASE("slow-start-fills-a-long-path", slow_start_fills_a_long_path),
	CASE("slow-reader-at-the-start", slow_reader_at_the_start),
	CASE("slow-reader-that-delays", slow_reader_that_delays),
	CASE("slowdowns-of-a-limited-application",
	     slowdowns_of_a_limited_application),
	CASE("delay-of-one-way", delay_of_one_way),
	CASE("delay-of-round-trips", delay_of_round_trips),
	CASE("history-of-base-delay", history_of_base_delay),
	CASE("without-round-trips", without_round_trips),
	CASE("current-delay", current_delay),
	CASE("old-samples-do-not-count", old_samples_do_not_count),
	CASE("stamps-of-milliseconds", stamps_of_milliseconds),
	CASE("delays-beyond-numbers", delays_beyond_numbers),
	CASE("bounded-by-round-trips", bounded_by_round_trips),
	CASE("clocks-that-differ", clocks_that_differ),
	CASE("bounds-of-a-check", bounds_of_a_check),
	CASE("trust-in-clocks", trust_in_clocks),
	CASE("clocks-that-are-slow", clocks_that_are_slow),
	CASE("first-seconds", first_seconds),
	CASE("change-of-source", change_of_source),
	CASE("delays-of-one-way-begin", delays_of_one_way_begin),
	CASE("change-of-source-without-round-trips",
	     change_of_source_without_round_trips),
	CASE("stamps-that-cease", stamps_that_cease),
	CASE("chosen-while-connecting", chosen_while_connecting),
	CASE("begins-with-two", begins_with_two),
	CASE("begins-anew", begins_anew),
	CASE("change-over-in-recovery", change_over_in_recovery),
	CASE("settings-of-a-namespace", settings_of_a_namespace),
	CASE("paces", paces),
	CASE("info", info),
	CASE("info-of-another-control", info_of_another_control),
	CASE("used-window", used_window),
	CASE("losses", losses),
	CASE("thresholds", thresholds),
	CASE("credit", credit),
	CASE("gain", gain),
	CASE("linear", linear),
	CASE("an-unused-window", an_unused_window),
	CASE("rfc6817-cap", rfc6817_cap),
	CASE("rfc6817-slow-start", rfc6817_slow_start),
	CASE("without-slow-start", without_slow_start),
	CASE("timeout", timeout),
	CASE("idleness", idleness),
	CASE("tail-loss-probe", tail_loss_probe),
	CASE("pp-gain", pp_gain),
	CASE("pp-life", pp_life),
	CASE("pp-decrease", pp_decrease),
	CASE("pp-growth", pp_growth),
	CASE("pp-undone-losses", pp_undone_losses),
	CASE("pp-waits-for-recovery", pp_waits_for_recovery),
	CASE("pp-slowdown", pp_slowdown),
	CASE("pp-length-of-a-slowdown", pp_length_of_a_slowdown),
	CASE("buffers", buffers),
	CASE("settings", settings),
	CASE("instances", instances),
	CASE("climb-of-a-limited-application", climb_of_a_limited_application),
	CASE("rounds-before-the-first-slowdown",
	     rounds_before_the_first_slowdown),
	CASE("first-slow-start-near-its-bound",
	     first_slow_start_near_its_bound),
	CASE("any-uptime", any_uptime),
	CASE("round-trips-that-linux-forgets", round_trips_that_linux_forgets),
	CASE("milliseconds-that-waited", milliseconds_that_waited),
	CASE("checks-in-a-row", checks_in_a_row),
	CASE("stamps-that-come-again", stamps_that_come_again),
	CASE("silence-of-a-clock", silence_of_a_clock),
	CASE("packets-in-flight", packets_in_flight),
	CASE("settings-of-another-namespace", settings_of_another_namespace),
	CASE("change-over-at-any-time", change_over_at_any_time),
	{}
};

static struct kunit_suite ledbat_suite = {
	.name = "ledbat",
	.test_cases = ledbat_cases,
};

kunit_test_suites(&ledbat_suite);
