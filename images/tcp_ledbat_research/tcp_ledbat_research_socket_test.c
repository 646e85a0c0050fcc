// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what the module does with a socket. The module's sources are
 * part of this one, which therefore is loaded instead of it: the sockets are
 * pieces of memory in which the tests set what the stack would set.
 */
#include <kunit/test.h>

#include "main.c"
#include "variants.c"
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
	tp->tcp_usec_ts = 1;
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
	struct sock *sk = new_socket(test, LEDBAT_LD);
	struct tcp_sock *tp = tcp_sk(sk);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->data_segs_out = 1000;
	tp->snd_cwnd = 5;
	tp->snd_ssthresh = 50;
	ledbat_variants[LEDBAT_LD].ops.init(sk);
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

/*
 * The source of delays after some seconds in which the other host stamps in
 * ticks of this length.
 */
static int source_after(struct kunit *test, u32 tick_us, int seconds)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
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
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tp->tcp_usec_ts = 0;
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
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
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
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);

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
	struct sock *sk = new_socket(test, LEDBAT_LD);

	tcp_sk(sk)->rx_opt.tstamp_ok = 0;
	ledbat_variants[LEDBAT_LD].ops.init(sk);
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
	struct sock *sk = new_socket(test, LEDBAT_LD);

	tcp_sk(sk)->rx_opt.tstamp_ok = 0;
	tcp_sk(sk)->rx_opt.saw_tstamp = 0;
	tcp_sk(sk)->data_segs_out = 1000;
	ledbat_variants[LEDBAT_LD].ops.init(sk);
	sample(sk, 1, 0);
	sample(sk, 1, 40000);
	tcp_sk(sk)->tcp_mstamp += 200 * USEC_PER_MSEC;
	sample(sk, 1, 40000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 40000U);
	KUNIT_EXPECT_EQ(test, ledbat_get_info(sk, ~0, &attr, &answer),
			sizeof(*words));
	KUNIT_EXPECT_EQ(test, words->target_us_and_source,
			25000U | LEDBAT_ROUND_TRIP << 24);
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
	struct sock *sk = old_socket(test, LEDBAT_LD, 40);
	struct tcp_sock *tp = tcp_sk(sk);

	KUNIT_EXPECT_EQ(test, ledbat_ssthresh(sk), 20U);
	KUNIT_EXPECT_EQ(test, ca_of(sk)->reno_ssthresh, 20U);
	tp->snd_cwnd = 3;
	KUNIT_EXPECT_EQ(test, ledbat_ssthresh(sk), 1U);
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
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
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
	KUNIT_EXPECT_EQ(test, words->target_us_and_source, 25000U);
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
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
	union tcp_cc_info answer;
	int attr;

	release(sk);
	memset(inet_csk_ca(sk), 0x5a, ICSK_CA_PRIV_SIZE);
	KUNIT_EXPECT_EQ(test, ledbat_get_info(sk, ~0, &attr, &answer),
			sizeof(struct ledbat_info));
}

/* An ACK each 10 ms, while the other host's clock runs. */
static void acks_for(struct sock *sk, int ms, u32 one_way_us, s32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct ack_sample taken = { .pkts_acked = 1, .rtt_us = rtt_us };
	int i;

	for (i = 0; i < ms / 10; i++) {
		tp->tcp_mstamp += 10 * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsecr += 10 * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + one_way_us;
		inet_csk(sk)->icsk_ca_ops->pkts_acked(sk, &taken);
	}
}

/* ACKs wait for three seconds and come together. */
static void a_stall_of_acks(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
	struct tcp_sock *tp = tcp_sk(sk);

	acks_for(sk, 10000, BASE_US, RTT_US);
	tp->tcp_mstamp += 3 * USEC_PER_SEC;
	acks_for(sk, 10, BASE_US, 3050000);
	tp->rx_opt.rcv_tsecr += 3 * USEC_PER_SEC;
	acks_for(sk, 10000, BASE_US, RTT_US);
	/* then a queue on the reverse path, which does not count */
	acks_for(sk, 1000, BASE_US, RTT_US + 100000);
	KUNIT_EXPECT_LE(test, ledbat_known_queuing_us(ca_of(sk)), 1000U);
	release(sk);
}

/* The hosts' clocks begin to agree. */
static void clocks_that_agree_again(struct kunit *test)
{
	static const enum ledbat_name names[] = { LEDBAT_LD, LEDBAT_AINA };
	struct tcp_sock *tp;
	struct sock *sk;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		sk = old_socket(test, names[i], 10);
		tp = tcp_sk(sk);
		acks_for(sk, 100, BASE_US, RTT_US);
		tp->tcp_mstamp += 3 * USEC_PER_SEC;
		acks_for(sk, 100, BASE_US, RTT_US);
		KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
				(int)LEDBAT_ROUND_TRIP);
		acks_for(sk, 6000, BASE_US + 20000, RTT_US + 30000);
		KUNIT_EXPECT_EQ(test, (int)ca_of(sk)->delay->source,
				(int)LEDBAT_ONE_WAY);
		KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)),
				30000U);
		release(sk);
	}
}

/* The receiver sleeps while the sender is idle. */
static void receiver_that_slept(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_LD, 10);
	const u32 behind_us = BASE_US - 1200U * (u32)USEC_PER_SEC;

	acks_for(sk, 10000, BASE_US, RTT_US);
	tcp_sk(sk)->tcp_mstamp += 2100ULL * USEC_PER_SEC;
	tcp_sk(sk)->rx_opt.rcv_tsecr += (u32)(2100ULL * USEC_PER_SEC);
	acks_for(sk, 10000, behind_us, RTT_US);
	acks_for(sk, 1000, behind_us + 40000, RTT_US + 40000);
	KUNIT_EXPECT_EQ(test, ledbat_known_queuing_us(ca_of(sk)), 40000U);
	release(sk);
}

/* After idleness the credit of what was a window is less than a packet. */
static void credit_of_a_larger_window(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_MD, 1000);

	sample(sk, 1, 0);
	ca_of(sk)->credit_us = 1000LL * 25000 - 1;
	tcp_snd_cwnd_set(tcp_sk(sk), 10);
	ack(sk, 1, 30000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 6U);
	release(sk);
}

/* A flow for which there was no memory acts on losses, and says so. */
static void without_memory(struct kunit *test)
{
	struct sock *sk = old_socket(test, LEDBAT_AINA, 10);

	kfree(ca_of(sk)->delay->history);
	kfree(ca_of(sk)->delay);
	ca_of(sk)->delay = NULL;
	round_trip(sk, 90000);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 10U);
	KUNIT_EXPECT_EQ(test, inet_csk(sk)->icsk_ca_ops->ssthresh(sk), 5U);
	release(sk);
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
		LEDBAT_LD, LEDBAT_LDMIN, LEDBAT_MD, LEDBAT_AINA,
		LEDBAT_FAIR,
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
	CASE("change-over-keeps-the-window", change_over_keeps_the_window),
	CASE("change-over-in-recovery", change_over_in_recovery),
	CASE("change-over-at-any-time", change_over_at_any_time),
	CASE("delay-of-one-way", delay_of_one_way),
	CASE("stamps-of-milliseconds", stamps_of_milliseconds),
	CASE("clocks-that-differ", clocks_that_differ),
	CASE("clocks-too-fast", clocks_too_fast),
	CASE("clocks-after-a-silence", clocks_after_a_silence),
	CASE("change-of-source", change_of_source),
	CASE("stamps-that-cease", stamps_that_cease),
	CASE("chosen-while-connecting", chosen_while_connecting),
	CASE("a-stall-of-acks", a_stall_of_acks),
	CASE("clocks-that-agree-again", clocks_that_agree_again),
	CASE("receiver-that-slept", receiver_that_slept),
	CASE("credit-of-a-larger-window", credit_of_a_larger_window),
	CASE("without-memory", without_memory),
	CASE("paces", paces),
	CASE("thresholds", thresholds),
	CASE("no-stamps", no_stamps),
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
	CASE("without-slow-start", without_slow_start),
	CASE("slow-start-after-a-loss", slow_start_after_a_loss),
	CASE("delay-ends-slow-start", delay_ends_slow_start),
	CASE("ldmin", ldmin),
	CASE("md-once-per-round-trip", md_once_per_round_trip),
	CASE("mdvar", mdvar),
	CASE("aina-half-a-window", aina_half_a_window),
	CASE("fair", fair),
	CASE("forged-delay", forged_delay),
	{}
};

static struct kunit_suite socket_suite = {
	.name = "socket",
	.test_cases = socket_cases,
};

kunit_test_suites(&socket_suite);
