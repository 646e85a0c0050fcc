"""Flows over the kernel's TCP, driven by the bulk sender and receiver."""

import os
from typing import Any

from topologies.pairs import like

exit_code = os.waitstatus_to_exitcode

_BULK = "/opt/tools/bulk"
_WAKE_BYTES = 256 << 10
"""A receiver wakes once per this many bytes, far below its buffer, so the advertised window stays open."""


def start(role: str, node: Any, peer: str, port: int, run: dict[str, Any], flow: dict[str, Any], log: str) -> int:
    """Start one side of a flow; a sender waits for the flow's start. Returns its process.

    Its standard output and errors go to the files `log`.out and `log`.err.
    """
    implementation = run["implementations"][flow["implementation"]]
    receiver = run["implementations"][flow.get("receiver_implementation", flow["implementation"])]
    tcp = receiver.get("tcp", {})
    own_buffer = "receive_bytes" in run.get("sockets", {})
    own_buffer |= "net/ipv4/tcp_rmem" in tcp.get("receiver", {})
    # fixed, and large enough for the path, so that the receive window limits no flow
    buffer_bytes = 0 if own_buffer else run["sizes"]["receive_buffer_bytes"]
    writes = flow.get("writes")
    words: list[object] = ["receive", like(peer).version, port, buffer_bytes, 1 if writes else _WAKE_BYTES]
    words += [tcp["receiver_control"]] if "receiver_control" in tcp else []
    if role == "sender":
        control = implementation["congestion_control"]
        origin_ns = run["origin_ns"]
        start_ns, stop_ns = origin_ns + flow["start_ns"], origin_ns + flow["stop_ns"]
        words = ["send", peer, port, control, flow["bytes"] or 0, start_ns, stop_ns, run["sample_ns"], origin_ns]
        words.append(f"/results/traces/cwnd-{flow['name']}.csv")
        words += [writes["bytes"], writes["every_ns"]] if writes else []
    with open(f"{log}.out", "w") as output, open(f"{log}.err", "w") as errors:
        return int(node.spawn([_BULK, *map(str, words)], output.fileno(), errors.fileno()))


def received_bytes(log: str) -> int:
    """Return the number of bytes that a receiver reports."""
    with open(f"{log}.out") as file:
        return int(file.read() or 0)
