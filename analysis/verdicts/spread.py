"""What a claim measured over its seeds: mean and spread."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Numbers over seeds.

    `never` counts the seeds in which the event in question did not happen; the rest holds for the other seeds and is
    None when there are none. `ci95` is half the width of the 95 % interval of the mean (Student).
    """

    seeds: int
    never: int
    mean: float | None
    minimum: float | None
    maximum: float | None
    std: float | None
    ci95: float | None


def spread(values: Mapping[int, float]) -> Spread:
    """Sum up numbers by seed; what is not finite never happened. Deviation and interval need two seeds."""
    finite = np.array([value for value in values.values() if math.isfinite(value)], float)
    never = len(values) - len(finite)
    if not len(finite):
        return Spread(len(values), never, None, None, None, None, None)
    std = float(finite.std(ddof=1)) if len(finite) > 1 else None
    half = None if std is None else _student95(len(finite) - 1) * std / math.sqrt(len(finite))
    return Spread(len(values), never, float(finite.mean()), float(finite.min()), float(finite.max()), std, half)


# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom; any table of statistics has them.
_STUDENT95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def _student95(degrees: int) -> float:
    if degrees <= len(_STUDENT95):
        return _STUDENT95[degrees - 1]
    # Cornish-Fisher around the normal quantile: right to three digits from 30 degrees on
    z = 1.959964
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
