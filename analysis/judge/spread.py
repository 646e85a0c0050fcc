"""Mean and spread over the seeds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from analysis.judge.intervals import half_width, standard_deviation


@dataclass(frozen=True)
class Spread:
    """Numbers over seeds.

    `never` counts the seeds in which the event did not happen; the other fields are about the remaining seeds, and None
    if there are none. `ci95` is half the width of the 95 % interval of the mean (Student).
    """

    seeds: int
    never: int
    mean: float | None
    minimum: float | None
    maximum: float | None
    std: float | None
    ci95: float | None


def spread(values: Mapping[int, float]) -> Spread:
    """Summarize numbers by seed; infinity never happened. Deviation and interval need two seeds."""
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
