import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.__main__ import main
from analysis.claims.reads import cells_of
from analysis.experiment_files import NOT_RUN
from analysis.judge.findings import distance, verdicts_of_findings
from analysis.judge.rules import Verdict
from analysis.report.results import LOOKS, NOT_HERE, states_of_findings


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


def test_echoes_asides_and_repetitions_do_not_count() -> None:
    claims = [
        claim(1, "near", finding="a"),
        claim(2, "not reproduced", finding="a", role="echo"),
        claim(3, "not reproduced", finding="b", role="aside"),
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
    # together they are at 0.1, but that one is outside of the smaller distance, whatever the chance
    assert verdicts_of_findings([by_chance, *true]) == {"a": Verdict.NEAR}
    assert verdicts_of_findings([{**by_chance, "chance": 1e-4}, *true]) == {"a": Verdict.NOT_REPRODUCED}
    assert verdicts_of_findings([{**by_chance, "chance": None}, *true]) == {"a": Verdict.NOT_REPRODUCED}
    assert verdicts_of_findings([by_chance]) == {"a": Verdict.NOT_REPRODUCED}


def test_numbers_of_one_kind_are_judged_together() -> None:
    undecided = [number(place, (-1.5, 1.5), "undecided", 1.0) for place in range(1, 13)]
    assert verdicts_of_findings(undecided) == {"a": Verdict.REPRODUCED}
    assert verdicts_of_findings(undecided[:3]) == {"a": Verdict.UNDECIDED}
    shifted = [number(place, (0.5, 3.5), "undecided", 0.5) for place in range(1, 13)]
    assert verdicts_of_findings(shifted) == {"a": Verdict.UNDECIDED}


def test_a_cell_too_high_and_one_too_low_do_not_cancel() -> None:
    off = [number(place, (far - 0.1, far + 0.1), "near", 1.0) for place, far in enumerate([1.9, -1.9] * 2, 1)]
    exact = [number(place, (-0.1, 0.1), "reproduced", 1.0) for place in range(5, 25)]
    assert verdicts_of_findings(off) == {"a": Verdict.NEAR}
    assert verdicts_of_findings([*off, *exact]) == {"a": Verdict.NEAR}  # nor do exact ones hide them
    assert verdicts_of_findings(exact) == {"a": Verdict.REPRODUCED}
    assert distance(off[1]) == pytest.approx(1.9)


def test_what_a_setting_decides_that_the_paper_does_not_print_is_open() -> None:
    fails = claim(1, "not reproduced", finding="a", chance=1e-9, cause={"text": "So.", "evidence": "tested", "by": "x"})
    assert verdicts_of_findings([fails]) == {"a": Verdict.NOT_REPRODUCED}
    fails["cause"] |= {"unprinted": "the buffer"}
    assert verdicts_of_findings([fails, claim(2, "reproduced", finding="a")]) == {"a": Verdict.UNDECIDED}
    assert verdicts_of_findings([fails, claim(2, "not reproduced", finding="a")]) == {"a": Verdict.NOT_REPRODUCED}


def test_numbers_of_one_kind_that_an_unprinted_setting_decides_leave_their_finding_open() -> None:
    cause = {"text": "So.", "evidence": "tested", "by": "x", "unprinted": "the buffer"}
    exact = [number(place, (-0.1, 0.1), "reproduced", 1.0) for place in range(1, 5)]
    far = [number(place, (8.9, 9.1), "not reproduced", 1e-9) for place in range(5, 9)]
    decided = [entry | {"cause": cause} for entry in far]
    assert verdicts_of_findings([*exact, *far]) == {"a": Verdict.NOT_REPRODUCED}
    assert verdicts_of_findings([*exact, *decided]) == {"a": Verdict.UNDECIDED}
    assert verdicts_of_findings(decided) == {"a": Verdict.UNDECIDED}
    assert verdicts_of_findings([*exact, *decided[1:], far[0]]) == {"a": Verdict.NOT_REPRODUCED}


def test_a_statement_is_as_far_as_the_seeds_in_which_it_fails() -> None:
    held = {str(seed): seed > 2 for seed in range(1, 21)}
    assert distance(claim(1, "near", held=held)) == pytest.approx(0.5)
    assert distance(claim(1, "reproduced")) == 0


HAVE = [("x", "a"), ("x", "b"), ("x", "n=1"), ("x", "n=2"), ("y", "c"), ("y", "d"), ("z", "single")]


@pytest.mark.parametrize(
    ("fields", "cells"),
    [
        ({"cell": "a"}, ["x a"]),
        ({"holds": 'cell("a").jain() < cell("b").jain()'}, ["x a", "x b"]),
        ({"holds": 'run("y", "c").jain() < 1', "measure": None}, ["y c"]),
        ({"holds": 'run("z").jain() < 1', "measure": None}, ["z single"]),
        ({"measure": 'mean_over_seeds(\'run("y", "c").jain()\', "b")'}, ["x b", "y c"]),
        ({"measure": "max(of_all)"}, ["x n=1", "x n=2"]),  # names that are put together of listed texts
        ({"measure": 'min([cell("n=" + k).jain() for k in numbers])'}, ["x n=1", "x n=2"]),
        ({"measure": 'cell("n=" + str(1)).jain()'}, ["x a", "x b", "x n=1", "x n=2"]),  # and computed ones
        ({"measure": "best"}, ["y c"]),
    ],
)
def test_a_claim_reads_the_cells_that_its_expressions_name(fields: dict[str, Any], cells: list[str]) -> None:
    words = {"of_all": '[cell("n=" + n).jain() for n in ["1", "2"]]', "other": 'run("y", "c")', "best": "other.jain()"}
    about = {"experiment": {"runs_of": "x", "words": words | {"numbers": '["1", "2"]'}}}
    assert cells_of(claim(1, "undecided", **fields), about, HAVE) == {tuple(cell.split()) for cell in cells}


def test_the_seeds_that_decide_are_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the verdicts, or what undecided claims want, where a scenario has others."""
    study, kept = tmp_path / "study", tmp_path / "kept"
    study.mkdir()
    kept.mkdir()
    scenario(study)
    (study / "study.yaml").write_text("paper: {title: A trial, authors: [], venue: none}\nfindings: {f: It is so.}\n")
    entry = "metric: jain, measure: jain(), source: sec. 1, finding: f, paper: '1.0'"
    claims = [f"- {{id: e{n:02}, title: It is so., {entry}, cell: buffer={n}0p}}" for n in (2, 4)]
    head = "experiment: x\ntitle: A trial\nartefact: Fig. 1\nfigure: {kind: table}\nclaims:\n"
    (study / "x.claims.yaml").write_text(head + "\n".join(claims))
    few, many = ({str(seed): 1.0 for seed in range(1, seeds + 1)} for seeds in (5, 10))
    decided, undecided = {"verdict": "near", "by_seed": many}, {"verdict": "undecided", "by_seed": few}
    call = ["seeds", "--studies", str(tmp_path), "--reference", str(kept)]
    for e04, said in (
        (decided, "0 cells: +0 runs, +0.0 virtual hours\n"),
        (undecided, "x buffer=40p: seeds 10, proposed 5\n1 cell: -5 runs, -0.8 virtual hours\n"),
        (
            undecided | {"seeds_wanted": 20},
            "x buffer=40p: seeds 10, proposed 20\n1 cell: +10 runs, +1.7 virtual hours\n",
        ),
    ):
        (kept / "x.json").write_text(json.dumps({"claims": {"x/e02": decided, "x/e04": e04}}))
        assert main(call) == 0
        assert capsys.readouterr().out == said


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
