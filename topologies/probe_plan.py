"""What the probe sends: the agent and the planner of a run must agree on it."""

import math
from typing import Any

from topologies.packets import packet_ns
from topologies.pairs import Addresses

_UDP_HEADER_BYTES = 8
_TRAIN_PKTS = 20
_SHORT_WAIT_NS = 4_000_000  # CAKE may drop a packet at once that waits longer than its target of 5 ms
_LEAST_TRAIN_NS = 4_000_000  # much more than a system call of 256 ns and the limiter's bucket


def hello_bytes(addresses: Addresses) -> int:
    """Return the size of the first packet of the probe: an IP and a UDP header."""
    return addresses.header_bytes + _UDP_HEADER_BYTES


def train_pkts(bottleneck: dict[str, Any]) -> int:
    """Return how many packets measure a capacity: one that passes and those that may wait, more on a fast link.

    An AQM gets only what leaves in 4 ms, too short for it to drop.
    """
    fitting = min(_TRAIN_PKTS, bottleneck["buffer_pkts"] + 1)
    if "queue" in bottleneck:
        fitting = min(fitting, max(2, math.ceil(_SHORT_WAIT_NS / packet_ns(bottleneck))))
    return int(max(fitting, math.ceil(_LEAST_TRAIN_NS / packet_ns(bottleneck)) + 1))
