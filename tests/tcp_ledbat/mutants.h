/* Behind the tests of either module: the kernel's TCP. */

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	const u32 cwnd = min(tcp_snd_cwnd(tp) + acked, tp->snd_ssthresh);

	acked -= cwnd - tcp_snd_cwnd(tp);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	return acked;
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), tcp_sk(sk)->prior_cwnd);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_slow_start(tp))
		tcp_slow_start(tp, acked);
}
