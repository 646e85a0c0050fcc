"""Sizes the buffers and memory of a guest by what its scenario can have under way at once.

A standard size fits every study of the project. Only longer paths and more hosts get more, so runs within the standard
keep their bytes.
"""

import math
from typing import Any

from scenarios.plan import captures, extremes
from topologies.packets import PACKET_BYTES

MEMORY_MIB = 512
"""Memory of a standard guest."""
MOST_MEMORY_MIB = 8192
"""Of the largest one."""

_MIB = 1 << 20
_SPARE_MIB = 320  # of a standard guest, besides its kernel, root and Python

_RECEIVE_BUFFER_BYTES, _LARGEST_BUFFER_BYTES = 4 * _MIB, 32 * _MIB
_TCP_MEMORY_BYTES = 24 * _MIB  # what the kernel of a standard guest lets TCP use before memory pressure
_OVERSHOOT = 2  # slow start doubles the packets under way before it sees a loss
_KEPT_SHARE = 2  # a packet in memory takes up to twice its bytes
_SENT_AND_RECEIVED = (
    2.5  # kept by a sender until acknowledged, waiting there to be sent, kept by a receiver behind a gap
)
_FLOW_BYTES, _FLOW_PROCESSES_BYTES, _CAPTURE_PROCESS_BYTES = 256 << 10, 2 * _MIB, 4 * _MIB
# Sender and receiver that bring a root of their own: an interpreter, a client, libraries. Measured: Transmission, with
# its Python, 17 MiB of its own for each; qBittorrent 23, libtorrent 19, Node 15 to 26, Go 9.
_CLIENTS_BYTES = 48 * _MIB
# A burst of a whole window must not be lost in softnet, where by default 1000 packets may wait.
_BURST_BYTES, _BACKLOG_PKTS = 800 * PACKET_BYTES, 1_000_000
_RING_KIB, _RINGS_KIB, _PAGE_BYTES = 16384, 16 * 16384, 4096


class TooLargeError(ValueError):
    """A run needs more memory than any guest has."""

    def __init__(self, found: str) -> None:
        super().__init__(found)
        self.found, self.allowed = found, f"a run for which a guest of {MOST_MEMORY_MIB} MiB suffices"


def sizes(run: dict[str, Any]) -> dict[str, Any]:
    """Return the `sizes` of run.json: what guest and kernel of a resolved scenario must hold.

    `kernel` are sysctls of the whole guest, needed where the kernel's own choice is too small. Where processes of the
    guest capture packets, each has `capture_buffer_kib`.

    Raises:
        TooLargeError: no guest is large enough.
    """
    window_bytes = max(_window_bytes(run, direction) for direction in extremes.DIRECTIONS)
    largest_bytes = _OVERSHOOT * window_bytes
    tcp_bytes = math.ceil(largest_bytes * _KEPT_SHARE * _SENT_AND_RECEIVED) + len(run["flows"]) * _FLOW_BYTES
    capturing = captures.processes(run)
    ring_kib = _RING_KIB if capturing * _RING_KIB <= _RINGS_KIB else _RINGS_KIB // capturing
    needed_bytes = tcp_bytes + capturing * ((ring_kib << 10) + _CAPTURE_PROCESS_BYTES)
    needed_bytes += sum(_processes_bytes(flow, run["implementations"][flow["implementation"]]) for flow in run["flows"])
    memory_mib = MEMORY_MIB + max(0, math.ceil((needed_bytes / _MIB - _SPARE_MIB) / 128) * 128)
    if memory_mib > MOST_MEMORY_MIB:
        raise TooLargeError(
            f"a run needs a guest of {memory_mib} MiB: "
            f"{window_bytes / 1e6:.0f} MB can be under way (rate x round trip + buffer)"
            + f", and {capturing} interfaces are captured"
            * bool(capturing)
        )
    pages = math.ceil(tcp_bytes / _PAGE_BYTES)
    kernel = {"net/ipv4/tcp_mem": f"{pages} {pages} {2 * pages}"} if tcp_bytes > _TCP_MEMORY_BYTES else {}
    if window_bytes > _BURST_BYTES:
        kernel["net/core/netdev_max_backlog"] = str(_BACKLOG_PKTS)
    for side, name in (("receive", "rmem"), ("send", "wmem")):
        if size_bytes := run.get("sockets", {}).get(f"{side}_bytes"):
            kernel |= {f"net/core/{name}_{what}": str(size_bytes) for what in ("default", "max")}
    return {
        "memory_mib": memory_mib,
        "receive_buffer_bytes": max(_RECEIVE_BUFFER_BYTES, math.ceil(largest_bytes / _MIB) * _MIB),
        "largest_buffer_bytes": max(_LARGEST_BUFFER_BYTES, _KEPT_SHARE * math.ceil(largest_bytes / _MIB) * _MIB),
        "kernel": kernel,
        **({"capture_buffer_kib": ring_kib} if capturing else {}),
    }


def _processes_bytes(flow: dict[str, Any], implementation: dict[str, Any]) -> int:
    """Return what a flow's sender and receiver take; a client keeps what it sends or gets in files, in memory, too."""
    if "root" not in implementation:
        return _FLOW_PROCESSES_BYTES
    payload_bytes = flow.get("bytes") or flow["params"].get("payload_bytes", 0)
    return _CLIENTS_BYTES + 2 * int(payload_bytes)


def _window_bytes(run: dict[str, Any], direction: str) -> int:
    """Return the most bytes that can be under way and waiting in one direction: rate x round trip + buffers."""
    queues = extremes.queues(run, direction)
    if not queues:
        return 0
    held = [what for what in extremes.HOLDING if what != "jitter"]
    round_trip_ns = sum(extremes.most_ns(run, what, way) for what in held for way in extremes.DIRECTIONS)
    fastest_bps = max(queue.fastest_bps for queue in queues)
    waiting_pkts = sum(queue.buffer_pkts for queue in queues)
    return math.ceil(fastest_bps * round_trip_ns / 8e9) + waiting_pkts * PACKET_BYTES
