"""One verdict for one claim: a 95 % interval of what was measured against the zones that tolerances.yaml allows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean
from typing import Final

from analysis.verdicts import intervals
from analysis.verdicts.expected import Expected, Reading
from analysis.verdicts.intervals import Interval
from analysis.verdicts.tolerances import NumberRule, Zones, tolerances

# Seeds of a cell: the least that give an interval worth its name, and where the search for a decision ends. A fraction
# needs more of them than a mean: at 20, only all or none tell 0.8 from 1.
FIRST: Final = 5
BOUND: Final = 20
BOUND_OF_MODES: Final = 50

# Bounds are closed, and equal to within less than one packet of the shortest run, so no rounding of floats decides.
EPSILON: Final = 1e-5


class Outcome(StrEnum):
    """The verdicts, from best to worst. Undecided: more than one of the others is possible."""

    REPRODUCED = "reproduced"
    NEAR = "near"
    UNDECIDED = "undecided"
    NOT_REPRODUCED = "not reproduced"
    NOT_TESTABLE = "not testable"


ORDER: Final = tuple(Outcome)


@dataclass(frozen=True)
class Verdict:
    """An outcome, the sentence that says why, and the rule that decided with its reason.

    `interval` is the 95 % interval that decided, in the claim's unit, or of the fraction of seeds; None without one.
    `zones` are what the rule allows around the printed value, in the claim's unit; None where no number is compared.
    `seeds_wanted` is how many seeds the claim's cells should have for a better verdict; 0: more seeds do not help.
    """

    outcome: Outcome
    why: str
    rule: str
    reason: str
    interval: Interval | None = None
    seeds_wanted: int = 0
    zones: Zones | None = None


@dataclass(frozen=True)
class _Possible:
    """The outcomes that an interval leaves possible: all from `best` to `worst`."""

    best: Outcome
    worst: Outcome

    @property
    def outcome(self) -> Outcome:
        return self.best if self.best == self.worst else Outcome.UNDECIDED


def _all_of(*parts: _Possible) -> _Possible:
    """Join conditions that all have to be met: the worst of them counts."""
    return _Possible(
        max((part.best for part in parts), key=ORDER.index), max((part.worst for part in parts), key=ORDER.index)
    )


def _any_of(parts: list[_Possible]) -> _Possible:
    """Join readings of which one is right, nobody knows which: whatever one of them leaves possible is possible."""
    return _Possible(
        min((part.best for part in parts), key=ORDER.index), max((part.worst for part in parts), key=ORDER.index)
    )


def _compare(interval: Interval, zones: Zones) -> _Possible:
    """Say what is possible for a value in the interval."""

    def inside(zone: Interval) -> bool:
        return _at_most(zone[0], interval[0]) and _at_most(interval[1], zone[1])

    def apart(zone: Interval) -> bool:
        return not (_at_most(zone[0], interval[1]) and _at_most(interval[0], zone[1]))

    steps = ((Outcome.REPRODUCED, zones.reproduced), (Outcome.NEAR, zones.near))
    return _Possible(
        best=next((outcome for outcome, zone in steps if not apart(zone)), Outcome.NOT_REPRODUCED),
        worst=next((outcome for outcome, zone in steps if inside(zone)), Outcome.NOT_REPRODUCED),
    )


def _at_most(low: float, high: float) -> bool:
    return low <= high + EPSILON * max(abs(low), abs(high))


def judge_number(expected: Expected, values: Mapping[int, float], of_means: bool = False) -> Verdict:
    """Judge the numbers that the seeds have; infinity stands for an event that never happened.

    `of_means`: the number is made of means over all seeds, so it is one number however many seeds give it.
    """
    verdict = _judge_number(expected, values, of_means)
    return replace(verdict, zones=tolerances().zones(expected, expected.readings()[0]))


def _judge_number(expected: Expected, values: Mapping[int, float], of_means: bool) -> Verdict:
    rule = tolerances().rule(expected)
    if of_means:
        values = dict([next(iter(values.items()))])
    finite = [value for value in values.values() if math.isfinite(value)]
    if len(values) == 1 and expected.statistic == "std":
        return Verdict(
            Outcome.UNDECIDED, "a standard deviation needs two seeds", rule.name, rule.reason, seeds_wanted=FIRST
        )
    readings = expected.readings()
    if expected.statistic == "fraction-in-mode":
        mode = tolerances().zones(expected, readings[0]).reproduced
        seen = sum(_at_most(mode[0], value) and _at_most(value, mode[1]) for value in finite)
        verdict = judge_predicate(seen, len(values))
        return replace(verdict, why=f"a number from {_span(mode)}: {verdict.why}")
    if not finite:
        why = f"it did not happen in {len(values)} of {len(values)} seeds"
        return _verdict(
            _compare_fraction(0, len(values)), why, rule.name, rule.reason, None, len(values), True, of_means
        )
    interval = _interval(expected, rule, finite)
    zones = [tolerances().zones(expected, reading) for reading in readings]
    parts = [_compare(interval, one) for one in zones]
    never = len(values) - len(finite)
    if never:
        by_seed = _compare_fraction(len(finite), len(values))
        parts = [_all_of(part, by_seed) for part in parts]
    possible = _any_of(parts)
    helps = any(part.outcome == Outcome.UNDECIDED for part in parts)
    why = _why(expected, interval, finite, readings[0])
    if never:
        why += f"; it did not happen in {never} of {len(values)} seeds"
    if len({part.outcome for part in parts}) > 1:
        listed = ", ".join(f"as {one} it is {part.outcome}" for one, part in zip(readings, parts, strict=True))
        why += f"; the print is hard to read: {listed}"
    return _verdict(possible, why, _text(expected, rule, zones[0]), rule.reason, interval, len(values), helps, of_means)


def _interval(expected: Expected, rule: NumberRule, finite: list[float]) -> Interval:
    if expected.statistic == "std":
        return intervals.deviation(finite) if len(finite) > 1 else (0.0, math.inf)
    return intervals.mean_of_rates(finite) if rule.is_ratio else intervals.mean(finite)


def _why(expected: Expected, interval: Interval, values: list[float], reading: Reading) -> str:
    is_std = expected.statistic == "std" and len(values) > 1
    number = intervals.standard_deviation(values) if is_std else fmean(values)
    away = max(reading.low - number, number - reading.high, 0.0)
    distance = f"{away:.3g}{_points(expected)} away from {reading}" if away else "what the paper has"
    if len(values) == 1:
        return f"the value {number:.4g}{_unit(expected)} is {distance}"
    what = "standard deviation" if is_std else "mean"
    return f"the {what} {number:.4g}{_unit(expected)} (95 % interval {_span(interval)}) is {distance}"


def _text(expected: Expected, rule: NumberRule, zones: Zones) -> str:
    hedged = ", hedged by the paper" if expected.hedged else ""
    unit = _unit(expected)
    return f"{rule.name}{hedged}: reproduced from {_span(zones.reproduced)}{unit}, near from {_span(zones.near)}{unit}"


def _span(interval: Interval) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"


def _unit(expected: Expected) -> str:
    if expected.unit in (None, "", "1", "ratio"):
        return ""
    return " %" if expected.unit == "percent" else f" {expected.unit}"


def _points(expected: Expected) -> str:
    return " points" if expected.unit == "percent" else _unit(expected)


def _verdict(
    possible: _Possible,
    why: str,
    rule: str,
    reason: str,
    interval: Interval | None,
    seeds: int,
    helps: bool,
    of_means: bool,
) -> Verdict:
    """Make the verdict. A single value decides as it is, without an interval, and says so; one seed asks for more."""
    if of_means:
        return Verdict(possible.outcome, f"{why}; made of means over the seeds, it has no interval", rule, reason)
    if seeds == 1:
        return Verdict(possible.outcome, f"{why}; one seed has no interval", rule, reason, None, FIRST)
    if possible.outcome != Outcome.UNDECIDED:
        return Verdict(possible.outcome, why, rule, reason, interval)
    if helps:
        why += f"; undecided between {possible.best} and {possible.worst}"
    return Verdict(Outcome.UNDECIDED, why, rule, reason, interval, BOUND if helps else 0)


def judge_predicate(held: int, seeds: int, of_means: bool = False) -> Verdict:
    """Judge a predicate by the fraction of the seeds in which it held.

    `of_means`: it speaks of means over all seeds, so it is one statement however many seeds are asked.
    """
    if of_means:
        held, seeds = held // seeds, 1
    zones = tolerances().predicates
    text = (
        f"predicate: reproduced when it holds in {zones.reproduced[0]:.0%} of the seeds or more, "
        f"near in {zones.near[0]:.0%} or more"
    )
    interval = intervals.fraction(held, seeds)
    why = f"it holds in {held} of {seeds} seeds" if not of_means else "it holds" if held else "it does not hold"
    if seeds > 1:
        why += f" (95 % interval of the fraction {interval[0]:.2f} to {interval[1]:.2f})"
    verdict = _verdict(
        _compare_fraction(held, seeds), why, text, tolerances().predicates_reason, interval, seeds, True, of_means
    )
    mixed = verdict.outcome == Outcome.UNDECIDED and 0 < held < seeds
    return replace(verdict, seeds_wanted=BOUND_OF_MODES) if mixed else verdict


def _compare_fraction(count: int, of: int) -> _Possible:
    interval = intervals.fraction(count, of) if of > 1 else (float(count), float(count))
    return _compare(interval, tolerances().predicates)


def judge_case(name: str, outcome: str | None) -> Verdict:
    """Judge by the outcome of a KUnit case: passed, failed, or skipped (None: there is no such case)."""
    if outcome not in ("passed", "failed"):
        return not_testable(f"the KUnit case {name} was {outcome}" if outcome else f"there is no KUnit case {name}")
    verdict = Outcome.REPRODUCED if outcome == "passed" else Outcome.NOT_REPRODUCED
    text = "module test: reproduced when the KUnit case of the claim's name passes"
    reason = (
        "The case feeds the module's own code, built for the debug kernel, and compares exactly: nothing is random."
    )
    return Verdict(verdict, f"the KUnit case {name} {outcome}", text, reason)


def not_testable(why: str) -> Verdict:
    """Make the verdict of a claim that nothing can be measured for."""
    return Verdict(Outcome.NOT_TESTABLE, why, "", "")
