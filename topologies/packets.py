"""The size of a full packet, and how long a link transmits one."""

import math
from typing import Any

PACKET_BYTES = 1500
"""Size of a full packet of IP, the unit in which the papers count queues and windows."""

_CELL_PAYLOAD_BYTES, _CELL_BYTES = 48, 53  # of ATM


def packet_ns(bottleneck: dict[str, Any], size_bytes: int = PACKET_BYTES) -> float:
    """Return how long a bottleneck transmits a packet."""
    sent_bytes = size_bytes + bottleneck.get("overhead_bytes", 0)
    if bottleneck.get("cells"):
        sent_bytes = math.ceil(sent_bytes / _CELL_PAYLOAD_BYTES) * _CELL_BYTES
    return float(8e9 * sent_bytes / bottleneck["rate_bps"])
