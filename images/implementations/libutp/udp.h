// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ctime>
#include <deque>
#include <liburing.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <vector>

constexpr uint64_t NS = 1000000000;

/* A received packet; its data is valid until the next wait. */
struct datagram {
	const unsigned char *data;
	size_t length;
	const sockaddr *from;
	socklen_t from_length;
	uint64_t arrival_ns;
};

/* A UDP socket with one system call per wake-up: wait() also sends what is pending. */
class udp_socket {
public:
	/* Binds to a port of all addresses of a family; 0: any. */
	udp_socket(int family, uint16_t port);

	/*
	 * Once the kernel knows that a path carries shorter packets only, a `whole` one is lost, as on that path; others are
	 * cut into fragments. No router may cut them.
	 */
	void send(const void *data, size_t length, const sockaddr *to, socklen_t to_length, bool whole);

	/* Send what is pending and wait for a packet. Returns false after `patience_ns`, or when a signal arrives. */
	bool wait(datagram &packet, uint64_t patience_ns);

	/* Send what is pending. */
	void flush();

private:
	struct outgoing {
		msghdr message;
		iovec data;
		sockaddr_in6 to;	/* or the shorter one of IPv4 */
		bool whole;
		unsigned char bytes[2048];	/* more than libutp ever puts into a packet */
	};

	void set_fragments(int how);
	void send_in_fragments(const msghdr &packet);
	io_uring_sqe *next_entry();
	void receive();
	void submit(unsigned completions, uint64_t patience_ns);
	void reap();

	int family, udp;
	io_uring ring;
	std::deque<outgoing> slots;	/* the kernel holds their addresses */
	std::vector<outgoing *> spare;	/* the slots that are not being sent */
	bool receiving = false, received = false;
	msghdr message;
	iovec into;
	sockaddr_in6 from;
	size_t length;
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec))];
	unsigned char bytes[64 << 10];
};
