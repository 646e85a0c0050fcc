// SPDX-License-Identifier: MIT
/*
 * Samples one queueing discipline through netlink, with three system calls per sample.
 *
 *   queue INTERFACE HANDLE FIRST_NS STOP_NS PERIOD_NS ORIGIN_NS     CSV on stdout
 *
 * HANDLE is the qdisc's major number in hexadecimal (10 for "10:"). Counters are cumulative. SIGTERM ends it before
 * STOP_NS. Exit status 0 or 1.
 */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct request {
	struct nlmsghdr header;
	struct tcmsg qdisc;
};

static volatile sig_atomic_t ended;

static void end(int signal_number)
{
	(void)signal_number;
	ended = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "queue: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void print_statistics(long long time_ns, const struct rtattr *statistics)
{
	struct gnet_stats_basic basic = {0};
	struct gnet_stats_queue queue = {0};
	const struct rtattr *a = RTA_DATA(statistics);
	int length = RTA_PAYLOAD(statistics);

	for (; RTA_OK(a, length); a = RTA_NEXT(a, length)) {
		if (a->rta_type == TCA_STATS_BASIC)
			memcpy(&basic, RTA_DATA(a), sizeof(basic));
		else if (a->rta_type == TCA_STATS_QUEUE)
			memcpy(&queue, RTA_DATA(a), sizeof(queue));
	}
	printf("%lld,%u,%u,%u,%llu,%u\n", time_ns, queue.qlen, queue.backlog, basic.packets,
	       (unsigned long long)basic.bytes, queue.drops);
}

static void sample(int netlink, const struct request *request, long long time_ns)
{
	static char answer[16384];
	const struct nlmsghdr *header = (const void *)answer;
	const struct rtattr *a;
	int length;

	if (send(netlink, request, sizeof(*request), 0) < 0)
		die("send");
	length = recv(netlink, answer, sizeof(answer), 0);
	if (length < (int)NLMSG_LENGTH(sizeof(struct tcmsg)))
		die("recv");
	if (header->nlmsg_type == NLMSG_ERROR) {
		errno = -((const struct nlmsgerr *)NLMSG_DATA(header))->error;
		die("qdisc");
	}
	a = TCA_RTA((const struct tcmsg *)NLMSG_DATA(header));
	length = header->nlmsg_len - NLMSG_LENGTH(sizeof(struct tcmsg));
	for (; RTA_OK(a, length); a = RTA_NEXT(a, length))
		if ((a->rta_type & NLA_TYPE_MASK) == TCA_STATS2)
			print_statistics(time_ns, a);
}

int main(int argc, char **argv)
{
	struct request request = {
		.header = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO},
	};
	long long at_ns, stop_ns, period_ns, origin_ns;
	int netlink;

	if (argc != 7) {
		fprintf(stderr, "usage: queue INTERFACE HANDLE FIRST_NS STOP_NS PERIOD_NS ORIGIN_NS\n");
		return 1;
	}
	request.qdisc.tcm_ifindex = if_nametoindex(argv[1]);
	if (!request.qdisc.tcm_ifindex)
		die(argv[1]);
	request.qdisc.tcm_handle = strtoul(argv[2], NULL, 16) << 16;
	at_ns = atoll(argv[3]);
	stop_ns = atoll(argv[4]);
	period_ns = atoll(argv[5]);
	origin_ns = atoll(argv[6]);
	netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (netlink < 0)
		die("netlink");
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	puts("time_ns,backlog_pkts,backlog_bytes,sent_pkts,sent_bytes,dropped_pkts");
	signal(SIGTERM, end);
	for (; at_ns < stop_ns; at_ns += period_ns) {
		const struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};

		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
		if (ended)
			break;
		sample(netlink, &request, at_ns - origin_ns);
	}
	return 0;
}
