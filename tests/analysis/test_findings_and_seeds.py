import json
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.verdicts.findings import count_findings, verdicts_of_findings
from analysis.verdicts.rules import Outcome
from analysis.verdicts.seeds import more_seeds


def claim(number: int, verdict: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"x/e{number:02}", "verdict": verdict, "cell": None, "measure": "jain()", "holds": None, **fields}


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
        "a": Outcome.REPRODUCED,
        "b": Outcome.NEAR,
        "c": Outcome.UNDECIDED,
        "d": Outcome.NOT_REPRODUCED,
        "e": Outcome.NOT_TESTABLE,
        "x/e10": Outcome.REPRODUCED,
    }
    assert count_findings(claims)[Outcome.REPRODUCED] == 2
    assert verdicts_of_findings(reversed(claims)) == verdicts_of_findings(claims)


def test_echoes_settings_and_repetitions_do_not_count() -> None:
    claims = [
        claim(1, "near", finding="a", role="claim"),
        claim(2, "not reproduced", finding="a", role="echo"),
        claim(3, "not reproduced", finding="b", role="setting"),
        claim(4, "not reproduced", same_as="y/e01"),
    ]
    assert verdicts_of_findings(claims) == {"a": Outcome.NEAR}


def result(name: str, seeds: dict[str, int], claims: list[dict[str, Any]], **experiment: Any) -> dict[str, Any]:
    return {
        "format": 2,
        "study": "s",
        "paper": {},
        "conclusions": {},
        "experiments": [{"id": name, "title": "", "artefact": ""}],
        "experiment": {"id": name, "title": "A trial", "artefact": "Fig. 1", **experiment},
        "runs": [{"cell": cell, "seed": seed} for cell, count in seeds.items() for seed in range(1, count + 1)],
        "claims": claims,
    }


@pytest.mark.parametrize(
    ("fields", "cells"),
    [
        ({"cell": "a"}, {"x": {"a": 20}}),
        ({"holds": 'cell("a").jain() < cell("b").jain()'}, {"x": {"a": 20, "b": 20}}),
        ({"holds": 'run("y", "c").jain() < 1', "measure": None}, {"y": {"c": 20}}),
        ({"holds": 'run("z").jain() < 1', "measure": None}, {"z": {"single": 20}}),
        ({"measure": 'mean_over_seeds(\'run("y", "c").jain()\', "b")'}, {"x": {"b": 20}, "y": {"c": 20}}),
        ({"measure": "max(of_all)"}, {"x": {"a": 20, "b": 20}}),  # the names of cells are put together
        ({"measure": "best"}, {"y": {"c": 20}}),
        ({"cell": "many"}, {}),  # has as many already
    ],
)
def test_undecided_claims_ask_for_seeds_of_the_cells_they_look_at(
    fields: dict[str, Any], cells: dict[str, dict[str, int]]
) -> None:
    words = {"of_all": '[cell("n=" + n).jain() for n in ["1", "2"]]', "other": 'run("y", "c")', "best": "other.jain()"}
    undecided = claim(1, "undecided", seeds_wanted=20, **fields)
    measured = [
        result("x", {"a": 5, "b": 5, "many": 20}, [undecided, claim(2, "near", seeds_wanted=0)], words=words),
        result("y", {"c": 5, "d": 5}, []),
        result("z", {"single": 3}, []),
    ]
    assert more_seeds(measured) == cells


def test_the_claim_that_wants_most_decides_and_other_experiments_runs_are_found() -> None:
    claims = [claim(1, "undecided", seeds_wanted=20, cell="a"), claim(2, "undecided", seeds_wanted=50, cell="a")]
    looks = result("looks", {"a": 5}, claims, runs_of="x")
    assert more_seeds([looks]) == {"x": {"a": 50}}


def test_asking_keeps_what_was_asked_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "results/experiments/x"
    folder.mkdir(parents=True)
    out = tmp_path / "results/seeds.json"
    ask = ["seeds", "--results", str(tmp_path / "results"), "--out", str(out)]
    for seeds, verdict, wanted, said in (
        (5, "undecided", 20, "1 cells need more seeds"),
        (20, "reproduced", 0, "No cell needs more seeds."),
    ):
        measured = result("x", {"a": seeds}, [claim(1, verdict, seeds_wanted=wanted, cell="a")])
        (folder / "verdicts.json").write_text(json.dumps(measured))
        assert main(ask) == 0
        assert said in capsys.readouterr().out
        assert json.loads(out.read_text()) == {"x": {"a": 20}}
