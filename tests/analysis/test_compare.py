"""The tests of a comparison against textbook values and brute force."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.capture.columns import write_columns
from analysis.judge.false_discoveries import largest_believed
from testbed.compare.judge import compare
from testbed.compare.pages import write_pages
from testbed.shared.differences import LEVEL, rank_test, smallest_p
from tests.analysis.synthetic import plain, write

NUMBERS = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, math.inf]), min_size=1, max_size=5)


def brute_force(first: list[float], second: list[float]) -> float:
    """P-value over all ways to assign the numbers to the two samples."""
    values = [*first, *second]
    ranks = [sum(v < value for v in values) + (sum(v == value for v in values) + 1) / 2 for value in values]
    middle = len(first) * (len(values) + 1) / 2
    sums = [abs(sum(chosen) - middle) for chosen in itertools.combinations(ranks, len(first))]
    return sum(off >= abs(sum(ranks[: len(first)]) - middle) for off in sums) / len(sums)


@given(NUMBERS, NUMBERS)
def test_the_rank_test_is_exact(first: list[float], second: list[float]) -> None:
    assert rank_test(first, second) == pytest.approx(brute_force(first, second))
    assert rank_test(first, second) == rank_test(second, first)


def test_known_values() -> None:
    # the tables of Mann and Whitney: U = 0 of 3 and 4, and of 5 and 5, two-sided
    assert rank_test([1, 2, 3], [4, 5, 6, 7]) == pytest.approx(2 / 35)
    assert smallest_p(5, 5) == pytest.approx(2 / 252)
    assert smallest_p(3, 3) == pytest.approx(0.1)
    # what never happened is later than everything else, and alike
    assert rank_test([math.inf] * 4, [1, 2, 3, 4]) == pytest.approx(2 / 70)
    assert rank_test([math.inf] * 4, [math.inf] * 4) == 1
    assert rank_test([], [1.0]) is None
    assert smallest_p(40, 40) == pytest.approx(2 / math.comb(80, 40))


def test_what_cannot_be_shown_has_no_p() -> None:
    # three against three: 0.1 at best; where most numbers are alike, few ways of dealing them differ
    assert rank_test([1, 2, 3], [4, 5, 6], level=0.05) is None
    assert rank_test([1, 2, 3], [4, 5, 6], level=0.1) == pytest.approx(0.1)
    assert rank_test([1] * 5, [1] * 5, level=0.05) is None
    assert rank_test([1] * 5, [1, 1, 1, 2, 3], level=0.05) is None
    assert rank_test([1, 2, 3, 4, 5], [6, 7, 8, 9, 10], level=0.05) == pytest.approx(2 / 252)
    assert rank_test([1, 2, 3, 4, 10], [5, 6, 7, 8, 9], level=0.05) == rank_test([1, 2, 3, 4, 10], [5, 6, 7, 8, 9])


def test_many_tests_at_once() -> None:
    # the example of Benjamini and Hochberg 1995, section 3.2: four of fifteen are rejected
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
    p_values += [0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert largest_believed(p_values, LEVEL) == 0.0095
    assert largest_believed([0.2, 0.9], LEVEL) == 0
    assert largest_believed([], LEVEL) == 0


def test_a_comparison_names_what_any_of_its_runs_was_made_from(tmp_path: Path) -> None:
    scenario = tmp_path / "studies/compare/race.yaml"
    scenario.parent.mkdir(parents=True)
    scenario.write_text("experiment: made-by-hand\ntitle: A race\nmatrix: {client: [one, second]}\n")
    for client in ("one", "second"):
        made = plain()
        made.flows, made.cell = ("client", "tcp"), f"client={client}"
        provenance = {"kernel": "k", f"program:{client}": "p", "boot_arguments": "seed=1"}
        made.changes = {"cell_values": {"client": client}, "provenance": provenance}
        write_columns(write(tmp_path / "runs", made))
    compare(tmp_path, scenario)
    write_pages(tmp_path, "testbed compare one second")
    pages = "".join((tmp_path / name).read_text() for name in ("index.html", "made-by-hand.html"))
    assert pages.count("those of one seed") == 2
    assert not re.search("deviations|medians over the seeds", pages)  # one seed has none
    kept = json.loads((tmp_path / "experiments/made-by-hand/comparison.json").read_text())["provenance"]
    assert kept == {"kernel": ["k"], "program:one": ["p"], "program:second": ["p"]}
