// SPDX-License-Identifier: GPL-2.0-only
/* LEDBAT++ as a BPF program, for hosts on which no module may be loaded. */
#include "ledbatpp.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ledbatpp);
} sockets SEC(".maps");

static struct ledbatpp *state_of(struct sock *sk)
{
	return bpf_sk_storage_get(&sockets, sk, NULL,
				  BPF_SK_STORAGE_GET_F_CREATE);
}

static void set(struct tcp_sock *tp, const struct window *window)
{
	tp->snd_cwnd = window->cwnd;
	tp->snd_ssthresh = window->ssthresh;
}

SEC("struct_ops")
void BPF_PROG(bpf_ledbatpp_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ledbatpp *ca = state_of(sk);
	struct window window;

	if (!ca)
		return;
	window = window_of(tp, 0);
	begin(ca, &window);
	set(tp, &window);
	if (PACING && sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(bpf_ledbatpp_pkts_acked, struct sock *sk,
	      const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ledbatpp *ca = state_of(sk);
	const struct acked acked = {
		.packets = sample->pkts_acked,
		.rtt_us = sample->rtt_us,
		.in_flight = sample->in_flight,
	};

	if (ca)
		take(ca, tp, &acked);
}

SEC("struct_ops")
void BPF_PROG(bpf_ledbatpp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ledbatpp *ca = state_of(sk);
	struct window window;

	if (!ca)
		return;
	window = window_of(tp, acked);
	avoid(ca, &window);
	set(tp, &window);
}

SEC("struct_ops")
__u32 BPF_PROG(bpf_ledbatpp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ledbatpp *ca = state_of(sk);
	struct window window;

	if (!ca)
		return tp->snd_ssthresh;
	window = window_of(tp, 0);
	return lost(ca, &window);
}

SEC("struct_ops")
__u32 BPF_PROG(bpf_ledbatpp_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ledbatpp *ca = state_of(sk);

	if (ca)
		undo(ca, tp->prior_cwnd);
	return max(tp->snd_cwnd, tp->prior_cwnd);
}

SEC("struct_ops")
void BPF_PROG(bpf_ledbatpp_cwnd_event, struct sock *sk, __u32 event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ledbatpp *ca = state_of(sk);
	struct window window;

	if (!ca)
		return;
	window = window_of(tp, 0);
	happened(ca, &window, event);
	set(tp, &window);
}

/* Leave the threshold as Reno would have kept it, for a successor. */
SEC("struct_ops")
void BPF_PROG(bpf_ledbatpp_release, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ledbatpp *ca = bpf_sk_storage_get(&sockets, sk, NULL, 0);

	if (!ca)
		return;
	tp->snd_ssthresh = max(tp->snd_ssthresh, ca->reno_ssthresh);
	bpf_sk_storage_delete(&sockets, sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops bpf_ledbatpp = {
	.init		= (void *)bpf_ledbatpp_init,
	.pkts_acked	= (void *)bpf_ledbatpp_pkts_acked,
	.cong_avoid	= (void *)bpf_ledbatpp_cong_avoid,
	.ssthresh	= (void *)bpf_ledbatpp_ssthresh,
	.undo_cwnd	= (void *)bpf_ledbatpp_undo_cwnd,
	.cwnd_event	= (void *)bpf_ledbatpp_cwnd_event,
	.release	= (void *)bpf_ledbatpp_release,
	.name		= "bpf_ledbatpp",
};
