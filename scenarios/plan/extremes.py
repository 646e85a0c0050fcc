"""Finds the extreme values of a run's network over its start and all its events."""

from dataclasses import dataclass
from typing import Any

DIRECTIONS = ("forward", "backward")
HOLDING = ("delay", "jitter", "aggregation", "suspension")
"""What events can change about how long a path holds a packet."""


@dataclass(frozen=True)
class QueueExtremes:
    """The extreme rates of a queue, and the most packets that may ever wait in it."""

    fastest_bps: int
    slowest_bps: int
    buffer_pkts: int


def queues(run: dict[str, Any], direction: str) -> list[QueueExtremes]:
    """Return the queues that packets of a direction pass."""
    network = run["network"]
    shaped = {end["interface"]: end["egress"] for link in network["links"] for end in link}
    changed = [change for event in run["events"] for change in event["changes"] if "set" in change]
    passed = []
    for queue in network["queues"].values():
        if queue["direction"] == direction:
            interface = queue["interface"]
            values = [shaped[interface], *(change["set"] for change in changed if change["interface"] == interface)]
            rates = [value["rate_bps"] for value in values if "rate_bps" in value]
            buffers = [value["buffer_pkts"] for value in values if "buffer_pkts" in value]
            passed.append(QueueExtremes(max(rates), min(rates), max(buffers)))
    return passed


def busiest_bps(run: dict[str, Any]) -> int:
    """Return the most that can pass a tap at once: what the fastest queue sends, or all where there are peers."""
    rates = [queue.fastest_bps for direction in DIRECTIONS for queue in queues(run, direction)]
    return sum(rates) if run["network"]["everyone"] else max(rates)


def most_ns(run: dict[str, Any], what: str, direction: str) -> int:
    """Return the longest of one of `HOLDING` in a direction over all paths; 0 without any, as where nothing is sent."""
    name = f"{direction}_ns"
    first: list[int] = [path[name] for path in run["network"]["paths"]] if what == "delay" else []
    later: list[int] = [event.get(what, {}).get(name, 0) for event in run["events"]]
    return max([*first, *later], default=0)
