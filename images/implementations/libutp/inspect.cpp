// SPDX-License-Identifier: MIT
/* Includes libutp's own source, which alone defines its sockets. */
#include <algorithm>
#include <iterator>

#include <utp_internal.cpp>

#include "inspect.h"

utp_inside utp_inspect(const utp_socket *socket)
{
	utp_inside inside = {};

	inside.packet_bytes = socket->get_packet_size();
	inside.window_bytes = socket->max_window;
	inside.ssthresh_bytes = socket->ssthresh;
	inside.in_flight_bytes = socket->cur_window;
	for (int i = 1; i <= socket->cur_window_packets; i++) {
		const auto *packet = static_cast<const OutgoingPacket *>(socket->outbuf.get(socket->seq_nr - i));

		if (packet)
			inside.queued_bytes += packet->payload;
	}
	inside.retransmitted_pkts = socket->_stats.rexmit + socket->_stats.fastrexmit;
	inside.rtt_ms = socket->rtt;
	inside.rtt_var_ms = socket->rtt_var;
	inside.has_delays = socket->our_hist.delay_base_initialized;
	inside.base_delay_us = socket->our_hist.delay_base;
	inside.queuing_delay_us = *std::min_element(std::begin(socket->our_hist.cur_delay_hist),
						    std::end(socket->our_hist.cur_delay_hist));
	return inside;
}

void utp_reset(const utp_socket *socket)
{
	UTPSocket::send_rst(socket->ctx, socket->addr, socket->conn_id_send, socket->ack_nr, socket->seq_nr);
}
