"""Draws what all topologies here have in common: pairs of hosts s1-d1, s2-d2, ..., or peers, each host at a router.

Sources and peers are 10.0.PAIR.1 or fd00:0:PAIR::1, destinations 10.1.PAIR.1 or fd00:1:PAIR::1. Their routers are
10.SIDE.PAIR.254 or fd00:SIDE:PAIR::fe, links between routers 10.2.LINK.0/30 or fd00:2:LINK::/64.

The forward delay sits on the routers' interfaces towards destinations, the backward delay on those towards sources:
behind the bottleneck's queue, and never on an endpoint, whose TCP would count the packets that wait there (TCP small
queues).

A host can have a network card of its own rate, whose queue is the host's own, as on any computer: there TCP does count.

A host can be behind a relay, a node ``<host>-relay`` in its link. Packets pass while a program there carries them from
one of its two interfaces to the other.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topologies.description import End, Network, Node, Place, Relay, Tap
from topologies.links import bottleneck
from topologies.links.base import Bottleneck
from topologies.links.netem import Propagation

IPV4, IPV6 = 4, 6
SOURCE, DESTINATION = 0, 1
"""The sides of a network. Peers have the addresses of sources."""
_LINKS, _GATEWAY = 2, 254
RELAYED = ("clocks", "middleboxes", "noise")
"""Fields of a scenario that list hosts whose link has a relay; a host has one at most."""


@dataclass(frozen=True)
class Addresses:
    """The addresses of one version of IP, whose packets have a header of `header_bytes`.

    `host_mask` has the bits that are the same in the addresses of all hosts, and in no other address.
    """

    version: int
    family: socket.AddressFamily
    header_bytes: int
    ether_type: int
    text: str
    side_bits: int
    pair_bits: int
    link_bits: int
    host_mask: str

    def host(self, side: int, pair: int) -> str:
        """Return the address of the host of a pair on a side."""
        return self._written(side, pair, 1)

    def gateway(self, side: int, pair: int) -> str:
        """Return the address of this host's router in its link."""
        return self._written(side, pair, _GATEWAY)

    def link(self, link: int, end: int) -> str:
        """Return the address of end 1 or 2 of a link between routers, which are numbered from 0."""
        return self._written(_LINKS, link, end)

    def side(self, side: int) -> str:
        """Return the network of all hosts on a side."""
        return f"{self._written(side, 0, 0)}/{self.side_bits}"

    def pair(self, side: int, pair: int) -> str:
        """Return the network of the host of a pair on a side, and of its router."""
        return f"{self._written(side, pair, 0)}/{self.pair_bits}"

    def alone(self, address: str) -> str:
        """Return the network of one address."""
        return f"{address}/{8 * len(self.packed(address))}"

    def packed(self, address: str) -> bytes:
        """Return an address as packets have it."""
        return socket.inet_pton(self.family, address)

    def _written(self, side: int, pair: int, number: int) -> str:
        return socket.inet_ntop(self.family, self.packed(self.text.format(side, pair, number)))


_IPV4 = Addresses(IPV4, socket.AF_INET, 20, 0x0800, "10.{}.{}.{}", 16, 24, 30, "255.254.0.255")
# decimal digits stand where IPv6 has hexadecimal ones, so that a pair's number looks the same in both
_IPV6 = Addresses(
    *(IPV6, socket.AF_INET6, 40, 0x86DD, "fd00:{}:{}::{:x}", 32, 64, 64),
    "ffff:fffe:0:ffff:ffff:ffff:ffff:ffff",
)


def of_version(version: int) -> Addresses:
    """Return the addresses of a version of IP, 4 or 6."""
    return {IPV4: _IPV4, IPV6: _IPV6}[version]


def like(address: str) -> Addresses:
    """Return the addresses of the version of IP that an address is of."""
    return _IPV6 if ":" in address else _IPV4


class Drawing:
    """The network of a scenario being drawn: hosts with `RELAYED` are behind relays, cards have rates."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.network = Network()
        self.addresses = of_version(scenario.get("ip", IPV4))
        self._relayed = {entry["host"] for name in RELAYED for entry in scenario.get(name, ())}
        self._cards = {
            card["host"]: bottleneck({name: value for name, value in card.items() if name != "host"})
            for card in scenario.get("cards", ())
        }
        for tap in ("bottleneck-in", "bottleneck-out", "backward-in", "sender", "receiver"):
            self.network.taps[tap] = []

    def router(self, name: str, *routes: str) -> None:
        """Add a router, with routes to the networks that are not next to it."""
        self.network.nodes[name] = Node("router", routes=routes)

    def source(self, pair: int, router: str, delay: Propagation | None) -> Place:
        """Add host s<pair> at a router that delays the packets to it; return where the router receives its packets."""
        return self._host("s", SOURCE, pair, router, delay, "backward", "sender")

    def destination(self, pair: int, router: str, delay: Propagation | None) -> Place:
        """Add host d<pair>; see `source`."""
        return self._host("d", DESTINATION, pair, router, delay, "forward", "receiver")

    def peer(self, number: int, router: str, delay: Propagation) -> None:
        """Add host p<number>, which both sends and receives."""
        self._host("p", SOURCE, number, router, delay, "forward", "sender", "receiver")

    def _host(
        self, letter: str, side: int, pair: int, router: str, delay: Propagation | None, direction: str, *taps: str
    ) -> Place:
        network, name = self.network, f"{letter}{pair}"
        address, gateway = self.addresses.host(side, pair), self.addresses.gateway(side, pair)
        network.nodes[name] = Node("host", address, routes=(f"default via {gateway}",))
        inner_mac, outer_mac = _mac(side, pair, 1), _mac(side, pair, 2)
        card = self._cards.get(name)
        host = End(
            name, f"{name}-eth0", inner_mac, (f"{address}/{self.addresses.pair_bits}",), ((gateway, outer_mac),), card
        )
        if card:
            network.cards[name] = Place(name, host.interface)
        there = f"{router}-{name}"
        far = End(router, there, outer_mac, (f"{gateway}/{self.addresses.pair_bits}",), ((address, inner_mac),), delay)
        if name in self._relayed:
            relay = Relay(f"{name}-relay", f"{name}-relay-eth0", f"{name}-relay-eth1")
            network.nodes[relay.node] = Node("relay")
            network.relays[name] = relay
            network.links.append((host, End(relay.node, relay.inner)))
            host = End(relay.node, relay.outer)
        network.links.append((host, far))
        for tap in taps:
            network.taps[tap].append(Tap(host.node, host.interface, "inout"))
        if delay:
            network.delays[direction].append(Place(router, there))
        network.entrances.append(Place(router, there))
        return Place(router, there)

    def router_ends(
        self, link: int, left: str, right: str, forward: Bottleneck | None, backward: Bottleneck | None
    ) -> tuple[End, End]:
        """Return the ends of the link number `link` (from 0) between two routers."""
        macs = _mac(2, link, 1), _mac(2, link, 2)
        here, there = self.addresses.link(link, 1), self.addresses.link(link, 2)
        mine, yours = (f"{address}/{self.addresses.link_bits}" for address in (here, there))
        return (
            End(left, f"{left}-{right}", macs[0], (mine,), ((there, macs[1]),), forward),
            End(right, f"{right}-{left}", macs[1], (yours,), ((here, macs[0]),), backward),
        )


def _mac(side: int, pair: int, end: int) -> str:
    return f"02:00:00:{side:02x}:{pair:02x}:{end:02x}"
