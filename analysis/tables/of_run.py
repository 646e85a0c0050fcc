"""The tables of a run folder, below `columns/`, in the order of the way of the data."""

from typing import Final

import polars as pl

from analysis.tables.schema import Column, Table

_IP: Final = "IP header"
_TCP: Final = "TCP header"
_UTP: Final = "uTP header"
_QUEUE: Final = "queueing discipline"
_NOT_TCP: Final = "0 of other packets"
_ESTIMATE: Final = "the sender is no delay-based one that reports it"
_OF_SENDER: Final = "the sender does not report it"

PACKETS: Final = Table(
    "packets",
    "an IP packet at a tap; of a packet that passes several taps there are as many rows. Rows are those of one capture "
    "after the other, each in the order of its times",
    (
        Column("time_ns", pl.Int64, "when it passed the tap, from the scenario's zero", "capture", "ns"),
        Column("ip_length", pl.UInt16, "length of the IP packet with its header", _IP, "bytes"),
        Column("src", pl.Categorical, "address from which it comes, as text", _IP),
        Column("dst", pl.Categorical, "address to which it goes, as text", _IP),
        Column("sport", pl.UInt16, "port from which it comes; 0 of neither TCP nor UDP", "TCP or UDP header"),
        Column("dport", pl.UInt16, "port to which it goes; 0 of neither TCP nor UDP", "TCP or UDP header"),
        Column("proto", pl.UInt8, "protocol: 1 ICMP, 6 TCP, 17 UDP, others by IANA's list", _IP),
        Column("ip_id", pl.UInt16, "identification of the packet", _IP),
        Column(
            "seq",
            pl.UInt32,
            "TCP: number of its first byte; uTP: the packet's number, 16 bits; other UDP: a digest of its first bytes",
            "TCP or uTP header",
        ),
        Column(
            "ack",
            pl.UInt32,
            "TCP: the next byte that is expected; uTP: the last packet that came without a gap, 16 bits",
            "TCP or uTP header",
        ),
        Column("flags", pl.UInt8, f"FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128; {_NOT_TCP}", _TCP),
        Column("window", pl.UInt16, f"receive window as on the wire, not scaled; {_NOT_TCP}", _TCP),
        Column("window_scale", pl.UInt8, "1 + the shift of the window scale option; 0 without the option", _TCP),
        Column(
            "payload_bytes",
            pl.UInt16,
            "data behind the header of TCP, UDP or uTP; from length fields, so right for cut packets, too",
            "IP and TCP, UDP or uTP header",
            "bytes",
        ),
        Column(
            "tsval",
            pl.UInt32,
            "TCP: the timestamp in ticks of the sender's clock; uTP: the sender's clock, us",
            "TCP option or uTP header",
        ),
        Column("tsecr", pl.UInt32, f"the timestamp that comes back to its sender; {_NOT_TCP}", "TCP option"),
        Column("tap", pl.Categorical, "where it was captured: a tap of docs/reference/scenarios.md", "capture"),
        Column("interface", pl.Categorical, "the interface at which it was captured, such as `r1-s2`", "capture"),
        Column(
            "flow",
            pl.Categorical,
            "the scenario's flow that it belongs to",
            "addresses and ports of run.json",
            null="it belongs to no flow, or its host has both ends of flows and this is the other tap's",
        ),
        Column(
            "forward",
            pl.Boolean,
            "whether it goes from the flow's sender to its receiver (data), not back (acknowledgements)",
            "addresses and ports of run.json",
            null="as for `flow`",
        ),
    ),
)

UTP: Final = Table(
    "utp",
    "a uTP packet of packets.parquet",
    (
        Column("packet", pl.UInt32, "its row in packets.parquet, from 0", "packets.parquet"),
        Column("utp_header_bytes", pl.UInt16, "length of the uTP header with its extensions", _UTP, "bytes"),
        Column("utp_version", pl.UInt8, "1 is the header of BEP 29, 0 the older one", _UTP),
        Column("utp_type", pl.UInt8, "0 data, 1 fin, 2 state, 3 reset, 4 syn", _UTP),
        Column(
            "utp_extensions",
            pl.UInt8,
            "bits of the extensions: 1 selective acknowledgement, 2 extension bits, 4 close reason",
            _UTP,
        ),
        Column("utp_connection", pl.UInt32, "number of the connection", _UTP),
        Column(
            "utp_difference_us",
            pl.UInt32,
            "the receiver's clock less the sender's at the last packet that came; 0: none came",
            _UTP,
            "us",
        ),
        Column("utp_window_bytes", pl.UInt32, "receive window", _UTP, "bytes"),
        Column("utp_sack", pl.UInt64, "bit i: packet `ack` + 2 + i has come; only the first 64 packets", _UTP),
    ),
)

_OF_QUEUE: Final = (
    Column("time_ns", pl.Int64, "when the queue was read, from the scenario's zero", "sampler", "ns"),
    Column("backlog_pkts", pl.Int64, "packets waiting; the one being sent is not counted", _QUEUE, "packets"),
    Column("backlog_bytes", pl.Int64, "bytes of their IP packets", _QUEUE, "bytes"),
    Column(
        "sent_pkts", pl.Int64, "packets that have left it so far, the probe's before zero included", _QUEUE, "packets"
    ),
    Column("sent_bytes", pl.Int64, "bytes of their IP packets", _QUEUE, "bytes"),
    Column("dropped_pkts", pl.Int64, "packets that it has dropped so far", _QUEUE, "packets"),
)
_QUEUE_ROW: Final = "a sample of the queue {} each `sample_ns` of run.json; no rows without a limit there"

QUEUE: Final = Table("queue", _QUEUE_ROW.format("of the bottleneck,"), _OF_QUEUE)
QUEUE_BACKWARD: Final = Table(
    "queue-backward", _QUEUE_ROW.format("of the reverse path (`backward_bottleneck`),"), _OF_QUEUE
)

_KERNEL: Final = "tcp_info, or the program's own trace"

CWND: Final = Table(
    "cwnd",
    "a sample of a sender's own state; of programs, when they say so; no rows of programs that report none",
    (
        Column("time_ns", pl.Int64, "when the sender was asked, from the scenario's zero", "sampler", "ns"),
        Column("cwnd_pkts", pl.Float64, "congestion window", _KERNEL, "packets", _OF_SENDER),
        Column("ssthresh_pkts", pl.Float64, "slow start threshold", _KERNEL, "packets", "it is infinite, or unknown"),
        Column("srtt_us", pl.Float64, "smoothed round-trip time", _KERNEL, "us", _OF_SENDER),
        Column("rttvar_us", pl.Float64, "mean deviation of the round-trip time", _KERNEL, "us", _OF_SENDER),
        Column("unacked_pkts", pl.Float64, "packets sent and not yet acknowledged", _KERNEL, "packets", _OF_SENDER),
        Column("lost_pkts", pl.Float64, "of these, those that count as lost", _KERNEL, "packets", _OF_SENDER),
        Column("retransmitted_pkts", pl.Float64, "packets sent again so far", _KERNEL, "packets", _OF_SENDER),
        Column("bytes_acked", pl.Int64, "data acknowledged so far", _KERNEL, "bytes", _OF_SENDER),
        Column("ca_state", pl.UInt8, "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss", "tcp_info", "", _OF_SENDER),
        Column(
            "base_delay_us",
            pl.Float64,
            "the control's estimate of the base delay; off by an unknown clock offset, which tcp-ledbat may change",
            "congestion control",
            "us",
            _ESTIMATE,
        ),
        Column(
            "current_delay_us",
            pl.Float64,
            "its estimate of the delay now, off by the same constant",
            "congestion control",
            "us",
            _ESTIMATE,
        ),
        Column(
            "queuing_delay_us", pl.Float64, "its estimate of the queuing delay", "congestion control", "us", _ESTIMATE
        ),
        Column("flow", pl.Categorical, "the scenario's flow that the sender serves", "run.json"),
    ),
)

ALL: Final = (PACKETS, UTP, QUEUE, QUEUE_BACKWARD, CWND)
