// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the arithmetic in delay.h and window.h. Cases named like
 * icccn-fig1-controller-conformance/e01 test a paper's statement about its
 * controller; the others test what an RFC or a draft asks for, and robustness.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "delay.h"
#include "window.h"

#define TARGET_US	(LEDBAT_DRAFT00_TARGET * (u32)USEC_PER_MSEC)
#define CASE(_name, _function) { .run_case = _function, .name = _name }

/* A window that a controller moves, in packets and in 1/target of a packet. */
struct flow {
	u32	cwnd;
	s64	credit_us;
};

static s64 exact(const struct flow *flow)
{
	return ledbat_exact_window(flow->credit_us, flow->cwnd, TARGET_US);
}

static void ack(struct flow *flow, s64 credit_us)
{
	flow->credit_us += credit_us;
	flow->cwnd = ledbat_apply_credit(&flow->credit_us, flow->cwnd,
					 TARGET_US, 1);
}

/*
 * Change of the window in an RTT in which every packet's ACK sees this delay,
 * in 1/target of a packet.
 */
static s64 change_in_rtt(u32 cwnd, u32 queuing_us)
{
	struct flow flow = { .cwnd = cwnd };
	u32 i;

	for (i = 0; i < cwnd; i++)
		ack(&flow, ledbat_linear_us(TARGET_US, queuing_us));
	return exact(&flow) - (s64)cwnd * TARGET_US;
}

static s64 change_in_rtts(u32 cwnd, u32 queuing_us, int rtts)
{
	struct flow flow = { .cwnd = cwnd };
	u32 i, packets;

	while (rtts--) {
		packets = flow.cwnd;
		for (i = 0; i < packets; i++)
			ack(&flow, ledbat_linear_us(TARGET_US, queuing_us));
	}
	return exact(&flow) - (s64)cwnd * TARGET_US;
}

static void sample(struct ledbat_delay *delay, s32 sample_us, u32 now)
{
	ledbat_update_base(&delay->one_way, delay->slots, sample_us, now);
	ledbat_update_current(delay, sample_us);
}

/* A sample of two stamps, of which each unit is `unit_us`. */
static void difference_sample(struct ledbat_delay *delay, u32 difference,
			      s32 unit_us)
{
	sample(delay, ledbat_relative_us(delay, difference, unit_us), 0);
}

static struct ledbat_delay new_delay(u8 slots, u8 filter)
{
	return (struct ledbat_delay){ .slots = slots, .filter = filter };
}

/* How far a change of the window is from packets, in 1/target of 1/1000. */
static s64 off_by(s64 change, s64 thousandths)
{
	return abs(change * 1000 - thousandths * TARGET_US);
}

/* Within a hundredth of a packet; precision() tests the sharp bound. */
#define EXPECT_PACKETS(test, change, thousandths)			\
	KUNIT_EXPECT_LE(test, off_by(change, thousandths), 10LL * TARGET_US)

/* ICCCN 2010 */

static void plus_one(struct kunit *test)
{
	EXPECT_PACKETS(test, change_in_rtt(50, 0), 1000);
}

static void minus_one(struct kunit *test)
{
	/*
	 * within the RTT the window falls, and with it the divisor: 1 / 50 of a
	 * packet
	 */
	EXPECT_PACKETS(test, change_in_rtt(200, 2 * TARGET_US), -1000);
}

static void no_change(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, change_in_rtt(50, TARGET_US), 0LL);
}

static void target_of_25_ms(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, LEDBAT_DRAFT00_TARGET, 25);
}

static void history_of_minutes(struct kunit *test, u8 minutes)
{
	struct ledbat_delay delay = new_delay(minutes, 1);
	u32 now = 0;

	sample(&delay, 0, now);
	for (; now < minutes * LEDBAT_SLOT_JIFFIES - HZ; now += HZ)
		sample(&delay, 40, now);
	KUNIT_EXPECT_EQ(test, delay.one_way.smallest_us, 0);
	for (; now <= minutes * LEDBAT_SLOT_JIFFIES; now += HZ)
		sample(&delay, 40, now);
	KUNIT_EXPECT_EQ(test, delay.one_way.smallest_us, 40);
}

static void history_of_two_minutes(struct kunit *test)
{
	history_of_minutes(test, 2);
}

static void history_of_ten_minutes(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, LEDBAT_MAX_SLOTS, 10);
	history_of_minutes(test, 10);
}

static void offset_cancels(struct kunit *test)
{
	static const s32 offsets_ms[] = { -1000000, 0, 1000000 };
	static const u32 delays_ms[] = {
		30, 25, 28, 60, 90, 25, 26, 50, 75, 25
	};
	struct flow flows[ARRAY_SIZE(offsets_ms)];
	int i, j;

	for (i = 0; i < ARRAY_SIZE(offsets_ms); i++) {
		struct ledbat_delay delay = new_delay(10, 1);

		flows[i] = (struct flow){ .cwnd = 10 };
		for (j = 0; j < 1000; j++) {
			const int k = j % ARRAY_SIZE(delays_ms);
			const u32 offset_ms = offsets_ms[i];

			difference_sample(&delay, delays_ms[k] + offset_ms,
					  USEC_PER_MSEC);
			ack(&flows[i],
			    ledbat_linear_us(TARGET_US,
					     ledbat_queuing_delay_us(&delay)));
			KUNIT_EXPECT_EQ(test, ledbat_queuing_delay_us(&delay),
					(delays_ms[k] - (j ? 25 : 30)) *
					USEC_PER_MSEC);
		}
		KUNIT_EXPECT_EQ(test, flows[i].cwnd, flows[0].cwnd);
		KUNIT_EXPECT_EQ(test, flows[i].credit_us, flows[0].credit_us);
	}
}

static void never_faster_than_tcp(struct kunit *test)
{
	u32 cwnd, queuing_us;

	for (cwnd = 1; cwnd < 300; cwnd += 7)
		for (queuing_us = 0; queuing_us < 3 * TARGET_US;
		     queuing_us += 1111)
			KUNIT_EXPECT_LE(test, change_in_rtt(cwnd, queuing_us),
					(s64)TARGET_US);
}

static void proportional(struct kunit *test)
{
	u32 off_us;

	for (off_us = 500; off_us < TARGET_US; off_us += 500) {
		KUNIT_EXPECT_GT(test, change_in_rtt(100, TARGET_US - off_us),
				change_in_rtt(100, TARGET_US - off_us + 500));
		KUNIT_EXPECT_LT(test, change_in_rtt(100, TARGET_US + off_us),
				change_in_rtt(100, TARGET_US + off_us - 500));
	}
	no_change(test);
}

static void like_aimd_without_delay(struct kunit *test)
{
	struct flow flow = { .cwnd = 10 };
	u32 aimd = 10, i, rtt;

	for (rtt = 1; rtt <= 500; rtt++) {
		const u32 packets = flow.cwnd;

		for (i = 0; i < packets; i++)
			ack(&flow, ledbat_linear_us(TARGET_US, 0));
		aimd++;
		if (rtt % 60 == 0) {
			flow.cwnd = ledbat_halved(flow.cwnd, 1);
			flow.credit_us = min(flow.credit_us,
					     (s64)flow.cwnd * TARGET_US - 1);
			aimd /= 2;
		}
		KUNIT_EXPECT_LE(test, abs((int)flow.cwnd - (int)aimd), 1);
	}
}

static void halved_on_loss(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ledbat_halved(100, 1), 50U);
	KUNIT_EXPECT_EQ(test, ledbat_halved(3, 1), 1U);
	KUNIT_EXPECT_EQ(test, ledbat_halved(1, 1), 1U);
	/* RFC 6817: min(cwnd, max(cwnd / 2, MIN_CWND)) */
	KUNIT_EXPECT_EQ(test, ledbat_halved(3, 2), 2U);
	KUNIT_EXPECT_EQ(test, ledbat_halved(1, 2), 1U);
}

static void floor_of_one(struct kunit *test)
{
	struct flow flow = { .cwnd = 20 };
	int i;

	for (i = 0; i < 10000; i++) {
		ack(&flow, ledbat_linear_us(TARGET_US, 40 * TARGET_US));
		KUNIT_ASSERT_GE(test, flow.cwnd, 1U);
	}
	KUNIT_EXPECT_EQ(test, flow.cwnd, 1U);
	KUNIT_EXPECT_EQ(test, flow.credit_us, 0LL);
}

static struct kunit_case icccn[] = {
	CASE("icccn-fig1-controller-conformance/e01", plus_one),
	CASE("icccn-fig1-controller-conformance/e02", minus_one),
	CASE("icccn-fig1-controller-conformance/e03", no_change),
	CASE("icccn-fig1-controller-conformance/e04", target_of_25_ms),
	CASE("icccn-fig1-controller-conformance/e05", history_of_two_minutes),
	CASE("icccn-fig1-controller-conformance/e06", history_of_ten_minutes),
	CASE("icccn-fig1-controller-conformance/e07", offset_cancels),
	CASE("icccn-fig1-controller-conformance/e08", never_faster_than_tcp),
	CASE("icccn-fig1-controller-conformance/e09", proportional),
	CASE("icccn-fig1-controller-conformance/e10", halved_on_loss),
	CASE("icccn-fig1-controller-conformance/e11", like_aimd_without_delay),
	CASE("icccn-fig1-controller-conformance/e12", floor_of_one),
	{}
};

/* EUNICE 2011 */

static s64 min_decrease_in_rtt(u32 cwnd, u32 queuing_us, u32 packets)
{
	struct flow flow = { .cwnd = cwnd };
	u32 i;

	for (i = 0; i < cwnd; i++)
		ack(&flow,
		    ledbat_min_decrease_us(TARGET_US, queuing_us, packets));
	return exact(&flow) - (s64)cwnd * TARGET_US;
}

static void at_least_a_packet(struct kunit *test)
{
	EXPECT_PACKETS(test, min_decrease_in_rtt(300, TARGET_US + 1, 1), -1000);
	EXPECT_PACKETS(test, min_decrease_in_rtt(300, TARGET_US + 1000, 1),
		       -1000);
	EXPECT_PACKETS(test, min_decrease_in_rtt(900, TARGET_US + 2500, 1),
		       -2500);
	EXPECT_PACKETS(test, min_decrease_in_rtt(900, TARGET_US + 1000, 2),
		       -2000);
	KUNIT_EXPECT_EQ(test, ledbat_min_decrease_us(TARGET_US, TARGET_US, 1),
			0LL);
	KUNIT_EXPECT_EQ(test, ledbat_min_decrease_us(TARGET_US, 0, 1),
			(s64)TARGET_US);
}

/* What ledbat_md leaves of a window with its default of beta. */
static u32 multiplied(s64 *credit_us, u32 cwnd)
{
	const u64 window = ledbat_multiplied((u64)cwnd * TARGET_US, 600000);

	return ledbat_set_exact_window(credit_us, window, TARGET_US, 1);
}

static void beta(struct kunit *test)
{
	s64 credit_us = 0;
	u32 cwnd;

	cwnd = multiplied(&credit_us, 55);
	KUNIT_EXPECT_EQ(test, cwnd, 33U);
	KUNIT_EXPECT_EQ(test, credit_us, 0LL);
	/* 0.6 * 54 = 32.4: the fraction is kept */
	cwnd = multiplied(&credit_us, 54);
	KUNIT_EXPECT_EQ(test, cwnd, 32U);
	KUNIT_EXPECT_EQ(test, credit_us, 32LL * TARGET_US * 4 / 10);
	cwnd = multiplied(&credit_us, 1);
	KUNIT_EXPECT_EQ(test, cwnd, 1U);
}

/*
 * What ledbat_mdvar leaves of a window, before the three packets, in 1/10000.
 */
static u64 mdvar_share(u32 base_rtt_us)
{
	const u64 window = 1000000ULL * TARGET_US;
	const u64 kept = LEDBAT_MDVAR_PACKETS * TARGET_US +
		ledbat_drained(window, TARGET_US, base_rtt_us + TARGET_US);

	return div64_u64(kept * 10000 + window / 2, window);
}

static void three_packets_more(struct kunit *test)
{
	const u64 window = 65ULL * TARGET_US;

	KUNIT_EXPECT_EQ(test,
			window * 40 / 65 -
				ledbat_drained(window, TARGET_US, 65000),
			3ULL * TARGET_US);
	/* never below zero, whatever the window and the RTT */
	KUNIT_EXPECT_EQ(test,
			ledbat_drained(3ULL * TARGET_US, TARGET_US, 65000),
			0ULL);
	KUNIT_EXPECT_EQ(test, ledbat_drained(window, TARGET_US, TARGET_US),
			0ULL);
	KUNIT_EXPECT_EQ(test, ledbat_drained(window, TARGET_US, 0), 0ULL);
}

static void once_per_rtt(struct kunit *test)
{
	/*
	 * an ACK of data sent before the decrease does not end its RTT, one of
	 * later data does; also across a wrap
	 */
	KUNIT_EXPECT_FALSE(test, ledbat_round_over(1000, 50000));
	KUNIT_EXPECT_FALSE(test, ledbat_round_over(50000, 50000));
	KUNIT_EXPECT_TRUE(test, ledbat_round_over(50001, 50000));
	KUNIT_EXPECT_FALSE(test, ledbat_round_over(0xfffffff0, 100));
	KUNIT_EXPECT_TRUE(test, ledbat_round_over(101, 0xfffffff0));
}

static void stamps_of_a_millisecond(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, TCP_TS_HZ, 1000);
}

static void noise_filter(struct kunit *test)
{
	struct ledbat_delay one = new_delay(10, 1), two = new_delay(10, 2);
	static const s32 samples_us[] = { 5, 9, 3, 7, 8 };
	int i;

	for (i = 0; i < ARRAY_SIZE(samples_us); i++) {
		sample(&one, samples_us[i], 0);
		sample(&two, samples_us[i], 0);
		KUNIT_EXPECT_EQ(test, one.current_us, samples_us[i]);
		KUNIT_EXPECT_EQ(test, two.current_us,
				min(samples_us[i], samples_us[max(i - 1, 0)]));
	}
}

static void mdvar_at_40_ms(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mdvar_share(40000), 6154ULL);
}

static void mdvar_at_20_ms(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mdvar_share(20000), 4444ULL);
}

static void slow_above_target(struct kunit *test)
{
	EXPECT_PACKETS(test, change_in_rtt(100, TARGET_US + 1000), -40);
}

static void beta_trades_queue_for_use(struct kunit *test)
{
	/*
	 * At the crossing the window is (base + TARGET) worth of packets; the
	 * part beyond base is in the queue.
	 */
	static const u32 base_us[] = { 10000, 20000, 40000, 60000, 100000 };
	u32 i, beta_ppm;

	for (i = 0; i < ARRAY_SIZE(base_us); i++) {
		const u32 rtt_us = base_us[i] + TARGET_US;
		const u32 drains_ppm =
			LEDBAT_PPM -
			div_u64((u64)TARGET_US * LEDBAT_PPM, rtt_us);
		/* a packet per microsecond */
		const u64 window = (u64)rtt_us * TARGET_US;

		for (beta_ppm = 200000; beta_ppm < LEDBAT_PPM;
		     beta_ppm += 50000) {
			const bool queue = ledbat_multiplied(window, beta_ppm) >
					   (u64)base_us[i] * TARGET_US;

			KUNIT_EXPECT_EQ(test, queue, beta_ppm > drains_ppm);
		}
	}
}

static struct kunit_case eunice[] = {
	CASE("eunice-sec3-controller-conformance/e01", plus_one),
	CASE("eunice-sec3-controller-conformance/e02", at_least_a_packet),
	CASE("eunice-sec3-controller-conformance/e03", beta),
	CASE("eunice-sec3-controller-conformance/e04", three_packets_more),
	CASE("eunice-sec3-controller-conformance/e05", once_per_rtt),
	CASE("eunice-sec3-controller-conformance/e08", stamps_of_a_millisecond),
	CASE("eunice-sec3-controller-conformance/e10", noise_filter),
	CASE("eunice-sec3-controller-conformance/e11", mdvar_at_40_ms),
	CASE("eunice-sec3-controller-conformance/e12", mdvar_at_20_ms),
	CASE("eunice-sec3-controller-conformance/e13", slow_above_target),
	CASE("eunice-sec3-controller-conformance/e14",
	     beta_trades_queue_for_use),
	{}
};

/* AINA 2011 */

static void gain_of_40_per_s(struct kunit *test)
{
	/* a step of a microsecond at full distance: 1 / 25 ms */
	KUNIT_EXPECT_EQ(test, USEC_PER_SEC / TARGET_US, 40UL);
	plus_one(test);
}

static void slot_of_60_s(struct kunit *test)
{
	struct ledbat_delay delay = new_delay(10, 1);

	sample(&delay, 0, 0);
	sample(&delay, 0, LEDBAT_SLOT_JIFFIES - 1);
	KUNIT_EXPECT_EQ(test, delay.one_way.used, 1);
	sample(&delay, 0, 60 * HZ);
	KUNIT_EXPECT_EQ(test, delay.one_way.used, 2);
}

static void down_at_30_ms(struct kunit *test)
{
	EXPECT_PACKETS(test, change_in_rtt(100, 30000), -200);
}

static void down_at_60_ms(struct kunit *test)
{
	EXPECT_PACKETS(test, change_in_rtt(400, 60000), -1400);
}

static void falls_beyond_target_only(struct kunit *test)
{
	u32 change_us;

	for (change_us = 0; change_us < 4 * TARGET_US; change_us += 100) {
		struct ledbat_delay delay = new_delay(10, 1);
		s64 step_us;

		sample(&delay, 0, 0);
		sample(&delay, change_us, 0);
		step_us = ledbat_linear_us(TARGET_US,
					   ledbat_queuing_delay_us(&delay));
		KUNIT_EXPECT_EQ(test, step_us < 0, change_us > TARGET_US);
	}
}

static void grows_fastest_after_a_drop(struct kunit *test)
{
	struct ledbat_delay delay = new_delay(10, 1);

	sample(&delay, 0, 0);
	sample(&delay, 25000, 0);
	sample(&delay, -30000, 0);
	KUNIT_EXPECT_EQ(test, ledbat_queuing_delay_us(&delay), 0U);
	EXPECT_PACKETS(test, change_in_rtt(50, ledbat_queuing_delay_us(&delay)),
		       1000);
}

static void size_of_a_drop_is_nothing(struct kunit *test)
{
	static const s32 drops_us[] = { -30000, -60000, -90000 };
	int i;

	/*
	 * the base delay follows at once: from the next sample on, the
	 * controller sees only the queue
	 */
	for (i = 0; i < ARRAY_SIZE(drops_us); i++) {
		struct ledbat_delay delay = new_delay(10, 1);

		sample(&delay, 0, 0);
		sample(&delay, drops_us[i], 0);
		sample(&delay, drops_us[i] + 7000, 0);
		KUNIT_EXPECT_EQ(test, ledbat_queuing_delay_us(&delay), 7000U);
	}
}

static struct kunit_case aina[] = {
	CASE("aina-sec4-model-conformance/e01", target_of_25_ms),
	CASE("aina-sec4-model-conformance/e02", gain_of_40_per_s),
	CASE("aina-sec4-model-conformance/e03", slot_of_60_s),
	CASE("aina-sec4-model-conformance/e04", history_of_ten_minutes),
	CASE("aina-sec4-model-conformance/e05", history_of_two_minutes),
	CASE("aina-sec4-model-conformance/e06", down_at_30_ms),
	CASE("aina-sec4-model-conformance/e07", down_at_60_ms),
	CASE("aina-sec4-model-conformance/e08", history_of_ten_minutes),
	CASE("aina-sec4-model-conformance/e09", falls_beyond_target_only),
	CASE("aina-sec4-model-conformance/e10", grows_fastest_after_a_drop),
	CASE("aina-sec4-model-conformance/e11", size_of_a_drop_is_nothing),
	{}
};

/* Not from a paper */

/*
 * One per cent over 100 RTTs, at the windows of 2 and 10 Mbit/s with 1500 bytes
 * and 50 ms.
 */
static void precision(struct kunit *test)
{
	static const u32 windows[] = { 8, 42 };
	int i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		const s64 up = change_in_rtts(windows[i], 0, 100);
		const s64 down =
			change_in_rtts(windows[i] + 100, 2 * TARGET_US, 100);

		KUNIT_EXPECT_LE(test, abs(up - 100LL * TARGET_US),
				1LL * TARGET_US);
		KUNIT_EXPECT_LE(test, abs(down + 100LL * TARGET_US),
				1LL * TARGET_US);
	}
}

static void counts(struct kunit *test, struct flow *flow, s64 step_us, u32 cwnd,
		   s64 count_us)
{
	flow->credit_us += step_us;
	flow->cwnd = ledbat_counted(&flow->credit_us, flow->cwnd, TARGET_US, 1);
	KUNIT_EXPECT_EQ(test, flow->cwnd, cwnd);
	KUNIT_EXPECT_EQ(test, flow->credit_us, count_us);
}

static void whole_packets(struct kunit *test)
{
	struct flow flow = { .cwnd = 2, .credit_us = 2 * TARGET_US - 1 };

	counts(test, &flow, TARGET_US, 3, 0);
	counts(test, &flow, -1, 2, TARGET_US);
	counts(test, &flow, 1 - (s64)TARGET_US, 2, 1);
	counts(test, &flow, -2, 1, 0);
	counts(test, &flow, -2, 1, 0);
	counts(test, &flow, TARGET_US, 2, 0);
}

/* A step up costs exactly the window; a window at its floor owes nothing. */
static void exact_steps(struct kunit *test)
{
	s64 credit_us = 7LL * TARGET_US;

	KUNIT_EXPECT_EQ(test, ledbat_apply_credit(&credit_us, 7, TARGET_US, 2),
			8U);
	KUNIT_EXPECT_EQ(test, credit_us, 0LL);
	credit_us = -1;
	KUNIT_EXPECT_EQ(test, ledbat_apply_credit(&credit_us, 2, TARGET_US, 2),
			2U);
	KUNIT_EXPECT_EQ(test, credit_us, 0LL);
}

static void stamps_wrap(struct kunit *test)
{
	static const u32 starts[] = {
		0, 1, 0x7ffffff0, 0x80000000, 0xfffffff0, 0xffffffff
	};
	int i, unit_us;

	for (unit_us = 1; unit_us <= 1000; unit_us *= 1000)
		for (i = 0; i < ARRAY_SIZE(starts); i++) {
			struct ledbat_delay delay = new_delay(10, 1);

			difference_sample(&delay, starts[i], unit_us);
			difference_sample(&delay, starts[i] - 10, unit_us);
			difference_sample(&delay, starts[i] + 20, unit_us);
			KUNIT_EXPECT_EQ(test, ledbat_queuing_delay_us(&delay),
					30U * unit_us);
		}
}

static void jiffies_wrap(struct kunit *test)
{
	struct ledbat_delay delay = new_delay(3, 1);
	u32 now = (u32)-LEDBAT_SLOT_JIFFIES;

	sample(&delay, 0, now);
	sample(&delay, 9, now + LEDBAT_SLOT_JIFFIES);
	sample(&delay, 9, now + 2 * LEDBAT_SLOT_JIFFIES);
	KUNIT_EXPECT_EQ(test, delay.one_way.smallest_us, 0);
	sample(&delay, 9, now + 3 * LEDBAT_SLOT_JIFFIES);
	KUNIT_EXPECT_EQ(test, delay.one_way.smallest_us, 9);
}

/*
 * Clocks that drift apart by 100 ppm: the error of the estimate is the drift
 * over a history's length, and no more.
 */
static void skew(struct kunit *test)
{
	struct ledbat_delay delay = new_delay(10, 1);
	const u32 second = HZ;
	u32 s;

	for (s = 0; s < 3600; s++)
		sample(&delay, s * 100, s * second);
	KUNIT_EXPECT_LE(test, ledbat_queuing_delay_us(&delay), 10U * 60 * 100);
	KUNIT_EXPECT_GE(test, ledbat_queuing_delay_us(&delay), 9U * 60 * 100);

	delay = new_delay(10, 1);
	for (s = 0; s < 3600; s++)
		sample(&delay, -(s32)s * 100, s * second);
	KUNIT_EXPECT_EQ(test, ledbat_queuing_delay_us(&delay), 0U);
}

static void never_a_negative_queue(struct kunit *test)
{
	struct ledbat_delay delay = new_delay(1, 4);

	/*
	 * the current delay includes a sample of the minute that the base delay
	 * has forgotten
	 */
	sample(&delay, 0, 0);
	sample(&delay, 50, LEDBAT_SLOT_JIFFIES);
	KUNIT_EXPECT_EQ(test, delay.one_way.smallest_us, 50);
	KUNIT_EXPECT_EQ(test, delay.current_us, 0);
	KUNIT_EXPECT_EQ(test, ledbat_queuing_delay_us(&delay), 0U);
}

static void long_idle(struct kunit *test)
{
	struct ledbat_delay delay = new_delay(10, 1);

	sample(&delay, 0, 0);
	sample(&delay, 500, 100 * LEDBAT_SLOT_JIFFIES + 1);
	KUNIT_EXPECT_EQ(test, delay.one_way.smallest_us, 500);
}

static void no_base_no_queue(struct kunit *test)
{
	struct ledbat_delay delay = new_delay(10, 1);

	sample(&delay, 5000, 0);
	delay.source = LEDBAT_ROUND_TRIP;
	delay.current_us = 5000;
	KUNIT_EXPECT_EQ(test, ledbat_queuing_delay_us(&delay), 0U);
}

static void old_samples_leave_the_history(struct kunit *test)
{
	struct ledbat_history *history =
		kunit_kzalloc(test, sizeof(*history), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, history);
	ledbat_remember(history, 1);
	for (i = 0; i < LEDBAT_HISTORY_AGE; i++)
		ledbat_remember(history, 2);
	KUNIT_EXPECT_EQ(test, ledbat_smallest_us(history, U32_MAX), 2);
}

/* Against a plain search, with a window that changes. */
static void smallest_of_many(struct kunit *test)
{
	struct ledbat_history *history =
		kunit_kzalloc(test, sizeof(*history), GFP_KERNEL);
	s32 *all = kunit_kcalloc(test, 5000, sizeof(*all), GFP_KERNEL);
	u32 state = 1, i, j, m;

	KUNIT_ASSERT_NOT_NULL(test, history);
	KUNIT_ASSERT_NOT_NULL(test, all);
	history->count = (u32)-2000;	/* numbers wrap on the way */
	for (i = 0; i < 5000; i++) {
		s32 smallest = S32_MAX;

		state = state * 1664525 + 1013904223;
		all[i] = (s32)(state >> 8) % 100000;
		ledbat_remember(history, all[i]);
		m = 1 + state % 300;
		for (j = 0; j < m && j <= i; j++)
			smallest = min(smallest, all[i - j]);
		KUNIT_ASSERT_EQ(test, ledbat_smallest_us(history, m), smallest);
	}
	/* rising without end: the oldest are forgotten */
	for (i = 0; i < 2 * LEDBAT_HISTORY_LENGTH; i++)
		ledbat_remember(history, 200000 + i);
	KUNIT_EXPECT_EQ(test,
			ledbat_smallest_us(history, LEDBAT_HISTORY_LENGTH),
			200000 + LEDBAT_HISTORY_LENGTH);
	KUNIT_EXPECT_EQ(test, ledbat_smallest_us(history, 1),
			200000 + 2 * LEDBAT_HISTORY_LENGTH - 1);
}

static void fledbat_step(struct kunit *test)
{
	/*
	 * +1 / w at and below TARGET; at 1.5 TARGET with zeta = 1, half a
	 * packet less per ACK
	 */
	KUNIT_EXPECT_EQ(test, ledbat_fair_us(TARGET_US, 0, LEDBAT_PPM, 40),
			(s64)TARGET_US);
	KUNIT_EXPECT_EQ(test,
			ledbat_fair_us(TARGET_US, TARGET_US, LEDBAT_PPM, 40),
			(s64)TARGET_US);
	KUNIT_EXPECT_EQ(test,
			ledbat_fair_us(TARGET_US, TARGET_US * 3 / 2, LEDBAT_PPM,
				       40),
			-19LL * TARGET_US);
}

static struct kunit_case others[] = {
	CASE("precision", precision),
	CASE("whole-packets", whole_packets),
	CASE("stamps-wrap", stamps_wrap),
	CASE("jiffies-wrap", jiffies_wrap),
	CASE("skew", skew),
	CASE("never-a-negative-queue", never_a_negative_queue),
	CASE("long-idle", long_idle),
	CASE("smallest-of-many", smallest_of_many),
	CASE("exact-steps", exact_steps),
	CASE("no-base-no-queue", no_base_no_queue),
	CASE("old-samples-leave-the-history", old_samples_leave_the_history),
	CASE("fledbat-step", fledbat_step),
	{}
};

#define SUITE(_cases) { .name = #_cases, .test_cases = _cases }
static struct kunit_suite icccn_suite = SUITE(icccn);
static struct kunit_suite eunice_suite = SUITE(eunice);
static struct kunit_suite aina_suite = SUITE(aina);
static struct kunit_suite others_suite = SUITE(others);

kunit_test_suites(&icccn_suite, &eunice_suite, &aina_suite, &others_suite);

MODULE_AUTHOR("The LEDBAT testbed developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of tcp_ledbat");
