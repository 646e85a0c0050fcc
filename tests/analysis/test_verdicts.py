import io
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console

from analysis.claims import registry
from analysis.claims.registry import folders_of_studies
from analysis.claims.syntax import is_about_means
from analysis.judge import chances, coverage, intervals, rules
from analysis.judge.expected import Expected, half_last_digit
from analysis.judge.of_claim import expected
from analysis.judge.rules import BOUND, BOUND_OF_FRACTIONS, FIRST, Judgement
from analysis.judge.spread import spread
from analysis.judge.tolerances import tolerances
from analysis.judge.verdict import Verdict
from analysis.reference.rejudge import rejudge
from tests.analysis import kept_results

HOLDS, NEARLY, UNDECIDED, NOT = (
    Verdict.HOLDS,
    Verdict.NEARLY,
    Verdict.OPEN,
    Verdict.FAILS,
)


PAGE = Path(__file__).parents[2] / "docs/reference/verdicts.md"


def says(printed: str, unit: str | None = "1", **fields: Any) -> Expected:
    return Expected(**{"printed": printed, "unit": unit, "metric": "m", **fields})


def judge(claim: Expected, *values: float) -> Judgement:
    return rules.judge_number(claim, dict(enumerate(values, 1)))


def always(claim: Expected, value: float) -> Verdict:
    """Judge seeds that all have one value: an interval without width."""
    return judge(claim, value, value, value).verdict


@pytest.mark.parametrize(
    ("unit", "read"), [("kbps", " kbit/s"), ("percent", " %"), ("ratio", ""), ("fraction", ""), ("packets", " packets")]
)
def test_a_verdict_has_the_units_of_the_cards(unit: str, read: str) -> None:
    judgement = judge(says("120", unit), 100, 110)
    assert judgement.why.startswith(f"the mean 105{read} (95 % interval ")
    assert "fraction" not in judgement.rule and "kbps" not in judgement.rule


@pytest.mark.parametrize(
    ("printed", "half"),
    [("0.10", 0.005), ("0.1", 0.05), ("97", 0.5), ("4.1e-4", 5e-6), ("1.0e-3", 5e-5), ("-0.2", 0.05), ("1e4", 5000)],
)
def test_the_printed_digits_say_how_far_rounding_goes(printed: str, half: float) -> None:
    assert half_last_digit(printed) == pytest.approx(half)


@pytest.mark.parametrize(
    ("claim", "value", "outcome"),
    [
        (says("0.65"), 0.65, HOLDS),
        (says("0.65"), 0.684, HOLDS),  # 0.03 and half of the last digit printed
        (says("0.65"), 0.686, NEARLY),
        (says("0.65"), 0.55, NOT),
        (says("0.10"), 0.144, NEARLY),
        (says("0.1"), 0.144, NEARLY if 0.044 > 0.03 + 0.05 else HOLDS),  # fewer digits, more rounding
        (says("20.8", "packets"), 21.8, HOLDS),
        (says("20.8", "packets"), 23, NEARLY),
        (says("100", "packets"), 105, HOLDS),  # the relative part is the larger one
        (says("16", "percent", metric="eta(a)/eta(b) - 1"), 13.2, HOLDS),
        (says("16", "percent", metric="eta(a)/eta(b) - 1"), 2.5, NOT),
        (says("98", "percent", metric="link_utilization"), 95.5, NEARLY),
        (says("74", "percent", metric="wasted_uplink", hedged=True), 68, NEARLY),  # points, not 15 %
        (says("74", "percent", metric="wasted_uplink", hedged=True), 62.5, NOT),
        (says("-0.2", "packets", metric="window_change_per_rtt"), -0.3, NEARLY),  # and half of the last digit
        (says("-0.2", "packets", metric="window_change_per_rtt"), 0.5, NOT),
        (says("6.0", "s"), 6.5, NEARLY),
        (says("6.0", "s", hedged=True), 6.5, HOLDS),  # hedged: twice the distance
        (says("7.0", "s", upper="8.0"), 7.9, HOLDS),
        (says("10", "bananas"), 11.4, HOLDS),
        (says("0.50", "ratio"), 0.6, NEARLY),
        (says("0.50", "ratio", half_width=0.11), 0.6, HOLDS),  # the paper's own interval is wider
    ],
)
def test_how_far_a_number_may_be(claim: Expected, value: float, outcome: Verdict) -> None:
    assert always(claim, value) == outcome
    assert judge(claim, value, value).reason


@pytest.mark.parametrize("full", [1.0, 0.999998681, 1.00000068])
def test_rounding_of_floats_decides_nothing(full: float) -> None:
    assert always(says("0.98", "fraction", metric="link_utilization"), full) == HOLDS  # 0.015 and 0.005 away


@pytest.mark.parametrize(
    ("half", "outcome", "wanted"),
    [
        (0.02, HOLDS, 0),
        (0.05, UNDECIDED, 10),
        (0.09, UNDECIDED, BOUND),
        (0.2, UNDECIDED, BOUND),  # twenty seeds like these would show that it is near at least
        (0.5, UNDECIDED, 0),  # and these would show nothing
    ],
)
def test_the_interval_decides_not_the_mean(half: float, outcome: Verdict, wanted: int) -> None:
    judgement = judge(says("0.65"), *(0.65 + half * step for step in (-1, -0.5, 0, 0.5, 1)))
    assert (judgement.verdict, judgement.seeds_wanted) == (outcome, wanted)
    assert judgement.why.endswith("; 20 seeds like these would leave it so") == (half == 0.5)


def test_an_undecided_verdict_says_between_which() -> None:
    assert "open between holds and nearly" in judge(says("0.65"), 0.67, 0.68, 0.69).why
    assert "open between nearly and does not hold" in judge(says("0.65"), 0.72, 0.73, 0.74).why
    assert "open between holds and does not hold" in judge(says("0.65"), 0.5, 0.95).why


def test_near_is_shown_where_no_seeds_would_tell_it_from_reproduced() -> None:
    judgement = judge(says("0.65"), *[0.63, 0.74] * 10)  # 0.658 to 0.712: on both sides of 0.685, and below 0.735
    assert (judgement.verdict, judgement.seeds_wanted) == (NEARLY, 0)
    assert judgement.why.endswith(f"away from 0.65; {rules.WITHIN_THE_LARGER.format(BOUND)}")
    assert judge(says("0.65"), *[0.63, 0.73] * 10).verdict == NEARLY
    assert judge(says("0.65"), *[0.63, 0.73] * 500).verdict == HOLDS  # more than the rules would run
    assert judge(says("0.65"), *[0.66, 0.77] * 10).verdict == UNDECIDED  # 0.688 to 0.742: near or not reproduced


def test_one_seed_decides_by_its_value_says_so_and_asks_for_more() -> None:
    judgement = judge(says("0.65"), 0.66)
    assert judgement.verdict == HOLDS
    assert judgement.why.endswith("one seed has no interval")
    assert (judgement.interval, judgement.seeds_wanted) == (None, FIRST)


def test_means_over_the_seeds_are_one_number_however_many_seeds_give_it() -> None:
    number = rules.judge_number(says("0.65"), {1: 0.66, 2: 0.66, 3: 0.66}, of_means=True)
    assert (number.verdict, number.interval, number.seeds_wanted) == (HOLDS, None, 0)
    assert number.why.endswith("means over the seeds have no interval")
    holds, fails = (rules.judge_predicate(held, 5, of_means=True) for held in (5, 0))
    assert (holds.verdict, fails.verdict, fails.seeds_wanted) == (HOLDS, NOT, 0)
    assert fails.why.startswith("it does not hold; ")


def test_what_is_made_of_means_is_seen_through_words() -> None:
    words = {"names": "['a', 'b']", "means": "[mean_over_seeds('jain()', n) for n in names]", "least": "min(means)"}
    assert is_about_means("least > 0.5", words)
    assert not is_about_means("jain() > len(names)", words)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [(4.1e-4, HOLDS), (6.1e-4, HOLDS), (2.8e-4, HOLDS), (2.2e-4, NEARLY), (8e-4, NEARLY), (9e-4, NOT)],
)
def test_rare_events_are_compared_by_factors(value: float, outcome: Verdict) -> None:
    assert always(says("4.1e-4", "fraction"), value) == outcome


def test_no_event_is_not_near_to_some_nor_some_to_none() -> None:
    assert always(says("4.1e-4", "fraction"), 0) == NOT
    assert always(says("0", "fraction"), 0) == HOLDS
    assert always(says("0.0", "fraction"), 1e-6) == NOT
    # three retransmissions in ten minutes are as good as none, by the rule's absolute distance
    assert always(says("0.0005", "percent", metric="tcp_retransmissions"), 0) == HOLDS


def test_seeds_without_a_rare_event_count_as_zeros() -> None:
    low, high = intervals.mean_of_rates([0, 0, 4e-4, 8e-4])
    assert 0 < low < 3e-4 < high
    assert low * high == pytest.approx(3e-4**2)
    assert judge(says("3.0e-4", "fraction"), 0, 0, 4e-4, 8e-4).verdict == UNDECIDED


def test_another_reading_of_the_print_does_not_decide_but_leaves_undecided() -> None:
    claim = says("5.8e-5", "fraction", alternatives=("5.8e-6",))
    judgement = judge(claim, 5.6e-6, 5.8e-6, 5.7e-6)
    assert judgement.verdict == UNDECIDED
    assert judgement.seeds_wanted == 0  # more seeds do not make the print easier to read
    assert "the scan is hard to read: as 5.8e-05: does not hold, as 5.8e-06: holds" in judgement.why
    assert always(claim, 1e-3) == NOT


def test_standard_deviations_are_compared_by_factors_with_their_own_interval() -> None:
    claim = says("0.12", statistic="std")
    draw = np.random.default_rng(1).normal
    assert judge(claim, *draw(0.6, 0.12, 100)).verdict == HOLDS
    assert judge(claim, *draw(0.6, 0.12, 10)).verdict == UNDECIDED
    assert judge(claim, *draw(0.6, 0.03, 20)).verdict == NOT
    assert judge(claim, 0.6, 0.6, 0.6).verdict == NOT
    assert judge(claim, 0.6).verdict == UNDECIDED
    none = judge(says("0", statistic="std"), 0.6, 0.6)
    assert none.verdict == HOLDS and none.rule.endswith("holds from 0 to 0, nearly from 0 to 0")
    assert "from 0 to " in judge(says("1.0e-8", statistic="std", grain=4e-6), 0.6, 0.6).rule


def test_a_deviation_of_ten_runs_of_the_paper_has_an_interval_of_its_own() -> None:
    paper = says("0.12", statistic="std")
    ten = says("0.12", statistic="std", runs=10)
    few, many = (tolerances().zones(claim, claim.readings()[0]).holds for claim in (paper, ten))
    assert few[0] == pytest.approx(0.115 / 1.7)
    assert many[0] == few[0]
    assert many[1] == pytest.approx(0.125 * 1.826, rel=0.01)  # chi-square, nine degrees of freedom


def test_an_outlier_makes_the_interval_of_a_deviation_wider() -> None:
    even = intervals.deviation([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    outlier = intervals.deviation([0, 0, 0, 0, 0, 0, 0, 0, 0, 9])
    assert outlier[1] / outlier[0] > 2 * even[1] / even[0]


def test_outcomes_of_two_kinds_are_judged_by_how_often_the_papers_kind_comes() -> None:
    claim = says("142", "s", statistic="fraction-in-mode")
    assert judge(claim, *[141.0] * 20).verdict == HOLDS
    mixed = judge(claim, 141, 141, 141, 141, 216)
    assert (mixed.verdict, mixed.seeds_wanted) == (UNDECIDED, BOUND)  # 16 of 20 show that it is near
    assert mixed.why.startswith("the number is from 134.4 to 149.6 s in 4 of 5 seeds")
    assert judge(claim, *[216.0] * 8, 141).verdict == NOT
    # seeds that all have a number nearby are near, as their mean would be
    nearby = judge(claim, *[155.0] * 20)
    assert nearby.verdict == judge(says("142", "s"), *[155.0] * 20).verdict == NEARLY


def test_what_never_happens() -> None:
    never = judge(says("6.0", "s"), *[math.inf] * 5)
    assert (never.verdict, never.why) == (NOT, "it did not happen in 5 of 5 seeds")
    assert judge(says("6.0", "s"), *[math.inf] * 3).verdict == UNDECIDED  # three seeds do not show that it never does
    seldom = judge(says("6.0", "s"), *[6.0] * 18, *[math.inf] * 2)
    assert (seldom.verdict, "it did not happen in 2 of 20 seeds" in seldom.why) == (NEARLY, True)
    assert judge(says("6.0", "s"), *[6.0] * 48, *[math.inf] * 2).verdict == HOLDS


@pytest.mark.parametrize(
    ("held", "seeds", "outcome", "wanted"),
    [
        (20, 20, HOLDS, 0),
        (47, 50, HOLDS, 0),
        (33, 50, NEARLY, 0),
        (10, 10, UNDECIDED, BOUND),
        (5, 5, UNDECIDED, BOUND),
        (3, 5, UNDECIDED, 0),  # 30 of 50 would leave near or not reproduced
        (9, 10, NEARLY, 0),  # 45 of 50 would leave reproduced or near, and near is shown
        (10, 20, UNDECIDED, 0),
        (19, 20, UNDECIDED, BOUND_OF_FRACTIONS),
        (2, 10, UNDECIDED, BOUND),
        (0, 3, UNDECIDED, FIRST),
        (0, 5, NOT, 0),
        (1, 1, HOLDS, FIRST),
        (0, 1, NOT, FIRST),
    ],
)
def test_predicates(held: int, seeds: int, outcome: Verdict, wanted: int) -> None:
    judgement = rules.judge_predicate(held, seeds)
    assert (judgement.verdict, judgement.seeds_wanted) == (outcome, wanted)


def test_intervals_are_those_of_the_tables() -> None:
    assert intervals.fraction(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)  # Wilson
    assert intervals.fraction(0, 10)[0] == 0
    # chi-square
    assert intervals.deviation_factors(1) == pytest.approx((0.446, 31.91), rel=1e-3)
    assert intervals.deviation_factors(2) == pytest.approx((0.521, 6.285), rel=1e-3)
    assert intervals.deviation_factors(4) == pytest.approx((0.599, 2.874), rel=1e-3)
    assert intervals.deviation_factors(9) == pytest.approx((0.688, 1.826), rel=1e-3)
    assert intervals.deviation_factors(99) == pytest.approx((0.878, 1.162), rel=1e-3)
    assert intervals.mean([1, 2, 3, 4, 5]) == pytest.approx((3 - 1.963, 3 + 1.963), abs=1e-3)  # Student


def test_what_the_registry_says_is_read_with_its_digits(tmp_path: Path) -> None:
    same = {"title": "T.", "metric": "share", "unit": "fraction", "source": "sec. 1", "measure": "utilization()"}
    entries = [
        {"id": "e01", "paper": "0.10", "interval": "0.02", "alternatives": ["0.16"], **same},
        {"id": "e02", "interval": ["134", "158"], "approximate": True, **same},
        {"id": "e03", "paper": "-", "statistic": "std", "paper_runs": 10, **same},
    ]
    whole = {"experiment": "x", "title": "t", "artefact": "Fig. 1", "finding": "f", "figure": {"kind": "table"}}
    file = tmp_path / "x.claims.yaml"
    file.write_text(yaml.safe_dump({**whole, "claims": entries}))
    number, ends, dash = (expected(claim.data) for claim in registry.load(file).claims)
    assert number == Expected("0.10", "fraction", "share", half_width=0.02, alternatives=("0.16",))
    assert (ends.printed, ends.upper, ends.hedged) == ("134", "158", True)
    assert (dash.printed, dash.statistic, dash.runs) == ("0", "std", 10)


@pytest.mark.parametrize(
    ("bound", "value", "outcome"),
    [
        ("at most", 1.6e-4, HOLDS),
        ("at most", 0.0, HOLDS),
        ("at most", 1e-2, NOT),
        ("at least", 1e-2, HOLDS),
        ("at least", 1.6e-4, NOT),
    ],
)
def test_a_bound_is_open_on_one_side(bound: Any, value: float, outcome: Verdict) -> None:
    assert always(says("1e-3", "fraction", metric="loss_rate", bound=bound), value) == outcome


def test_a_trend_needs_an_interval_on_one_side_of_zero() -> None:
    rises, falls = (says("0", "1", bound=bound) for bound in ("above", "below"))
    assert judge(rises, 1, 2, 3, 2, 1).verdict == judge(falls, -1, -2, -3, -2, -1).verdict == HOLDS
    assert judge(rises, -1, -2, -3, -2, -1).verdict == NOT
    assert judge(rises, -1, 1, -2, 3, 1).verdict == UNDECIDED
    assert always(rises, 0.0) == NOT


def test_the_relative_part_of_an_instant_counts_from_where_the_paper_counts() -> None:
    def at(printed: str, since: float | None) -> Expected:
        return says(printed, "s", metric="time_of_min_window", since=since)

    assert always(at("130", 120.0), 119.0) == NOT  # before the change
    assert always(at("130", 120.0), 132.5) == NOT  # 25 % later than ten seconds, 2 % later than 130
    assert always(at("130", 120.0), 130.9) == HOLDS
    assert always(at("130", None), 132.0) == NOT


def test_a_distance_does_not_reach_the_other_direction() -> None:
    gain = says("0.7", "percent", metric="eta(a)/eta(b) - 1")
    assert always(gain, 0.1) == NEARLY
    assert always(gain, 0.0) == always(gain, -0.5) == NOT
    assert always(says("1.2", "ratio"), 0.9) == NOT


def test_the_spread_of_losses_has_a_floor_of_one_packet() -> None:
    spread_of_losses = says("1.3e-6", "fraction", metric="loss_rate", statistic="std", runs=10)
    assert judge(spread_of_losses, 3e-6, 3e-6, 3e-6, 3e-6).verdict == NOT
    with_floor = says("1.3e-6", "fraction", metric="loss_rate", statistic="std", runs=10, grain=4e-6)
    assert judge(with_floor, 3e-6, 3e-6, 3e-6, 3e-6).verdict == HOLDS


def test_a_papers_mean_of_few_runs_has_a_sampling_error() -> None:
    values = [0.57] * 14 + [0.95] * 6  # mean 0.684, deviation 0.18
    assert judge(says("0.80"), *values).verdict == UNDECIDED
    zones = judge(says("0.80", runs=10), *values).zones
    assert zones is not None and zones.holds[0] == pytest.approx(0.80 - 0.005 - math.hypot(0.03, 0.118), abs=1e-3)
    assert judge(says("0.65", runs=10), 0.65, 0.65, 0.65).zones == judge(says("0.65"), 0.65, 0.65, 0.65).zones


@pytest.mark.parametrize(("t", "degrees"), [(12.706, 1), (2.776, 4), (2.093, 19), (1.96, 10_000)])
def test_the_tail_of_students_t(t: float, degrees: int) -> None:
    assert chances.student_tail(t, degrees) == pytest.approx(0.025, rel=2e-3)


def test_a_chance_below_a_fortieth_is_an_interval_apart_from_the_zone() -> None:
    for values in ([0.74, 0.76, 0.78], [0.70, 0.76, 0.82], [0.8, 0.8, 0.801], [0.65, 0.66]):
        judgement = judge(says("0.65"), *values)
        assert judgement.chance is not None
        assert (judgement.chance < 0.025) == (judgement.verdict == NOT)


def test_spread() -> None:
    known = spread({1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 5.0, 6: math.inf})
    assert (known.seeds, known.never, known.mean, known.minimum, known.maximum) == (6, 1, 3, 1, 5)
    assert known.std == pytest.approx(math.sqrt(2.5))
    assert known.ci95 == pytest.approx(2.776 * math.sqrt(2.5) / math.sqrt(5))
    assert spread({1: 1.0}).ci95 is None
    many = spread({seed: float(seed % 2) for seed in range(100)})
    assert many.ci95 == pytest.approx(1.984 * (many.std or 0) / 10, rel=1e-3)  # Student, 99 degrees of freedom


def test_every_rule_gives_its_reason_and_is_wider_when_near() -> None:
    for rule in tolerances().numbers:
        assert len(rule.reason) > 30
        assert all(rule.nearly.of(value) > rule.holds.of(value) for value in (0.1, 1, 100))


def test_the_table_of_the_documentation_is_what_the_rules_give() -> None:
    assert coverage.table() in PAGE.read_text()
    assert coverage.table_of_findings() in PAGE.read_text()


def test_how_often_the_rules_are_wrong() -> None:
    """False claims are never called reproduced, nor true ones not reproduced, more often than one in a hundred."""
    for row in coverage.rows():
        for counted in (row.first, row.adapted):
            if row.case.truth == "true":
                assert counted[NOT] <= coverage.CLAIMS // 100, row.case
            if row.case.truth in ("false", "no losses"):
                assert counted[HOLDS] + counted[NEARLY] <= coverage.CLAIMS // 100, row.case


def test_the_reference_set_has_the_verdicts_of_todays_rules(tmp_path: Path) -> None:
    kept = tmp_path / "reference"
    shutil.copytree(kept_results.REFERENCE, kept)
    console = Console(file=io.StringIO(), width=200)
    assert rejudge(folders_of_studies(kept_results.STUDIES), kept, console) == 0, console.file.getvalue()  # type: ignore[attr-defined]
    file = kept / "aina-table2-throughput.json"
    file.write_text(file.read_text().replace('"verdict": "open"', '"verdict": "nearly"', 1))
    assert rejudge(folders_of_studies(kept_results.STUDIES), kept, console) == 1
    assert file.read_bytes() == (kept_results.REFERENCE / file.name).read_bytes()
