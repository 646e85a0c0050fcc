"""Values over time, as step functions: what was sampled holds until the next sample."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analysis.words import SAME, word

Floats = NDArray[np.float64]

TOLERANCE_S: Final = 1e-9  # instants are whole nanoseconds; sums of them as floats are not


class NotMeasuredError(Exception):
    """The data cannot answer a question, such as one about a time after the end of the run; says why."""


class NeverHappenedError(Exception):
    """A question is about an interval bounded by something that did not happen."""


@dataclass(frozen=True, eq=False)
class Series:
    """A step function of time: `values[i]` holds from `times[i]` until `times[i+1]`, the last one until `end`.

    Times are seconds, ascending; there is at least one point. An instant that never comes is infinity; the value at
    such an instant is NaN, so no comparison with it holds.
    """

    times: Floats
    values: Floats
    end: float

    def __post_init__(self) -> None:
        if not len(self.times):
            raise NotMeasuredError("nothing was recorded")

    @property
    def start(self) -> float:
        """Instant of the first value."""
        return float(self.times[0])

    @word(SAME)
    def at(self, t: float) -> float:
        """Value at an instant."""
        if not math.isfinite(t):
            return math.nan
        self._check(t, t)
        return float(self.values[np.searchsorted(self.times, t, side="right") - 1])

    def window(self, t0: float | None = None, t1: float | None = None) -> "Series":
        """Return the part between two instants, by default all. The value before t0 holds from t0 on.

        A series that begins inside the interval (the window of a late flow) counts from its beginning.
        """
        t0, t1 = self._span(t0, t1)
        first = int(np.searchsorted(self.times, t0, side="right")) - 1
        last = max(int(np.searchsorted(self.times, t1, side="left")), first + 1)
        times = self.times[first:last].copy()
        times[0] = t0
        return Series(times, self.values[first:last], t1)

    @word(SAME)
    def mean(self, t0: float | None = None, t1: float | None = None) -> float:
        """Mean over time. Without `t0` and `t1`, here and below: of the whole series."""
        part = self.window(t0, t1)
        weights = part._durations()
        total = weights.sum()
        return float((part.values * weights).sum() / total) if total > 0 else float(part.values[0])

    @word(SAME)
    def std(self, t0: float | None = None, t1: float | None = None) -> float:
        """Standard deviation over time."""
        part = self.window(t0, t1)
        weights = part._durations()
        total = weights.sum()
        if total <= 0:
            return 0.0
        mean = (part.values * weights).sum() / total
        return float(math.sqrt((((part.values - mean) ** 2) * weights).sum() / total))

    @word(SAME)
    def min(self, t0: float | None = None, t1: float | None = None) -> float:
        """Smallest value."""
        return float(self.window(t0, t1).values.min())

    @word(SAME)
    def max(self, t0: float | None = None, t1: float | None = None) -> float:
        """Largest value."""
        return float(self.window(t0, t1).values.max())

    @word(SAME)
    def percentile(self, percent: float, t0: float | None = None, t1: float | None = None) -> float:
        """Smallest value that the series does not exceed for `percent` of the time."""
        part = self.window(t0, t1)
        order = np.argsort(part.values, kind="stable")
        passed = np.cumsum(part._durations()[order])
        index = np.searchsorted(passed, percent / 100 * passed[-1] - TOLERANCE_S)
        return float(part.values[order[min(index, len(order) - 1)]])

    @word("s")
    def time_of_max(self, t0: float | None = None, t1: float | None = None) -> float:
        """Middle of the first stretch at the largest value, since what counts whole packets stays there for a while."""
        part = self.window(t0, t1)
        first = int(part.values.argmax())
        lower = np.flatnonzero(part.values[first:] < part.values[first])
        left = part.times[first + lower[0]] if len(lower) else part.end
        return float(part.times[first] + left) / 2

    @word("s")
    def first_time_above(self, level: float, after: float | None = None) -> float:
        """First instant with a value of at least `level`; `never` if there is none."""
        return self._first(self.values >= level, after)

    @word("s")
    def first_time_below(self, level: float, after: float | None = None) -> float:
        """First instant with a value of at most `level`; `never` if there is none."""
        return self._first(self.values <= level, after)

    @word()
    def cuts(self, part: float) -> "Instants":
        """Instants at which the value falls by at least that part of itself from one sample to the next."""
        fallen = self.values[1:] <= (1 - part) * self.values[:-1]
        return Instants(self.times[1:][fallen & (self.values[:-1] > 0)], self.end)

    @word()
    def slope(self, t0: float | None = None, t1: float | None = None) -> float:
        """Slope of the straight line that fits the values best (least squares), in units per second."""
        part = self.window(t0, t1)
        if len(part.times) < 2:
            return 0.0
        return float(np.polyfit(part.times - part.times[0], part.values, 1)[0])

    @word()
    def peaks(self, instants: Sequence[float]) -> list[float]:
        """Largest value in each interval between successive instants; the first begins with the series."""
        edges = [self.start, *instants]
        return [self.max(a, b) for a, b in itertools.pairwise(edges)]

    def scaled(self, factor: float) -> "Series":
        """Multiply all values by a factor."""
        return Series(self.times, self.values * factor, self.end)

    def plus(self, other: "Series") -> "Series":
        """Add another series; a series counts as 0 before it begins and from its end on."""
        ends = sorted((self.end, other.end))
        times = np.union1d(np.union1d(self.times, other.times), [end for end in ends if end < ends[1]])
        parts = [np.where(times < each.end, each.sampled(times), 0.0) for each in (self, other)]
        return Series(times, parts[0] + parts[1], ends[1])

    def sampled(self, times: Floats) -> Floats:
        """Values at many instants; 0 before the series began."""
        index = np.searchsorted(self.times, times, side="right") - 1
        return np.where(index < 0, 0.0, self.values[np.maximum(index, 0)])

    def _durations(self) -> Floats:
        return np.diff(np.append(self.times, self.end))

    def _first(self, hit: NDArray[np.bool_], after: float | None) -> float:
        after = self.start if after is None else max(after, self.start)
        if not math.isfinite(after):
            return math.inf
        self._check(after, after)
        current = int(np.searchsorted(self.times, after, side="right")) - 1
        if hit[current]:
            return after
        later = np.flatnonzero(hit[current + 1 :])
        return float(self.times[current + 1 + later[0]]) if len(later) else math.inf

    def _span(self, t0: float | None, t1: float | None) -> tuple[float, float]:
        t0 = self.start if t0 is None else max(t0, self.start)
        t1 = self.end if t1 is None else t1
        if not (math.isfinite(t0) and math.isfinite(t1)):
            raise NeverHappenedError
        if t0 > t1:
            raise NotMeasuredError(f"the interval from {t0:g} s to {t1:g} s ends before it begins")
        self._check(t0, t1)
        return t0, t1

    def _check(self, t0: float, t1: float) -> None:
        if t1 > self.end + TOLERANCE_S:
            raise NotMeasuredError(f"asked for {t1:g} s, but the run ends at {self.end:g} s")
        if t0 < self.start - TOLERANCE_S:
            raise NotMeasuredError(f"asked for {t0:g} s, but this is known from {self.start:g} s on only")


class Instants:
    """Instants at which something happened, ascending, within a run that ends at `end`."""

    def __init__(self, times: Floats, end: float) -> None:
        self._times = [float(t) for t in times]
        self.end = end

    @property
    @word()
    def times(self) -> list[float]:
        """All instants, s."""
        return self._times

    @word()
    def count(self, t0: float = 0.0, t1: float | None = None) -> int:
        """Number of instants in [t0, t1), by default in the whole run."""
        t1 = self.end if t1 is None else t1
        if t1 > self.end + TOLERANCE_S:
            raise NotMeasuredError(f"asked for {t1:g} s, but the run ends at {self.end:g} s")
        return sum(t0 <= t < t1 for t in self.times)

    @word("s")
    def first(self, after: float = 0.0) -> float:
        """First instant at or after `after`; `never` if there is none."""
        return next((t for t in self.times if t >= after), math.inf)

    @word()
    def covered(self, near: float, t0: float = 0.0, t1: float | None = None) -> float:
        """Part of [t0, t1] that lies within `near` seconds of an instant: the chance that one drawn at random does."""
        t1 = self.end if t1 is None else t1
        if t1 > self.end + TOLERANCE_S:
            raise NotMeasuredError(f"asked for {t1:g} s, but the run ends at {self.end:g} s")
        if t0 >= t1:
            raise NotMeasuredError(f"the interval from {t0:g} s to {t1:g} s has no length")
        reached, covered = t0, 0.0
        for t in self.times:
            end = min(t + near, t1)
            covered += max(0.0, end - max(t - near, reached))
            reached = max(reached, end)
        return covered / (t1 - t0)

    @word()
    def episodes(self, gap: float = 1.0, until: float | None = None) -> list[float]:
        """Beginnings of the groups that are more than `gap` seconds apart, up to `until`."""
        begins: list[float] = []
        last = -math.inf
        for t in self.times:
            if t - last > gap:
                begins.append(t)
            last = t
        return [t for t in begins if until is None or t <= until]
