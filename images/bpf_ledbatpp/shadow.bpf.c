// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decides beside the module's ledbatpp, for each ACK and each loss of its
 * sockets, and counts where the module decides otherwise.
 */
#include <linux/ptrace.h>

#include "ledbatpp.h"

char _license[] SEC("license") = "GPL";

void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;

struct shadow {
	struct ledbatpp state;
	struct window decided;
	__u32 threshold;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct shadow);
} shadows SEC(".maps");

/*
 * The socket of the call that this processor is in. A call that another one
 * interrupts is not compared.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

/* `other`: the module decided otherwise */
struct {
	__u64 sockets, acks, other_acks, losses, other_losses, slowdowns;
} counts;

static struct shadow empty;

static __always_inline void count(__u64 *what)
{
	__sync_fetch_and_add(what, 1);
}

static __always_inline struct tcp_sock *seen(__u64 sk)
{
	return bpf_rdonly_cast((void *)sk,
			       bpf_core_type_id_kernel(struct tcp_sock));
}

static __always_inline __u64 *call(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&calls, &key);
}

/* At the start of a call; NULL: not a socket of ours. */
static __always_inline struct shadow *entered(__u64 sk)
{
	__u64 *of = call();

	if (of)
		*of = sk;
	return bpf_map_lookup_elem(&shadows, &sk);
}

/* At its end. */
static __always_inline struct shadow *left(__u64 *sk)
{
	__u64 *of = call();

	if (!of || !*of)
		return NULL;
	*sk = *of;
	*of = 0;
	return bpf_map_lookup_elem(&shadows, sk);
}

SEC("kprobe/ledbat_set_up")
int BPF_KPROBE(init, __u64 sk)
{
	struct shadow *shadow;

	bpf_map_update_elem(&shadows, &sk, &empty, BPF_ANY);
	shadow = bpf_map_lookup_elem(&shadows, &sk);
	if (!shadow)
		return 0;
	shadow->decided = window_of(seen(sk), 0);
	begin(&shadow->state, &shadow->decided);
	count(&counts.sockets);
	return 0;
}

SEC("kprobe/ledbatpp_pkts_acked")
int BPF_KPROBE(pkts_acked, __u64 sk, const struct ack_sample *sample)
{
	struct shadow *shadow = bpf_map_lookup_elem(&shadows, &sk);
	const struct acked acked = {
		.packets = BPF_CORE_READ(sample, pkts_acked),
		.rtt_us = BPF_CORE_READ(sample, rtt_us),
		.in_flight = BPF_CORE_READ(sample, in_flight),
	};

	if (shadow)
		take(&shadow->state, seen(sk), &acked);
	return 0;
}

SEC("kprobe/ledbatpp_cong_avoid")
int BPF_KPROBE(cong_avoid, __u64 sk, __u32 ack, __u32 acked)
{
	struct shadow *shadow = entered(sk);
	__u8 phase;

	if (!shadow)
		return 0;
	shadow->decided = window_of(seen(sk), acked);
	phase = shadow->state.phase;
	avoid(&shadow->state, &shadow->decided);
	if (shadow->state.phase == SLOW && phase != SLOW)
		count(&counts.slowdowns);
	return 0;
}

SEC("kretprobe/ledbatpp_cong_avoid")
int BPF_KRETPROBE(cong_avoid_end)
{
	__u64 sk;
	struct shadow *shadow = left(&sk);
	struct tcp_sock *tp;

	if (!shadow)
		return 0;
	tp = seen(sk);
	count(&counts.acks);
	if (tp->snd_cwnd != shadow->decided.cwnd ||
	    tp->snd_ssthresh != shadow->decided.ssthresh)
		count(&counts.other_acks);
	return 0;
}

SEC("kprobe/ledbatpp_ssthresh")
int BPF_KPROBE(ssthresh, __u64 sk)
{
	struct shadow *shadow = entered(sk);

	if (!shadow)
		return 0;
	shadow->decided = window_of(seen(sk), 0);
	shadow->threshold = lost(&shadow->state, &shadow->decided);
	return 0;
}

SEC("kretprobe/ledbatpp_ssthresh")
int BPF_KRETPROBE(ssthresh_end, __u32 threshold)
{
	__u64 sk;
	struct shadow *shadow = left(&sk);

	if (!shadow)
		return 0;
	count(&counts.losses);
	if (threshold != shadow->threshold)
		count(&counts.other_losses);
	return 0;
}

SEC("kprobe/ledbatpp_undo_cwnd")
int BPF_KPROBE(undo_cwnd, __u64 sk)
{
	struct shadow *shadow = bpf_map_lookup_elem(&shadows, &sk);

	if (shadow)
		undo(&shadow->state, seen(sk)->prior_cwnd);
	return 0;
}

SEC("kprobe/ledbat_cwnd_event")
int BPF_KPROBE(cwnd_event, __u64 sk, __u32 event)
{
	struct shadow *shadow = bpf_map_lookup_elem(&shadows, &sk);

	if (!shadow)
		return 0;
	shadow->decided = window_of(seen(sk), 0);
	happened(&shadow->state, &shadow->decided, event);
	return 0;
}
