import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.__main__ import main
from analysis.claims.reads import Cell
from analysis.experiment_files import FORMAT, NOT_RUN
from analysis.report.results import LOOKS, NOT_HERE, collect, states_of_findings
from analysis.verdicts.findings import verdicts_of_findings
from analysis.verdicts.rules import Verdict
from analysis.verdicts.seeds import BUDGET, Batch, more_seeds
from tests.analysis.synthetic import vouch


def claim(number: int, verdict: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"x/e{number:02}",
        "verdict": verdict,
        "cell": None,
        "why": "so",
        "measure": "jain()",
        "holds": None,
        **fields,
    }


def test_the_worst_claim_is_a_findings_verdict() -> None:
    claims = [
        claim(1, "reproduced", finding="a"),
        claim(2, "not testable", finding="a"),
        claim(3, "reproduced", finding="b"),
        claim(4, "near", finding="b"),
        claim(5, "near", finding="c"),
        claim(6, "undecided", finding="c"),
        claim(7, "undecided", finding="d"),
        claim(8, "not reproduced", finding="d"),
        claim(9, "not testable", finding="e"),
        claim(10, "reproduced"),  # a finding by itself
    ]
    assert verdicts_of_findings(claims) == {
        "a": Verdict.REPRODUCED,
        "b": Verdict.NEAR,
        "c": Verdict.UNDECIDED,
        "d": Verdict.NOT_REPRODUCED,
        "e": Verdict.NOT_TESTABLE,
        "x/e10": Verdict.REPRODUCED,
    }
    assert verdicts_of_findings(reversed(claims)) == verdicts_of_findings(claims)


def test_a_finding_with_a_claim_left_out_does_not_hold_here() -> None:
    left_out = {"not_testable": {"reason": NOT_RUN, "why": "so"}}
    claims = [
        claim(1, "reproduced", finding="a", is_look=True),
        claim(2, "not testable", finding="a", **left_out),
        claim(3, "not reproduced", finding="b", is_look=True),
        claim(4, "not testable", finding="b", **left_out),
        claim(5, "reproduced", finding="c", is_look=True),
        claim(6, "not testable", finding="c", role="echo", **left_out),
        claim(7, "near", finding="d"),
        claim(8, "not testable", finding="d", not_testable={"reason": "no-such-client", "why": "so"}),
    ]
    assert states_of_findings(claims) == {
        "a": NOT_HERE,
        "b": LOOKS[Verdict.NOT_REPRODUCED],
        "c": LOOKS[Verdict.REPRODUCED],
        "d": Verdict.NEAR,
    }


def test_echoes_settings_and_repetitions_do_not_count() -> None:
    claims = [
        claim(1, "near", finding="a", role="claim"),
        claim(2, "not reproduced", finding="a", role="echo"),
        claim(3, "not reproduced", finding="b", role="setting"),
        claim(4, "not reproduced", same_as="y/e01"),
    ]
    assert verdicts_of_findings(claims) == {"a": Verdict.NEAR}


def number(place: int, interval: tuple[float, float], verdict: str, chance: float) -> dict[str, Any]:
    zones = {"reproduced": [-1.0, 1.0], "near": [-2.0, 2.0], "is_ratio": False}
    entry = claim(place, verdict, finding="a", metric="m", unit="1")
    return entry | {"measured_interval": list(interval), "zones": zones, "chance": chance}


def test_a_claim_counts_against_a_finding_where_chance_does_not_explain_it_among_so_many() -> None:
    true = [number(place, (-0.5, 0.5), "reproduced", 1.0) for place in range(2, 21)]
    by_chance = number(1, (2.1, 3.0), "not reproduced", 0.02)  # of twenty, one such is likely
    assert verdicts_of_findings([by_chance, *true]) == {"a": Verdict.REPRODUCED}  # together they are at 0.1
    assert verdicts_of_findings([{**by_chance, "chance": 1e-4}, *true]) == {"a": Verdict.NOT_REPRODUCED}
    assert verdicts_of_findings([{**by_chance, "chance": None}, *true]) == {"a": Verdict.NOT_REPRODUCED}
    assert verdicts_of_findings([by_chance]) == {"a": Verdict.NOT_REPRODUCED}


def test_numbers_of_one_kind_are_judged_together() -> None:
    undecided = [number(place, (-1.5, 1.5), "undecided", 1.0) for place in range(1, 13)]
    assert verdicts_of_findings(undecided) == {"a": Verdict.REPRODUCED}
    assert verdicts_of_findings(undecided[:3]) == {"a": Verdict.UNDECIDED}
    shifted = [number(place, (0.5, 3.5), "undecided", 0.5) for place in range(1, 13)]
    assert verdicts_of_findings(shifted) == {"a": Verdict.UNDECIDED}


def result(name: str, seeds: dict[str, int], claims: list[dict[str, Any]], **experiment: Any) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "study": "s",
        "paper": {},
        "conclusions": {},
        "findings": {},
        "experiments": [{"id": name, "title": "", "artefact": ""}],
        "experiment": {"id": name, "runs_of": name, "title": "A trial", "artefact": "Fig. 1", **experiment},
        "runs": [
            {"cell": cell, "seed": seed, "size": "complete"}
            for cell, count in seeds.items()
            for seed in range(1, count + 1)
        ],
        "claims": claims,
    }


def batches(measured: list[dict[str, Any]], seeds: int = 5, virtual_s: float = 100) -> dict[Cell, Batch]:
    """The first batch of all cells there are: one length, and more seeds than anybody asks for are allowed."""
    cells = {(document["experiment"]["id"], run["cell"]) for document in measured for run in document["runs"]}
    plenty = {("plenty", str(number)): Batch(seeds, virtual_s) for number in range(100)}
    measured.append(result("plenty", {cell: seeds for _, cell in plenty}, []))
    return {cell: Batch(seeds, virtual_s) for cell in cells} | plenty


@pytest.mark.parametrize(
    ("fields", "cells"),
    [
        ({"cell": "a"}, ["x a"]),
        ({"holds": 'cell("a").jain() < cell("b").jain()'}, ["x a", "x b"]),
        ({"holds": 'run("y", "c").jain() < 1', "measure": None}, ["y c"]),
        ({"holds": 'run("z").jain() < 1', "measure": None}, ["z single"]),
        ({"measure": 'mean_over_seeds(\'run("y", "c").jain()\', "b")'}, ["x b", "y c"]),
        ({"measure": "max(of_all)"}, ["x a", "x b"]),  # the names of cells are put together
        ({"measure": "best"}, ["y c"]),
        ({"cell": "many"}, []),  # has as many already
    ],
)
def test_undecided_claims_ask_for_seeds_of_the_cells_they_look_at(fields: dict[str, Any], cells: list[str]) -> None:
    words = {"of_all": '[cell("n=" + n).jain() for n in ["1", "2"]]', "other": 'run("y", "c")', "best": "other.jain()"}
    undecided = claim(1, "undecided", seeds_wanted=20, **fields)
    measured = [
        result("x", {"a": 5, "b": 5, "many": 20}, [undecided, claim(2, "near", seeds_wanted=0)], words=words),
        result("y", {"c": 5, "d": 5}, []),
        result("z", {"single": 3}, []),
    ]
    asked = more_seeds(measured, batches(measured), {})
    assert asked.seeds == {tuple(cell.split()): 20 for cell in cells}
    assert asked.claims == (["x/e01"] if cells else [])


def test_the_claim_that_wants_most_decides_and_other_experiments_runs_are_found() -> None:
    claims = [claim(1, "undecided", seeds_wanted=20, cell="a"), claim(2, "undecided", seeds_wanted=50, cell="a")]
    measured = [result("looks", {"a": 5}, claims, runs_of="x"), result("x", {"a": 5}, [])]
    asked = more_seeds(measured, batches(measured), {})
    assert asked.seeds == {("x", "a"): 50}
    assert asked.virtual_s == 45 * 100


def test_the_cheapest_claims_come_first_and_the_budget_holds_over_all_passes() -> None:
    wants = {"seeds_wanted": 10}
    claims = [
        claim(1, "undecided", cell="long", **wants),
        claim(2, "undecided", cell="short", **wants),
        claim(3, "reproduced", cell="short", seeds_wanted=0),
        claim(4, "undecided", cell="short", seeds_wanted=0),
        claim(5, "reproduced", cell="alone", seeds_wanted=5),  # nothing is known of other seeds: it comes last
    ]
    first = {("x", "short"): Batch(5, 10), ("x", "long"): Batch(5, 100), ("x", "alone"): Batch(1, 1)}
    measured = [result("x", {"short": 5, "long": 5, "alone": 1}, claims)]
    asked = more_seeds(measured, first, {})
    assert (asked.first_s, BUDGET) == (551, 0.5)
    assert asked.seeds == {("x", "short"): 10, ("x", "alone"): 5}
    assert asked.beyond == {"x/e01": 500}
    assert asked.undecidable == ["x/e04"]
    # what was asked for, or run, before counts
    assert more_seeds(measured, first, {("x", "long"): 7}).beyond == {"x/e01": 300}
    later = [result("x", {"short": 10, "long": 7, "alone": 1}, claims)]
    asked = more_seeds(later, first, {})
    assert (asked.spent_s, asked.seeds) == (250, {("x", "alone"): 5})


def test_asking_keeps_what_was_asked_before_and_says_what_it_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "results/experiments/x"
    folder.mkdir(parents=True)
    out = tmp_path / "results/seeds.json"
    cheap = {"id": "x/e02", "cell": "buffer=20p"}
    for seeds, verdict, wanted, said in (
        (
            10,
            "undecided",
            20,
            [
                "1 claim asks for 10 more runs, 1.7 h of virtual time",
                "Claims beyond that: 1 of x (up to 11.7 h each)",
            ],
        ),
        (20, "reproduced", 0, ["No cell needs more seeds. With these, seeds beyond the first batch take 50%"]),
    ):
        claims = [
            claim(1, "undecided", seeds_wanted=50),
            claim(2, verdict, seeds_wanted=wanted) | cheap,
        ]
        measured = result("x", {"buffer=20p": seeds, "buffer=40p": 10}, claims, scenario=str(scenario(tmp_path)))
        (folder / "verdicts.json").write_text(json.dumps(measured))
        vouch(folder)
        before = out.exists()
        assert main(["seeds", "--results", str(tmp_path / "results")]) == 0  # looking changes nothing
        assert out.exists() == before
        assert main(["seeds", "--results", str(tmp_path / "results"), "--out", str(out)]) == 0
        told = capsys.readouterr().out
        assert [sentence for sentence in said if sentence not in told] == []
        assert json.loads(out.read_text())["seeds"] == {"x": {"buffer=20p": 20}}
        (shown,) = collect(tmp_path / "results")
        why = "so; the seeds that it asks for, 11.7 h of virtual time, are beyond the budget"
        assert shown.data["claims"][0]["why"] == why


def scenario(folder: Path) -> Path:
    """A scenario with two cells of ten seeds, ten minutes each."""
    file = folder / "x.yaml"
    written = {
        "experiment": "x",
        "title": "A trial",
        "topology": {"name": "dumbbell", "pairs": 1},
        "bottleneck": {"rate": "10mbit", "buffer": "${buffer}"},
        "delay": {"forward": "25ms", "backward": "25ms"},
        "flows": [{"name": "tcp", "implementation": "tcp-reno", "from": "s1", "to": "d1"}],
        "matrix": {"buffer": ["20p", "40p"]},
        "start_jitter": "1ms",
        "duration": "600s",
        "seeds": {"complete": 10},
    }
    file.write_text(yaml.safe_dump(written))
    return file
