"""The fidelity probe measures each path before any flow uses it and compares it with the scenario.

A path that differs from the scenario would spoil results silently; the probe makes the run fail instead.
"""

import socket
import struct
from dataclasses import asdict, dataclass
from typing import Any

from engine.guest.clock import now_ns, sleep_until
from topologies.batch import entered
from topologies.packets import PACKET_BYTES, packet_ns
from topologies.pairs import Addresses
from topologies.probe_plan import hello_bytes, train_pkts
from topologies.timeline import RULE_NS

_PORT = 9
_ENDS = ("source", "destination")
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_KEPT_BYTES = 4096  # of a receive buffer that a packet takes
_ROUNDING_NS = 1_000

RELATIVE_TOLERANCE = 0.001


class ProbeError(Exception):
    """A path is not what the scenario says."""


@dataclass(frozen=True)
class Path:
    """What was measured on one path."""

    forward_ns: int
    backward_ns: int
    capacity_bps: float
    backward_capacity_bps: float | None  # None: the reverse path has no limit


def probe(net: Any, run: dict[str, Any], start_ns: int) -> dict[str, Any]:
    """Measure every path that flows use, one after another; return a `Path` by name for the summary.

    Raises:
        ProbeError: a value is off by more than 0.1 % and by more than the backend tolerates: `delay_tolerance_ns` for
            delays, `train_tolerance_ns` for the duration of the packet train that measures a capacity.
    """
    delay_tolerance_ns, train_tolerance_ns = (run["agent"][f"{what}_tolerance_ns"] for what in ("delay", "train"))
    measured = {}
    paths = run["network"]["paths"]
    for index, path in enumerate(paths):
        sleep_until(start_ns + index * run["lead"]["slot_every_ns"])
        if path["changes"]:
            net.apply(path["changes"])
            sleep_until(now_ns() + RULE_NS)
        values = _measure(net, path, run)
        measured[path["name"]] = asdict(values)
        over = path["name"].removeprefix(f"{path['source']}-{path['destination']}")
        there, back = (f"{path[end]} to {path[other]}{over}" for end, other in (_ENDS, _ENDS[::-1]))
        _compare(there, "forward delay", values.forward_ns, path["forward_ns"], delay_tolerance_ns)
        _compare(back, "backward delay", values.backward_ns, path["backward_ns"], delay_tolerance_ns)
        for where, capacity_bps, limit in (
            (there, values.capacity_bps, path["forward"]),
            (back, values.backward_capacity_bps, path["backward"]),
        ):
            if capacity_bps is not None:
                slack = _capacity_slack(limit, train_tolerance_ns)
                _compare(where, "capacity", capacity_bps, limit["rate_bps"], slack)
    if paths and paths[0]["changes"]:
        net.apply(paths[0]["changes"])
    return measured


def _capacity_slack(bottleneck: dict[str, Any], slack_ns: int) -> float:
    """Return how far a capacity may be off (bit/s) when its train may be `slack_ns` longer or shorter."""
    train_ns = packet_ns(bottleneck) * (train_pkts(bottleneck) - 1)
    return float(bottleneck["rate_bps"] * slack_ns / train_ns)


def _compare(where: str, what: str, measured: float, expected: float, slack: float = 0) -> None:
    unit = "bit/s" if what == "capacity" else "ns"
    if abs(measured - expected) > max(RELATIVE_TOLERANCE * expected, slack):
        raise ProbeError(f"fidelity probe: {what} from {where} is {measured:.0f} {unit}, the scenario says {expected}")


def _measure(net: Any, path: dict[str, Any], run: dict[str, Any]) -> Path:
    nodes = run["network"]["nodes"]
    source, destination = path["source"], path["destination"]
    there, back = nodes[destination]["address"], nodes[source]["address"]
    forward, backward = path["forward"], path["backward"]
    backward_bps = None
    timeout_s = 1 + run["lead"]["slot_ns"] / 1e9
    known = net.addresses
    with (
        _udp(net[source].namespace, known, timeout_s) as sender,
        _udp(net[destination].namespace, known, timeout_s) as receiver,
    ):
        # one packet each way first, because a switch sends the first packet of a flow through its slow path
        begun_ns = now_ns()
        for end, other, address in ((sender, receiver, there), (receiver, sender, back)):
            end.sendto(b"", (address, _PORT))
            _arrival_ns(other)
        _wait_until_sent(begun_ns, forward, known)
        forward_ns, capacity_bps = _train(sender, receiver, (there, _PORT), forward, known)
        sent_ns = now_ns()
        receiver.sendto(b"", (back, _PORT))
        backward_ns = _arrival_ns(sender) - sent_ns
        if backward:
            _wait_until_sent(sent_ns, backward, known)
            _, backward_bps = _train(receiver, sender, (back, _PORT), backward, known)
    return Path(forward_ns, backward_ns, capacity_bps, backward_bps)


def _wait_until_sent(begun_ns: int, bottleneck: dict[str, Any], known: Addresses) -> None:
    """Wait for the transmission of the first packet to end, which on a slow link takes longer than its travel."""
    sent_ns = begun_ns + round(packet_ns(bottleneck, hello_bytes(known)))
    if now_ns() < sent_ns:
        sleep_until(sent_ns)


def _train(
    sender: socket.socket, receiver: socket.socket, to: tuple[str, int], bottleneck: dict[str, Any], known: Addresses
) -> tuple[int, float]:
    """Send a train of packets; return the delay of the first (ns) and the rate at which all arrive (bit/s).

    The train is sent at once. On a fast link, packets that would find the buffer full wait until half of it is empty.
    """
    train, buffer_pkts = train_pkts(bottleneck), bottleneck["buffer_pkts"]
    payload = bytes(PACKET_BYTES - hello_bytes(known))
    each_ns = packet_ns(bottleneck)
    if train > buffer_pkts + 1:
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, train * _KEPT_BYTES)
    sent_ns = now_ns()
    for index in range(train):
        if now_ns() < sent_ns + (index - buffer_pkts) * each_ns + _ROUNDING_NS and index > buffer_pkts:
            sleep_until(sent_ns + _ROUNDING_NS + round((index - buffer_pkts + buffer_pkts // 2) * each_ns))
        sender.sendto(payload, to)
    arrivals_ns = [_arrival_ns(receiver) for _ in range(train)]
    each_bits = each_ns * bottleneck["rate_bps"] / 1e9
    return arrivals_ns[0] - sent_ns, each_bits * (train - 1) * 1e9 / (arrivals_ns[-1] - arrivals_ns[0])


def _udp(namespace: int, known: Addresses, timeout_s: float) -> socket.socket:
    with entered(namespace):
        udp = socket.socket(known.family, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    udp.bind(("", _PORT))
    udp.settimeout(timeout_s)
    return udp


def _arrival_ns(udp: socket.socket) -> int:
    try:
        _, ancillary, _, _ = udp.recvmsg(PACKET_BYTES, 64)
    except TimeoutError:
        raise ProbeError("fidelity probe: a packet was lost on an empty path") from None
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return int(seconds * 1_000_000_000 + nanoseconds)
    raise ProbeError("fidelity probe: the kernel gave no arrival time")
