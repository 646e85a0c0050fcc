"""Clocks of different hosts against each other, from delays whose smallest values the path keeps.

A delay that one clock began and another ended is the true one, plus the clocks' offset, plus their skew times time.
The true one is never below its base, so all samples lie above a line whose slope is the skew.
"""

from typing import Final

import numpy as np

from analysis.series import Floats

LARGEST_SKEW: Final = 1e-3  # seconds a second; worse clocks are defects (NTP corrects up to 5e-4)
TURNS: Final = 60  # of the search for the skew; each leaves two thirds


def hull(times: Floats, delays: Floats) -> tuple[Floats, Floats]:
    """Lower convex hull of samples in order of time: the only ones that a line below all of them can touch."""
    kept: list[tuple[float, float]] = []
    for t, y in zip(times.tolist(), delays.tolist(), strict=True):
        while len(kept) > 1 and (kept[-1][1] - kept[-2][1]) * (t - kept[-2][0]) >= (y - kept[-2][1]) * (
            kept[-1][0] - kept[-2][0]
        ):
            kept.pop()
        kept.append((t, y))
    points = np.array(kept)
    return points[:, 0], points[:, 1]


def skew(there: tuple[Floats, Floats], back: tuple[Floats, Floats]) -> tuple[float, float]:
    """Base round-trip time, and the skew of the second clock, from delays both ways (times and samples, by time).

    The slope at which the two lines below all samples, one with the slope and one with its negative, leave the longest
    base round-trip time: a wrong slope has to go lower somewhere. The sum is concave in the slope.
    """
    t_there, d_there = hull(*there)
    t_back, d_back = hull(*back)

    def base(slope: float) -> float:
        return float((d_there - slope * t_there).min() + (d_back + slope * t_back).min())

    low, high = -LARGEST_SKEW, LARGEST_SKEW
    for _ in range(TURNS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if base(left) < base(right):
            low = left
        else:
            high = right
    slope = (low + high) / 2
    return base(slope), slope


def ordered(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Samples by time."""
    order = np.argsort(times, kind="stable")
    return times[order], values[order]
