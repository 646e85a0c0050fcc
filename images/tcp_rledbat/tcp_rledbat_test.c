// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the module. Its source is part of this one, which therefore is
 * loaded instead of it: the sockets are pieces of memory in which the tests set
 * what the stack would set, by the rules of Linux's tcp_input.c. The first
 * sequence number of each is another.
 *
 * Copyright (C) 2026 The LEDBAT testbed developers
 */
#include "tcp_rledbat.c"

#include <kunit/test.h>

#define MSS	1448
#define RTT_US	50000
#define TARGET	60000
#define BUFFER	(1024 * 1024)
#define CASE(_name, _function) { .run_case = _function, .name = _name }

static int woken;

static void wake(struct sock *sk)
{
	woken++;
}

/* The next one is close to where sequence numbers wrap, or signs change. */
static u32 next_sequence(void)
{
	static const u32 first[] = {
		1, U32_MAX - 20 * MSS, S32_MAX - 20 * MSS, 0x8badf00d
	};
	static unsigned int next;

	return first[next++ % ARRAY_SIZE(first)];
}

static void stamp(struct sock *sk, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 unit_us = tp->tcp_usec_ts ? 1 : USEC_PER_MSEC;

	/* the sender's clock is another one */
	tp->rx_opt.rcv_tsval = div_u64(tp->tcp_mstamp, unit_us) + 0xdeadbeef;
	tp->rx_opt.rcv_tsecr = div_u64(tp->tcp_mstamp - rtt_us, unit_us);
}

/* One whose program waits, before the module has it. */
static struct sock *new_socket(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	default_data_ready = wake;
	sock_net_set(sk, &init_net);
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_data_ready = wake;
	sk->sk_rcvbuf = BUFFER;
	sk->sk_rcvlowat = 1 << 16;
	inet_csk(sk)->icsk_ca_ops = &rledbat_ops;
	/* another control was there before */
	memset(inet_csk_ca(sk), 0xa5, ICSK_CA_PRIV_SIZE);
	inet_csk(sk)->icsk_ack.rcv_mss = MSS;
	tp->scaling_ratio = TCP_DEFAULT_SCALING_RATIO;
	tp->rx_opt.tstamp_ok = 1;
	tp->tcp_usec_ts = 1;
	tp->tcp_mstamp = 10 * USEC_PER_SEC;
	tp->rcv_nxt = next_sequence();
	tp->rcv_wnd = BUFFER;
	tp->window_clamp = BUFFER;
	tp->rcv_ssthresh = BUFFER;
	/* of the handshake */
	stamp(sk, RTT_US);
	return sk;
}

static struct sock *download(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	rledbat_ops.init(sk);
	return sk;
}

static u32 packets(const struct sock *sk)
{
	return DIV_ROUND_CLOSEST(tcp_sk(sk)->window_clamp, MSS);
}

/* The expected segment: tcp_data_queue() */
static void segment(struct sock *sk, u32 rtt_us)
{
	stamp(sk, rtt_us);
	tcp_sk(sk)->rcv_nxt += MSS;
	sk->sk_data_ready(sk);
}

/* So many segments, evenly over a round trip, all with this queue. */
static void segments(struct sock *sk, u32 count, u32 queue_us)
{
	u32 left;

	for (left = count; left; left--) {
		tcp_sk(sk)->tcp_mstamp += (RTT_US + queue_us) / count;
		segment(sk, RTT_US + queue_us);
	}
}

/* A sender that fills the window. */
static void round_trip(struct sock *sk, u32 queue_us)
{
	segments(sk, packets(sk), queue_us);
}

/* A later one than the expected: tcp_data_queue_ofo() wakes nobody. */
static void later_segment(struct sock *sk)
{
	tcp_sk(sk)->tcp_mstamp += USEC_PER_MSEC;
	stamp(sk, RTT_US);
	rledbat_ops.in_ack_event(sk, 0);
	tcp_sk(sk)->rcv_ooopack++;
}

/*
 * What was missing, and so all that came later: tcp_ofo_queue(). It was sent
 * again, or `older_us` before the last one.
 */
static void missing_segment(struct sock *sk, u32 count, u32 older_us)
{
	u32 tsval = tcp_sk(sk)->rx_opt.rcv_tsval;

	tcp_sk(sk)->tcp_mstamp += USEC_PER_MSEC;
	stamp(sk, RTT_US);
	if (older_us)
		tcp_sk(sk)->rx_opt.rcv_tsval = tsval - older_us;
	rledbat_ops.in_ack_event(sk, 0);
	tcp_sk(sk)->rcv_nxt += count * MSS;
	sk->sk_data_ready(sk);
}

/* Grown until the queue ended slow start, and not yet slowed down. */
static struct sock *old_download(struct kunit *test)
{
	struct sock *sk = download(test);
	int i;

	for (i = 0; i < 30 && packets(sk) < 100; i++)
		round_trip(sk, 0);
	KUNIT_ASSERT_GE(test, packets(sk), 100U);
	return sk;
}

static void begins_with_ten_segments(struct kunit *test)
{
	struct sock *sk = download(test);

	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, 10U * MSS);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->rcv_ssthresh, 10U * MSS);
	KUNIT_EXPECT_EQ(test, sk->sk_rcvlowat, 1);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->rcv_wnd, (u32)BUFFER);
	woken = 0;
	segment(sk, RTT_US);
	KUNIT_EXPECT_EQ(test, woken, 1);

	/* what echoes the handshake tells nothing about a queue */
	sk = download(test);
	tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
	tcp_sk(sk)->rcv_nxt += MSS;
	sk->sk_data_ready(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, 10U * MSS);

	/* one that accepts has offered less than it believes */
	sk = new_socket(test);
	sk->sk_state = TCP_SYN_RECV;
	rledbat_ops.init(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->rcv_wnd, (u32)U16_MAX);
}

/* Neither the handshake's echo nor what came before is a sample or a loss. */
static void begins_with_what_comes_later(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct rledbat *ca = inet_csk_ca(sk);

	tcp_sk(sk)->rcv_ooopack = 5;
	rledbat_ops.init(sk);
	ca->used = 100 * MSS;
	tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
	tcp_sk(sk)->rcv_nxt += MSS;
	sk->sk_data_ready(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, 10U * MSS);
	KUNIT_EXPECT_EQ(test, rledbat_least(ca->rtt_us, NEWEST), U32_MAX);

	sk = new_socket(test);
	tcp_sk(sk)->rcv_ooopack = 5;
	rledbat_ops.init(sk);
	missing_segment(sk, 1, 0);
	KUNIT_EXPECT_GE(test, tcp_sk(sk)->window_clamp, 10U * MSS);
}

/* By 1 / ceil(2 * target / base) each round trip. */
static void grows_by_a_third(struct kunit *test)
{
	struct sock *sk = download(test);
	u32 before;
	int i;

	round_trip(sk, 0);
	KUNIT_EXPECT_LE(test, packets(sk), 14U);
	for (i = 0; i < 10; i++) {
		before = packets(sk);
		round_trip(sk, 0);
		KUNIT_EXPECT_LE(test, packets(sk), before + before / 3 + 1);
		KUNIT_EXPECT_GE(test, packets(sk), before + before / 3 - 1);
	}
}

/* Longer than twice the target: by as much as arrives. */
static void doubles_on_a_long_path(struct kunit *test)
{
	struct sock *sk = download(test);
	struct rledbat *ca = inet_csk_ca(sk);
	u32 before;

	round_trip(sk, 3 * TARGET);
	segment(sk, RTT_US + 3 * TARGET);
	ca->used = BUFFER;
	before = ca->window;
	segment(sk, RTT_US + 3 * TARGET);
	KUNIT_EXPECT_EQ(test, ca->window, before + MSS);
}

static void grows_only_as_far_as_it_is_used(struct kunit *test)
{
	struct sock *sk = download(test);
	int i;

	for (i = 0; i < 50; i++)
		segments(sk, 20, 0);
	KUNIT_EXPECT_GE(test, packets(sk), 35U);
	KUNIT_EXPECT_LE(test, packets(sk), 41U);
}

static void ends_slow_start_before_the_target(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = packets(sk);

	round_trip(sk, TARGET / 4 * 3);
	round_trip(sk, TARGET / 4 * 3);
	KUNIT_EXPECT_GE(test, packets(sk), before * 4 / 3);
	before = packets(sk);
	round_trip(sk, TARGET / 4 * 3 + 1000);
	round_trip(sk, TARGET / 4 * 3 + 1000);
	/* the newest four may be older for three segments */
	KUNIT_EXPECT_LE(test, packets(sk), before + 3);
}

static void decreases_in_proportion(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before;

	/* not at the target */
	segments(sk, 4, TARGET);
	before = tcp_sk(sk)->window_clamp;
	segments(sk, 4, TARGET);
	KUNIT_EXPECT_GT(test, tcp_sk(sk)->window_clamp, before);
	sk = old_download(test);
	before = packets(sk);
	/* by a tenth, once in what the window was */
	segments(sk, 4, TARGET + TARGET / 10);
	KUNIT_EXPECT_EQ(test, packets(sk), before - before / 10);
	segments(sk, before - 1, TARGET + TARGET / 10);
	KUNIT_EXPECT_EQ(test, packets(sk), before - before / 10);
	before = packets(sk);
	segments(sk, 2, TARGET + TARGET / 10);
	KUNIT_EXPECT_EQ(test, packets(sk), before - before / 10);
}

/* Under tcp_shrink_window the stack offers what the module says, at once. */
static void takes_nothing_back(struct kunit *test)
{
	struct sock *sk = old_download(test);
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 count = packets(sk);
	u32 edge, i;

	init_net.ipv4.sysctl_tcp_shrink_window = 1;
	/* tcp_grow_window() */
	tp->rcv_ssthresh = tp->window_clamp;
	tp->rcv_wnd = tp->window_clamp;
	tp->rcv_wup = tp->rcv_nxt;
	for (i = 0; i < count + 4; i++) {
		edge = tp->rcv_wup + tp->rcv_wnd;
		segments(sk, 1, 10 * TARGET);
		tp->rcv_wnd = min(tp->window_clamp, tp->rcv_ssthresh);
		tp->rcv_wup = tp->rcv_nxt;
		KUNIT_EXPECT_FALSE(test, before(tp->rcv_wup + tp->rcv_wnd,
						edge));
	}
	KUNIT_EXPECT_LE(test, packets(sk), count / 2 + 1);
	init_net.ipv4.sysctl_tcp_shrink_window = 0;
}

static void halves_at_most(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = packets(sk);
	int i;

	segments(sk, 4, 10 * TARGET);
	KUNIT_EXPECT_EQ(test, packets(sk), before / 2);
	for (i = 0; i < 20; i++)
		segments(sk, before, 10 * TARGET);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, 2U * MSS);
	/* back to the first window, however little of it is used */
	for (i = 0; i < 100; i++)
		segments(sk, 2, 0);
	KUNIT_EXPECT_GE(test, packets(sk), 10U);
	KUNIT_EXPECT_LE(test, packets(sk), 11U);
}

static void counts_milliseconds(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	u32 before;
	int i;

	tcp_sk(sk)->tcp_usec_ts = 0;
	stamp(sk, RTT_US);
	rledbat_ops.init(sk);
	for (i = 0; i < 8; i++)
		round_trip(sk, 0);
	before = packets(sk);
	KUNIT_EXPECT_GE(test, before, 50U);
	segments(sk, 8, TARGET + TARGET / 10);
	KUNIT_EXPECT_GE(test, packets(sk), before - before / 10 - 1);
	KUNIT_EXPECT_LE(test, packets(sk), before - before / 10 + 1);
}

/* Segments that left together wait for each other. */
static void measures_the_first_echo_only(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = packets(sk), echo;
	int i;

	segment(sk, RTT_US);
	echo = tcp_sk(sk)->rx_opt.rcv_tsecr;
	for (i = 0; i < 20; i++) {
		tcp_sk(sk)->tcp_mstamp += 10 * USEC_PER_MSEC;
		stamp(sk, RTT_US);
		tcp_sk(sk)->rx_opt.rcv_tsecr = echo;
		tcp_sk(sk)->rcv_nxt += MSS;
		sk->sk_data_ready(sk);
	}
	KUNIT_EXPECT_GE(test, packets(sk), before);
}

static void a_loss_halves_it_once(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = packets(sk);

	later_segment(sk);
	later_segment(sk);
	KUNIT_EXPECT_EQ(test, packets(sk), before);
	missing_segment(sk, 3, 0);
	KUNIT_EXPECT_EQ(test, packets(sk), before / 2);
	later_segment(sk);
	missing_segment(sk, 2, 0);
	KUNIT_EXPECT_LE(test, packets(sk), before / 2 + 1);
	KUNIT_EXPECT_GE(test, packets(sk), before / 2);
	segments(sk, before, 0);
	before = tcp_sk(sk)->window_clamp;
	later_segment(sk);
	missing_segment(sk, 2, 0);
	KUNIT_EXPECT_GE(test, tcp_sk(sk)->window_clamp, before / 2);
	KUNIT_EXPECT_LE(test, tcp_sk(sk)->window_clamp, before / 2 + MSS);
}

static void another_order_is_no_loss(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = packets(sk);

	later_segment(sk);
	missing_segment(sk, 2, 10);
	KUNIT_EXPECT_GE(test, packets(sk), before);
	/* two that were overtaken, the older one first */
	later_segment(sk);
	missing_segment(sk, 1, 10 * USEC_PER_MSEC);
	tcp_sk(sk)->rcv_ooopack++;
	tcp_sk(sk)->rx_opt.rcv_tsval += 10 * USEC_PER_MSEC;
	missing_segment(sk, 1, 5 * USEC_PER_MSEC);
	KUNIT_EXPECT_GE(test, packets(sk), before);
}

/* A queue just below the target, until another phase comes; how long, in ms. */
static u32 rest_of_phase(struct sock *sk)
{
	struct rledbat *ca = inet_csk_ca(sk);
	const enum phase phase = ca->phase;
	u32 began_ms = rledbat_ms(tcp_sk(sk));
	int i;

	for (i = 0; i < 100000 && ca->phase == phase; i++) {
		tcp_sk(sk)->tcp_mstamp += (RTT_US + TARGET - 1000) /
					  packets(sk);
		segment(sk, RTT_US + TARGET - 1000);
	}
	return rledbat_ms(tcp_sk(sk)) - began_ms;
}

/* What was offered before comes first. */
static void stay_slow(struct kunit *test, struct sock *sk)
{
	struct rledbat *ca = inet_csk_ca(sk);
	int i;

	segments(sk, ca->ssthresh / MSS + 1, TARGET - 1000);
	for (i = 0; i < 10 && ca->phase == SLOW; i++) {
		KUNIT_EXPECT_EQ(test, packets(sk), 2U);
		segments(sk, 2, 0);
	}
	KUNIT_EXPECT_EQ(test, i, 2);
	KUNIT_ASSERT_EQ(test, (int)ca->phase, (int)CLIMB);
}

/* Two segments for two round trips, after two, and nine times as long later. */
static void slows_down(struct kunit *test)
{
	struct sock *sk = old_download(test);
	struct rledbat *ca = inet_csk_ca(sk);
	u32 goal, took_ms, until_ms;
	int i;

	/* the queue ends slow start */
	rest_of_phase(sk);
	until_ms = rest_of_phase(sk);
	KUNIT_EXPECT_EQ(test, (int)ca->phase, (int)SLOW);
	KUNIT_EXPECT_GE(test, until_ms, 2U * (RTT_US + TARGET) / 1000 - 10);
	KUNIT_EXPECT_LE(test, until_ms, 2U * (RTT_US + TARGET) / 1000 + 10);
	KUNIT_EXPECT_EQ(test, packets(sk), 2U);
	goal = ca->ssthresh;
	took_ms = rledbat_ms(tcp_sk(sk));
	stay_slow(test, sk);
	for (i = 0; i < 30 && ca->phase == CLIMB; i++)
		round_trip(sk, 0);
	KUNIT_EXPECT_GE(test, tcp_sk(sk)->window_clamp, goal);
	KUNIT_EXPECT_LE(test, i, 20);
	took_ms = rledbat_ms(tcp_sk(sk)) - took_ms;
	until_ms = rest_of_phase(sk);
	KUNIT_EXPECT_GT(test, ca->ssthresh, goal + 2 * MSS);
	KUNIT_EXPECT_GE(test, until_ms, 8 * took_ms);
	KUNIT_EXPECT_LE(test, until_ms, 10 * took_ms);
	KUNIT_EXPECT_EQ(test, packets(sk), 2U);
}

/* Ends as soon as the window is what it was. */
static void climbs_back_no_further(struct kunit *test)
{
	struct sock *sk = old_download(test);
	struct rledbat *ca = inet_csk_ca(sk);

	ca->phase = CLIMB;
	ca->slowdown_ms = 100;
	ca->ssthresh = ca->window + 1;
	ca->used = ca->window;
	ca->window = rledbat_most(sk);
	ca->ssthresh = ca->window + 1;
	rledbat_slow_down(sk, true);
	/* it used half the window at most: no part of the slowdown */
	KUNIT_EXPECT_EQ(test, ca->slowdown_ms, 100U);
	KUNIT_EXPECT_EQ(test, (int)ca->phase, (int)CLIMB);
	ca->window = ca->ssthresh;
	rledbat_slow_down(sk, false);
	KUNIT_EXPECT_EQ(test, (int)ca->phase, (int)SCHEDULED);
}

/* Slowdowns without a length would follow each other at once. */
static void a_short_round_counts(struct kunit *test)
{
	struct sock *sk = old_download(test);
	struct rledbat *ca = inet_csk_ca(sk);

	segment(sk, 300);
	ca->round_stamp = rledbat_now(tcp_sk(sk)) - 300;
	KUNIT_EXPECT_EQ(test, rledbat_round_ms(ca, tcp_sk(sk)), 1U);
}

static void a_new_minute_keeps_the_newest(struct kunit *test)
{
	struct sock *sk = old_download(test);
	struct rledbat *ca = inet_csk_ca(sk);
	u32 kept[NEWEST];

	memset(ca->base_us, 0, sizeof(ca->base_us));
	memcpy(kept, ca->rtt_us, sizeof(kept));
	rledbat_turn(ca, tcp_sk(sk)->tcp_mstamp + 60 * USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, memcmp(kept, ca->rtt_us, sizeof(kept)), 0);
}

static void a_longer_path(struct kunit *test)
{
	struct sock *sk = old_download(test);
	int i;

	segments(sk, 4, 2 * TARGET);
	for (i = 0; i < 9 * 60; i++) {
		tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
		segment(sk, RTT_US + 2 * TARGET);
	}
	KUNIT_EXPECT_EQ(test, packets(sk), 2U);
	/* after ten minutes it is the path */
	for (i = 0; i < 3 * 60; i++) {
		tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
		segments(sk, 4, 2 * TARGET);
	}
	KUNIT_EXPECT_GE(test, packets(sk), 8U);
}

/* What was measured before a long silence is no queue below the new base. */
static void a_long_silence(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = packets(sk);

	tcp_sk(sk)->tcp_mstamp += 3600ULL * USEC_PER_SEC;
	segments(sk, 3, 2000);
	KUNIT_EXPECT_GE(test, packets(sk), before);

	/* nor does a round trip last longer than that silence */
	sk = old_download(test);
	tcp_sk(sk)->tcp_mstamp += 40ULL * 60 * USEC_PER_SEC;
	segment(sk, RTT_US);
	KUNIT_EXPECT_EQ(test, ((struct rledbat *)inet_csk_ca(sk))->round_start,
			tcp_sk(sk)->rcv_nxt);
}

/* Nor is a stamp of the sender an old one because of it. */
static void a_loss_after_a_long_silence(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before;
	int i;

	/* microseconds: signs change after 36 minutes, and again after 72 */
	tcp_sk(sk)->tcp_mstamp += 40ULL * 60 * USEC_PER_SEC;
	segments(sk, 8, 0);
	before = packets(sk);
	later_segment(sk);
	missing_segment(sk, 2, 0);
	KUNIT_EXPECT_EQ(test, packets(sk), before / 2);
	/* nor because of a long transfer without losses */
	for (i = 0; i < 40 * 60; i++) {
		tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
		segment(sk, RTT_US);
	}
	before = packets(sk);
	later_segment(sk);
	missing_segment(sk, 2, 0);
	KUNIT_EXPECT_LE(test, packets(sk), before / 2 + 1);
}

/* A sender that has nothing to send does not lengthen a slowdown. */
static void idleness_is_no_slowdown(struct kunit *test)
{
	u32 until_ms[2];
	int idle, i;

	for (idle = 0; idle < 2; idle++) {
		struct sock *sk = old_download(test);
		struct rledbat *ca = inet_csk_ca(sk);

		rest_of_phase(sk);
		rest_of_phase(sk);
		stay_slow(test, sk);
		tcp_sk(sk)->tcp_mstamp += 60 * idle * USEC_PER_SEC;
		segment(sk, RTT_US + 60 * idle * USEC_PER_SEC);
		for (i = 0; i < 100 && ca->phase == CLIMB; i++)
			round_trip(sk, 0);
		KUNIT_ASSERT_EQ(test, (int)ca->phase, (int)SCHEDULED);
		until_ms[idle] = rest_of_phase(sk);
	}
	/* of the round with the pause, two round trips count */
	KUNIT_EXPECT_LE(test, until_ms[1], until_ms[0] + 600);
}

/*
 * An answer of one segment for which the sender has to think looks as if it
 * waited in a queue; one answer alone does not count.
 */
static void thinking_looks_like_a_queue(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = packets(sk);
	int i;

	for (i = 0; i < 3; i++) {
		tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
		segment(sk, USEC_PER_SEC);
	}
	KUNIT_EXPECT_GE(test, packets(sk), before);
	tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
	segment(sk, USEC_PER_SEC);
	KUNIT_EXPECT_LE(test, packets(sk), before / 2 + 1);
}

static void without_stamps_nothing_changes(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	tcp_sk(sk)->rx_opt.tstamp_ok = 0;
	rledbat_ops.init(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, (u32)BUFFER);
	KUNIT_EXPECT_EQ(test, sk->sk_rcvlowat, 1 << 16);
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == wake);
	tcp_sk(sk)->window_clamp = 12345;
	rledbat_ops.release(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, 12345U);
}

static void other_wake(struct sock *sk)
{
}

static void another_layer_came_first(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	sk->sk_data_ready = other_wake;
	rledbat_ops.init(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, (u32)BUFFER);
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == other_wake);
	rledbat_ops.release(sk);
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == other_wake);
}

static void another_control_follows(struct kunit *test)
{
	struct sock *sk = old_download(test);

	rledbat_ops.release(sk);
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == wake);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp,
			(u32)tcp_full_space(sk));
}

/* It may put the module's function back, so the module has to stay. */
static void another_layer_came_later(struct kunit *test)
{
	struct sock *sk = old_download(test);
	static const struct tcp_congestion_ops another;
	void (*ours)(struct sock *sk) = sk->sk_data_ready;
	int users = module_refcount(THIS_MODULE);

	sk->sk_data_ready = other_wake;
	rledbat_ops.release(sk);
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == other_wake);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), users + 1);
	module_put(THIS_MODULE);
	/* it puts it back while another control has the socket */
	sk->sk_data_ready = ours;
	inet_csk(sk)->icsk_ca_ops = &another;
	tcp_sk(sk)->window_clamp = BUFFER;
	woken = 0;
	segment(sk, RTT_US);
	KUNIT_EXPECT_EQ(test, woken, 1);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, (u32)BUFFER);
	/* and it calls that function while this control is there again */
	sk->sk_data_ready = other_wake;
	inet_csk(sk)->icsk_ca_ops = &rledbat_ops;
	rledbat_ops.init(sk);
	stamp(sk, RTT_US);
	ours(sk);
	KUNIT_EXPECT_EQ(test, woken, 2);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, (u32)BUFFER);
}

/* It keeps the module from seeing what arrives, so the window stays. */
static void another_layer_takes_over(struct kunit *test)
{
	struct sock *sk = old_download(test);
	u32 before = tcp_sk(sk)->window_clamp;
	int i;

	sk->sk_data_ready = other_wake;
	for (i = 0; i < 20; i++)
		round_trip(sk, i < 10 ? 200000 : 0);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp, before);
	rledbat_ops.release(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->window_clamp,
			(u32)tcp_full_space(sk));
	module_put(THIS_MODULE);
}

static struct kunit_case rledbat_cases[] = {
	CASE("download-begins-with-ten-segments", begins_with_ten_segments),
	CASE("download-begins-with-what-comes-later",
	     begins_with_what_comes_later),
	CASE("download-grows-by-a-third", grows_by_a_third),
	CASE("download-doubles-on-a-long-path", doubles_on_a_long_path),
	CASE("download-grows-only-as-far-as-it-is-used",
	     grows_only_as_far_as_it_is_used),
	CASE("download-ends-slow-start-before-the-target",
	     ends_slow_start_before_the_target),
	CASE("download-decreases-in-proportion", decreases_in_proportion),
	CASE("download-takes-nothing-back", takes_nothing_back),
	CASE("download-halves-at-most", halves_at_most),
	CASE("download-counts-milliseconds", counts_milliseconds),
	CASE("download-measures-the-first-echo-only",
	     measures_the_first_echo_only),
	CASE("download-a-loss-halves-it-once", a_loss_halves_it_once),
	CASE("download-another-order-is-no-loss", another_order_is_no_loss),
	CASE("download-slows-down", slows_down),
	CASE("download-climbs-back-no-further", climbs_back_no_further),
	CASE("download-a-short-round-counts", a_short_round_counts),
	CASE("download-a-new-minute-keeps-the-newest",
	     a_new_minute_keeps_the_newest),
	CASE("download-a-longer-path", a_longer_path),
	CASE("download-a-long-silence", a_long_silence),
	CASE("download-a-loss-after-a-long-silence",
	     a_loss_after_a_long_silence),
	CASE("download-idleness-is-no-slowdown", idleness_is_no_slowdown),
	CASE("download-thinking-looks-like-a-queue",
	     thinking_looks_like_a_queue),
	CASE("download-without-stamps-nothing-changes",
	     without_stamps_nothing_changes),
	CASE("download-another-layer-came-first", another_layer_came_first),
	CASE("download-another-control-follows", another_control_follows),
	CASE("download-another-layer-came-later", another_layer_came_later),
	CASE("download-another-layer-takes-over", another_layer_takes_over),
	{}
};

/* As the module's start found it. */
static void (*found_data_ready)(struct sock *sk);

static int rledbat_suite_init(struct kunit_suite *suite)
{
	found_data_ready = default_data_ready;
	return 0;
}

static void rledbat_suite_exit(struct kunit_suite *suite)
{
	default_data_ready = found_data_ready;
}

static struct kunit_suite rledbat_suite = {
	.name = "rledbat",
	.suite_init = rledbat_suite_init,
	.suite_exit = rledbat_suite_exit,
	.test_cases = rledbat_cases,
};

kunit_test_suites(&rledbat_suite);
