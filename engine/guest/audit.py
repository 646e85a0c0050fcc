"""The audit: nothing may be lost or invented between the counters of a run."""

from collections.abc import Iterable
from typing import Any

from engine.guest.captures import Capture
from topologies.batch import entered
from topologies.dumbbell import relay

Counters = dict[str, dict[str, int]]


class AuditError(Exception):
    """Two counters that must agree do not."""


def read_counters(net: Any) -> Counters:
    """Packets received and sent by every interface of every node, by interface name."""
    counters: Counters = {}
    for node in [*net.hosts, *net.switches]:
        with entered(node.namespace), open("/proc/thread-self/net/dev") as file:
            for line in file.readlines()[2:]:
                name, _, values = line.partition(":")
                fields = values.split()
                # switches share the first namespace
                if name.strip() != "lo" and name.strip() in node.nameToIntf:
                    counters[name.strip()] = {"received_pkts": int(fields[1]), "sent_pkts": int(fields[9])}
    return counters


def difference(after: Counters, before: Counters) -> Counters:
    """What was counted between two readings."""
    return {
        interface: {what: count - before[interface][what] for what, count in counts.items()}
        for interface, counts in after.items()
    }


def check_captures(captures: list[Capture], written: dict[str, int], counters: Counters) -> None:
    """Every packet an interface counted is in the capture, and no other."""
    counted = {"in": ["received_pkts"], "out": ["sent_pkts"], "inout": ["received_pkts", "sent_pkts"]}
    for capture in captures:
        expected = sum(counters[capture.interface][what] for what in counted[capture.direction])
        if written[capture.interface] != expected:
            raise AuditError(
                f"audit: the capture at {capture.tap} ({capture.interface}) has {written[capture.interface]} packets, "
                f"the interface counted {expected}"
            )


def check_bottlenecks(topo: Any, queues: dict[str, dict[str, int]], counters: Counters) -> None:
    """Offered to each bottleneck = delivered + dropped, with an empty queue at the end; relays have kept nothing."""
    _check_relays(topo.relayed, counters)
    for name, queue in queues.items():
        router, interface = topo.bottlenecks[name]
        offered = sum(counters[access]["received_pkts"] for _, access in topo.access[router])
        sent, dropped, waiting = queue["sent_pkts"], queue["dropped_pkts"], queue["backlog_pkts"]
        where = name.replace("_", " ")
        if waiting or offered != sent + dropped:
            raise AuditError(
                f"audit: {offered} packets came to the {where}, {sent} left it, {dropped} were dropped, {waiting} wait"
            )
        if sent != counters[interface]["sent_pkts"]:
            raise AuditError(f"audit: the queue sent {sent} packets, {interface} {counters[interface]['sent_pkts']}")


def check_switches(switches: list[Any], counters: Counters) -> None:
    """Whatever came to a switch that forwards by rules left it, once."""
    for switch in switches:
        ports = [counters[name] for name in switch.nameToIntf if name != "lo"]
        received, sent = (sum(port[what] for port in ports) for what in ("received_pkts", "sent_pkts"))
        if switch.rules and received != sent:
            raise AuditError(f"audit: {received} packets came to the switch {switch.name}, {sent} left it")


def _check_relays(hosts: Iterable[str], counters: Counters) -> None:
    """Whatever came to one side of a relay left it on the other."""
    for host in hosts:
        name, *sides = relay(host)
        for one, other in (sides, reversed(sides)):
            received, sent = counters[one]["received_pkts"], counters[other]["sent_pkts"]
            if received != sent:
                raise AuditError(f"audit: {received} packets came to {name} at {one}, {sent} left it")
