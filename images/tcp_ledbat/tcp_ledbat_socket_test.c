// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what the module does with a socket. The module's sources are
 * part of this one, which therefore is loaded instead of it: the sockets are
 * pieces of memory in which the tests set what the stack would set.
 */
#include <kunit/test.h>

#include "main.c"
#include "variants.c"
#include "ledbatpp.c"
#undef pr_fmt
#include "settings.c"

#define MSS	1448
#define BASE_US	25000U		/* one-way, with the clocks' offset */
#define RTT_US	50000
#define CASE(_name, _function) { .run_case = _function, .name = _name }

static struct sock *new_socket(struct kunit *test, enum ledbat_name name)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	sock_net_set(sk, &init_net);
	inet_csk(sk)->icsk_ca_ops = &ledbat_variants[name].ops;
	tp->rx_opt.tstamp_ok = 1;
	tp->rx_opt.saw_tstamp = 1;
	tp->rx_opt.rcv_tsecr = 1;
#ifdef LEDBAT_HAVE_TCP_USEC_TS
	tp->tcp_usec_ts = 1;
#endif
	tp->tcp_mstamp = 10 * USEC_PER_SEC;
	tp->srtt_us = RTT_US << 3;
	tp->snd_una = 1;
	tp->snd_nxt = 1;
	tp->snd_cwnd_clamp = ~0;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd = 10;
	return sk;
}

/* One that has sent for a while. */
static struct sock *old_socket(struct kunit *test, enum ledbat_name name,
			       u32 cwnd)
{
	struct sock *sk = new_socket(test, name);

	tcp_sk(sk)->data_segs_out = 1000;
	tcp_sk(sk)->snd_cwnd = cwnd;
	ledbat_variants[name].ops.init(sk);
	return sk;
}

static void release(struct sock *sk)
{
	inet_csk(sk)->icsk_ca_ops->release(sk);
}

static u32 cwnd_of(const struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static struct ledbat *ca_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* The stack's part of an ACK of `acked` packets: a delay, then the window. */
static void sample(struct sock *sk, u32 acked, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ack_sample taken = {
		.pkts_acked	= acked,
		.rtt_us		= RTT_US + queuing_us,
	};

	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + BASE_US + queuing_us;
	inet_csk(sk)->icsk_ca_ops->pkts_acked(sk, &taken);
}

static void ack(struct sock *sk, u32 acked, u32 queuing_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, acked, queuing_us);
	tp->snd_una += acked * MSS;
	/* a full window again */
	tp->snd_nxt = tp->snd_una + cwnd_of(sk) * MSS;
	tp->packets_out = cwnd_of(sk);
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, tp->snd_una, acked);
}

/* A round trip in which each ACK sees this delay. */
static void round_trip(struct sock *sk, u32 queuing_us)
{
	u32 left = cwnd_of(sk);

	tcp_sk(sk)->tcp_mstamp += RTT_US + queuing_us;
	while (left--)
		ack(sk, 1, queuing_us);
}

/* main.c */

static void begins_with_two(struct kunit *test)
{
	static const struct {
		enum ledbat_name name;
		u32 cwnd;
	} first[] = {
		{ LEDBAT_RFC6817, 2 }, { LEDBAT_PLUS_PLUS, 2 },
		{ LEDBAT_DRAFT00, 10 }, { LEDBAT_FAIR, 10 },
	};
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		sk = new_socket(test, first[i].name);
		ledbat_variants[first[i].name].ops.init(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), first[i].cwnd);
		release(sk);
	}
	/* where the stack begins with less, so does it */
	sk = new_socket(test, LEDBAT_RFC6817);
	tcp_sk(sk)->snd_cwnd = 1;
	ledbat_variants[LEDBAT_RFC6817].ops.init(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1U);
	release(sk);
	/* TCP Fast Open sends data with its SYN */
	sk = new_socket(test, LEDBAT_RFC6817);
	tcp_sk(sk)->data_segs_out = 1;
	tcp_sk(sk)->syn_data = 1;
	ledbat_variants[LEDBAT_RFC6817].ops.init(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	release(sk);
}

static void change_over_keeps_the_window(struct kunit *test)
{
	struct sock *sk;
	int i;

	for (i = 0; i < LEDBAT_VARIANTS; i++) {
		sk = old_socket(test, i, 40);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
		release(sk);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
		KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh,
				(u32)TCP_INFINITE_SSTHRESH);
	}
}

static void change_over_in_recovery(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->data_segs_out = 1000;
	tp->snd_cwnd = 5;
	tp->snd_ssthresh = 50;
	ledbat_variants[LEDBAT_RFC6817].ops.init(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 50U);
	/* nor does an ACK then */
	ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50U);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	ack(sk, 1, 0);
	KUNIT_EXPECT_LT(test, tp->snd_ssthresh, 50U);
	release(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50U);
}

static void delay_of_one_way(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
	const struct ledbat *ca = ca_of(sk);

	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca), 0U);
	sample(sk, 1, 5000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca), 0U);
	sample(sk, 1, 0);
	sample(sk, 1, 12000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca), 12000U);
	/* what acknowledges nothing, or echoes no stamp, says nothing */
	sample(sk, 0, 30000);
	tcp_sk(sk)->rx_opt.rcv_tsecr = 0;
	sample(sk, 1, 30000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca), 12000U);
	release(sk);
}

#ifdef LEDBAT_HAVE_TCP_USEC_TS
static void stamps_of_milliseconds(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_LD);
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ack_sample taken = { .pkts_acked = 1, .rtt_us = RTT_US };

	tp->tcp_usec_ts = 0;
	tp->data_segs_out = 1000;
	ledbat_variants[LEDBAT_LD].ops.init(sk);
	tp->rx_opt.rcv_tsval = 26;
	ledbat_pkts_acked(sk, &taken);
	tp->rx_opt.rcv_tsval = 35;
	ledbat_pkts_acked(sk, &taken);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 9000U);
	release(sk);
}
#endif

/*
 * The source of delays after some seconds in which the other host stamps in
 * ticks of this length.
 */
static int source_after(struct kunit *test, u32 tick_us, int seconds)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ack_sample taken = { .pkts_acked = 1, .rtt_us = RTT_US };
	const u64 begin = tp->tcp_mstamp;
	int i, source;

	for (i = 0; i < seconds * 100; i++) {
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsval =
			7 + div_u64(tp->tcp_mstamp - begin, tick_us);
		tp->rx_opt.rcv_tsecr = tp->tcp_mstamp;
		inet_csk(sk)->icsk_ca_ops->pkts_acked(sk, &taken);
	}
	source = ca_of(sk)->delay->source;
	release(sk);
	return source;
}

/* A clock that advances a thousand times as fast as its unit says. */
static void clocks_too_fast(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

#ifdef LEDBAT_HAVE_TCP_USEC_TS
	tp->tcp_usec_ts = 0;
#endif
	for (i = 0; i < 300; i++) {
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsval = tp->tcp_mstamp;
		ledbat_check_clock(tp, ca_of(sk)->delay);
		ca_of(sk)->delay->one_way.used = 1;
	}
	KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
			(int)LEDBAT_ROUND_TRIP);
	release(sk);
}

/* After an hour and a half stamps in microseconds have wrapped. */
static void clocks_after_a_silence(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	tp->tcp_mstamp += 5400ULL * USEC_PER_SEC;
	tp->rx_opt.rcv_tsecr += (u32)(5400ULL * USEC_PER_SEC);
	sample(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
			(int)LEDBAT_ONE_WAY);
	release(sk);
}

/* Samples of one way and of round trips are not compared. */
static void change_of_source(struct kunit *test)
{
	static const enum ledbat_name names[] = { LEDBAT_LD, LEDBAT_AINA };
	const struct ack_sample twice = { .pkts_acked = 1, .rtt_us = -1 };
	struct tcp_sock *tp;
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 10);
		tp = tcp_sk(sk);
		ca_of(sk)->delay->filter = 4;
		sample(sk, 1, 0);
		sample(sk, 1, 7000);
		/* this host's clock advances, the other's does not */
		tp->tcp_mstamp += 3 * USEC_PER_SEC;
		/* an ACK of what was sent twice measures no round trip */
		inet_csk(sk)->icsk_ca_ops->pkts_acked(sk, &twice);
		KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
				(int)LEDBAT_ROUND_TRIP);
		KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)),
				7000U);
		sample(sk, 1, 40000);
		KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)),
				40000U);
		release(sk);
	}
}

/* Something on the path begins to remove the stamps. */
static void stamps_that_cease(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);

	sample(sk, 1, 0);
	sample(sk, 1, 0);
	tcp_sk(sk)->rx_opt.saw_tstamp = 0;
	/* an ACK that acknowledges nothing */
	sample(sk, 0, 40000);
	KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
			(int)LEDBAT_ONE_WAY);
	sample(sk, 1, 40000);
	KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
			(int)LEDBAT_ROUND_TRIP);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 40000U);
	release(sk);
}

/* Whoever chooses between SYN and SYN-ACK does so before stamps are agreed. */
static void chosen_while_connecting(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);

	tcp_sk(sk)->rx_opt.tstamp_ok = 0;
	ledbat_variants[LEDBAT_RFC6817].ops.init(sk);
	tcp_sk(sk)->rx_opt.tstamp_ok = 1;
	sample(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
			(int)LEDBAT_ONE_WAY);
	release(sk);
}

static void clocks_that_differ(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, source_after(test, 1, 5), (int)LEDBAT_ONE_WAY);
	KUNIT_EXPECT_EQ(test, source_after(test, 1000, 1), (int)LEDBAT_ONE_WAY);
	KUNIT_EXPECT_EQ(test, source_after(test, 1000, 3),
			(int)LEDBAT_ROUND_TRIP);
	KUNIT_EXPECT_EQ(test, source_after(test, 4000, 3),
			(int)LEDBAT_ROUND_TRIP);
	KUNIT_EXPECT_EQ(test, source_after(test, 10000, 3),
			(int)LEDBAT_ROUND_TRIP);
}

static void no_stamps(struct kunit *test)
{
	const struct ack_sample none = { .pkts_acked = 1, .rtt_us = -1 };
	union tcp_cc_info answer = {};
	const struct ledbat_info *words = (const void *)&answer;
	int attr = 0;
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);

	tcp_sk(sk)->rx_opt.tstamp_ok = 0;
	tcp_sk(sk)->rx_opt.saw_tstamp = 0;
	tcp_sk(sk)->data_segs_out = 1000;
	ledbat_variants[LEDBAT_RFC6817].ops.init(sk);
	sample(sk, 1, 0);
	sample(sk, 1, 40000);
	tcp_sk(sk)->tcp_mstamp += 200 * USEC_PER_MSEC;
	sample(sk, 1, 40000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 40000U);
	KUNIT_EXPECT_EQ(test, ledbat_get_info(sk, ~0, &attr, &answer),
			sizeof(*words));
	KUNIT_EXPECT_EQ(test, words->target_us_and_source,
			100000U | LEDBAT_ROUND_TRIP << 24);
	/* an ACK of what was sent twice measures no round trip */
	ledbat_pkts_acked(sk, &none);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 40000U);
	release(sk);
}

static void paces(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_DRAFT00, 10);

	KUNIT_EXPECT_EQ(test, (u32)sk->sk_pacing_status,
			(u32)SK_PACING_NEEDED);
	release(sk);
	sk = old_socket(test, LEDBAT_LD, 10);
	KUNIT_EXPECT_EQ(test, (u32)sk->sk_pacing_status, (u32)SK_PACING_NONE);
	release(sk);
}

static void bounded_by_round_trips(struct kunit *test)
{
	static const enum ledbat_name names[] = { LEDBAT_RFC6817, LEDBAT_LD };
	static const u32 queuing_us[] = { 10000, 40000 };
	struct ack_sample taken = { .pkts_acked = 1, .rtt_us = RTT_US };
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 10);
		sample(sk, 1, 0);
		tcp_sk(sk)->tcp_mstamp += 200 * USEC_PER_MSEC;
		taken.rtt_us = RTT_US + 10000;
		tcp_sk(sk)->rx_opt.rcv_tsval =
			tcp_sk(sk)->rx_opt.rcv_tsecr + BASE_US + 40000;
		inet_csk(sk)->icsk_ca_ops->pkts_acked(sk, &taken);
		KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)),
				queuing_us[i]);
		release(sk);
	}
}

static void old_samples_do_not_count(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);

	sample(sk, 1, 0);
	sample(sk, 1, 1000);
	tcp_sk(sk)->tcp_mstamp += RTT_US / 2;
	sample(sk, 1, 20000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 0U);
	tcp_sk(sk)->tcp_mstamp += RTT_US * 2 / 3;
	sample(sk, 1, 20000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 20000U);
	release(sk);
}

static void used_window(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
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
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 40);
	struct tcp_sock *tp = tcp_sk(sk);

	KUNIT_EXPECT_EQ(test, ledbat_ssthresh(sk), 20U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 20U);
	tp->snd_cwnd = 3;
	KUNIT_EXPECT_EQ(test, ledbat_ssthresh(sk), 2U);
	tp->snd_cwnd = 1;
	KUNIT_EXPECT_EQ(test, ledbat_ssthresh(sk), 1U);
	/* what Reno had before is known until the next loss */
	ca_of(sk)->reno_ssthresh = 60;
	ledbat_ssthresh(sk);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->undo_ssthresh, 60U);
	/* a loss that was none */
	ca_of(sk)->restarts = 1;
	tp->snd_cwnd = 20;
	tp->prior_cwnd = 40;
	tp->snd_ssthresh = 20;
	ca_of(sk)->undo_ssthresh = 77;
	KUNIT_EXPECT_EQ(test, ledbat_undo_cwnd(sk), 40U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 77U);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->restarts, 0U);
	release(sk);
}

static void thresholds(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 40);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);

	/* the stack may have raised it since */
	ca->reno_ssthresh = 10;
	tp->snd_ssthresh = 80;
	ledbat_set_threshold(sk, 5);
	KUNIT_EXPECT_EQ(test, ca->reno_ssthresh, 80U);
	/* a decrease never raises it, */
	ledbat_add_credit(sk, -1);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 5U);
	/* and the mode that begins again does so only at the floor */
	ca->slow_start = LEDBAT_SLOW_START_AT_FLOOR;
	ledbat_add_credit(sk, -1);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 5U);
	release(sk);
}

static void window_limits(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);

	tp->snd_cwnd_clamp = 12;
	ledbat_add_credit(sk, 100LL * ca->target_us);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 12U);
	ledbat_set_window(sk, 50ULL * ca->target_us);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 12U);
	/*
	 * a fraction of a larger window is less than a packet of a smaller one
	 */
	tp->snd_cwnd = 4;
	ca->credit_us = 9LL * ca->target_us;
	ledbat_add_credit(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 4U);
	ledbat_add_credit(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 5U);
	ledbat_add_credit(sk, -100LL * ca->target_us);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1U);
	release(sk);
}

static void info(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	union tcp_cc_info answer = {};
	const struct ledbat_info *words = (const void *)&answer;
	int attr = 0;

	sample(sk, 1, 0);
	tcp_sk(sk)->tcp_mstamp += 200 * USEC_PER_MSEC;
	sample(sk, 1, 7000);
	KUNIT_EXPECT_EQ(test, ledbat_get_info(sk, 0, &attr, &answer), 0UL);
	KUNIT_EXPECT_EQ(test,
			ledbat_get_info(sk, 1 << (INET_DIAG_VEGASINFO - 1),
					&attr, &answer),
			sizeof(*words));
	KUNIT_EXPECT_EQ(test, attr, (int)INET_DIAG_VEGASINFO);
	KUNIT_EXPECT_EQ(test, words->zero, 0U);
	KUNIT_EXPECT_EQ(test, words->base_delay_us, BASE_US);
	KUNIT_EXPECT_EQ(test, words->current_delay_us, BASE_US + 7000);
	KUNIT_EXPECT_EQ(test, words->queuing_delay_us, 7000U);
	KUNIT_EXPECT_EQ(test, words->target_us_and_source, 100000U);
	release(sk);

	/* it takes samples in its own way */
	sk = old_socket(test, LEDBAT_AINA, 10);
	sample(sk, 1, 0);
	ledbat_get_info(sk, ~0, &attr, &answer);
	KUNIT_EXPECT_EQ(test, words->current_delay_us, BASE_US);
	release(sk);
}

/* The socket is not locked, and another control has come meanwhile. */
static void info_of_another_control(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_RFC6817, 10);
	union tcp_cc_info answer;
	int attr;

	release(sk);
	memset(inet_csk_ca(sk), 0x5a, ICSK_CA_PRIV_SIZE);
	KUNIT_EXPECT_EQ(test, ledbat_get_info(sk, ~0, &attr, &answer),
			sizeof(struct ledbat_info));
}

/* variants.c */

static void linear(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 20);
	int i;

	sample(sk, 1, 0);
	for (i = 0; i < 4; i++)
		round_trip(sk, 0);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 23U);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 24U);
	for (i = 0; i < 4; i++)
		round_trip(sk, 50000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 19U);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 20U);
	for (i = 0; i < 100; i++)
		round_trip(sk, 100000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1U);
	release(sk);
}

static void an_unused_window_falls(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 40);

	sample(sk, 1, 0);
	sample(sk, 1, 50000);
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 2);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 39U);
	/* for both packets */
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, (39 - 2) * 25000LL);
	release(sk);
}

/* ledbat_icccn counts only while the window limits it. */
static void counting(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_ICCCN, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	sample(sk, 1, 0);
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 0LL);
	tp->is_cwnd_limited = 1;
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 25000LL);
	release(sk);
}

static void slow_start_needs_a_full_window(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);

	ca_of(sk)->slow_start = LEDBAT_SLOW_START_ONCE;
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10U);
	tcp_sk(sk)->is_cwnd_limited = 1;
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 11U);
	release(sk);
}

static void an_unused_window_does_not_grow(struct kunit *test)
{
	static const enum ledbat_name names[] = {
		LEDBAT_RFC6817, LEDBAT_LD, LEDBAT_LDMIN, LEDBAT_MD,
		LEDBAT_AINA, LEDBAT_PLUS_PLUS, LEDBAT_FAIR,
	};
	struct sock *sk;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 40);
		for (j = 0; j < 400; j++) {
			sample(sk, 1, 0);
			tcp_sk(sk)->packets_out = 10;
			tcp_sk(sk)->snd_una += MSS;
			tcp_sk(sk)->snd_ssthresh = 40;
			inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 1);
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
	ledbat_rfc6817_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 11U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->credit_us, 0LL);
	/* the stack says that the window is what limits */
	tp->snd_cwnd = 40;
	tp->is_cwnd_limited = 1;
	ledbat_rfc6817_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	tp->is_cwnd_limited = 0;
	tp->packets_out = 0;
	ledbat_rfc6817_cong_avoid(sk, 0, 0);
	ledbat_rfc6817_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	release(sk);
}

static void rfc6817_slow_start(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_RFC6817);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->data_segs_out = 1000;
	tp->is_cwnd_limited = 1;
	ledbat_variants[LEDBAT_RFC6817].ops.init(sk);
	ca_of(sk)->slow_start = LEDBAT_SLOW_START_ONCE;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20U);
	round_trip(sk, 74000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40U);
	tp->tcp_mstamp += 200 * USEC_PER_MSEC;
	/* beyond 3/4 of TARGET: what one round trip ago was the window */
	ack(sk, 1, 76000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20U);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tp));
	/* which is over then */
	tp->snd_nxt = tp->snd_una + 40 * MSS;
	ca_of(sk)->round_end = tp->snd_nxt;
	sample(sk, 1, 76000);
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20U);
	/* a loss in the same round trip does not halve again */
	KUNIT_EXPECT_EQ(test, inet_csk(sk)->icsk_ca_ops->ssthresh(sk), 20U);
	tp->snd_una = tp->snd_nxt + 1;
	KUNIT_EXPECT_EQ(test, inet_csk(sk)->icsk_ca_ops->ssthresh(sk), 10U);
	/* nor does that round trip come back when numbers wrap */
	inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, 0, 1);
	ca_of(sk)->round_end = tp->snd_una + 1;
	KUNIT_EXPECT_EQ(test, inet_csk(sk)->icsk_ca_ops->ssthresh(sk), 10U);
	release(sk);
}

static void without_slow_start(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);

	tcp_sk(sk)->snd_ssthresh = 100;
	ack(sk, 1, 0);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 10U);
	release(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh,
			(u32)TCP_INFINITE_SSTHRESH);
}

static void slow_start_after_a_loss(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_DRAFT00, 40);
	struct tcp_sock *tp = tcp_sk(sk);

	ca_of(sk)->slow_start = LEDBAT_SLOW_START_AFTER_LOSS;
	tp->snd_ssthresh = ledbat_ssthresh(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 1U);
	/* opens while the loss is repaired, up to half of what was */
	sample(sk, 1, 0);
	sample(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 2U);
	ledbat_cwnd_event(sk, CA_EVENT_CWND_RESTART);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 2U);
	ledbat_cwnd_event(sk, CA_EVENT_COMPLETE_CWR);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 20U);
	/* after a timeout at once */
	tp->snd_ssthresh = ledbat_ssthresh(sk);
	ledbat_cwnd_event(sk, CA_EVENT_LOSS);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 20U);
	/* only a loss in slow start */
	ca_of(sk)->slow_start = LEDBAT_SLOW_START_AFTER_OVERSHOOT;
	tp->snd_cwnd = 40;
	KUNIT_EXPECT_EQ(test, ledbat_ssthresh(sk), 20U);
	tp->snd_ssthresh = 50;
	KUNIT_EXPECT_EQ(test, ledbat_ssthresh(sk), 1U);
	release(sk);
}

static void delay_ends_slow_start(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 20);
	struct tcp_sock *tp = tcp_sk(sk);

	ca_of(sk)->slow_start = LEDBAT_SLOW_START_ONCE;
	tp->snd_ssthresh = 20;
	sample(sk, 1, 0);
	round_trip(sk, 80000);
	KUNIT_EXPECT_LT(test, cwnd_of(sk), 20U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, cwnd_of(sk));
	/* but for the mode that begins again wherever the window is smallest */
	ca_of(sk)->slow_start = LEDBAT_SLOW_START_AT_FLOOR;
	tp->snd_cwnd = 1;
	ledbat_add_credit(sk, -1);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, ca_of(sk)->reno_ssthresh);
	release(sk);
}

static void ldmin(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LDMIN, 20);

	sample(sk, 1, 0);
	/*
	 * a millisecond above TARGET: a packet less, and a little; then three
	 */
	round_trip(sk, 26000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 18U);
	round_trip(sk, 28000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 15U);
	release(sk);
}

static void md_once_per_round_trip(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_MD, 100);

	sample(sk, 1, 0);
	ack(sk, 1, 30000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 60U);
	/* a window of 100 was on its way */
	tcp_sk(sk)->snd_nxt = tcp_sk(sk)->snd_una + 99 * MSS;
	ca_of(sk)->round_end = tcp_sk(sk)->snd_nxt;
	tcp_sk(sk)->snd_una += 99 * MSS - 1;
	sample(sk, 1, 30000);
	ledbat_md_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 60U);
	tcp_sk(sk)->snd_una += 2;
	ledbat_md_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 36U);
	/* a round trip without a queue is none to wait for */
	tcp_sk(sk)->snd_una = ca_of(sk)->round_end + 1;
	ack(sk, 1, 0);
	ack(sk, 1, 0);
	ack(sk, 1, 30000);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 22U);
	release(sk);
}

static void mdvar(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_MDVAR, 100);

	sample(sk, 1, 0);
	/* (1 - 25 / 80) * 100 - 3 */
	ack(sk, 1, 30000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 65U);
	release(sk);
}

static void aina_half_a_window(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_AINA, 8);
	int i;

	sample(sk, 1, 0);
	for (i = 0; i < 3; i++)
		sample(sk, 1, 9000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 0U);
	sample(sk, 1, 9000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 9000U);
	release(sk);
}

static void fair(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_FAIR, 20);

	sample(sk, 1, 0);
	/* grows by a packet whatever the delay, up to TARGET */
	round_trip(sk, 24000);
	round_trip(sk, 24000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 21U);
	round_trip(sk, 37500);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 10U);
	release(sk);
}

/* A receiver may forge any stamp, and acknowledge a large window at once. */
static void forged_delay(struct kunit *test)
{
	const u32 cwnd = 100000;
	struct sock *sk = old_socket(test, LEDBAT_FAIR, cwnd);

	sample(sk, 1, 0);
	tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
	ack(sk, cwnd, 1000 * USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1U);
	release(sk);
}

/* ledbatpp.c */

static void pp_life(struct kunit *test)
{
	struct sock *sk = new_socket(test, LEDBAT_PLUS_PLUS);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca;
	u64 slowed, regained;
	u32 before, window;

	ledbat_variants[LEDBAT_PLUS_PLUS].ops.init(sk);
	ca = ca_of(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	KUNIT_EXPECT_EQ(test, (int)ca->delay->source, (int)LEDBAT_ROUND_TRIP);
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
	round_trip(sk, 46000);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase,
			(u32)LEDBATPP_BEFORE_FIRST_SLOWDOWN);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), window + 1);
	/* two round trips later two packets, for two round trips */
	before = 0;
	while (ca->phase == LEDBATPP_BEFORE_FIRST_SLOWDOWN && before++ < 5)
		round_trip(sk, 46000);
	KUNIT_EXPECT_EQ(test, before, 2U);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	slowed = tp->tcp_mstamp;
	window = tp->snd_ssthresh;
	KUNIT_EXPECT_GE(test, window, 40U);
	before = 0;
	while (ca->phase == LEDBATPP_SLOW && before++ < 9)
		round_trip(sk, 0);
	KUNIT_EXPECT_GE(test, before, 2U);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	/* and back, by slow start */
	while (ca->phase == LEDBATPP_CLIMBING)
		round_trip(sk, 0);
	regained = tp->tcp_mstamp;
	KUNIT_EXPECT_GE(test, cwnd_of(sk), window);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_RUNNING);
	/* the next one after nine times as long */
	while (ca->phase == LEDBATPP_RUNNING)
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
	ca_of(sk)->next_slow_us = U64_MAX;
	sample(sk, 1, 0);
	tcp_sk(sk)->tcp_mstamp += USEC_PER_SEC;
	return sk;
}

static void pp_decrease(struct kunit *test)
{
	struct sock *sk = pp_running(test, 100);

	/* at 1.5 times TARGET half a window less, once */
	round_trip(sk, 90000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 50U);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 51U);
	KUNIT_EXPECT_FALSE(test, tcp_in_slow_start(tcp_sk(sk)));
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, cwnd_of(sk));
	/* never more than half */
	round_trip(sk, 600000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 25U);
	release(sk);
}

static void pp_growth(struct kunit *test)
{
	struct sock *sk = pp_running(test, 30);
	int i;

	for (i = 0; i < 6; i++)
		round_trip(sk, 50000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 32U);
	release(sk);
}

static void pp_losses(struct kunit *test)
{
	struct sock *sk = pp_running(test, 40);
	struct tcp_sock *tp = tcp_sk(sk);

	KUNIT_EXPECT_EQ(test, ledbatpp_ssthresh(sk), 20U);
	/* in a slowdown the window to climb back to is halved */
	ca_of(sk)->phase = LEDBATPP_SLOW;
	tp->snd_cwnd = 2;
	tp->snd_ssthresh = 40;
	KUNIT_EXPECT_EQ(test, ledbatpp_ssthresh(sk), 20U);
	tp->snd_ssthresh = 3;
	KUNIT_EXPECT_EQ(test, ledbatpp_ssthresh(sk), 2U);
	release(sk);
}

static void pp_waits_for_recovery(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);

	ca_of(sk)->next_slow_us = 0;
	tcp_sk(sk)->snd_ssthresh = 20;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->phase, (u32)LEDBATPP_RUNNING);
	tcp_sk(sk)->snd_ssthresh = 10;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->phase, (u32)LEDBATPP_SLOW);
	release(sk);
}

/* Nor does the first slowdown forget how far the flow climbs back. */
static void pp_first_waits_for_recovery(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);

	ledbatpp_enter(sk, LEDBATPP_BEFORE_FIRST_SLOWDOWN, 1);
	tcp_sk(sk)->snd_ssthresh = 20;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->phase,
			(u32)LEDBATPP_BEFORE_FIRST_SLOWDOWN);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 20U);
	tcp_sk(sk)->snd_ssthresh = 10;
	round_trip(sk, 0);
	KUNIT_EXPECT_EQ(test, (u32)ca_of(sk)->phase, (u32)LEDBATPP_SLOW);
	release(sk);
}

/* The parts of a slowdown: two round trips of two packets, then the climb. */
static void pp_slowdown(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);

	ca->slow_us = 12345;
	ledbatpp_slow_down(sk);
	KUNIT_EXPECT_EQ(test, ca->slow_us, 0U);
	ca->round_start_us = tp->tcp_mstamp;
	ledbatpp_end_round(sk, 1);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_SLOW);
	ca->credit_us = 1;
	ca->round_end = tp->snd_una;
	ledbatpp_cong_avoid(sk, 0, 1);
	KUNIT_EXPECT_EQ(test, ca->credit_us, 0LL);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2U);
	ledbatpp_end_round(sk, 1);
	KUNIT_EXPECT_EQ(test, (u32)ca->phase, (u32)LEDBATPP_CLIMBING);
	/* a queue, which another flow fills, does not keep it from climbing */
	tp->snd_cwnd = 4;
	tp->is_cwnd_limited = 1;
	ack(sk, 1, 0);
	tp->tcp_mstamp += USEC_PER_SEC;
	ack(sk, 4, 90000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 5U);
	/* the shortest slowdown is one of two round trips */
	tp->snd_cwnd = 10;
	ca->slow_us = 0;
	ca->round_start_us = tp->tcp_mstamp;
	KUNIT_EXPECT_FALSE(test, ledbatpp_in_slow_start(sk, 0));
	KUNIT_EXPECT_EQ(test, ca->next_slow_us,
			tp->tcp_mstamp + 9ULL * 2 * RTT_US);
	release(sk);
}

static void pp_silence_counts_little(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);
	struct ledbat *ca = ca_of(sk);

	ca->phase = LEDBATPP_SLOW;
	ca->round_start_us = tcp_sk(sk)->tcp_mstamp - 5 * USEC_PER_SEC;
	ledbatpp_add_time(sk);
	KUNIT_EXPECT_EQ(test, ca->slow_us, 2U * RTT_US);
	release(sk);
}

/* An application that is slow does not make a climb long. */
static void pp_slow_application(struct kunit *test)
{
	struct sock *sk = pp_running(test, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = ca_of(sk);

	ca->phase = LEDBATPP_CLIMBING;
	ca->round_start_us = tp->tcp_mstamp - RTT_US;
	tp->packets_out = 1;
	ledbatpp_end_round(sk, 1);
	KUNIT_EXPECT_EQ(test, ca->slow_us, 0U);
	ca->round_start_us = tp->tcp_mstamp - RTT_US;
	tp->packets_out = 8;
	ledbatpp_end_round(sk, 1);
	KUNIT_EXPECT_EQ(test, ca->slow_us, (u32)RTT_US);
	release(sk);
}

/* settings.c */

static void settings(struct kunit *test)
{
	struct ledbat_variant *ledbat = &ledbat_variants[LEDBAT_RFC6817];
	struct ledbat_variant *md = &ledbat_variants[LEDBAT_MD];
	const struct ledbat_settings kept = md->defaults;
	const struct kernel_param of_md = { .arg = md };

	/* what RFC 6817 says MUST be */
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "target_us", "100001"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "min_window", "3"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "gain_ppm", "1000001"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "slow_start", "2"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(ledbat, "beta_ppm", "5"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(md, "target_us", "999"),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ledbat_set_default(md, "target_us", NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test,
			ledbat_set_defaults("target_us=20000,beta_ppm=700000\n",
					    &of_md),
			0);
	KUNIT_EXPECT_EQ(test, md->defaults.value[LEDBAT_TARGET_US], 20000U);
	KUNIT_EXPECT_EQ(test, md->defaults.value[LEDBAT_BETA_PPM], 700000U);
	KUNIT_EXPECT_EQ(test, ledbat_set_defaults("target_us=x", &of_md),
			-EINVAL);
	md->defaults = kept;
}

static void instances(struct kunit *test)
{
	struct ledbat_variant *added = &ledbat_variants[LEDBAT_VARIANTS];
	const struct ledbat_variant *of = &ledbat_variants[LEDBAT_PLUS_PLUS];
	static const char * const wrong[] = {
		"", ":ledbatpp", "mirror", "mirror:", "mirror:cubic",
		"cu/bic:ledbatpp", "a-name-of-16-now:ledbatpp",
		"ledbat:ledbatpp", "mirror:ledbatpp,target_us=100001",
	};
	static const char * const right[] = {
		"mirror:ledbatpp,target_us=20000", "backup:mirror",
	};
	char name[] = "n0:ledbat";
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		KUNIT_EXPECT_EQ_MSG(test, ledbat_add_instance(wrong[i], NULL),
				    -EINVAL, "%s", wrong[i]);
		ledbat_total = LEDBAT_VARIANTS;
	}
	for (i = 0; i < ARRAY_SIZE(right); i++) {
		const struct ledbat_settings *given = &added[i].defaults;

		KUNIT_EXPECT_EQ(test, ledbat_add_instance(right[i], NULL), 0);
		KUNIT_EXPECT_EQ(test, given->value[LEDBAT_TARGET_US], 20000U);
	}
	KUNIT_EXPECT_EQ(test, ledbat_total, LEDBAT_VARIANTS + 2U);
	KUNIT_EXPECT_STREQ(test, added->ops.name, "mirror");
	KUNIT_EXPECT_PTR_EQ(test, added->ops.cong_avoid, of->ops.cong_avoid);
	KUNIT_EXPECT_EQ(test, of->defaults.value[LEDBAT_TARGET_US], 60000U);
	/* no name twice, and no more than there is room for */
	KUNIT_EXPECT_EQ(test, ledbat_add_instance(right[0], NULL), -EINVAL);
	for (; ledbat_total < LEDBAT_MAX_CONTROLS; name[1]++)
		KUNIT_ASSERT_EQ(test, ledbat_add_instance(name, NULL), 0);
	KUNIT_EXPECT_EQ(test, ledbat_add_instance(name, NULL), -EINVAL);
	memset(added, 0, LEDBAT_MAX_INSTANCES * sizeof(*added));
	ledbat_total = LEDBAT_VARIANTS;
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

static void tell(struct sock *sk, enum tcp_ca_event event)
{
	if (inet_csk(sk)->icsk_ca_ops->cwnd_event)
		inet_csk(sk)->icsk_ca_ops->cwnd_event(sk, event);
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
	if (number < LEDBAT_VARIANTS)
		ops = &ledbat_variants[number].ops;
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
	u32 number, kept;

	for (round = 0; round < 300; round++) {
		struct sock *sk = old_socket(test,
					     drawn(&state, LEDBAT_VARIANTS),
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
				tp->prior_cwnd = cwnd;
				tp->snd_ssthresh =
					icsk->icsk_ca_ops->ssthresh(sk);
				icsk->icsk_ca_state = drawn(&state, 2) ?
						      TCP_CA_CWR :
						      TCP_CA_Recovery;
				break;
			case 1:	/* the end of what 0 or 2 began */
				if (icsk->icsk_ca_state == TCP_CA_CWR ||
				    icsk->icsk_ca_state == TCP_CA_Recovery) {
					kept = min(tp->snd_ssthresh, cwnd);
					tcp_snd_cwnd_set(tp, kept);
					tell(sk, CA_EVENT_COMPLETE_CWR);
				}
				icsk->icsk_ca_state = TCP_CA_Open;
				break;
			case 2:	/* a timeout */
				reno = max(cwnd / 2, 2U);
				tp->prior_cwnd = cwnd;
				tp->snd_ssthresh =
					icsk->icsk_ca_ops->ssthresh(sk);
				tell(sk, CA_EVENT_LOSS);
				icsk->icsk_ca_state = TCP_CA_Loss;
				tcp_snd_cwnd_set(tp, 1);
				break;
			case 3:	/* reordering */
				if (icsk->icsk_ca_state <= TCP_CA_Disorder)
					icsk->icsk_ca_state ^= TCP_CA_Disorder;
				break;
			case 4:	/* idleness, or an application that limits */
				if (icsk->icsk_ca_state > TCP_CA_Disorder)
					break;
				tell(sk, CA_EVENT_CWND_RESTART);
				reno = keep_three_quarters(sk, reno);
				tp->snd_ssthresh =
					keep_three_quarters(sk,
							    tp->snd_ssthresh);
				tcp_snd_cwnd_set(tp, cwnd - cwnd / 4);
				tp->tcp_mstamp += USEC_PER_SEC;
				break;
			case 5:
			case 6:	/* another control */
				number = drawn(&state, LEDBAT_VARIANTS + 3);
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
		change_over(sk, LEDBAT_VARIANTS);
		KUNIT_ASSERT_GE(test, tp->snd_ssthresh, reno);
	}
}

static struct kunit_case socket_cases[] = {
	CASE("begins-with-two", begins_with_two),
	CASE("change-over-keeps-the-window", change_over_keeps_the_window),
	CASE("change-over-in-recovery", change_over_in_recovery),
	CASE("change-over-at-any-time", change_over_at_any_time),
	CASE("delay-of-one-way", delay_of_one_way),
#ifdef LEDBAT_HAVE_TCP_USEC_TS
	CASE("stamps-of-milliseconds", stamps_of_milliseconds),
#endif
	CASE("clocks-that-differ", clocks_that_differ),
	CASE("clocks-too-fast", clocks_too_fast),
	CASE("clocks-after-a-silence", clocks_after_a_silence),
	CASE("change-of-source", change_of_source),
	CASE("stamps-that-cease", stamps_that_cease),
	CASE("chosen-while-connecting", chosen_while_connecting),
	CASE("paces", paces),
	CASE("thresholds", thresholds),
	CASE("no-stamps", no_stamps),
	CASE("bounded-by-round-trips", bounded_by_round_trips),
	CASE("old-samples-do-not-count", old_samples_do_not_count),
	CASE("used-window", used_window),
	CASE("losses", losses),
	CASE("window-limits", window_limits),
	CASE("info", info),
	CASE("info_of_another_control", info_of_another_control),
	CASE("linear", linear),
	CASE("an-unused-window-falls", an_unused_window_falls),
	CASE("counting", counting),
	CASE("slow-start-needs-a-full-window", slow_start_needs_a_full_window),
	CASE("an-unused-window-does-not-grow", an_unused_window_does_not_grow),
	CASE("rfc6817-cap", rfc6817_cap),
	CASE("rfc6817-slow-start", rfc6817_slow_start),
	CASE("without-slow-start", without_slow_start),
	CASE("slow-start-after-a-loss", slow_start_after_a_loss),
	CASE("delay-ends-slow-start", delay_ends_slow_start),
	CASE("ldmin", ldmin),
	CASE("md-once-per-round-trip", md_once_per_round_trip),
	CASE("mdvar", mdvar),
	CASE("aina-half-a-window", aina_half_a_window),
	CASE("fair", fair),
	CASE("forged-delay", forged_delay),
	CASE("pp-life", pp_life),
	CASE("pp-decrease", pp_decrease),
	CASE("pp-growth", pp_growth),
	CASE("pp-losses", pp_losses),
	CASE("pp-waits-for-recovery", pp_waits_for_recovery),
	CASE("pp-first-waits-for-recovery", pp_first_waits_for_recovery),
	CASE("pp-slowdown", pp_slowdown),
	CASE("pp-silence-counts-little", pp_silence_counts_little),
	CASE("pp-slow-application", pp_slow_application),
	CASE("settings", settings),
	CASE("instances", instances),
	{}
};

static struct kunit_suite socket_suite = {
	.name = "socket",
	.test_cases = socket_cases,
};

kunit_test_suites(&socket_suite);
