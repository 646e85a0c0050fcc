// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utp.h>

/* The state of a connection that libutp does not export. */
struct utp_inside {
	double packet_bytes;	/* payload of a full packet */
	double window_bytes;	/* the controller's window, max_window */
	double ssthresh_bytes;
	double in_flight_bytes;
	uint64_t queued_bytes;	/* written and not yet acknowledged, sent or not */
	uint32_t retransmitted_pkts;
	uint32_t rtt_ms, rtt_var_ms;
	bool has_delays;
	uint32_t base_delay_us;	/* wraps; offset by the difference of the two clocks */
	uint32_t queuing_delay_us;
};

utp_inside utp_inspect(const utp_socket *socket);

/* Reset the connection at once. */
void utp_reset(const utp_socket *socket);
