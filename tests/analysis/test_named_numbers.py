"""What a card says beside a statement."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.registry import Claim, claims_files, load
from analysis.report import overview
from analysis.report.formats import DASH, paper_value, with_unit
from analysis.report.named_numbers import axis_name, bare_name, bound, named, quantity
from analysis.units import unit_of

STUDY = Path(__file__).parents[2] / "workflows/studies/today"
MEASURED = {"mean": 0.301, "seeds": 20, "minimum": 0.187, "maximum": 0.385}


def test_a_bound_has_the_unit_of_its_own_number() -> None:
    own = {"metric": "full link", "number": "throughput", "unit": "Mbit/s", "measured": MEASURED}
    claim: dict[str, Any] = own | {"measure": "throughput('a', 1) / 1e6", "holds": "throughput('a', 1) < 7e6"}
    assert bound(claim).replace("\N{NO-BREAK SPACE}", " ") == "below 7 Mbit/s"
    assert bound({"metric": "m", "measure": "jain(1)", "holds": "jain(1) > 0.95"}) == "above 0.95"
    assert bound({"metric": "m", "measure": "call_mos('a')", "holds": "call_mos('a') < 4.03"}) == "below 4.03"


def test_the_axis_of_a_printed_number_has_a_name_that_readers_know() -> None:
    experiments = [load(file) for study in STUDY.parent.iterdir() for file in claims_files(study)]
    printed = [claim for each in experiments for claim in each.claims if claim.data.get("paper")]
    words = {(claim.id, word) for claim in printed for word in re.findall(r"\w+", axis_name(claim.data))}
    assert len(words) > 500
    short = {"pkts", "bdp", "cwnd", "rtt", "eta", "min", "max", "t", "n"}
    assert {(claim, word) for claim, word in words if word in short} == set()


def test_a_percentile_says_which() -> None:
    claim = {"metric": "m", "measure": "max([queue_ms.percentile(95, start) for start in starts])"}
    assert quantity(claim).name == "largest 95 % percentile of the queue"


def test_a_delay_without_end_says_that_packets_never_arrived() -> None:
    measured = MEASURED | {"mean": None, "minimum": None}
    claim = {"metric": "m", "measure": "max([cell(c).packet_delay_ms('game') for c in names])", "measured": measured}
    assert named(claim) == "largest delay of packets: none, as packets never arrived"


@pytest.mark.parametrize(
    ("measure", "holds", "said"),
    [
        (
            "share('ledbat', 40)",
            "share('ledbat', 40) < 0.2",
            "share: 30.1 % (mean of 20 seeds; 18.7 to 38.5); it must be below 20 %",
        ),
        (
            "max([cell(c).share('ledbat', 40) for c in names])",
            "all([cell(c).share('ledbat', 40) < 0.2 for c in names])",
            "largest share: 30.1 % (mean of 20 seeds; 18.7 to 38.5); it must be below 20 %",
        ),
        (
            "queue_ms.mean(40)",
            "90 < queue_ms.mean(40)",
            "mean queue: 0.301 ms (mean of 20 seeds; 0.187 to 0.385); it must be above 90 ms",
        ),
    ],
)
def test_the_number_beside_a_statement_has_a_name_a_unit_and_a_bound(measure: str, holds: str, said: str) -> None:
    claim: dict[str, Any] = {"metric": "yields", "measure": measure, "holds": holds, "measured": MEASURED}
    assert named(claim).replace("\N{NO-BREAK SPACE}", " ") == said


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("there is no run of x, cell y, seed 1", "Not run at this size, which omits a cell that it needs."),
        ("the runs last 60 s (full: 300 s)", "The runs last 60 s (full: 300 s)."),
    ],
)
def test_a_finding_that_was_not_judged_says_why_and_shows_no_number(why: str, said: str) -> None:
    reason = {"reason": "not run at this size"}
    claim = {"verdict": "cannot be tested", "not_testable": reason, "why": why, "held": {"1": True}, "is_look": True}
    assert overview.numbers_of(claim) == said


def test_a_number_that_all_seeds_share_has_no_range() -> None:
    claim = {
        "metric": "stale base",
        "unit": "s",
        "measured": {"mean": 541, "seeds": 5, "minimum": 541, "maximum": 541.2},
    }
    assert named(claim) == "stale base: 541\N{NO-BREAK SPACE}s"


def test_a_papers_mean_is_rounded_to_what_its_interval_leaves_known() -> None:
    claim = {"paper": "1254.62", "interval": "75.8655", "unit": "kbps"}
    assert paper_value(claim) == "1,250 ± 80\N{NO-BREAK SPACE}kbit/s"
    assert paper_value({**claim, "interval": None}) == "1254.62\N{NO-BREAK SPACE}kbit/s"


def all_claims() -> list[Claim]:
    files = [file for folder in STUDY.parent.iterdir() for file in claims_files(folder)]
    return [claim for file in files for claim in load(file).claims]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1, "packets", "1 packet"),
        (1.0, "packets per RTT", "1 packet per RTT"),
        (0.5, "packets", "0.500 packets"),
        (1, "s", "1 s"),
        (1, "1", "1"),
        (math.inf, "s", "never"),
        (None, "ms", DASH),
    ],
)
def test_a_unit_stands_in_the_number_of_its_number(value: float | None, unit: str, text: str) -> None:
    assert with_unit(value, unit).replace("\N{NO-BREAK SPACE}", " ") == text


def test_each_number_without_a_unit_has_a_name() -> None:
    claims = all_claims()
    bare = [claim.data for claim in claims if (claim.printed or not claim.holds) and claim.measure]
    bare = [data for data in bare if not unit_of(data.get("unit"))]
    assert len(bare) > 90
    assert {data["id"] for data in bare if not bare_name(data)} == set()
    assert bare_name({"unit": "ms", "metric": "jain_fairness"}) == ""
    assert bare_name({"held": {"1": True}, "metric": "jain_fairness"}) == ""


def test_each_number_beside_a_statement_has_a_name_that_says_what_it_is() -> None:
    """Not the claim's metric, which often says what the statement is about: `second_step`, `yields`."""
    claims = all_claims()
    stated = [claim.data for claim in claims if claim.holds and claim.measure]
    assert len(stated) > 150
    of_metric = [data for data in stated if quantity(data).name == data["metric"].replace("_", " ")]
    assert [data["id"] for data in of_metric if not (data.get("number") or quantity(data).unit == "%")] == []


@pytest.mark.parametrize(
    "holds",
    [
        "share('low') < 0.2 and share('low') > 0.1",  # two bounds
        "share('other') < 2 * share('low')",  # no number
        "queue_ms.max() < 3",  # of something else
    ],
)
def test_a_bound_that_is_none_of_the_number_is_not_shown(holds: str) -> None:
    assert bound({"metric": "m", "measure": "share('low')", "holds": holds}) == ""
