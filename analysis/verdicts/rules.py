"""One verdict for one claim: the tolerance rules of tolerances.yaml, applied."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from analysis.claims.registry import Claim
from analysis.documents import Document, read_yaml
from analysis.verdicts.spread import Spread

RULES: Final = Path(__file__).with_name("tolerances.yaml")


class Outcome(StrEnum):
    """The four verdicts."""

    REPRODUCED = "reproduced"
    NEAR = "near"
    NOT_REPRODUCED = "not reproduced"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True)
class Verdict:
    """An outcome, the sentence that says why, and the rule that decided with its reason."""

    outcome: Outcome
    why: str
    rule: str
    reason: str


@dataclass(frozen=True)
class _Distance:
    absolute: float
    relative: float

    def of(self, value: float) -> float:
        return max(self.absolute, self.relative * abs(value))


@dataclass(frozen=True)
class _NumberRule:
    name: str
    statistic: str | None
    unit: str | None
    metric: str
    reproduced: _Distance
    near: _Distance
    reason: str

    def fits(self, claim: Claim) -> bool:
        alike = self.unit in (None, claim.unit) and self.statistic in (None, claim.statistic)
        return alike and re.search(self.metric, claim.metric) is not None


@dataclass(frozen=True)
class _Rules:
    approximate: float
    numbers: tuple[_NumberRule, ...]
    read_from_figure: tuple[_Distance, _Distance]
    predicates: tuple[float, float]
    predicate_reason: str


@cache
def _load() -> _Rules:
    document = read_yaml(RULES)
    predicates, figure = document.child("predicates"), document.child("read_from_figure")
    return _Rules(
        approximate=document.get("approximate", float),
        numbers=tuple(_number_rule(rule) for rule in document.children("numbers")),
        read_from_figure=(_distance(figure.child("reproduced")), _distance(figure.child("near"))),
        predicates=(predicates.get("reproduced", float), predicates.get("near", float)),
        predicate_reason=predicates.get("reason", str).strip(),
    )


def _number_rule(rule: Document) -> _NumberRule:
    match = rule.child("match")
    return _NumberRule(
        name=rule.get("name", str),
        statistic=match.maybe("statistic", str),
        unit=match.maybe("unit", str),
        metric=match.maybe("metric", str) or "",
        reproduced=_distance(rule.child("reproduced")),
        near=_distance(rule.child("near")),
        reason=rule.get("reason", str).strip(),
    )


def _distance(entry: Document) -> _Distance:
    return _Distance(entry.maybe("absolute", float) or 0.0, entry.maybe("relative", float) or 0.0)


def judge_number(claim: Claim, measured: Spread) -> Verdict:
    """Judge what the seeds have by its distance from the paper's value, or from the interval the paper leaves open.

    Where the print is uncertain its other readings are tried, too; the best decides, and the verdict names it.
    """
    low, high = claim.value_range or (claim.value, claim.value)
    assert low is not None and high is not None  # noqa: S101 (the registry checks it)
    if claim.statistic == "std" and measured.mean is not None and measured.std is None:
        return not_testable("a standard deviation needs two seeds")
    verdict = _judge_reading(claim, measured, low, high, claim.data.get("value"))
    for other in claim.alternatives:
        judged = _judge_reading(claim, measured, other, other, other)
        if list(Outcome).index(judged.outcome) < list(Outcome).index(verdict.outcome):
            why = f"the print is uncertain: read as {other:g}, {judged.why}; read as {low:g} it is {verdict.outcome}"
            verdict = replace(judged, why=why)
    return verdict


def _judge_reading(claim: Claim, measured: Spread, low: float, high: float, printed: Any) -> Verdict:
    rules = _load()
    rule = next(rule for rule in rules.numbers if rule.fits(claim))
    rounding = _half_last_digit(printed)
    reading = rules.read_from_figure if claim.kind == "read-from-figure" else (_Distance(0, 0), _Distance(0, 0))
    factor = rules.approximate if claim.approximate else 1.0
    bounds = [
        factor * (distance.of(high) + extra.of(high)) + rounding
        for distance, extra in zip((rule.reproduced, rule.near), reading, strict=True)
    ]
    unit = "" if claim.unit in (None, "1", "ratio") else " points" if claim.unit == "percent" else f" {claim.unit}"
    of_value = " %" if claim.unit == "percent" else unit
    name = rule.name + (", hedged by the paper" if claim.approximate else "")
    text = f"{name}: reproduced within {bounds[0]:.3g}{unit} of the paper's value, near within {bounds[1]:.3g}{unit}"
    number = measured.std if claim.statistic == "std" else measured.mean
    if number is None or measured.never * 2 > measured.seeds:
        why = f"it did not happen in {measured.never} of {measured.seeds} seeds"
        return Verdict(Outcome.NOT_REPRODUCED, why, text, rule.reason)
    distance = max(low - number, number - high, 0.0)
    paper = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    what = "standard deviation" if claim.statistic == "std" else "mean"
    why = f"the {what} {number:.4g}{of_value} is {distance:.3g}{unit} away from {paper}"
    if distance == 0:
        why = f"the {what} {number:.4g}{of_value} is what the paper has"
    if measured.never:
        why += f"; it did not happen in {measured.never} of {measured.seeds} seeds"
    if distance <= bounds[0] and not measured.never:
        return Verdict(Outcome.REPRODUCED, why, text, rule.reason)
    if distance <= bounds[1]:
        return Verdict(Outcome.NEAR, why, text, rule.reason)
    return Verdict(Outcome.NOT_REPRODUCED, why, text, rule.reason)


def judge_predicate(held: int, seeds: int) -> Verdict:
    """Judge a predicate by the part of the seeds in which it held."""
    rules = _load()
    part = held / seeds
    reproduced, near = rules.predicates
    outcome = Outcome.REPRODUCED if part >= reproduced else Outcome.NEAR if part >= near else Outcome.NOT_REPRODUCED
    text = f"predicate: reproduced when it holds in {reproduced:.0%} of the seeds, near in {near:.0%}"
    return Verdict(outcome, f"it holds in {held} of {seeds} seeds", text, rules.predicate_reason)


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


def _half_last_digit(printed: Any) -> float:
    """Half a unit of the last digit of a printed number; whole numbers were rounded to a whole one."""
    if not isinstance(printed, (int, float)):
        return 0.0
    _, _, decimals = repr(printed).partition(".")
    if "e" in decimals or "e" in repr(printed):
        mantissa, _, exponent = repr(printed).partition("e")
        return float(0.5 * 10.0 ** (int(exponent) - len(mantissa.partition(".")[2])))
    return float(0.5 * 10.0 ** -len(decimals)) if decimals else 0.5
