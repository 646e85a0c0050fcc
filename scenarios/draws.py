"""What the seed draws of a run's events, and when what is drawn ends."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any


def drawn_events(drawn: dict[str, Any], end_ns: int, source: random.Random) -> Iterator[dict[str, Any]]:
    """Draw the events of one entry of `drawn_events`."""

    def exponential_ns(mean_ns: int) -> int:
        return int(-math.log(1 - source.random()) * mean_ns)

    what = "delay" if "delay" in drawn else "suspension"
    bounds = drawn[what]
    at_ns = drawn["at_ns"] if "at_ns" in drawn else drawn["after_ns"] + exponential_ns(drawn["mean_gap_ns"])
    while at_ns < end_ns:
        if what == "delay":
            value_ns = bounds["base_ns"] + exponential_ns(bounds["mean_extra_ns"])
        else:
            value_ns = bounds["least_ns"] + int(source.random() * (bounds["most_ns"] - bounds["least_ns"]))
        directions = {f"{direction}_ns": value_ns for direction in bounds["directions"]}
        yield {"at_ns": at_ns, "on": drawn["on"], what: directions}
        at_ns += exponential_ns(drawn["mean_gap_ns"])


def end_suspensions(events: list[dict[str, Any]], end_ns: int) -> list[dict[str, Any]]:
    """Return the events with those that end suspensions. One that begins during another only prolongs that."""
    ends: list[dict[str, Any]] = []
    groups = [list(group) for group in {tuple(event.get("pairs", ())) for event in events}]
    for direction, pairs in itertools.product(("forward_ns", "backward_ns"), sorted(groups)):
        spans: list[tuple[dict[str, Any], int]] = []
        for event in sorted(events, key=lambda event: event["at_ns"]):
            if direction in event.get("suspension", {}) and event.get("pairs", []) == pairs:
                until_ns = event["at_ns"] + event["suspension"][direction]
                if spans and event["at_ns"] <= spans[-1][1]:
                    del event["suspension"][direction]
                    event, until_ns = spans[-1][0], max(until_ns, spans.pop()[1])
                spans.append((event, until_ns))
        for event, until_ns in spans:
            event["suspension"][direction] = until_ns - event["at_ns"]
            if until_ns < end_ns:
                where: dict[str, Any] = {name: event[name] for name in ("on", "pairs") if name in event}
                ends.append({"at_ns": until_ns, **where, "suspension": {direction: 0}})
    left = [{name: value for name, value in event.items() if value != {}} for event in events + ends]
    return [event for event in left if event.keys() - {"at_ns", "on", "pairs"}]
