"""Describes a network as plain data: it becomes `network` in run.json, and `topologies.network` builds it in a guest.

Nothing here imports Mininet, so hosts without it can check scenarios.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from topologies.links import CHANGEABLE_OF_PATHS, Shaping
from topologies.links.base import Bottleneck

Plain = dict[str, Any]
"""JSON data."""
REDRAW = "redraw"
"""Field of an event from which on the paths, and the guest's kernel, draw other numbers."""


class TopologyError(ValueError):
    """A scenario asks for what its topology does not have; names the field, what was found and what is allowed."""

    def __init__(self, path: tuple[str | int, ...], found: str, allowed: str) -> None:
        super().__init__(f"{'.'.join(map(str, path))}: {found}; allowed: {allowed}")
        self.path, self.found, self.allowed = path, found, allowed


@dataclass(frozen=True)
class Node:
    """A network namespace, or a switch; `kind` is host, relay, router or switch.

    `routes` are words for ``ip route add``, `rules` the OpenFlow rules that a switch starts with. Only hosts have an
    `address`.
    """

    kind: str
    address: str | None = None
    routes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class End:
    """One end of a link; `egress` shapes the packets that leave by it.

    `addresses` have prefix lengths; `neighbours` are pairs of IP and MAC address.
    """

    node: str
    interface: str
    mac: str | None = None
    addresses: tuple[str, ...] = ()
    neighbours: tuple[tuple[str, str], ...] = ()
    egress: Shaping | None = None


@dataclass(frozen=True)
class Place:
    """An interface of a node."""

    node: str
    interface: str


@dataclass(frozen=True)
class Tap(Place):
    """An interface at which packets can be captured; `direction` is as in ``tcpdump -Q``."""

    direction: str


@dataclass(frozen=True)
class Queue(Place):
    """The queue of a rate-limited link.

    `direction` is forward or backward. Every packet received at one of `arrivals` goes to the queue, unless it leaves
    at one of `departures` (names of interfaces). Packets that pass the queue are addressed to `destinations`. `before`
    and `after` are the taps around it; `trace` is the name of its samples.
    """

    direction: str
    arrivals: tuple[str, ...]
    departures: tuple[str, ...]
    destinations: str
    before: str
    after: str
    trace: str


@dataclass(frozen=True)
class Relay:
    """The node in a host's link that runs a relay or the like; its interfaces towards host and network."""

    node: str
    inner: str
    outer: str


@dataclass(frozen=True)
class Path:
    """A path between a pair of hosts: its base delays, and the tightest limit in each direction (None: no limit).

    `changes` make the network use this path.
    """

    name: str
    source: str
    destination: str
    forward_ns: int
    backward_ns: int
    forward: Bottleneck | None
    backward: Bottleneck | None
    changes: tuple[Plain, ...] = ()


@dataclass
class Network:
    """A whole network: its nodes by name, its links, and the names that scenarios have for parts of it.

    `delays` are the places where each direction is delayed, one for each pair of hosts. `routes` are OpenFlow rules and
    the port by which packets leave then, by direction and the name of the path that they choose; the first one is in
    force from the start. `entrances` are the interfaces at which packets of hosts arrive. With `own_pairs_only` a host
    can send to the other host of its pair and to no other, with `everyone` to all others; data goes forward then.
    `cards` are the interfaces of hosts that have a limited rate and a queue of their own.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    links: list[tuple[End, End]] = field(default_factory=list)
    relays: dict[str, Relay] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    delays: dict[str, list[Place]] = field(default_factory=lambda: {"forward": [], "backward": []})
    routes: dict[str, dict[str, Plain]] = field(default_factory=dict)
    taps: dict[str, list[Tap]] = field(default_factory=dict)
    entrances: list[Place] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    own_pairs_only: bool = False
    everyone: bool = False
    cards: dict[str, Place] = field(default_factory=dict)

    def across(self, host: str) -> list[str]:
        """Return the hosts to which `host` may send; none if there is no such host."""
        if self.everyone:
            hosts = [name for name, node in self.nodes.items() if node.kind == "host"]
            return [other for other in hosts if other != host] if host in hosts else []
        pairs = {path.source: path.destination for path in self.paths}
        if host not in pairs:
            pairs = {destination: source for source, destination in pairs.items()}
        if host not in pairs or self.own_pairs_only:
            return [pairs[host]] if host in pairs else []
        return list(pairs.values())

    def direction(self, sender: str) -> str:
        """Return the direction of a host's data: forward from sources, backward from destinations."""
        return "forward" if self.everyone or any(path.source == sender for path in self.paths) else "backward"

    def keep_used(self, flows: Collection[Mapping[str, Any]]) -> None:
        """Drop the paths that no flow uses."""
        couples = [{flow["from"], flow["to"]} for flow in flows]
        senders = {flow["from"] for flow in flows}
        self.paths = [
            path
            for path in self.paths
            if (ends := {path.source, path.destination}) & senders and (not self.everyone or ends in couples)
        ]

    def targets(self) -> dict[str, tuple[str, ...]]:
        """Return what an event can be on, each with the fields that it may change there.

        Where packets leave before they reach a queue, the audit could not tell duplicates, or what routers send
        themselves, from packets of the queue.
        """
        changes = dict.fromkeys(self.queues, Bottleneck.CHANGEABLE)
        if self.routes:
            return {**changes, "route": ("path",)}
        without = {"duplicate", "mtu"} if any(queue.departures for queue in self.queues.values()) else set()
        of_paths = (*CHANGEABLE_OF_PATHS, "mtu", REDRAW)
        return {**changes, "path": tuple(what for what in of_paths if what not in without)}

    def changes(self, event: Mapping[str, Any]) -> list[Plain]:
        """Return the changes that an event (in base units) makes, for `topologies.network.BatchMininet.apply`."""
        if event["on"] == "route":
            return [self.routes[direction][path] for direction, path in event["path"].items()]
        if event["on"] in self.queues:
            queue = self.queues[event["on"]]
            traced = {"traced": True} if event.get("traced") else {}
            return [_change(queue, _values(event, Bottleneck.CHANGEABLE)) | traced]
        return list(self._path_changes(event))

    def _path_changes(self, event: Mapping[str, Any]) -> Iterator[Plain]:
        for direction, places in self.delays.items():
            values = {
                name.replace(direction, what): value
                for what in CHANGEABLE_OF_PATHS
                for name, value in event.get(what, {}).items()
                if name.startswith(direction)
            }
            for pair, place in enumerate(places, 1):
                if pair not in event.get("pairs", (pair,)):
                    continue
                if REDRAW in event:
                    seed = zlib.crc32(f"{place.interface}/{event[REDRAW]}".encode())
                    yield _change(place, values) | {"seed": seed}
                elif values:
                    yield _change(place, values)
                if mtu_bytes := event.get("mtu", {}).get(f"{direction}_bytes"):
                    yield {**asdict(place), "to": self._beyond(place), "mtu_bytes": mtu_bytes}

    def _beyond(self, place: Place) -> str:
        """Return the address of the host at the other end of a link."""
        [(address, _)] = [end.neighbours[0] for ends in self.links for end in ends if end.interface == place.interface]
        return address

    def plain(self) -> Plain:
        """Return the network as JSON data."""
        data: Plain = json.loads(json.dumps(asdict(self)))
        return data


def _change(place: Place, values: Mapping[str, int]) -> Plain:
    return {"node": place.node, "interface": place.interface, "set": dict(values)}


def _values(event: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, int]:
    """Return those values of an event whose fields, without the unit in their name, are `fields`."""
    return {name: value for name, value in event.items() if name.rpartition("_")[0] in fields}
