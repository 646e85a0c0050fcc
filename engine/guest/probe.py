"""The fidelity probe: measures the path before any flow uses it and compares it with the scenario.

An emulated path that is not what the scenario says spoils results silently; here it fails the run.
"""

import socket
import struct
from dataclasses import asdict, dataclass
from typing import Any

from engine.guest.clock import now_ns, sleep_until
from engine.guest.timeline import HELLO_BYTES, PACKET_BYTES, RULE_NS, packet_ns, probed_pairs, train_pkts
from topologies.batch import entered
from topologies.dumbbell import destination_ip, source_ip
from topologies.two_path import route

_PORT = 9
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_KEPT_BYTES = 4096  # that a packet takes of a receive buffer
_ROUNDING_NS = 1_000

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
    slots = [(path, pair) for path in delays for pair in probed_pairs(run)]
    measured = {}
    for index, (path, pair) in enumerate(slots):
        sleep_until(start_ns + index * run["lead"]["slot_every_ns"])
        if len(delays) > 1:
            route(net, {"forward": path, "backward": path})
            sleep_until(now_ns() + RULE_NS)
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
    train_ns = packet_ns(bottleneck) * (train_pkts(bottleneck) - 1)
    return float(bottleneck["rate_bps"] * slack_ns / train_ns)


def _compare(where: str, what: str, measured: float, expected: float, slack: float = 0) -> None:
    unit = "bit/s" if what == "capacity" else "ns"
    if abs(measured - expected) > max(RELATIVE_TOLERANCE * expected, slack):
        raise ProbeError(f"fidelity probe: {what} from {where} is {measured:.0f} {unit}, the scenario says {expected}")


def _measure(net: Any, pair: int, run: dict[str, Any]) -> Path:
    source, destination = net[f"s{pair}"].namespace, net[f"d{pair}"].namespace
    forward, backward = run["bottleneck"], run["backward_bottleneck"]
    backward_bps = None
    timeout_s = 1 + run["lead"]["slot_ns"] / 1e9
    with _udp(source, timeout_s) as sender, _udp(destination, timeout_s) as receiver:
        # one packet each way first: a switch asks its slow path about the first packet of a flow
        begun_ns = now_ns()
        for end, other, address in ((sender, receiver, destination_ip(pair)), (receiver, sender, source_ip(pair))):
            end.sendto(b"", (address, _PORT))
            _arrival_ns(other)
        _wait_until_sent(begun_ns, forward)
        forward_ns, capacity_bps = _train(sender, receiver, destination_ip(pair), forward)
        sent_ns = now_ns()
        receiver.sendto(b"", (source_ip(pair), _PORT))
        backward_ns = _arrival_ns(sender) - sent_ns
        if backward:
            _wait_until_sent(sent_ns, backward)
            _, backward_bps = _train(receiver, sender, source_ip(pair), backward)
    return Path(forward_ns, backward_ns, capacity_bps, backward_bps)


def _wait_until_sent(begun_ns: int, bottleneck: dict[str, Any]) -> None:
    """Let a first packet's transmission end, which on a slow link takes longer than its way."""
    sent_ns = begun_ns + round(packet_ns(bottleneck, HELLO_BYTES))
    if now_ns() < sent_ns:
        sleep_until(sent_ns)


def _train(
    sender: socket.socket, receiver: socket.socket, address: str, bottleneck: dict[str, Any]
) -> tuple[int, float]:
    """Delay of the first of some packets that are sent one after the other, ns, and the rate of their arrival, bit/s.

    They are sent at once; those that would find the buffer full, on a fast link, as soon as half of it is empty.
    """
    train, buffer_pkts = train_pkts(bottleneck), bottleneck["buffer_pkts"]
    payload = bytes(PACKET_BYTES - HELLO_BYTES)
    each_ns = packet_ns(bottleneck)
    if train > buffer_pkts + 1:
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, train * _KEPT_BYTES)
    sent_ns = now_ns()
    for index in range(train):
        if now_ns() < sent_ns + (index - buffer_pkts) * each_ns + _ROUNDING_NS and index > buffer_pkts:
            sleep_until(sent_ns + _ROUNDING_NS + round((index - buffer_pkts + buffer_pkts // 2) * each_ns))
        sender.sendto(payload, (address, _PORT))
    arrivals_ns = [_arrival_ns(receiver) for _ in range(train)]
    return arrivals_ns[0] - sent_ns, 8 * PACKET_BYTES * (train - 1) * 1e9 / (arrivals_ns[-1] - arrivals_ns[0])


def _udp(namespace: int, timeout_s: float) -> socket.socket:
    with entered(namespace):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
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
