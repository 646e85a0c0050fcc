"""Durations that the agent and whoever plans a run must agree on."""

import math
from itertools import pairwise
from typing import Any

SECOND_NS = 1_000_000_000

BOOT_NS = 1_000_000_000 * SECOND_NS
"""CLOCK_REALTIME at boot: fixed, so that no date enters a run."""

GRACE_NS = SECOND_NS
"""An endpoint that was told to end may still run so long."""

PACKET_BYTES = 1500
HELLO_BYTES = 28
"""An IP and a UDP header: the first packet of the probe."""

RULE_NS = 20_000_000
"""A rule of Open vSwitch is in force by then: it looks for decisions that one has changed at most every 5 ms."""

_TRAIN_PKTS = 20
_LEAST_TRAIN_NS = 4_000_000  # the clock's steps of 256 ns and the limiter's bucket are little beside it


def packet_ns(bottleneck: dict[str, Any], size_bytes: int = PACKET_BYTES) -> float:
    """How long a bottleneck sends a packet."""
    return float(8e9 * (size_bytes + bottleneck.get("overhead_bytes", 0)) / bottleneck["rate_bps"])


def train_pkts(bottleneck: dict[str, Any]) -> int:
    """Packets from which the probe takes a capacity: what passes at once and what may wait, more on a fast link."""
    fitting = min(_TRAIN_PKTS, bottleneck["buffer_pkts"] + 1)
    return int(max(fitting, math.ceil(_LEAST_TRAIN_NS / packet_ns(bottleneck)) + 1))


def routed_ns(run: dict[str, Any]) -> list[int]:
    """When changes of route are over, scenario time: the path before is empty, and no other change came first."""
    events = [event["at_ns"] for event in run["events"] if any("rules" in change for change in event["changes"])]
    longest_ns = max((max(path["forward_ns"], path["backward_ns"]) for path in run["network"]["paths"]), default=0)
    over_ns = RULE_NS + longest_ns
    spans_ns = pairwise([*events, run["duration_ns"]])
    return [at_ns + over_ns for at_ns, next_ns in spans_ns if at_ns + over_ns < next_ns]
