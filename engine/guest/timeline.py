"""When things happen in a guest. In virtual time waiting is free: everything has room, and more where it needs more."""

import math
from typing import Any

SECOND_NS = 1_000_000_000

BOOT_NS = 1_000_000_000 * SECOND_NS
"""CLOCK_REALTIME at boot: fixed, so that no date enters a run."""

BUILD_NS = 20 * SECOND_NS
"""Between boot and the fidelity probe in virtual time; Open vSwitch needs 12 s before it can be started at all."""

REAL_TIME_BUILD_NS = 10 * SECOND_NS
"""Between the start of a run in real time and the fidelity probe: the network is built meanwhile."""

REAL_TIME_SIGN_NS = 10 * SECOND_NS
"""In real time the host gets a sign of life at least so often."""

GRACE_NS = SECOND_NS
"""An endpoint that was told to end may still run so long."""

PACKET_BYTES = 1500
HELLO_BYTES = 28
"""An IP and a UDP header: the first packet of the probe."""

RULE_NS = 20_000_000
"""The probe's wait for a rule of Open vSwitch, which looks for decisions that one has changed at most every 5 ms."""

_TRAIN_PKTS = 20
_LEAST_TRAIN_NS = 4_000_000  # the clock's steps of 256 ns and the limiter's bucket are little beside it
_PROBE_NS, _PROBE_SPREAD_NS, _ENDPOINTS_NS = 5 * SECOND_NS, 4 * SECOND_NS, 5 * SECOND_NS
_SPARE_NS = 20_000_000
_PROCESS_NS = 10_000_000  # of virtual time, which its system calls take: more than any program's start
_RECEIVERS_NS, _DRAIN_NS, _LAST_NS = 7 * SECOND_NS, 10 * SECOND_NS, 3 * SECOND_NS


def lead(run: dict[str, Any]) -> dict[str, int]:
    """How long what a scenario needs besides its own time takes; becomes `lead` of run.json, all in ns.

    Before the zero of the scenario's clock: `probe_ns` the probe starts, `endpoints_ns` captures and receivers do. Each
    pair is probed for `slot_ns` at most, every `slot_every_ns`. After the end of the flows: `receivers_ns` receivers
    are told to end, `drain_ns` all is counted, when no packet is under way.
    """
    slots = len(probed_pairs(run)) * (2 if run["delay_b"] else 1)
    slot_ns = _slot_ns(run)
    probing_ns, every_ns = _PROBE_NS, _PROBE_SPREAD_NS // slots
    if slots * slot_ns > _PROBE_NS:
        probing_ns, every_ns = slots * slot_ns, slot_ns
    processes = 2 * len(run["flows"]) + 2 * len(run["captures"]) * run["topology"]["pairs"]
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


def probed_pairs(run: dict[str, Any]) -> list[int]:
    """The pairs of hosts that flows use."""
    return sorted({int(flow["from"][1:]) for flow in run["flows"]})


def packet_ns(bottleneck: dict[str, Any], size_bytes: int = PACKET_BYTES) -> float:
    """How long a bottleneck sends a packet."""
    return float(8e9 * size_bytes / bottleneck["rate_bps"])


def train_pkts(bottleneck: dict[str, Any]) -> int:
    """Packets from which the probe takes a capacity: what passes at once and what may wait, more on a fast link."""
    fitting = min(_TRAIN_PKTS, bottleneck["buffer_pkts"] + 1)
    return int(max(fitting, math.ceil(_LEAST_TRAIN_NS / packet_ns(bottleneck)) + 1))


def _slot_ns(run: dict[str, Any]) -> int:
    """How long the probe of one pair takes: a first packet, a train and a packet back, or a train back."""
    delays = [run["delay"]] + ([run["delay_b"]] if run["delay_b"] else [])
    forward_ns, backward_ns = (max(delay[way] for delay in delays) for way in ("forward_ns", "backward_ns"))
    limited = [run["bottleneck"]] + ([run["backward_bottleneck"]] if run["backward_bottleneck"] else [])
    sending_ns = sum(train_pkts(link) * packet_ns(link) + packet_ns(link, HELLO_BYTES) for link in limited)
    ways_ns = 2 * forward_ns + (2 + len(limited) - 1) * backward_ns
    return int(math.ceil(ways_ns + sending_ns) + _SPARE_NS + (RULE_NS if run["delay_b"] else 0))


def _drain_ns(run: dict[str, Any]) -> int:
    """How long the last packet of a flow, and what answers it, may be under way."""
    total_ns = 0.0
    for name, way in (("bottleneck", "forward_ns"), ("backward_bottleneck", "backward_ns")):
        changes = [event for event in run["events"] if event["on"] == name]
        if run[name]:
            slowest_bps = min([run[name]["rate_bps"], *(event.get("rate_bps", math.inf) for event in changes)])
            most_pkts = max([run[name]["buffer_pkts"], *(event.get("buffer_pkts", 0) for event in changes)])
            total_ns += (most_pkts + 2) * packet_ns({"rate_bps": slowest_bps})
        delays_ns = [(run[path] or {}).get(way, 0) for path in ("delay", "delay_b")]
        jitters_ns = [0]
        for event in run["events"]:
            delays_ns.append(event.get("delay", {}).get(way, 0))
            jitters_ns.append(event.get("jitter", {}).get(way, 0))
        total_ns += max(delays_ns) + max(jitters_ns)
    return math.ceil(total_ns) + _LAST_NS
