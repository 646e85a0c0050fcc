"""Judges a claim: a 95 % interval of what was measured against the zones that tolerances.yaml allows."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from analysis.judge import chances, intervals
from analysis.judge.expected import Expected, ScanReading
from analysis.judge.intervals import Interval
from analysis.judge.tolerances import NumberRule, Zones, tolerances
from analysis.judge.verdict import Verdict
from analysis.units import unit_of
from common.counts import plural

# How many seeds a cell may have when its claims are judged again. Five are the fewest that give an interval worth its
# name. There are few looks, since each is another chance to be wrong. A fraction needs more seeds than a mean: of 20
# seeds, only all or none tell 0.8 from 1.
FIRST: Final = 5
BOUND: Final = 20
BOUND_OF_FRACTIONS: Final = 50
LOOKS: Final = (FIRST, 10, BOUND, BOUND_OF_FRACTIONS)

# Bounds are closed, with less than one packet of the shortest run as slack, so that no rounding of floats decides.
EPSILON: Final = 1e-5


ORDER: Final = tuple(Verdict)

# what an interval within the larger distance that crosses the smaller one leaves possible
HOLDS: Final = (Verdict.HOLDS, Verdict.NEARLY)
WITHIN_THE_LARGER: Final = (
    "that is within the larger distance; whether within the smaller one, {} seeds like these do not tell"
)

# why a single number has no interval
ONE_SEED: Final = "one seed has no interval"
OF_MEANS: Final = "means over the seeds have no interval"


@dataclass(frozen=True)
class Judgement:
    """A verdict, the sentence that says why, and the rule that decided with its reason.

    `interval` is the 95 % interval that decided, in the claim's unit, or of the fraction of seeds; None without one.
    `zones` are what the rule allows around the printed value, in the claim's unit; None where no number is compared.
    `chance` is that of seeds at least as far outside of the larger zone if the truth were on its edge; None without an
    interval.
    `seeds_wanted` is how many seeds the claim's cells should have for a better verdict; 0: more are not expected to
    help. `between`: the best and the worst verdict that the interval leaves possible, where it leaves several.
    """

    verdict: Verdict
    why: str
    rule: str
    reason: str
    interval: Interval | None = None
    seeds_wanted: int = 0
    zones: Zones | None = None
    chance: float | None = None
    between: tuple[Verdict, Verdict] | None = None


@dataclass(frozen=True)
class _Possible:
    """The verdicts that an interval leaves possible: all from `best` to `worst`."""

    best: Verdict
    worst: Verdict

    @property
    def verdict(self) -> Verdict:
        return self.best if self.best == self.worst else Verdict.OPEN


def _all_of(*parts: _Possible) -> _Possible:
    """Combine conditions that must all be met: the worst counts."""
    return _Possible(
        max((part.best for part in parts), key=ORDER.index), max((part.worst for part in parts), key=ORDER.index)
    )


def _any_of(parts: list[_Possible]) -> _Possible:
    """Combine readings of which an unknown one is right: what any of them leaves possible is possible."""
    return _Possible(
        min((part.best for part in parts), key=ORDER.index), max((part.worst for part in parts), key=ORDER.index)
    )


def _either(*parts: _Possible) -> _Possible:
    """Combine conditions of which one must be met: the best counts."""
    return _Possible(
        min((part.best for part in parts), key=ORDER.index), min((part.worst for part in parts), key=ORDER.index)
    )


def _at_best_near(part: _Possible) -> _Possible:
    """Turn a condition into one for near, which holds only where it is fully met."""
    met = {Verdict.HOLDS: Verdict.NEARLY}
    return _Possible(met.get(part.best, Verdict.FAILS), met.get(part.worst, Verdict.FAILS))


def _compare(interval: Interval, zones: Zones) -> _Possible:
    """Return the verdicts that are possible for a value in the interval."""

    def inside(zone: Interval) -> bool:
        return _at_most(zone[0], interval[0]) and _at_most(interval[1], zone[1])

    def apart(zone: Interval) -> bool:
        return not (_at_most(zone[0], interval[1]) and _at_most(interval[0], zone[1]))

    steps = ((Verdict.HOLDS, zones.holds), (Verdict.NEARLY, zones.nearly))
    return _Possible(
        best=next((verdict for verdict, zone in steps if not apart(zone)), Verdict.FAILS),
        worst=next((verdict for verdict, zone in steps if inside(zone)), Verdict.FAILS),
    )


def _at_most(low: float, high: float) -> bool:
    return low <= high + EPSILON * max(abs(low), abs(high))


def judge_number(expected: Expected, values: Mapping[int, float], of_means: bool = False) -> Judgement:
    """Judge one number per seed; infinity stands for an event that never happened.

    `of_means`: the number is made of means over all seeds, so it is one number, repeated for each seed.
    """
    numbers = list(values.values())
    of_modes = expected.statistic == "fraction-in-mode"
    judge, bound = (_judge_mode, BOUND_OF_FRACTIONS) if of_modes else (_judge_numbers, BOUND)
    if of_means:
        return judge(expected, numbers[:1], OF_MEANS)
    if len(numbers) == 1 and expected.statistic == "std":
        zones = tolerances().zones(expected, expected.readings()[0])
        rule = tolerances().rule(expected)
        why = "a standard deviation needs two seeds"
        return Judgement(Verdict.OPEN, why, rule.name, rule.reason, seeds_wanted=FIRST, zones=zones)
    return _looking_ahead(
        judge(expected, numbers), len(numbers), bound, lambda seeds: judge(expected, _repeated(numbers, seeds))
    )


def _judge_numbers(expected: Expected, numbers: list[float], alone: str = ONE_SEED) -> Judgement:
    """Compare the interval of the mean, or of the standard deviation."""
    rule = tolerances().rule(expected)
    readings = expected.readings()
    finite = [number for number in numbers if math.isfinite(number)]
    never = len(numbers) - len(finite)
    if not finite:
        why = f"it did not happen in {never} of {plural(never, 'seed')}"
        judgement = _judgement(_compare_fraction(0, never), why, rule.name, rule.reason, None, never, alone)
        return replace(judgement, zones=tolerances().zones(expected, readings[0]))
    interval = _interval(expected, rule, finite)
    zones = [tolerances().zones(expected, reading, _own_error(expected, finite)) for reading in readings]
    parts = [_compare(interval, zone) for zone in zones]
    why = _why(expected, interval, finite, readings[0])
    if never:
        by_seed = _compare_fraction(len(finite), len(numbers))
        parts = [_all_of(part, by_seed) for part in parts]
        why += f"; it did not happen in {never} of {plural(len(numbers), 'seed')}"
    if len({part.verdict for part in parts}) > 1:
        listed = ", ".join(f"as {reading}: {part.verdict}" for reading, part in zip(readings, parts, strict=True))
        why += f"; the scan is hard to read: {listed}"
    text = _text(expected, rule, zones[0])
    judgement = _judgement(_any_of(parts), why, text, rule.reason, interval, len(numbers), alone)
    chance = max(_chance(expected, rule, finite, zone.nearly) for zone in zones) if len(finite) > 1 else None
    return replace(judgement, zones=zones[0], chance=chance)


def _judge_mode(expected: Expected, numbers: list[float], alone: str = ONE_SEED) -> Judgement:
    """Judge by the fraction of the seeds whose number is as the paper has it, where outcomes are of several kinds."""
    zones = tolerances().zones(expected, expected.readings()[0])
    inside, around = (_count(zone, numbers) for zone in (zones.holds, zones.nearly))
    possible = _either(_compare_fraction(inside, len(numbers)), _at_best_near(_compare_fraction(around, len(numbers))))
    most, half = (f"{zone[0]:.0%}" for zone in (tolerances().predicates.holds, tolerances().predicates.nearly))
    small, large = (f"from {_span(zone)}{_unit(expected)}" for zone in (zones.holds, zones.nearly))
    text = (
        f"one of several kinds of outcomes: holds when {most} of the seeds or more have a number {small}, "
        f"nearly when {half} or more have, or {most} or more have one {large}"
    )
    why = f"the number is {small} in {_of_seeds(inside, len(numbers))}, {large} in {around}"
    interval = intervals.fraction(inside, len(numbers))
    chance = chances.of_fraction(inside, len(numbers), tolerances().predicates.nearly[0])
    judgement = _judgement(possible, why, text, tolerances().predicates_reason, interval, len(numbers), alone)
    return replace(judgement, zones=zones, chance=chance if len(numbers) > 1 else None)


def _count(zone: Interval, numbers: list[float]) -> int:
    return sum(_at_most(zone[0], number) and _at_most(number, zone[1]) for number in numbers)


def _interval(expected: Expected, rule: NumberRule, finite: list[float]) -> Interval:
    if expected.statistic == "std":
        return intervals.deviation(finite) if len(finite) > 1 else (0.0, math.inf)
    return intervals.mean_of_rates(finite) if rule.is_ratio else intervals.mean(finite)


def _own_error(expected: Expected, values: list[float]) -> float:
    """Half the width of the 95 % interval of the paper's mean, if its runs differ as the seeds do."""
    if expected.statistic != "mean" or not expected.runs or len(values) < 2:
        return 0.0
    return intervals.half_width(values) * math.sqrt(len(values) / expected.runs)


def _chance(expected: Expected, rule: NumberRule, values: list[float], near: Interval) -> float:
    """Return the chance of a number at least as far outside of the zone, if the truth is on its edge."""
    if expected.statistic == "std":
        return chances.of_deviation(values, near)
    return chances.of_mean(values, near, in_logarithms=rule.is_ratio)


def _why(expected: Expected, interval: Interval, values: list[float], reading: ScanReading) -> str:
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
    least = 0.0 if zones.is_ratio else -math.inf  # what differs by factors is never below zero
    small, large = (_span((max(least, zone[0]), zone[1])) for zone in (zones.holds, zones.nearly))
    return f"{rule.name}{hedged}: holds from {small}{unit}, nearly from {large}{unit}"


def _span(interval: Interval) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"


def _unit(expected: Expected) -> str:
    unit = unit_of(expected.unit)
    return unit and f" {unit}"


def _points(expected: Expected) -> str:
    return " points" if expected.unit == "percent" else _unit(expected)


def _judgement(
    possible: _Possible, why: str, rule: str, reason: str, interval: Interval | None, seeds: int, alone: str
) -> Judgement:
    """Make the verdict. A single value decides by itself; `alone` says why it has no interval."""
    if seeds == 1:
        return Judgement(possible.verdict, f"{why}; {alone}", rule, reason)
    between = (possible.best, possible.worst) if possible.verdict == Verdict.OPEN else None
    return Judgement(possible.verdict, why, rule, reason, interval, between=between)


def _looking_ahead(judgement: Judgement, seeds: int, bound: int, judge: Callable[[int], Judgement]) -> Judgement:
    """Add how many seeds are wanted: at the first look at which seeds like those measured would decide.

    `judge` gives the verdict of so many seeds like those measured. One seed says nothing about others: it asks for
    FIRST. Where no look would tell holds from nearly, both of which are within the larger distance, nearly is shown.
    """
    if seeds == 1:
        return replace(judgement, seeds_wanted=FIRST)
    if not judgement.between:
        return judgement
    looks = {look: judge(look) for look in LOOKS if seeds < look <= bound}
    if judgement.between == HOLDS:
        wanted = next((look for look, then in looks.items() if then.verdict == Verdict.HOLDS), 0)
        if not wanted:
            return replace(judgement, verdict=Verdict.NEARLY, why=f"{judgement.why}; {WITHIN_THE_LARGER.format(bound)}")
    else:
        decided = [look for look, then in looks.items() if not then.between]
        near = [look for look, then in looks.items() if then.between == HOLDS]
        wanted = next(iter(decided + near), 0)
    why = f"{judgement.why}; open between {' and '.join(judgement.between)}"
    if looks and not wanted:
        why += f"; {bound} seeds like these would leave it so"
    return replace(judgement, why=why, seeds_wanted=wanted)


def _repeated(numbers: list[float], count: int) -> list[float]:
    """Extend numbers to that many as if seeds to come repeated those measured."""
    return list(itertools.islice(itertools.cycle(numbers), count))


def judge_predicate(held: int, seeds: int, of_means: bool = False) -> Judgement:
    """Judge a predicate by the fraction of the seeds in which it held.

    `of_means`: it is about means over all seeds, so it is one statement, repeated for each seed.
    """
    if of_means:
        return _judge_fraction(held // seeds, 1, OF_MEANS)
    return _looking_ahead(
        _judge_fraction(held, seeds),
        seeds,
        BOUND_OF_FRACTIONS,
        lambda more: _judge_fraction(round(held * more / seeds), more),
    )


def _judge_fraction(held: int, seeds: int, alone: str = ONE_SEED) -> Judgement:
    zones = tolerances().predicates
    text = (
        f"predicate: holds when it is true in {zones.holds[0]:.0%} of the seeds or more, "
        f"nearly in {zones.nearly[0]:.0%} or more"
    )
    why = f"it holds in {_of_seeds(held, seeds)}" if seeds > 1 else "it holds" if held else "it does not hold"
    interval = intervals.fraction(held, seeds)
    possible = _compare_fraction(held, seeds)
    chance = chances.of_fraction(held, seeds, zones.nearly[0]) if seeds > 1 else None
    judgement = _judgement(possible, why, text, tolerances().predicates_reason, interval, seeds, alone)
    return replace(judgement, chance=chance)


def _of_seeds(count: int, seeds: int) -> str:
    low, high = intervals.fraction(count, seeds)
    return f"{count} of {plural(seeds, 'seed')} (95 % interval of the fraction {low:.2f} to {high:.2f})"


def _compare_fraction(count: int, of: int) -> _Possible:
    interval = intervals.fraction(count, of) if of > 1 else (float(count), float(count))
    return _compare(interval, tolerances().predicates)


def judge_case(name: str, outcome: str | None) -> Judgement:
    """Judge by the outcome of a KUnit case: passed, failed, or skipped (None: there is no such case)."""
    if outcome not in ("passed", "failed"):
        return not_testable(f"the KUnit case {name} was {outcome}" if outcome else f"there is no KUnit case {name}")
    verdict = Verdict.HOLDS if outcome == "passed" else Verdict.FAILS
    text = "module test: holds when the KUnit case of the claim's name passes"
    reason = (
        "The case feeds the module's own code, built for the debug kernel, and compares exactly: nothing is random."
    )
    return Judgement(verdict, f"the KUnit case {name} {outcome}", text, reason)


def not_testable(why: str) -> Judgement:
    """Make the verdict of a claim that cannot be measured."""
    return Judgement(Verdict.UNTESTABLE, why, "", "")
