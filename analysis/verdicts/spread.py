"""What a claim measured over its seeds: mean and spread."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from analysis.verdicts.intervals import half_width, standard_deviation


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
    finite = [value for value in values.values() if math.isfinite(value)]
    never = len(values) - len(finite)
    if not finite:
        return Spread(len(values), never, None, None, None, None, None)
    several = len(finite) > 1
    return Spread(
        seeds=len(values),
        never=never,
        mean=fmean(finite),
        minimum=min(finite),
        maximum=max(finite),
        std=standard_deviation(finite) if several else None,
        ci95=half_width(finite) if several else None,
    )
