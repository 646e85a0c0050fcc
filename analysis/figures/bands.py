"""A long series as what the eye sees of it: in each of many short intervals its median and its range."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.series import Floats, Series


@dataclass(frozen=True)
class Band:
    """Of each interval between successive `edges` (s): smallest, middle and largest value; nan outside of the series.

    The middle is the median over time: the value that the series does not exceed for half of the interval.
    """

    edges: Floats  # one more than there are intervals
    low: Floats
    middle: Floats
    high: Floats

    def coarser(self, by: int) -> "Band":
        """Join so many intervals to one; their number must be a multiple. The middle becomes the median of medians."""
        low, middle, high = (values.reshape(-1, by) for values in (self.low, self.middle, self.high))
        middles = np.sort(middle, axis=1)  # nan last
        there = (~np.isnan(middle)).sum(axis=1)
        chosen = middles[np.arange(len(middles)), np.maximum(there - 1, 0) // 2]
        return Band(self.edges[::by], np.fmin.reduce(low, axis=1), chosen, np.fmax.reduce(high, axis=1))


def band(shown: Series, others: Iterable[Series], t0: float, t1: float, count: int) -> Band:
    """Sum up a series over `count` intervals of the same length; the range is of it and all others.

    Neither a short dip nor a short peak disappears, whatever the number of samples.
    """
    edges = np.linspace(t0, t1, count + 1)
    times, values, index = _pieces(shown, edges)
    low, middle, high = (np.full(count, np.nan) for _ in range(3))
    if len(times):
        begins = np.flatnonzero(np.diff(index, prepend=-1))
        middle[index[begins]] = _medians(values, np.diff(np.append(times, min(t1, shown.end))), index, begins)
    for series in (shown, *others):
        times, values, index = _pieces(series, edges)
        if len(times):
            begins = np.flatnonzero(np.diff(index, prepend=-1))
            there = index[begins]
            low[there] = np.fmin(low[there], np.minimum.reduceat(values, begins))
            high[there] = np.fmax(high[there], np.maximum.reduceat(values, begins))
    return Band(edges, low, middle, high)


def strokes(series: Series, t0: float, t1: float, count: int) -> list[tuple[float, float, float]]:
    """Give the values of a series as strokes from t to u (s): each as long as it comes in successive intervals."""
    edges = np.linspace(t0, t1, count + 1)
    _, values, index = _pieces(series, edges)
    strokes: list[tuple[float, float, float]] = []
    for value, place in sorted({(float(value), int(place)) for value, place in zip(values, index, strict=True)}):
        t, u = float(edges[place]), float(edges[place + 1])
        if strokes and strokes[-1][1:] == (t, value):
            t = strokes.pop()[0]
        strokes.append((t, u, value))
    return strokes


def _pieces(series: Series, edges: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Give the stretches of one value that edges cut a series into: their beginnings, values and intervals."""
    began = edges[:-1][(edges[:-1] >= series.start) & (edges[:-1] < series.end)]
    inside = series.times[(series.times >= edges[0]) & (series.times < edges[-1])]
    times = np.union1d(began, inside)
    index = np.searchsorted(edges, times, side="right").astype(np.int64) - 1
    return times, series.sampled(times), np.minimum(index, len(edges) - 2)


def _medians(values: Floats, held_s: Floats, index: NDArray[np.int64], begins: NDArray[np.int64]) -> Floats:
    """Median of each group of successive values, weighted with how long each holds."""
    order = np.lexsort((values, index))
    held = np.cumsum(held_s[order])
    before = np.append(0.0, held)[begins]
    chosen = np.searchsorted(held, before + np.add.reduceat(held_s, begins) / 2)
    last = np.append(begins[1:], len(values)) - 1
    return values[order][np.clip(chosen, begins, last)]
