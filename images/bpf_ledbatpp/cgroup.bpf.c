// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of a control group get this congestion control, whatever their
 * namespace or route has, and whatever the program chose before it connected.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>

#ifndef CONTROL
#define CONTROL	"ledbatpp"
#endif

char _license[] SEC("license") = "GPL";

SEC("sockops")
int control(struct bpf_sock_ops *ops)
{
	char name[] = CONTROL;

	if (ops->op == BPF_SOCK_OPS_TCP_CONNECT_CB ||
	    ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_setsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, name,
			       sizeof(name));
	return 1;
}
