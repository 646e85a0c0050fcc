"""The audit: no packet may be lost or invented between the counters of a run."""

import array
import contextlib
import json
import socket
import struct
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from topologies.batch import entered
from topologies.pairs import IPV4, IPV6, SOURCE, Addresses, of_version

Counters = dict[str, dict[str, int]]

_ETH_P_ALL, _HEADERS_BYTES = 3, 14 + 60 + 4
_SO_ATTACH_FILTER, _SOL_PACKET, _PACKET_IGNORE_OUTGOING = 26, 263, 23
_LEAST_HEADERS_BYTES = 14 + 20 + 8  # of a packet with data: Ethernet, IPv4, UDP
_VERSIONS = [of_version(version) for version in (IPV4, IPV6)]
_DESTINATION = {4: slice(30, 34), 6: slice(38, 54)}
_MULTICAST = {4: range(0xE0, 0xF0), 6: (0xFF,)}  # an address's first byte
_MOST_NAMED = 3


class AuditError(Exception):
    """Two counters that must agree disagree."""


def read_counters(nodes: Iterable[Any]) -> Counters:
    """Return what each interface of the nodes received, sent and lost, by the interface's name.

    Programs under test have no right to change these counters, or what has them.
    """
    counters: Counters = {}
    for node in nodes:
        with entered(node.namespace), open("/proc/thread-self/net/dev") as file:
            for line in file.readlines()[2:]:
                name, _, values = line.partition(":")
                fields = values.split()
                # switches share the first namespace
                if name.strip() != "lo" and name.strip() in node.nameToIntf:
                    counters[name.strip()] = {
                        "received_pkts": int(fields[1]),
                        "received_bytes": int(fields[0]),
                        "sent_pkts": int(fields[9]),
                        "sent_bytes": int(fields[8]),
                        # errors, dropped, overruns of each direction
                        "lost_pkts": sum(map(int, (*fields[2:5], *fields[10:13]))),
                    }
    return counters


def difference(after: Counters, before: Counters) -> Counters:
    """Return what was counted between two readings."""
    return {
        interface: {what: count - before[interface][what] for what, count in counts.items()}
        for interface, counts in after.items()
    }


def check_received(net: Any, flows: list[dict[str, Any]], told: dict[str, Any], counters: Counters) -> None:
    """Check that the receivers on each host report no more bytes than packets can have brought there.

    `told` has what each flow's receiver reports.

    Raises:
        AuditError: there is one that does.
    """
    for host in sorted({flow["to"] for flow in flows}):
        names = [flow["name"] for flow in flows if flow["to"] == host]
        reported = sum(told[name]["received_bytes"] for name in names)
        arrived = [counters[name] for name in net[host].nameToIntf if name != "lo"]
        came = sum(
            interface["received_bytes"] - _LEAST_HEADERS_BYTES * interface["received_pkts"] for interface in arrived
        )
        if reported > came:
            raise AuditError(
                f"audit: the receivers of {', '.join(names)} report {reported} bytes, {came} at most came to {host}"
            )


def behind(links: Iterable[list[dict[str, Any]]], interfaces: Collection[str]) -> set[str]:
    """Return the names of the interfaces at the other ends of the links of some interfaces."""
    ways = [way for near, far in links for way in ((near, far), (far, near))]
    return {far["interface"] for near, far in ways if near["interface"] in interfaces}


def check_losses(counters: Counters, corrupted: Collection[str]) -> None:
    """Check that no packet was lost at an interface or in softnet, the queue of arrived packets.

    Interfaces that get `corrupted` packets count those as lost whose EtherType is none that the kernel knows.
    """
    for interface, counts in counters.items():
        if counts["lost_pkts"] and interface not in corrupted:
            raise AuditError(f"audit: {interface} lost {counts['lost_pkts']} packets")
    with open("/proc/net/softnet_stat") as file:
        dropped = sum(int(line.split()[1], 16) for line in file)
    if dropped:
        raise AuditError(f"audit: {dropped} packets were lost in softnet, the queue of arrived packets")


def check_queues(
    net: Any,
    queues: dict[str, Any],
    counted: dict[str, dict[str, int]],
    counters: Counters,
    strangers: "Strangers",
) -> None:
    """Check that each queue is empty at the end and delivered or dropped every packet that was offered.

    `queues` are those of the description, `counted` their counters. `strangers` names packets that came and did not
    leave.
    """
    for name, place in queues.items():
        router, interface, queue = net[place["node"]], place["interface"], counted[name]
        offered = sum(counters[arrival]["received_pkts"] for arrival in place["arrivals"]) + _icmp_pkts(
            net, place["node"]
        )
        for departure in place["departures"]:
            shaping = router.nameToIntf[departure].read_shaping()
            offered -= counters[departure]["sent_pkts"] + shaping.get("lost_pkts", 0)
        sent, dropped, waiting = queue["sent_pkts"], queue["dropped_pkts"], queue["backlog_pkts"]
        where = name.replace("_", " ")
        if waiting or offered != sent + dropped:
            raise AuditError(
                f"audit: {offered} packets came to the {where}, {sent} left it, {dropped} were dropped, {waiting} wait"
                f"{strangers.words()}"
            )
        if sent != counters[interface]["sent_pkts"]:
            raise AuditError(f"audit: the queue sent {sent} packets, {interface} {counters[interface]['sent_pkts']}")


def _icmp_pkts(net: Any, router: str) -> int:
    """Return how many ICMP packets a router has sent: about the MTU of one direction, so all in the other one."""
    return counted(net, router, "Icmp", "OutMsgs")


def refused_datagrams(net: Any, host: str) -> int:
    """Return how many datagrams a host's kernel did not take from programs, since the socket's buffer was full."""
    return counted(net, host, "Udp", "SndbufErrors")


def counted(net: Any, node: str, protocol: str, what: str) -> int:
    """Return a counter of a node's kernel over the network's version of IP, such as InDatagrams of Udp.

    The kernel counts TCP for both versions together (RFC 4022, 4113, 4293; /proc/net/snmp and snmp6).
    """
    if net.addresses.version == IPV6 and protocol != "Tcp":
        with entered(net[node].namespace), open("/proc/thread-self/net/snmp6") as file:
            return next(int(value) for name, value in map(str.split, file) if name == f"{protocol}6{what}")
    with entered(net[node].namespace), open("/proc/thread-self/net/snmp") as file:
        names, values = (line.split() for line in file if line.startswith(f"{protocol}:"))
    return int(values[names.index(what)])


def check_switches(switches: list[Any], counters: Counters) -> None:
    """Check that every packet that came to a switch left it once."""
    for switch in switches:
        ports = [counters[name] for name in switch.nameToIntf if name != "lo"]
        received, sent = (sum(port[what] for port in ports) for what in ("received_pkts", "sent_pkts"))
        if received != sent:
            raise AuditError(f"audit: {received} packets came to the switch {switch.name}, {sent} left it")


def check_relays(run: dict[str, Any], counters: Counters) -> None:
    """Check that every packet that came to one side of a relay left it on the other.

    Acknowledgements of a host whose middlebox splits or stretches them may only become more, or fewer. A box that
    forgets ports may drop some of what comes to its host.
    """
    boxes = {box["host"]: box for box in run.get("middleboxes", ())}
    for host, relay in run["network"]["relays"].items():
        name, sides = relay["node"], (relay["inner"], relay["outer"])
        for near, far in (sides, sides[::-1]):
            received, sent = counters[near]["received_pkts"], counters[far]["sent_pkts"]
            box, from_host = boxes.get(host, {}), near == relay["inner"]
            more, fewer = (from_host and box.get("acks") == how for how in ("split", "stretched"))
            fewer = fewer or ("rebound_ns" in box and not from_host)
            well = received <= sent if more else received >= sent if fewer else received == sent
            if not well:
                raise AuditError(f"audit: {received} packets came to {name} at {near}, {sent} left it")


def check_qdiscs(interfaces: Iterable[Any], when: str) -> Counters:
    """Compare the kernel's account of shaped interfaces with the scenario at this instant, and return it by name.

    Raises:
        AuditError: they differ.
    """
    readings: Counters = {}
    for interface in interfaces:
        try:
            readings[interface.name] = reading = interface.read_shaping()
        except OSError as error:
            raise AuditError(f"audit: {when}: {error.strerror}") from None
        for what, expected in interface.egress.values().items():
            if reading.get(what, 0) != expected:
                raise AuditError(
                    f"audit: {when}: {what} of {interface.name} is {reading.get(what, 0)}, the scenario says {expected}"
                )
    return readings


def check_mtus(net: Any, changes: Iterable[dict[str, Any]], when: str) -> None:
    """Compare the kernel's MTUs of the ways to hosts with those that an event has set.

    Raises:
        AuditError: they differ.
    """
    for change in changes:
        if "mtu_bytes" in change:
            family = ["-6"] if net.addresses.version == IPV6 else []
            words = ["ip", *family, "-json", "route", "show", "exact", change["to"]]
            with entered(net[change["node"]].namespace):
                [route] = json.loads(subprocess.check_output(words))
            mtu_bytes = {name: value for metric in route.get("metrics", ()) for name, value in metric.items()}.get(
                "mtu"
            )
            if mtu_bytes != change["mtu_bytes"]:
                raise AuditError(
                    f"audit: {when}: the MTU to {change['to']} is {mtu_bytes}, the scenario says {change['mtu_bytes']}"
                )


def refused(readings: Counters) -> dict[str, int]:
    """Return how many packets the filters of links have dropped, by interface."""
    return {name: reading["refused_pkts"] for name, reading in readings.items() if "refused_pkts" in reading}


def check_paths(readings: Counters, lossy: set[str]) -> None:
    """Check that packets were lost at random only at the interfaces in `lossy`.

    Raises:
        AuditError: packets were lost elsewhere.
    """
    for name, reading in readings.items():
        if (lost_pkts := reading.get("lost_pkts", 0)) and name not in lossy:
            raise AuditError(f"audit: {lost_pkts} packets were lost at {name}, on a path without loss")


def shaped(net: Any) -> Iterator[Any]:
    """Yield the interfaces that have a rate or a delay."""
    for node in (*net.hosts, *net.switches):
        for interface in node.intfList():
            if getattr(interface, "egress", None):
                yield interface


class IdlePorts:
    """The ports of switches to which no route leads: whether packets leave by them tells whether a route is in force.

    `routes` is that of `topologies.description.Network`. A look is good until the next change of route, which takes a
    moment to be in force.
    """

    def __init__(self, net: Any, routes: dict[str, Any]) -> None:
        self._net = net
        self._ports = {route["port"]: route["node"] for paths in routes.values() for route in paths.values()}
        self._taken = {next(iter(paths.values()))["port"] for paths in routes.values()}
        self._seen: dict[str, int] = {}
        self.look()

    def look(self) -> None:
        """Count what has left by the ports that are idle from now on."""
        self._seen = self._sent(self._ports.keys() - self._taken)

    def turn(self, changes: Iterable[dict[str, Any]]) -> None:
        """Note changes of route, before they are made; what was counted until now is compared."""
        for change in changes:
            if "rules" in change:
                self.check()
                self._taken -= {port for port, node in self._ports.items() if node == change["node"]}
                self._taken.add(change["port"])

    def check(self) -> None:
        """Compare with the last look, which is forgotten.

        Raises:
            AuditError: a packet has left since.
        """
        for port, sent_pkts in self._sent(self._seen).items():
            if sent_pkts != self._seen[port]:
                raise AuditError(f"audit: {sent_pkts - self._seen[port]} packets left by {port}, where no route leads")
        self._seen = {}

    def _sent(self, ports: Collection[str]) -> dict[str, int]:
        counters = read_counters(self._net.switches) if ports else {}
        return {port: counters[port]["sent_pkts"] for port in ports}


class Strangers:
    """Collects packets that reach a router but are addressed to no host of the scenario, without waking any process.

    A client may announce itself by multicast, or look for something on the Internet. Such a packet is counted where it
    arrives but leaves nowhere. When the audit finds one missing, the message names it.
    """

    def __init__(self, net: Any, entrances: Iterable[dict[str, str]]) -> None:
        self._sockets = []
        instructions = _filter(net.addresses)
        code = array.array("B", b"".join(struct.pack("HBBI", *instruction) for instruction in instructions))
        program = struct.pack("HP", len(instructions), code.buffer_info()[0])
        for entrance in entrances:
            with entered(net[entrance["node"]].namespace):
                # with protocol 0 nothing arrives before filter and interface are set
                packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                packets.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
                packets.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
                packets.bind((entrance["interface"], _ETH_P_ALL))
                packets.setblocking(False)
            self._sockets.append((entrance["interface"], packets))

    def words(self) -> str:
        """Return the end of a sentence that names them, or an empty text if there were none."""
        packets_of: Counter[str] = Counter()
        for interface, packets in self._sockets:
            with contextlib.suppress(BlockingIOError):
                while True:
                    packets_of[f"{_words(packets.recv(_HEADERS_BYTES))} at {interface}"] += 1
        named = [f"{count} {words}" for words, count in packets_of.most_common(_MOST_NAMED)]
        more = len(packets_of) - len(named)
        return f"; not for a host of the scenario: {', '.join(named)}{f' and {more} others' * bool(more)}" * bool(named)


def _filter(known: Addresses) -> list[tuple[int, int, int, int]]:
    """Return classic BPF (linux/bpf_common.h) that accepts all packets except those to the addresses of hosts."""
    host, mask = (known.packed(address) for address in (known.host(SOURCE, 0), known.host_mask))
    words = [struct.unpack_from(f"!{len(part) // 4}I", part) for part in (mask, host)]
    begins = _DESTINATION[known.version].start
    accept = 3 * len(words[0]) + 1  # so many instructions further on
    code = [(0x28, 0, 0, 12), (0x15, 0, accept, known.ether_type)]  # ldh [12], the EtherType; jeq, else accept
    for place, (bits, same) in enumerate(zip(*words, strict=True)):
        accept -= 3
        code += [(0x20, 0, 0, begins + 4 * place), (0x54, 0, 0, bits), (0x15, 0, accept, same)]  # ld; and; jeq
    return [*code, (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFF)]  # ret: drop; ret: accept


def _words(frame: bytes) -> str:
    (ether_type,) = struct.unpack_from("!H", frame, 12)
    known = next((known for known in _VERSIONS if known.ether_type == ether_type), None)
    if known is None:
        return f"of EtherType {ether_type:#06x}"
    address = frame[_DESTINATION[known.version]]
    destination = socket.inet_ntop(known.family, address)
    kind = " (multicast)" if address[0] in _MULTICAST[known.version] else ""
    if known.version == IPV6:
        protocol, ports = frame[20], frame[14 + known.header_bytes :]
    else:
        protocol, ports = frame[23], frame[14 + 4 * (frame[14] & 0xF) :]
    name = {1: "ICMP", 2: "IGMP", 6: "TCP", 17: "UDP", 58: "ICMPv6"}.get(protocol, f"IP protocol {protocol}")
    port = f" port {struct.unpack_from('!H', ports, 2)[0]}" if name in ("TCP", "UDP") and len(ports) >= 4 else ""
    return f"to {destination}{kind}, {name}{port}"
