"""The fidelity probe: measures the path before any flow uses it and compares it with the scenario.

An emulated path that is not what the scenario says spoils results silently; here it fails the run.
"""

import socket
import struct
from dataclasses import asdict, dataclass
from typing import Any

from engine.guest.clock import now_ns, sleep_until
from topologies.batch import entered
from topologies.dumbbell import destination_ip, source_ip
from topologies.two_path import route

_PORT = 9
_IP_UDP_HEADER_BYTES = 28
_PACKET_BYTES = 1500
_TRAIN_PKTS = 20
_SO_TIMESTAMPNS = 35
_RULE_NS = 20_000_000  # Open vSwitch looks for decisions that a new rule has changed at most every 5 ms

RELATIVE_TOLERANCE = 0.001
DELAY_TOLERANCE_NS = {"virtual": 10_000, "qemu": 100_000, "native": 1_000_000}
"""By backend: where a processor is emulated, handling a packet takes time; in real time whoever is to handle it may be
kept waiting, and what is off by a packet at 10 Mbit/s (1.2 ms) would be seen by a delay-based sender."""


class ProbeError(Exception):
    """The path is not what the scenario says."""


@dataclass(frozen=True)
class Path:
    """What was measured between one pair of hosts."""

    forward_ns: int
    backward_ns: int
    capacity_bps: float
    backward_capacity_bps: float | None  # None: nothing limits the way back


def probe(net: Any, run: dict[str, Any], start_ns: int) -> dict[str, Any]:
    """Measure every pair that a flow uses, one after the other, and over both paths if there are two.

    Returns what goes into the summary: a `Path` by pair, such as ``s1-d1`` and, over the second path, ``s1-d1:b``.

    Raises:
        ProbeError: off by more than 0.1 % and, for delays, more than `DELAY_TOLERANCE_NS`; in real time that holds for
            the duration of the train of packets from which a capacity comes.
    """
    delays = {"a": run["delay"]} | ({"b": run["delay_b"]} if run["delay_b"] else {})
    pairs = sorted({int(flow["from"][1:]) for flow in run["flows"]})
    slots = [(path, pair) for path in delays for pair in pairs]
    measured = {}
    for index, (path, pair) in enumerate(slots):
        sleep_until(start_ns + index * 4_000_000_000 // len(slots))
        if len(delays) > 1:
            route(net, {"forward": path, "backward": path})
            sleep_until(now_ns() + _RULE_NS)
        over = "" if path == "a" else f":{path}"
        found = _measure(net, pair, run)
        measured[f"s{pair}-d{pair}{over}"] = asdict(found)
        there, back = f"s{pair} to d{pair}{over}", f"d{pair} to s{pair}{over}"
        slack_ns = DELAY_TOLERANCE_NS[run["backend"]]
        _compare(there, "forward delay", found.forward_ns, delays[path]["forward_ns"], slack_ns)
        _compare(back, "backward delay", found.backward_ns, delays[path]["backward_ns"], slack_ns)
        for where, capacity_bps, bottleneck in (
            (there, found.capacity_bps, run["bottleneck"]),
            (back, found.backward_capacity_bps, run["backward_bottleneck"]),
        ):
            if capacity_bps is not None:
                slack = _capacity_slack(bottleneck, slack_ns) if run["backend"] == "native" else 0
                _compare(where, "capacity", capacity_bps, bottleneck["rate_bps"], slack)
    if len(delays) > 1:
        route(net, {"forward": "a", "backward": "a"})
    return measured


def _capacity_slack(bottleneck: dict[str, Any], slack_ns: int) -> float:
    """How far a capacity may be off (bit/s) when the train that measures it may be `slack_ns` longer or shorter."""
    train_ns = 8e9 * _PACKET_BYTES * (_train_pkts(bottleneck["buffer_pkts"]) - 1) / bottleneck["rate_bps"]
    return float(bottleneck["rate_bps"] * slack_ns / train_ns)


def _train_pkts(buffer_pkts: int) -> int:
    """A train that fits: the first packet passes at once, the rest must wait in the buffer."""
    return min(_TRAIN_PKTS, buffer_pkts + 1)


def _compare(where: str, what: str, measured: float, expected: float, slack: float = 0) -> None:
    unit = "bit/s" if what == "capacity" else "ns"
    if abs(measured - expected) > max(RELATIVE_TOLERANCE * expected, slack):
        raise ProbeError(f"fidelity probe: {what} from {where} is {measured:.0f} {unit}, the scenario says {expected}")


def _measure(net: Any, pair: int, run: dict[str, Any]) -> Path:
    source, destination = net[f"s{pair}"].namespace, net[f"d{pair}"].namespace
    backward_bps = None
    with _udp(source) as sender, _udp(destination) as receiver:
        # one packet each way first: a switch asks its slow path about the first packet of a flow
        for end, other, address in ((sender, receiver, destination_ip(pair)), (receiver, sender, source_ip(pair))):
            end.sendto(b"", (address, _PORT))
            _arrival_ns(other)
        forward_ns, capacity_bps = _train(sender, receiver, destination_ip(pair), run["bottleneck"]["buffer_pkts"])
        sent_ns = now_ns()
        receiver.sendto(b"", (source_ip(pair), _PORT))
        backward_ns = _arrival_ns(sender) - sent_ns
        if run["backward_bottleneck"]:
            _, backward_bps = _train(receiver, sender, source_ip(pair), run["backward_bottleneck"]["buffer_pkts"])
    return Path(forward_ns, backward_ns, capacity_bps, backward_bps)


def _train(sender: socket.socket, receiver: socket.socket, address: str, buffer_pkts: int) -> tuple[int, float]:
    """Delay of the first of some packets that are sent at once, ns, and the rate at which they arrive, bit/s."""
    train = _train_pkts(buffer_pkts)
    payload = bytes(_PACKET_BYTES - _IP_UDP_HEADER_BYTES)
    sent_ns = now_ns()
    for _ in range(train):
        sender.sendto(payload, (address, _PORT))
    arrivals_ns = [_arrival_ns(receiver) for _ in range(train)]
    return arrivals_ns[0] - sent_ns, 8 * _PACKET_BYTES * (train - 1) * 1e9 / (arrivals_ns[-1] - arrivals_ns[0])


def _udp(namespace: int) -> socket.socket:
    with entered(namespace):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    udp.bind(("", _PORT))
    udp.settimeout(5)
    return udp


def _arrival_ns(udp: socket.socket) -> int:
    try:
        _, ancillary, _, _ = udp.recvmsg(_PACKET_BYTES, 64)
    except TimeoutError:
        raise ProbeError("fidelity probe: a packet was lost on an empty path") from None
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return int(seconds * 1_000_000_000 + nanoseconds)
    raise ProbeError("fidelity probe: the kernel gave no arrival time")
