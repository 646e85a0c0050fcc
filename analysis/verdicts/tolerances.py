"""tolerances.yaml, applied to one expected value: the zones around it that count as reproduced and as near."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from analysis.documents import Fields, read_yaml
from analysis.verdicts.expected import Expected, Reading
from analysis.verdicts.intervals import Interval, deviation_factors

FILE: Final = Path(__file__).with_name("tolerances.yaml")
SCALES: Final = ("difference", "ratio")


@dataclass(frozen=True)
class Zones:
    """Where a measured interval must lie: within `reproduced`, or within `near` around it."""

    reproduced: Interval
    near: Interval


@dataclass(frozen=True)
class Distance:
    """An allowed distance: the larger of a difference in the claim's unit and a part of the value."""

    absolute: float
    relative: float

    def of(self, value: float) -> float:
        """Return the distance from a value, in its unit."""
        return max(self.absolute, self.relative * abs(value))


@dataclass(frozen=True)
class NumberRule:
    """How far numbers of one kind may be from the paper's, with the reason.

    `is_ratio`: a `relative` of r allows a factor of 1 + r in both directions, so a tenth is as far away as ten times.
    """

    name: str
    statistic: str | None
    unit: str | None
    metric: str
    is_ratio: bool
    reproduced: Distance
    near: Distance
    reason: str

    def fits(self, expected: Expected) -> bool:
        """Whether the rule is for this kind of number."""
        alike = self.unit in (None, expected.unit) and self.statistic in (None, expected.statistic)
        return alike and re.search(self.metric, expected.metric) is not None


@dataclass(frozen=True)
class Tolerances:
    """The contents of tolerances.yaml."""

    hedge: float
    numbers: tuple[NumberRule, ...]
    predicates: Zones
    predicates_reason: str

    def rule(self, expected: Expected) -> NumberRule:
        """Find the rule for a number: the first that fits. The last fits everything."""
        return next(rule for rule in self.numbers if rule.fits(expected))

    def zones(self, expected: Expected, reading: Reading) -> Zones:
        """Return the zones around one reading of the scan, rounding included."""
        rule = self.rule(expected)
        hedge = self.hedge if expected.hedged else 1.0
        reproduced, near = (
            _zone(expected, reading, rule.is_ratio, hedge, distance) for distance in (rule.reproduced, rule.near)
        )
        return Zones(reproduced, near)


def _zone(expected: Expected, reading: Reading, is_ratio: bool, hedge: float, distance: Distance) -> Interval:
    if not is_ratio:
        margin = max(hedge * distance.of(reading.high), expected.half_width or 0.0)
        return reading.low - reading.rounding - margin, reading.high + reading.rounding + margin
    absolute = hedge * distance.absolute
    if reading.high == 0:
        return -absolute, absolute  # no factor leads away from zero, and a printed zero means no event at all
    factor = 1 + hedge * distance.relative
    below, above = 1 / factor, factor
    if expected.statistic == "std" and expected.runs:
        own = deviation_factors(expected.runs - 1)  # the interval of the paper's own number
        below, above = min(below, own[0]), max(above, own[1])
    low, high = reading.low - reading.rounding, reading.high + reading.rounding
    return min(low * below, low - absolute), max(high * above, high + absolute)


@cache
def tolerances() -> Tolerances:
    """Read the file."""
    document = read_yaml(FILE)
    predicates = document.child("predicates")
    return Tolerances(
        hedge=document.get("approximate", float),
        numbers=tuple(_number_rule(rule) for rule in document.children("numbers")),
        predicates=Zones((predicates.get("reproduced", float), 1.0), (predicates.get("near", float), 1.0)),
        predicates_reason=predicates.get("reason", str).strip(),
    )


def _number_rule(rule: Fields) -> NumberRule:
    match = rule.child("match")
    scale = rule.maybe("scale", str) or SCALES[0]
    if scale not in SCALES:
        raise rule.error(rule.name("scale"), scale, "one of " + ", ".join(SCALES))
    return NumberRule(
        name=rule.get("name", str),
        statistic=match.maybe("statistic", str),
        unit=match.maybe("unit", str),
        metric=match.maybe("metric", str) or "",
        is_ratio=scale == "ratio",
        reproduced=_distance(rule.child("reproduced")),
        near=_distance(rule.child("near")),
        reason=rule.get("reason", str).strip(),
    )


def _distance(entry: Fields) -> Distance:
    return Distance(entry.maybe("absolute", float) or 0.0, entry.maybe("relative", float) or 0.0)
