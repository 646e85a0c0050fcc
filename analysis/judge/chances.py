"""How likely seeds outside of a zone are if the truth is on its edge, one formula for each kind of statistic.

They are the tests that belong to the intervals of `intervals.py`, one-sided, since a number can be outside on one side
only: a chance below 0.025 there means that the 95 % interval and the zone do not meet.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean

from analysis.judge import intervals
from analysis.judge.intervals import Interval

_TERMS = 200  # of the continued fraction, which converges long before


def of_mean(values: Sequence[float], zone: Interval, *, in_logarithms: bool = False) -> float:
    """Student's test of the mean; of its logarithm (delta method) for rates that differ by factors."""
    centre = fmean(values)
    away = _outside(centre, zone)
    if away == 0:
        return 1.0
    scale = 1.0
    if in_logarithms and zone[0] > 0:
        if centre <= 0:
            return 0.0
        edge = zone[0] if centre < zone[0] else zone[1]
        away, scale = abs(math.log(centre / edge)), centre
    error = intervals.standard_deviation(values) / math.sqrt(len(values)) / scale
    return student_tail(away / error, len(values) - 1) if error else 0.0


def of_deviation(values: Sequence[float], zone: Interval) -> float:
    """Chi-square test of the standard deviation, with fewer degrees of freedom the heavier the tails."""
    std = intervals.standard_deviation(values)
    if _outside(std, zone) == 0:
        return 1.0
    edge = zone[0] if std < zone[0] else zone[1]
    if std == 0 or edge <= 0:
        return 0.0
    degrees = intervals.degrees_of_deviation(values)
    below = intervals.chi_square_below(degrees * (std / edge) ** 2, degrees)
    return below if std < edge else 1 - below


def of_fraction(count: int, of: int, least: float) -> float:
    """Wilson's test of a fraction that should be `least` or more."""
    if count >= least * of:
        return 1.0
    return NormalDist().cdf((count / of - least) / math.sqrt(least * (1 - least) / of))


def _outside(value: float, zone: Interval) -> float:
    return max(zone[0] - value, value - zone[1], 0.0)


def student_tail(t: float, degrees: int) -> float:
    """Return the chance that Student's t of so many degrees of freedom is `t` or more, for a `t` of 0 or more."""
    return 0.5 * _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularized incomplete beta function, by its continued fraction (Abramowitz and Stegun, 26.5.8)."""
    if x in (0.0, 1.0):
        return x
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front / a / _fraction(a, b, x)
    return 1 - front / b / _fraction(b, a, 1 - x)


def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction from its far end."""
    value = 1.0
    for term in range(_TERMS, 0, -1):
        half, odd = divmod(term, 2)
        if odd:
            numerator = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            numerator = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        value = 1 + numerator / value
    return value
