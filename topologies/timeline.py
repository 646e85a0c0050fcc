"""Durations and sizes on which the agent and the planner of a run must agree."""

import math
from itertools import pairwise
from typing import Any

SECOND_NS = 1_000_000_000

BOOT_NS = 1_000_000_000 * SECOND_NS
"""CLOCK_REALTIME at boot, fixed so that no date enters a run."""

GRACE_NS = SECOND_NS
"""How long an endpoint may still run after SIGTERM."""

PACKET_BYTES = 1500
"""Size of a full packet of IP, the unit in which the papers count queues and windows."""
HELLO_BYTES = 28
"""Size of the first packet of the probe: an IP and a UDP header."""

RULE_NS = 20_000_000
"""How long a rule of Open vSwitch takes to be in force: it revises cached decisions at most every 5 ms."""

_CELL_PAYLOAD_BYTES, _CELL_BYTES = 48, 53  # of ATM
_TRAIN_PKTS = 20
_SHORT_WAIT_NS = 4_000_000  # CAKE may drop a packet at once that waits longer than its target of 5 ms
_LEAST_TRAIN_NS = 4_000_000  # much more than a system call of 256 ns and the limiter's bucket


def packet_ns(bottleneck: dict[str, Any], size_bytes: int = PACKET_BYTES) -> float:
    """Return how long a bottleneck transmits a packet."""
    sent_bytes = size_bytes + bottleneck.get("overhead_bytes", 0)
    if bottleneck.get("cells"):
        sent_bytes = math.ceil(sent_bytes / _CELL_PAYLOAD_BYTES) * _CELL_BYTES
    return float(8e9 * sent_bytes / bottleneck["rate_bps"])


def train_pkts(bottleneck: dict[str, Any]) -> int:
    """Return how many packets measure a capacity: one that passes and those that may wait, more on a fast link.

    A queue that drops early gets as many as leave in a time that none minds.
    """
    fitting = min(_TRAIN_PKTS, bottleneck["buffer_pkts"] + 1)
    if "queue" in bottleneck:
        fitting = min(fitting, max(2, math.ceil(_SHORT_WAIT_NS / packet_ns(bottleneck))))
    return int(max(fitting, math.ceil(_LEAST_TRAIN_NS / packet_ns(bottleneck)) + 1))


def routed_ns(run: dict[str, Any]) -> list[int]:
    """Return when the old path is empty after each change of route (scenario time), if no other change comes first."""
    events = [event["at_ns"] for event in run["events"] if any("rules" in change for change in event["changes"])]
    longest_ns = max((max(path["forward_ns"], path["backward_ns"]) for path in run["network"]["paths"]), default=0)
    over_ns = RULE_NS + longest_ns
    spans_ns = pairwise([*events, run["duration_ns"]])
    return [at_ns + over_ns for at_ns, next_ns in spans_ns if at_ns + over_ns < next_ns]
