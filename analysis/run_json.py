"""run.json: what a run has to do, every value resolved."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Final

from analysis.documents import Fields, read_made
from scenarios.resolve import COMPLETE
from scenarios.run_files import FORMAT

NS: Final = 1_000_000_000
OTHER: Final = "other"  # an implementation that belongs to no known family
PAYLOAD_BYTES: Final = {4: 1448, 6: 1428}  # of a full packet, after the headers of IP and TCP with timestamps


@dataclass(frozen=True)
class Flow:
    """One flow of a run; its packets carry `address` and `port` as their destination, its ACKs as their source."""

    name: str
    implementation: str
    start_s: float
    bytes: int | None  # to deliver; None: without end
    params: dict[str, Any]
    address: IPv4Address | IPv6Address
    port: int
    backward: bool  # whether its data goes from the d side to the s side
    receiver_implementation: str | None = None  # where it is not the sender's
    ends: dict[str, str] = field(default_factory=dict)  # its hosts, by the tap of each
    family: str = OTHER  # what its sender's implementation.yaml says
    surrogate_of: str | None = None
    transport: str = "tcp"  # tcp, utp or udp
    may_fail: bool = False  # how its endpoints ended is a result
    stop_s: float = math.inf  # when its sender stops
    crosses: bool = True  # whether its data and answers pass the first bottleneck


@dataclass(frozen=True)
class Settings:
    """The resolved scenario of one run. Times in seconds of scenario time unless the name says otherwise."""

    folder: Path
    study: str
    experiment: str
    cell: str
    cell_values: dict[str, Any]  # of the matrix and the case, by name
    seed: int
    title: str
    size: str  # full or quick
    rate_bps: int
    buffer_pkts: int
    forward_s: float
    backward_s: float
    flows: tuple[Flow, ...]
    both_sides: bool  # whether each host is at both taps, sender and receiver
    rate_steps: tuple[tuple[float, int], ...]  # (instant, new bottleneck rate in bit/s), in order
    path_steps: Mapping[str, tuple[tuple[float, float], ...]]  # (instant, ms) of delays and jitter that change, by name
    changes_s: tuple[float, ...]  # instants of all changes of the path
    backward_changes: bool  # whether an event changes the delay of the reverse path
    backward_rate_bps: int | None  # of the reverse path; None: unlimited
    backward_buffer_pkts: int | None
    backward_rate_steps: tuple[tuple[float, int], ...]
    duration_s: float
    destinations: IPv4Network | IPv6Network  # where packets through the bottleneck are bound for
    captures: tuple[str, ...]
    keep_captures: bool
    ip: int  # its version
    origin_ns: int
    provenance: dict[str, Any]


def load(folder: Path) -> Settings:
    """Read and check the run.json of a run folder."""
    document = read_made(folder, "run.json")
    if document.get("format", int) != FORMAT:
        raise document.error("format", document.data["format"], str(FORMAT))
    bottleneck, delay = document.child("bottleneck"), document.child("delay")
    backward = document.maybe("backward_bottleneck", dict) or {}
    rate = bottleneck.get("rate_bps", int)
    if rate <= 0:
        raise document.error("bottleneck.rate_bps", rate, "a number above 0")
    return Settings(
        folder=folder,
        study=document.get("study", str),
        experiment=document.get("experiment", str),
        cell=document.get("cell", str),
        cell_values=document.maybe("cell_values", dict) or {},
        seed=document.get("seed", int),
        title=document.get("title", str),
        size=document.maybe("size", str) or COMPLETE,
        rate_bps=rate,
        buffer_pkts=bottleneck.get("buffer_pkts", int),
        forward_s=delay.get("forward_ns", int) / NS,
        backward_s=delay.get("backward_ns", int) / NS,
        flows=tuple(_flow(flow, document) for flow in document.children("flows")),
        both_sides=(document.maybe("network", dict) or {}).get("everyone", False),
        rate_steps=_rate_steps(document, "bottleneck"),
        path_steps=dict(_path_steps(document)),
        changes_s=tuple(sorted(event.get("at_ns", int) / NS for event in document.children("events"))),
        backward_changes=any(
            event.child(field).data.get("backward_ns") is not None
            for event in document.children("events")
            for field in ("delay", "jitter")
            if event.data.get(field) is not None
        )
        or any("backward" in (event.maybe("path", dict) or {}) for event in document.children("events")),
        backward_rate_bps=backward.get("rate_bps"),
        backward_buffer_pkts=backward.get("buffer_pkts"),
        backward_rate_steps=_rate_steps(document, "backward_bottleneck"),
        duration_s=document.get("duration_ns", int) / NS,
        destinations=_destinations(document),
        captures=tuple(str(name) for name in document.get("captures", list)),
        keep_captures=document.get("keep_captures", bool),
        ip=document.maybe("ip", int) or 4,
        origin_ns=document.get("origin_ns", int),
        provenance=document.maybe("provenance", dict) or {},
    )


def _rate_steps(document: Fields, bottleneck: str) -> tuple[tuple[float, int], ...]:
    return tuple(
        sorted(
            (event.get("at_ns", int) / NS, event.get("rate_bps", int))
            for event in document.children("events")
            if event.data.get("on") == bottleneck and event.data.get("rate_bps") is not None
        )
    )


def _path_steps(document: Fields) -> Iterator[tuple[str, tuple[tuple[float, float], ...]]]:
    """Give the delays and the jitter of the path, each way, that its events change: from the start on, in ms."""
    events = sorted(document.children("events"), key=lambda event: event.get("at_ns", int))
    for what in ("delay", "jitter"):
        first = document.maybe(what, dict) or {}
        for direction in ("forward", "backward"):
            name = f"{direction}_ns"
            steps = [
                (event.get("at_ns", int) / NS, to)
                for event in events
                if (to := (event.maybe(what, dict) or {}).get(name)) is not None
            ]
            if steps:
                yield f"{direction} {what}", tuple((at, to / 1e6) for at, to in [(0.0, first.get(name) or 0), *steps])


def _flow(flow: Fields, document: Fields) -> Flow:
    sender = flow.get("implementation", str)
    about = (document.maybe("implementations", dict) or {}).get(sender, {})
    return Flow(
        name=flow.get("name", str),
        implementation=sender,
        start_s=flow.get("start_ns", int) / NS,
        bytes=flow.maybe("bytes", int),
        params=flow.maybe("params", dict) or {},
        address=_address(flow, "to_address"),
        port=flow.get("port", int),
        backward=flow.get("direction", str) == "backward",
        receiver_implementation=flow.maybe("receiver_implementation", str),
        ends={"sender": flow.maybe("from", str) or "", "receiver": flow.maybe("to", str) or ""},
        family=about.get("family", OTHER),
        surrogate_of=about.get("surrogate_of"),
        transport=about.get("transport", "tcp"),
        may_fail=flow.maybe("may_fail", bool) or False,
        stop_s=flow.get("stop_ns", int) / NS if "stop_ns" in flow.data else math.inf,
        crosses=_crosses(flow, document),
    )


def _crosses(flow: Fields, document: Fields) -> bool:
    """Whether a flow passes the first bottleneck: in a parking lot, a pair spans some of them."""
    spans = document.maybe("spans", list)
    return not spans or spans[int(flow.get("from", str)[1:]) - 1][0] == 1


def _destinations(document: Fields) -> IPv4Network | IPv6Network:
    queue = document.child("network").child("queues").child("bottleneck")
    text = queue.get("destinations", str)
    try:
        return ip_network(text)
    except ValueError:
        raise queue.error(queue.name("destinations"), text, "a network of IPv4 or IPv6") from None


def _address(flow: Fields, field: str) -> IPv4Address | IPv6Address:
    text = flow.get(field, str)
    try:
        return ip_address(text)
    except ValueError:
        raise flow.error(flow.name(field), text, "an address of IPv4 or IPv6") from None
