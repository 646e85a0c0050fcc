"""tolerances.yaml, applied to one expected value: the zones around it that count as holding and as nearly."""

import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from analysis.documents import Fields, read_yaml
from analysis.judge.expected import Expected, ScanReading
from analysis.judge.intervals import Interval, deviation_factors

FILE: Final = Path(__file__).with_name("tolerances.yaml")
SCALES: Final = ("difference", "ratio")
_WIDEST: Final = 50.0  # logarithm of a factor that allows anything


@dataclass(frozen=True)
class Zones:
    """Where a measured interval must lie: within `holds`, or within `nearly` around it."""

    holds: Interval
    nearly: Interval
    is_ratio: bool = False  # whether distances are factors


@dataclass(frozen=True)
class Distance:
    """An allowed distance: the larger of a difference in the claim's unit and a part of the value."""

    absolute: float
    relative: float

    def times(self, factor: float) -> "Distance":
        """Return the distance that a hedge allows."""
        return Distance(factor * self.absolute, factor * self.relative)

    def of(self, value: float) -> float:
        """Return the distance from a value, in its unit."""
        return max(self.absolute, self.relative * abs(value))


@dataclass(frozen=True)
class NumberRule:
    """How far numbers of one kind may be from the paper's, with the reason.

    `is_ratio`: a `relative` of r allows a factor of 1 + r in both directions, so a tenth is as far away as ten times.
    `is_instant`: a `relative` is a part of the time since the instant that the paper counts from, and of nothing where
    no such instant is known. `no_effect`: the number that says that nothing happens; no zone around another reaches it.
    """

    name: str
    statistic: str | None
    unit: str | None
    metric: str
    is_ratio: bool
    holds: Distance
    nearly: Distance
    reason: str
    is_instant: bool = False
    no_effect: float | None = None

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

    def zones(self, expected: Expected, reading: ScanReading, own_error: float = 0.0) -> Zones:
        """Return the zones around one reading of the scan, rounding included.

        `own_error` is half the width of the 95 % interval of the paper's own number, as far as the seeds tell it.
        """
        rule = self.rule(expected)
        hedge = self.hedge if expected.hedged else 1.0
        holds, nearly = (
            _bounded(expected, reading, _effective(rule, reading, _zone(expected, reading, rule, distance, own_error)))
            for distance in (rule.holds.times(hedge), rule.nearly.times(hedge))
        )
        return Zones(holds, nearly, rule.is_ratio)


def _bounded(expected: Expected, reading: ScanReading, zone: Interval) -> Interval:
    """Open the zone of a number that the paper gives as a bound. A strict bound allows no distance."""
    match expected.bound:
        case "at most":
            return -math.inf, zone[1]
        case "at least":
            return zone[0], math.inf
        case "above":
            return math.nextafter(reading.high, math.inf), math.inf
        case "below":
            return -math.inf, math.nextafter(reading.low, -math.inf)
        case None:
            return zone


def _effective(rule: NumberRule, reading: ScanReading, zone: Interval) -> Interval:
    """Keep a zone on the side of the paper's effect."""
    none = rule.no_effect
    if none is None or reading.low <= none <= reading.high:
        return zone
    if reading.low > none:
        return max(zone[0], math.nextafter(none, math.inf)), zone[1]
    return zone[0], min(zone[1], math.nextafter(none, -math.inf))


def _zone(expected: Expected, reading: ScanReading, rule: NumberRule, distance: Distance, own_error: float) -> Interval:
    if not rule.is_ratio:
        margin = max(math.hypot(distance.of(_extent(expected, reading, rule)), own_error), expected.half_width or 0.0)
        return reading.low - reading.rounding - margin, reading.high + reading.rounding + margin
    absolute = max(distance.absolute, expected.grain if expected.statistic == "std" else 0.0)
    if reading.high == 0:
        return -absolute, absolute  # no factor leads away from zero, and a printed zero means no event at all
    factor = math.exp(min(math.hypot(math.log1p(distance.relative), own_error / reading.high), _WIDEST))
    below, above = 1 / factor, factor
    if expected.statistic == "std" and expected.runs:
        own = deviation_factors(expected.runs - 1)  # the interval of the paper's own number
        below, above = min(below, own[0]), max(above, own[1])
    low, high = reading.low - reading.rounding, reading.high + reading.rounding
    return min(low * below, low - absolute), max(high * above, high + absolute)


def _extent(expected: Expected, reading: ScanReading, rule: NumberRule) -> float:
    """Return what a relative distance is a part of."""
    if not rule.is_instant:
        return reading.high
    return 0.0 if expected.since is None else reading.high - expected.since


@cache
def tolerances() -> Tolerances:
    """Read the file."""
    document = read_yaml(FILE)
    predicates = document.child("predicates")
    return Tolerances(
        hedge=document.get("approximate", float),
        numbers=tuple(_number_rule(rule) for rule in document.children("numbers")),
        predicates=Zones((predicates.get("holds", float), 1.0), (predicates.get("nearly", float), 1.0)),
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
        holds=_distance(rule.child("holds")),
        nearly=_distance(rule.child("nearly")),
        reason=rule.get("reason", str).strip(),
        is_instant=rule.maybe("instant", bool) or False,
        no_effect=rule.maybe("no_effect", float),
    )


def _distance(entry: Fields) -> Distance:
    return Distance(entry.maybe("absolute", float) or 0.0, entry.maybe("relative", float) or 0.0)
