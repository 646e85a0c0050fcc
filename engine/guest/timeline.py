"""Durations that the agent and whoever plans a run must agree on."""

import math
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
"""The probe's wait for a rule of Open vSwitch, which looks for decisions that one has changed at most every 5 ms."""

_TRAIN_PKTS = 20
_LEAST_TRAIN_NS = 4_000_000  # the clock's steps of 256 ns and the limiter's bucket are little beside it


def packet_ns(bottleneck: dict[str, Any], size_bytes: int = PACKET_BYTES) -> float:
    """How long a bottleneck sends a packet."""
    return float(8e9 * size_bytes / bottleneck["rate_bps"])


def train_pkts(bottleneck: dict[str, Any]) -> int:
    """Packets from which the probe takes a capacity: what passes at once and what may wait, more on a fast link."""
    fitting = min(_TRAIN_PKTS, bottleneck["buffer_pkts"] + 1)
    return int(max(fitting, math.ceil(_LEAST_TRAIN_NS / packet_ns(bottleneck)) + 1))
