"""Clocks of different hosts against each other, from delays whose smallest values the path keeps.

A delay that one clock began and another ended is the true one, plus the clocks' offset, plus their skew times time.
The true one is never below its base, so all samples lie above a line whose slope is the skew.
"""

from array import array
from typing import Final

import numpy as np

from analysis.series import Floats

LARGEST_SKEW: Final = 1e-3  # seconds a second; worse clocks are defects (NTP corrects up to 5e-4)
TURNS: Final = 60  # of the search for the skew; each leaves two thirds


def hull(times: Floats, delays: Floats) -> tuple[Floats, Floats]:
    """Lower convex hull of samples in order of time: the only ones that a line below all of them can touch."""
    at, low = array("d"), array("d")  # of the hull so far; lists would take four times the memory
    for t, y in zip(array("d", times.tobytes()), array("d", delays.tobytes()), strict=True):
        while len(at) > 1 and (low[-1] - low[-2]) * (t - at[-2]) >= (y - low[-2]) * (at[-1] - at[-2]):
            at.pop()
            low.pop()
        at.append(t)
        low.append(y)
    return np.array(at), np.array(low)


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
