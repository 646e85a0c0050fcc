"""What holds a sender back, interval by interval: its congestion window, the receiver's window, or its application.

A sender that a window limits sends whenever an answer makes room, so what it has in flight stays close to its largest
value; one that waits for its application lets it sink. Intervals are as long as the median round-trip time, and at
least `SHORTEST_S`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from analysis.observer.flight import Flight
from analysis.series import Floats, NotMeasuredError

SHORTEST_S: Final = 0.1
MOST_INTERVALS: Final = 1 << 20  # over a day of the shortest
FULL: Final = 2 / 3  # mean over largest value in flight of a window-limited interval; doubling each interval gives 0.72


class Limit(StrEnum):
    """What a sender waited for."""

    RECEIVE_WINDOW = "receive-window"
    CONGESTION_WINDOW = "congestion-window"
    APPLICATION = "application"


@dataclass(frozen=True, eq=False)
class LimitIntervals:
    """Intervals one behind the other: their edges (one more than there are intervals), and what limited each."""

    edges: Floats
    limits: list[Limit]

    def share(self, limit: Limit, t0: float = 0.0, t1: float = np.inf) -> float:
        """Part of the time in [t0, t1), by the middles of the intervals."""
        middles = (self.edges[:-1] + self.edges[1:]) / 2
        chosen = [reason for reason, at in zip(self.limits, middles, strict=True) if t0 <= at < t1]
        if not chosen:
            raise NotMeasuredError(f"nothing was sent from {t0:g} s to {t1:g} s")
        return chosen.count(limit) / len(chosen)

    def at(self, times: Floats) -> list[Limit]:
        """What limited the sender at instants within the edges."""
        index = np.clip(np.searchsorted(self.edges, times, side="right") - 1, 0, len(self.limits) - 1)
        return [self.limits[i] for i in index]

    def stretches(self) -> list[tuple[float, float, Limit]]:
        """Successive intervals with one limit as one: beginning, end, limit."""
        changes = [0, *(i for i in range(1, len(self.limits)) if self.limits[i] is not self.limits[i - 1])]
        ends = [*changes[1:], len(self.limits)]
        return [
            (float(self.edges[a]), float(self.edges[b]), self.limits[a]) for a, b in zip(changes, ends, strict=True)
        ]


def limits(flight: Flight) -> LimitIntervals:
    """Judge every interval from the first packet to the last."""
    if len(flight.times) < 2:
        raise NotMeasuredError("too few packets to tell what limited the sender")
    if not len(flight.round_trips.values):
        raise NotMeasuredError(
            "no answer tells a round-trip time: each acknowledges packets that were sent again, or none"
        )
    step = max(SHORTEST_S, float(np.median(flight.round_trips.values)))
    lasts = float(flight.times[-1] - flight.times[0])
    if lasts > MOST_INTERVALS * step:
        gap = int(np.diff(flight.times).argmax())
        raise NotMeasuredError(
            f"its packets lie {lasts:.6g} s apart, allowed are {MOST_INTERVALS * step:.6g} s (the longest silence: "
            f"from {flight.times[gap]:.6g} s to {flight.times[gap + 1]:.6g} s)"
        )
    edges = np.arange(flight.times[0], flight.times[-1] + step, step)
    edges = edges[: np.searchsorted(edges, flight.bytes.end) + 1]  # packets may leave after the conversation's end
    edges[-1] = min(edges[-1], flight.bytes.end)
    if len(edges) < 2:
        raise NotMeasuredError("too short a flow to tell what limited the sender")
    instants, in_flight = flight.bytes.times, flight.bytes.values
    # the integral over time at each edge gives the means; edges among the instants make the largest values whole
    area = np.append(0.0, np.cumsum(in_flight[:-1] * np.diff(instants)))
    index = np.searchsorted(instants, edges, side="right") - 1
    mean = np.diff(area[index] + in_flight[index] * (edges - instants[index])) / np.diff(edges)
    all_times = np.concatenate([instants, edges[:-1]])
    order = np.argsort(all_times, kind="stable")
    values = np.concatenate([in_flight, in_flight[index[:-1]]])[order]
    begins = np.searchsorted(all_times[order], edges[:-1], side="left")
    largest = np.maximum.reduceat(values[: np.searchsorted(all_times[order], edges[-1], side="left")], begins)
    window = flight.receive_window.sampled(edges[1:])  # 0 before it is known: then nothing can be said of it
    results = []
    for top, average, allowed in zip(largest, mean, window, strict=True):
        if allowed and top + flight.full_bytes > allowed and average >= FULL * top:
            results.append(Limit.RECEIVE_WINDOW)
        elif top and average >= FULL * top:
            results.append(Limit.CONGESTION_WINDOW)
        else:
            results.append(Limit.APPLICATION)
    return LimitIntervals(edges, results)
