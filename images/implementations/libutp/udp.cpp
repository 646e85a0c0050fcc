// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "fail.h"
#include "udp.h"

namespace {

constexpr unsigned ENTRIES = 256;

} // namespace

udp_socket::udp_socket(int family, uint16_t port) : family(family)
{
	const int one = 1;
	sockaddr_in here = {};
	sockaddr_in6 here6 = {};
	const bool six = family == AF_INET6;

	udp = socket(family, SOCK_DGRAM, 0);
	here.sin_family = here6.sin6_family = family;
	here.sin_port = here6.sin6_port = htons(port);
	if (udp < 0 || setsockopt(udp, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) ||
	    bind(udp, six ? reinterpret_cast<sockaddr *>(&here6) : reinterpret_cast<sockaddr *>(&here),
		 six ? sizeof(here6) : sizeof(here)))
		fail_errno("UDP socket");
	set_fragments(IP_PMTUDISC_DO);
	errno = -io_uring_queue_init(ENTRIES, &ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	if (errno)
		fail_errno("io_uring");
}

io_uring_sqe *udp_socket::next_entry()
{
	io_uring_sqe *entry = io_uring_get_sqe(&ring);

	if (entry)
		return entry;
	io_uring_submit(&ring);
	reap();
	return io_uring_get_sqe(&ring);
}

void udp_socket::send(const void *data, size_t length, const sockaddr *to, socklen_t to_length, bool whole)
{
	if (spare.empty())
		spare.push_back(&slots.emplace_back());
	outgoing &packet = *spare.back();

	if (length > sizeof(packet.bytes) || to_length > sizeof(packet.to))
		fail("a packet of %zu bytes is too long", length);
	spare.pop_back();
	packet.whole = whole;
	memcpy(packet.bytes, data, length);
	memcpy(&packet.to, to, to_length);
	packet.data = {packet.bytes, length};
	packet.message = {};
	packet.message.msg_name = &packet.to;
	packet.message.msg_namelen = to_length;
	packet.message.msg_iov = &packet.data;
	packet.message.msg_iovlen = 1;
	io_uring_sqe *entry = next_entry();
	io_uring_prep_sendmsg(entry, udp, &packet.message, 0);
	io_uring_sqe_set_data(entry, &packet);
}

void udp_socket::receive()
{
	into = {bytes, sizeof(bytes)};
	message = {};
	message.msg_name = &from;
	message.msg_namelen = sizeof(from);
	message.msg_iov = &into;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	io_uring_sqe *entry = next_entry();
	io_uring_prep_recvmsg(entry, udp, &message, 0);
	io_uring_sqe_set_data(entry, nullptr);
	receiving = true;
}

void udp_socket::submit(unsigned completions, uint64_t patience_ns)
{
	__kernel_timespec patience = {static_cast<int64_t>(patience_ns / NS), static_cast<long long>(patience_ns % NS)};
	io_uring_cqe *first;
	const int done = io_uring_submit_and_wait_timeout(&ring, &first, completions, &patience, nullptr);

	if (done < 0 && done != -ETIME && done != -EINTR) {
		errno = -done;
		fail_errno("io_uring_enter");
	}
	reap();
}

void udp_socket::reap()
{
	io_uring_cqe *done;
	unsigned at, count = 0;

	io_uring_for_each_cqe(&ring, at, done) {
		outgoing *sent = static_cast<outgoing *>(io_uring_cqe_get_data(done));

		count++;
		if (sent && done->res == -EMSGSIZE) {
			if (!sent->whole)
				send_in_fragments(sent->message);
		} else if (done->res < 0) {
			errno = -done->res;
			fail_errno(sent ? "sendmsg" : "recvmsg");
		}
		if (sent) {
			spare.push_back(sent);
		} else {
			receiving = false;
			received = true;
			length = done->res;
		}
	}
	io_uring_cq_advance(&ring, count);
}

void udp_socket::set_fragments(int how)
{
	/* the values for both versions of IP are the same */
	if (family == AF_INET6 ? setsockopt(udp, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &how, sizeof(how)) :
				 setsockopt(udp, IPPROTO_IP, IP_MTU_DISCOVER, &how, sizeof(how)))
		fail_errno("IP_MTU_DISCOVER");
}

void udp_socket::send_in_fragments(const msghdr &packet)
{
	set_fragments(IP_PMTUDISC_WANT);
	if (sendmsg(udp, &packet, 0) < 0)
		fail_errno("sendmsg");
	set_fragments(IP_PMTUDISC_DO);
}

bool udp_socket::wait(datagram &packet, uint64_t patience_ns)
{
	if (!receiving)
		receive();
	submit(slots.size() - spare.size() + 1, patience_ns);
	if (!received)
		return false;
	received = false;
	const cmsghdr *stamp = CMSG_FIRSTHDR(&message);
	timespec arrival;

	if (!stamp || stamp->cmsg_type != SCM_TIMESTAMPNS)
		fail("a packet without its time of arrival");
	memcpy(&arrival, CMSG_DATA(stamp), sizeof(arrival));
	packet = {bytes, length, reinterpret_cast<sockaddr *>(&from), message.msg_namelen,
		  arrival.tv_sec * NS + arrival.tv_nsec};
	return true;
}

void udp_socket::flush()
{
	if (slots.size() > spare.size())
		submit(slots.size() - spare.size(), NS);
}
