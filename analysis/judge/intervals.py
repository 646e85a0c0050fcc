"""95 % confidence intervals over seeds, one for each kind of statistic.

All are closed formulas. A bootstrap of three to twenty numbers resamples a sample that is too small to stand for its
population (five numbers have 126 different resamples) and covers less than it says; it also needs random numbers.
"""

import math
from collections.abc import Sequence
from statistics import fmean

Interval = tuple[float, float]

NORMAL95 = 1.959964  # two-sided 95 % quantile of the normal distribution

_FAR = 10.0  # standard deviations; nothing of what is judged here is so far out
_SMALLEST_TERM = 1e-17
_EXACT = 1e-12

# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom; any table of statistics has them.
_STUDENT95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def mean(values: Sequence[float]) -> Interval:
    """Student's interval of a mean: exact for normal numbers, close for others from a handful of seeds on."""
    centre, half = fmean(values), half_width(values)
    return centre - half, centre + half


def mean_of_rates(values: Sequence[float]) -> Interval:
    """Student's interval of the logarithm of a mean (delta method), for rates that differ by factors.

    It stays above zero, and seeds without the event count as zeros. No event at all gives (0, 0).
    """
    centre = fmean(values)
    if centre == 0:
        return 0.0, 0.0
    factor = math.exp(half_width(values) / centre)
    return centre / factor, centre * factor


def deviation(values: Sequence[float]) -> Interval:
    """Chi-square interval of a standard deviation; needs two numbers."""
    std = standard_deviation(values)
    if std == 0:
        return 0.0, 0.0
    low, high = deviation_factors(degrees_of_deviation(values))
    return std * low, std * high


def degrees_of_deviation(values: Sequence[float]) -> float:
    """Return the degrees of freedom of a standard deviation that is not zero.

    They are fewer the heavier the tails are: n - 1 holds for normal numbers only, and one outlier among ten seeds is
    common here. They match the variance of the sample variance, 2/(n - 1) + excess kurtosis/n.
    """
    count, centre, std = len(values), fmean(values), standard_deviation(values)
    # kurtosis uses the deviation with n in the denominator
    excess = fmean(((value - centre) / std) ** 4 for value in values) * (count / (count - 1)) ** 2 - 3
    return 2 / (2 / (count - 1) + max(excess, 0.0) / count)


def deviation_factors(degrees: float) -> Interval:
    """Return the ends of the chi-square interval of a standard deviation, as factors of the measured one."""
    low, high = (_chi_square(degrees, below) for below in (0.975, 0.025))
    return math.sqrt(degrees / low), math.sqrt(degrees / high)


def chi_square_below(value: float, degrees: float) -> float:
    """Chance of a chi-square to be below a number (Abramowitz and Stegun 1964, 6.5.29: the series of the gamma)."""
    half, shape = value / 2, degrees / 2
    if half <= 0:
        return 0.0
    if half > shape + _FAR * math.sqrt(shape) + _FAR**2:  # beyond it the terms only overflow
        return 1.0
    term = total = math.exp(shape * math.log(half) - half - math.lgamma(shape + 1))
    place = shape
    while term > total * _SMALLEST_TERM:
        place += 1
        term *= half / place
        total += term
    return min(total, 1.0)


def _chi_square(degrees: float, below: float) -> float:
    """Return the number that a chi-square is below with this chance, by bisection."""
    low, high = 0.0, degrees + _FAR * math.sqrt(2 * degrees) + _FAR**2
    while high - low > _EXACT * high:
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_below(middle, degrees) < below else (low, middle)
    return high


def fraction(count: int, of: int) -> Interval:
    """Wilson's interval of a fraction, which is sound for few seeds, and when all or none count."""
    z2 = NORMAL95**2
    centre = (count + z2 / 2) / (of + z2)
    half = NORMAL95 / (of + z2) * math.sqrt(count * (of - count) / of + z2 / 4)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def half_width(values: Sequence[float]) -> float:
    """Half the width of Student's interval of the mean; 0 for a single number."""
    count = len(values)
    return student95(count - 1) * standard_deviation(values) / math.sqrt(count) if count > 1 else 0.0


def standard_deviation(values: Sequence[float]) -> float:
    """Standard deviation of a sample of two numbers or more."""
    centre = fmean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def student95(degrees: int) -> float:
    """Two-sided 95 % quantile of Student's t."""
    if degrees <= len(_STUDENT95):
        return _STUDENT95[degrees - 1]
    # Cornish-Fisher around the normal quantile: right to three digits from 30 degrees on
    z = NORMAL95
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def student_above(t: float, degrees: int) -> float:
    """Chance of Student's t to be above a number (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    first = 1 if degrees % 2 else 0
    term = total = math.cos(angle) if first else 1.0
    for power in range(first + 2, degrees - 1, 2):
        term *= math.cos(angle) ** 2 * (power - 1) / power
        total += term
    between = math.sin(angle) * (total if degrees > 1 else 0.0)
    between = 2 / math.pi * (angle + between) if first else between
    return (1 - between) / 2
