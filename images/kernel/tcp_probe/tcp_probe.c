// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/net/tcpprobe, which Linux dropped in 4.16 for the trace event tcp:tcp_probe, made of that event. Labs of many
 * courses read a connection's window there: `modprobe tcp_probe`, then `cat /proc/net/tcpprobe`.
 *
 * A line has the ten fields of kernels before 3.12: seconds since the file was opened, source, destination, bytes of
 * the segment that came, snd_nxt, snd_una, window, slow start threshold, offered window, smoothed round-trip time in us.
 */
#include <linux/kfifo.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

static int port;
module_param(port, int, 0444);
MODULE_PARM_DESC(port, "of either end; 0: any");

static int full;
module_param(full, int, 0444);
MODULE_PARM_DESC(full, "a line for each segment, not only where the window changes");

static unsigned int bufsize = 4096;
module_param(bufsize, uint, 0444);
MODULE_PARM_DESC(bufsize, "lines that wait to be read");

union address {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct record {
	u64 at_ns;
	union address from, to;
	u32 bytes, snd_nxt, snd_una, window, threshold, offered, srtt_us;
};

static DEFINE_SPINLOCK(lock);
static DECLARE_KFIFO_PTR(records, struct record);
static DECLARE_WAIT_QUEUE_HEAD(arrived);
static struct tracepoint *event;
static u64 opened_ns;
static u32 last_window;

static void note_ends(struct record *record, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	record->from.sa.sa_family = sk->sk_family;
	record->to.sa.sa_family = sk->sk_family;
	if (sk->sk_family == AF_INET6) {
		record->from.v6.sin6_addr = inet6_sk(sk)->saddr;
		record->from.v6.sin6_port = inet->inet_sport;
		record->to.v6.sin6_addr = sk->sk_v6_daddr;
		record->to.v6.sin6_port = inet->inet_dport;
	} else {
		record->from.v4.sin_addr.s_addr = inet->inet_saddr;
		record->from.v4.sin_port = inet->inet_sport;
		record->to.v4.sin_addr.s_addr = inet->inet_daddr;
		record->to.v4.sin_port = inet->inet_dport;
	}
}

static void probe(void *unused, struct sock *sk, const struct sk_buff *skb)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct inet_sock *inet = inet_sk(sk);
	struct record record = {
		.at_ns = ktime_get_ns(),
		.bytes = skb->len - __tcp_hdrlen((const struct tcphdr *)skb->data),
		.snd_nxt = tp->snd_nxt,
		.snd_una = tp->snd_una,
		.window = tcp_snd_cwnd(tp),
		.threshold = tcp_current_ssthresh(sk),
		.offered = tp->snd_wnd,
		.srtt_us = tp->srtt_us >> 3,
	};

	if (port && ntohs(inet->inet_sport) != port && ntohs(inet->inet_dport) != port)
		return;
	if (!full && record.window == READ_ONCE(last_window))
		return;
	note_ends(&record, sk);
	spin_lock_bh(&lock);
	last_window = record.window;
	kfifo_put(&records, record);
	spin_unlock_bh(&lock);
	wake_up(&arrived);
}

static int probe_open(struct inode *inode, struct file *file)
{
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	spin_lock_bh(&lock);
	kfifo_reset(&records);
	opened_ns = ktime_get_ns();
	last_window = 0;
	spin_unlock_bh(&lock);
	return 0;
}

static int probe_release(struct inode *inode, struct file *file)
{
	module_put(THIS_MODULE);
	return 0;
}

static int printed(char *line, size_t size, const struct record *record)
{
	const u64 at_ns = record->at_ns - opened_ns;

	return scnprintf(line, size, "%llu.%09llu %pISpc %pISpc %u %#x %#x %u %u %u %u\n", at_ns / NSEC_PER_SEC,
			 at_ns % NSEC_PER_SEC, &record->from, &record->to, record->bytes, record->snd_nxt,
			 record->snd_una, record->window, record->threshold, record->offered, record->srtt_us);
}

static bool next(struct record *record)
{
	bool there;

	spin_lock_bh(&lock);
	there = kfifo_get(&records, record);
	spin_unlock_bh(&lock);
	return there;
}

/* Whole lines, as many as there are and fit. */
static ssize_t probe_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct record record;
	char line[256];
	size_t done = 0;
	int error = wait_event_interruptible(arrived, !kfifo_is_empty(&records));

	if (error)
		return error;
	if (size < sizeof(line))
		return -EINVAL;
	while (size - done >= sizeof(line) && next(&record)) {
		const int length = printed(line, sizeof(line), &record);

		if (copy_to_user(to + done, line, length))
			return -EFAULT;
		done += length;
	}
	return done;
}

static const struct proc_ops probe_ops = {
	.proc_open = probe_open,
	.proc_read = probe_read,
	.proc_release = probe_release,
	.proc_lseek = noop_llseek,
};

static void find(struct tracepoint *tracepoint, void *unused)
{
	if (!strcmp(tracepoint->name, "tcp_probe"))
		event = tracepoint;
}

static int __init probe_init(void)
{
	int error;

	for_each_kernel_tracepoint(find, NULL);
	if (!event)
		return -ENOENT;
	error = kfifo_alloc(&records, max(bufsize, 2U), GFP_KERNEL);
	if (error)
		return error;
	error = -ENOMEM;
	if (!proc_create("tcpprobe", 0444, init_net.proc_net, &probe_ops))
		goto no_file;
	error = tracepoint_probe_register(event, probe, NULL);
	if (error)
		goto no_probe;
	return 0;
no_probe:
	remove_proc_entry("tcpprobe", init_net.proc_net);
no_file:
	kfifo_free(&records);
	return error;
}

static void __exit probe_exit(void)
{
	remove_proc_entry("tcpprobe", init_net.proc_net);
	tracepoint_probe_unregister(event, probe, NULL);
	tracepoint_synchronize_unregister();
	kfifo_free(&records);
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("/proc/net/tcpprobe of the trace event tcp:tcp_probe");
