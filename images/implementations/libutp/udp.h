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

/* What arrived; the data stays until the next wait. */
struct datagram {
	const unsigned char *data;
	size_t length;
	const sockaddr *from;
	socklen_t from_length;
	uint64_t arrival_ns;
};

/* A UDP socket with one system call per wake-up: packets are sent when the next one is waited for. */
class udp_socket {
public:
	/* Bound to a port; 0: to any. Never fragments. */
	explicit udp_socket(uint16_t port);

	void send(const void *data, size_t length, const sockaddr *to, socklen_t to_length);

	/* Sends what is to be sent and waits for a packet: false when `patience_ns` are over or a signal came. */
	bool wait(datagram &packet, uint64_t patience_ns);

	/* Sends what is to be sent. */
	void flush();

private:
	struct outgoing {
		msghdr message;
		iovec data;
		sockaddr_in to;
		unsigned char bytes[2048];	/* more than libutp ever puts into a packet */
	};

	io_uring_sqe *next_entry();
	void receive();
	void submit(unsigned completions, uint64_t patience_ns);
	void reap();

	int udp;
	io_uring ring;
	std::deque<outgoing> slots;	/* the kernel has their addresses */
	std::vector<outgoing *> spare;	/* those of them that are not under way */
	bool receiving = false, received = false;
	msghdr message;
	iovec into;
	sockaddr_in from;
	size_t length;
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec))];
	unsigned char bytes[64 << 10];
};
