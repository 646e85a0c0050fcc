import math
from typing import Any

import pytest

from analysis.claims.registry import Claim
from analysis.verdicts import rules
from analysis.verdicts.rules import Outcome
from analysis.verdicts.spread import spread


def claim(value: float | None, unit: str, **fields: Any) -> Claim:
    known: dict[str, Any] = {
        "id": "x/e01",
        "kind": "exact-number",
        "metric": "m",
        "unit": unit,
        "value": value,
        "value_range": None,
        "approximate": False,
        "statistic": "mean",
        "alternatives": (),
        "cell": None,
        "measure": "1",
        "holds": None,
        "kunit": False,
        "not_testable": None,
        "data": {"value": value},
    }
    return Claim(**{**known, **fields})


@pytest.mark.parametrize(
    ("one", "measured", "outcome"),
    [
        (claim(0.65, "1"), 0.65, Outcome.REPRODUCED),
        (claim(0.65, "1"), 0.684, Outcome.REPRODUCED),  # 0.03 and half of the last digit printed
        (claim(0.65, "1"), 0.686, Outcome.NEAR),
        (claim(0.65, "1"), 0.55, Outcome.NOT_REPRODUCED),
        (claim(20.8, "packets"), 21.8, Outcome.REPRODUCED),
        (claim(20.8, "packets"), 23, Outcome.NEAR),
        (claim(100, "packets"), 105, Outcome.REPRODUCED),  # the relative part is the larger one
        (claim(16, "percent", metric="eta(a)/eta(b) - 1"), 13.2, Outcome.REPRODUCED),
        (claim(16, "percent", metric="eta(a)/eta(b) - 1"), 2.5, Outcome.NOT_REPRODUCED),
        (claim(98, "percent", metric="link_utilization"), 95.5, Outcome.NEAR),
        (claim(74, "percent", metric="wasted_uplink", approximate=True), 68, Outcome.NEAR),  # points, not 15 %
        (claim(74, "percent", metric="wasted_uplink", approximate=True), 62.5, Outcome.NOT_REPRODUCED),
        (claim(-0.2, "packets", metric="window_change_per_rtt"), -0.3, Outcome.NEAR),  # and half of the last digit
        (claim(-0.2, "packets", metric="window_change_per_rtt"), 0.5, Outcome.NOT_REPRODUCED),
        (claim(6.0, "s"), 6.5, Outcome.NEAR),
        (claim(6.0, "s", approximate=True), 6.5, Outcome.REPRODUCED),  # hedged: twice the distance
        (claim(7.0, "s", value_range=(7.0, 8.0)), 7.9, Outcome.REPRODUCED),
        (claim(4.1e-4, "fraction"), 6.1e-4, Outcome.REPRODUCED),
        (claim(4.1e-4, "fraction"), 9e-4, Outcome.NOT_REPRODUCED),
        (claim(10, "bananas"), 11.4, Outcome.REPRODUCED),
        (claim(0.5, "ratio", kind="read-from-figure"), 0.6, Outcome.REPRODUCED),
        (claim(0.5, "ratio"), 0.6, Outcome.REPRODUCED if 0.1 <= 0.5 * 0.15 + 0.05 else Outcome.NEAR),
    ],
)
def test_numbers(one: Claim, measured: float, outcome: Outcome) -> None:
    verdict = rules.judge_number(one, spread({1: measured, 2: measured}))
    assert verdict.outcome == outcome
    assert verdict.reason


def test_another_reading_of_an_uncertain_print_may_decide_and_is_named() -> None:
    one = claim(5.8e-5, "fraction", alternatives=(5.8e-6,))
    verdict = rules.judge_number(one, spread({1: 5e-6, 2: 6e-6}))
    assert verdict.outcome == Outcome.REPRODUCED
    assert "read as 5.8e-06" in verdict.why
    assert "read as 5.8e-05 it is near" in verdict.why
    assert "uncertain" not in rules.judge_number(one, spread({1: 5e-5, 2: 6e-5})).why


def test_a_spread_is_judged_by_the_spread_and_needs_two_seeds() -> None:
    one = claim(0.12, "1", statistic="std")
    assert rules.judge_number(one, spread({1: 0.5, 2: 0.6, 3: 0.7})).outcome == Outcome.REPRODUCED
    assert rules.judge_number(one, spread({1: 0.6, 2: 0.6})).outcome == Outcome.NOT_REPRODUCED
    assert rules.judge_number(one, spread({1: 0.5})).outcome == Outcome.NOT_TESTABLE


def test_the_mean_decides_not_the_best_seed() -> None:
    wide = spread({1: 0.65, 2: 0.95})
    assert rules.judge_number(claim(0.65, "1"), wide).outcome == Outcome.NOT_REPRODUCED


def test_what_never_happened() -> None:
    never = rules.judge_number(claim(6.0, "s"), spread({1: math.inf, 2: math.inf, 3: 6.0}))
    assert never.outcome == Outcome.NOT_REPRODUCED
    assert never.why == "it did not happen in 2 of 3 seeds"
    seldom = rules.judge_number(claim(6.0, "s"), spread({1: 6.0, 2: 6.0, 3: math.inf}))
    assert seldom.outcome == Outcome.NEAR


@pytest.mark.parametrize(
    ("held", "seeds", "outcome"),
    [
        (10, 10, Outcome.REPRODUCED),
        (8, 10, Outcome.REPRODUCED),
        (7, 10, Outcome.NEAR),
        (5, 10, Outcome.NEAR),
        (4, 10, Outcome.NOT_REPRODUCED),
        (0, 1, Outcome.NOT_REPRODUCED),
    ],
)
def test_predicates(held: int, seeds: int, outcome: Outcome) -> None:
    assert rules.judge_predicate(held, seeds).outcome == outcome


def test_spread() -> None:
    known = spread({1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 5.0, 6: math.inf})
    assert (known.seeds, known.never, known.mean, known.minimum, known.maximum) == (6, 1, 3, 1, 5)
    assert known.std == pytest.approx(math.sqrt(2.5))
    assert known.ci95 == pytest.approx(2.776 * math.sqrt(2.5) / math.sqrt(5))
    assert spread({1: 1.0}).ci95 is None
    many = spread({seed: float(seed % 2) for seed in range(100)})
    assert many.ci95 == pytest.approx(1.984 * (many.std or 0) / 10, rel=1e-3)  # Student, 99 degrees of freedom


def test_every_rule_gives_its_reason_and_is_wider_when_near() -> None:
    for rule in rules._load().numbers:
        assert len(rule.reason) > 30
        assert all(rule.near.of(value) > rule.reproduced.of(value) for value in (0.1, 1, 100))
