"""Plans the time before and after a scenario. Waiting is free in virtual time, so everything has ample room."""

import math
from typing import Any

from scenarios.plan import captures, extremes
from topologies.packets import packet_ns
from topologies.pairs import IPV4, Addresses, of_version
from topologies.probe_plan import hello_bytes, train_pkts
from topologies.timeline import RULE_NS, SECOND_NS

BUILD_NS = 20 * SECOND_NS
"""Between boot and the fidelity probe in virtual time; Open vSwitch needs 12 s before it can be started at all."""

_PROBE_NS, _PROBE_SPREAD_NS, _ENDPOINTS_NS = 5 * SECOND_NS, 4 * SECOND_NS, 5 * SECOND_NS
_SPARE_NS = 20_000_000
_PROCESS_NS = 10_000_000  # virtual time that its system calls take; more than any program's start
_RECEIVERS_NS, _DRAIN_NS, _LAST_NS = 7 * SECOND_NS, 10 * SECOND_NS, 3 * SECOND_NS


def lead(run: dict[str, Any]) -> dict[str, int]:
    """Return the `lead` of run.json: what happens when before and after the scenario, all in ns.

    The probe starts `probe_ns` before the zero of the scenario's clock, captures and receivers `endpoints_ns` before
    it. Each path is probed for at most `slot_ns`, every `slot_every_ns`. Receivers get SIGTERM `receivers_ns` after
    the end of the flows. Packets are counted `drain_ns` after it, when none is under way.
    """
    paths = run["network"]["paths"]
    known = of_version(run.get("ip", IPV4))
    slots, slot_ns = max(1, len(paths)), max((_slot_ns(path, known) for path in paths), default=0)
    probing_ns, every_ns = _PROBE_NS, _PROBE_SPREAD_NS // slots
    if slots * slot_ns > _PROBE_NS:
        probing_ns, every_ns = slots * slot_ns, slot_ns
    processes = 2 * len(run["flows"]) + 2 * captures.processes(run)
    endpoints_ns = max(_ENDPOINTS_NS, processes * _PROCESS_NS)
    drain_ns = max(_DRAIN_NS, _drain_ns(run))
    return {
        "slot_ns": slot_ns,
        "slot_every_ns": every_ns,
        "probe_ns": probing_ns + endpoints_ns,
        "endpoints_ns": endpoints_ns,
        "receivers_ns": max(_RECEIVERS_NS, drain_ns - _LAST_NS),
        "drain_ns": drain_ns,
    }


def _slot_ns(path: dict[str, Any], known: Addresses) -> int:
    """Return how long the probe of a path takes: a first packet, a train, and a packet or a train back."""
    limited = [link for link in (path["forward"], path["backward"]) if link]
    hello = hello_bytes(known)
    sending_ns = sum(train_pkts(link) * packet_ns(link) + packet_ns(link, hello) for link in limited)
    ways_ns = 2 * path["forward_ns"] + (2 + len(limited) - 1) * path["backward_ns"]
    return int(math.ceil(ways_ns + sending_ns) + _SPARE_NS + (RULE_NS if path["changes"] else 0))


def _drain_ns(run: dict[str, Any]) -> int:
    """Return how long the last packet of a flow and its answer may be under way."""
    total_ns = 0.0
    for direction in extremes.DIRECTIONS:
        for queue in extremes.queues(run, direction):
            total_ns += (queue.buffer_pkts + 2) * packet_ns({"rate_bps": queue.slowest_bps})
        total_ns += sum(extremes.most_ns(run, what, direction) for what in extremes.HOLDING)
    return math.ceil(total_ns) + _LAST_NS
