"""Draws what all topologies here have in common: pairs of hosts s1-d1, s2-d2, ..., or peers, each host at a router.

Sources and peers are 10.0.PAIR.1, destinations 10.1.PAIR.1, links between routers 10.2.LINK.0/30. The forward delay
sits on the routers' interfaces towards destinations, the backward delay on those towards sources: behind the
bottleneck's queue, and never on an endpoint, whose TCP would count the packets that wait there (TCP small queues).

A host can have a network card of its own rate, whose queue is the host's own, as on any computer: there TCP does count.

A host can be behind a relay, a node ``<host>-relay`` in its link. Packets pass while a program there carries them from
one of its two interfaces to the other.
"""

from collections.abc import Mapping
from typing import Any

from topologies.description import End, Network, Node, Place, Relay, Tap
from topologies.links import bottleneck
from topologies.links.base import Bottleneck
from topologies.links.netem import Propagation

HOST_ADDRESS, HOST_MASK = 0x0A000001, 0xFFFE00FF
"""An IPv4 address is a host's if its bits in the mask are those of `HOST_ADDRESS`."""
DESTINATIONS, SOURCES = "10.1.0.0/16", "10.0.0.0/16"


class Drawing:
    """The network of a scenario being drawn: hosts with clocks or a middlebox are behind relays, cards have rates."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.network = Network()
        self._relayed = {entry["host"] for name in ("clocks", "middleboxes") for entry in scenario.get(name, ())}
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
        return self._host("s", 0, pair, router, delay, "backward", "sender")

    def destination(self, pair: int, router: str, delay: Propagation | None) -> Place:
        """Add host d<pair>; see `source`."""
        return self._host("d", 1, pair, router, delay, "forward", "receiver")

    def peer(self, number: int, router: str, delay: Propagation) -> None:
        """Add host p<number>, which both sends and receives."""
        self._host("p", 0, number, router, delay, "forward", "sender", "receiver")

    def _host(
        self, letter: str, side: int, pair: int, router: str, delay: Propagation | None, direction: str, *taps: str
    ) -> Place:
        network, name = self.network, f"{letter}{pair}"
        address, gateway = f"10.{side}.{pair}.1", f"10.{side}.{pair}.254"
        network.nodes[name] = Node("host", address, routes=(f"default via {gateway}",))
        inner_mac, outer_mac = _mac(side, pair, 1), _mac(side, pair, 2)
        card = self._cards.get(name)
        host = End(name, f"{name}-eth0", inner_mac, (f"{address}/24",), ((gateway, outer_mac),), card)
        if card:
            network.cards[name] = Place(name, host.interface)
        there = f"{router}-{name}"
        far = End(router, there, outer_mac, (f"{gateway}/24",), ((address, inner_mac),), delay)
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
    link: int, left: str, right: str, forward: Bottleneck | None, backward: Bottleneck | None
) -> tuple[End, End]:
    """Return the ends of the link number `link` (from 0) between two routers."""
    macs = _mac(2, link, 1), _mac(2, link, 2)
    here, there = f"10.2.{link}.1", f"10.2.{link}.2"
    return (
        End(left, f"{left}-{right}", macs[0], (f"{here}/30",), ((there, macs[1]),), forward),
        End(right, f"{right}-{left}", macs[1], (f"{there}/30",), ((here, macs[0]),), backward),
    )


def _mac(side: int, pair: int, end: int) -> str:
    return f"02:00:00:{side:02x}:{pair:02x}:{end:02x}"
