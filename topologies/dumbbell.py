"""The dumbbell: pairs of hosts on both sides of one bottleneck.

::

    s1 --+                  +-- d1
    s2 --+-- r1 ====== r2 --+-- d2        switches "ovs": s* -- sw1 -- r1 and r2 -- sw2 -- d*
         |   bottleneck     |
    sN --+                  +-- dN

Rate and queue sit on r1 towards r2 (for the way back, if that is limited, on r2 towards r1), forward delay on r2
towards the destinations, backward delay on r1 towards the sources: queue and delay on different interfaces, and neither
on an endpoint.

A host can be behind a relay, a node ``<host>-relay`` in its link: the packets pass as long as a program there carries
them from one of its two interfaces to the other.
"""

from collections.abc import Collection
from typing import Any

from mininet.topo import Topo

from topologies.network import BatchSwitch, Router
from topologies.shaping import Bottleneck, Propagation


def source_ip(pair: int) -> str:
    """Address of host s<pair>, pairs from 1."""
    return f"10.0.{pair}.1"


def destination_ip(pair: int) -> str:
    """Address of host d<pair>, pairs from 1."""
    return f"10.1.{pair}.1"


def relay(host: str) -> tuple[str, str, str]:
    """Name of the relay of a host, and of its interfaces towards the host and towards everything else."""
    name = f"{host}-relay"
    return name, f"{name}-eth0", f"{name}-eth1"


def _mac(side: int, pair: int, end: int) -> str:
    return f"02:00:00:{side:02x}:{pair:02x}:{end:02x}"


class Dumbbell(Topo):  # type: ignore[misc]
    """See the module; `relayed` are the hosts behind relays, `offload` is as in `BatchNode`.

    `route_options` are words for each host's default route, `sysctls` for each host's namespace.
    """

    def build(
        self,
        pairs: int,
        switches: str,
        bottleneck: Bottleneck,
        backward_bottleneck: Bottleneck | None,
        forward: Propagation | None,
        backward: Propagation | None,
        route_options: dict[str, str],
        sysctls: dict[str, dict[str, str]],
        relayed: Collection[str],
        offload: bool,
    ) -> None:
        """Called by Mininet's Topo with the constructor's arguments."""
        self.pairs = pairs
        self.relayed = relayed
        # the limited links, by the name that events use
        self.bottlenecks = {"bottleneck": ("r1", "r1-r2")}
        if backward_bottleneck:
            self.bottlenecks["backward_bottleneck"] = ("r2", "r2-r1")
        # forward traffic leaves r2 towards the destinations, backward traffic leaves r1 towards the sources
        self.access: dict[str, list[tuple[str, str]]] = {"r1": [], "r2": []}
        self.addHost("r1", cls=Router, routes=["10.1.0.0/16 via 10.2.0.2"])
        self.addHost("r2", cls=Router, routes=["10.0.0.0/16 via 10.2.0.1"])
        self.connect_routers(
            {
                "intfName1": "r1-r2",
                "addr1": _mac(2, 0, 1),
                "params1": {
                    "addresses": ["10.2.0.1/30"],
                    "neighbours": [("10.2.0.2", _mac(2, 0, 2))],
                    "egress": bottleneck,
                },
            },
            {
                "intfName2": "r2-r1",
                "addr2": _mac(2, 0, 2),
                "params2": {
                    "addresses": ["10.2.0.2/30"],
                    "neighbours": [("10.2.0.1", _mac(2, 0, 1))],
                    "egress": backward_bottleneck,
                },
            },
        )
        for side, prefix, router, delay in ((0, "s", "r1", backward), (1, "d", "r2", forward)):
            for pair in range(1, pairs + 1):
                name = f"{prefix}{pair}"
                route = f"default via 10.{side}.{pair}.254 {route_options.get(name, '')}"
                self.addHost(name, routes=[route.strip()], sysctls=sysctls.get(name, {}), offload=offload)
            if switches == "ovs":
                self._connect_by_switch(side, prefix, router, delay)
            else:
                self._connect_directly(side, prefix, router, delay)

    def connect_routers(self, r1: dict[str, Any], r2: dict[str, Any]) -> None:
        """Join the interfaces of r1 and r2, each given as `addLink` takes the first and second end of a link."""
        self.addLink("r1", "r2", **r1, **r2)

    def _connect_directly(self, side: int, prefix: str, router: str, delay: Propagation | None) -> None:
        for pair in range(1, self.pairs + 1):
            interface = f"{router}-{prefix}{pair}"
            self.access[router].append((router, interface))
            self._connect_host(
                f"{prefix}{pair}",
                router,
                intfName2=interface,
                **self._addresses(side, pair),
                params2={
                    "addresses": [f"10.{side}.{pair}.254/24"],
                    "neighbours": [(f"10.{side}.{pair}.1", _mac(side, pair, 1))],
                    "egress": delay,
                },
            )

    def _connect_by_switch(self, side: int, prefix: str, router: str, delay: Propagation | None) -> None:
        switch, interface = f"sw{side + 1}", f"{router}-sw{side + 1}"
        self.access[router].append((router, interface))
        self.addSwitch(switch, cls=BatchSwitch, dpid=f"{side + 1:x}")
        pairs = range(1, self.pairs + 1)
        self.addLink(
            switch,
            router,
            intfName2=interface,
            addr2=_mac(side, 0, 2),
            params2={
                "addresses": [f"10.{side}.{pair}.254/24" for pair in pairs],
                "neighbours": [(f"10.{side}.{pair}.1", _mac(side, pair, 1)) for pair in pairs],
                "egress": delay,
            },
        )
        for pair in pairs:
            options = self._addresses(side, pair)
            options["params1"]["neighbours"] = [(f"10.{side}.{pair}.254", _mac(side, 0, 2))]
            del options["addr2"]
            self._connect_host(f"{prefix}{pair}", switch, **options)

    def _connect_host(self, host: str, to: str, addr1: str, params1: dict[str, Any], **other_end: Any) -> None:
        """Join a host to its router or switch, through its relay if it has one; ends as `addLink` takes them."""
        if host not in self.relayed:
            self.addLink(host, to, addr1=addr1, params1=params1, **other_end)
            return
        name, inner, outer = relay(host)
        self.addHost(name)
        self.addLink(host, name, addr1=addr1, params1=params1, intfName2=inner)
        self.addLink(name, to, intfName1=outer, **other_end)

    @staticmethod
    def _addresses(side: int, pair: int) -> dict[str, Any]:
        return {
            "addr1": _mac(side, pair, 1),
            "addr2": _mac(side, pair, 2),
            "params1": {
                "addresses": [f"10.{side}.{pair}.1/24"],
                "neighbours": [(f"10.{side}.{pair}.254", _mac(side, pair, 2))],
            },
        }

    def taps(self) -> dict[str, list[tuple[str, str, str]]]:
        """Where packets can be captured: tap -> (node, interface, direction as in tcpdump -Q)."""
        return {
            "bottleneck-in": [(node, interface, "in") for node, interface in self.access["r1"]],
            "bottleneck-out": [(*self.bottlenecks["bottleneck"], "inout")],
            "backward-in": [(node, interface, "in") for node, interface in self.access["r2"]],
            "sender": [(*self._link(f"s{pair}"), "inout") for pair in range(1, self.pairs + 1)],
            "receiver": [(*self._link(f"d{pair}"), "inout") for pair in range(1, self.pairs + 1)],
        }

    def _link(self, host: str) -> tuple[str, str]:
        """Node and interface at which a host's packets enter its link, as everybody else sees them."""
        if host not in self.relayed:
            return host, f"{host}-eth0"
        name, _, outer = relay(host)
        return name, outer
