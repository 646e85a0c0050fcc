import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.claims.reads import cells_of
from analysis.experiment_files import NOT_RUN
from analysis.judge.findings import distance, verdicts_of_findings
from analysis.judge.verdict import Verdict
from analysis.report.results import LOOKS, NOT_HERE, states_of_findings
from testbed.tables import main


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
        claim(1, "holds", finding="a"),
        claim(2, "cannot be tested", finding="a"),
        claim(3, "holds", finding="b"),
        claim(4, "nearly", finding="b"),
        claim(5, "nearly", finding="c"),
        claim(6, "open", finding="c"),
        claim(7, "open", finding="d"),
        claim(8, "does not hold", finding="d"),
        claim(9, "cannot be tested", finding="e"),
        claim(10, "holds"),  # a finding by itself
    ]
    assert verdicts_of_findings(claims) == {
        "a": Verdict.HOLDS,
        "b": Verdict.NEARLY,
        "c": Verdict.OPEN,
        "d": Verdict.FAILS,
        "e": Verdict.UNTESTABLE,
        "x/e10": Verdict.HOLDS,
    }
    assert verdicts_of_findings(reversed(claims)) == verdicts_of_findings(claims)


def test_a_finding_with_a_claim_left_out_does_not_hold_here() -> None:
    left_out = {"not_testable": {"reason": NOT_RUN, "why": "so"}}
    claims = [
        claim(1, "holds", finding="a", is_look=True),
        claim(2, "cannot be tested", finding="a", **left_out),
        claim(3, "does not hold", finding="b", is_look=True),
        claim(4, "cannot be tested", finding="b", **left_out),
        claim(5, "holds", finding="c", is_look=True),
        claim(6, "cannot be tested", finding="c", role="echo", **left_out),
        claim(7, "nearly", finding="d"),
        claim(8, "cannot be tested", finding="d", not_testable={"reason": "no-such-client", "why": "so"}),
    ]
    assert states_of_findings(claims) == {
        "a": NOT_HERE,
        "b": LOOKS[Verdict.FAILS],
        "c": LOOKS[Verdict.HOLDS],
        "d": Verdict.NEARLY,
    }


def test_echoes_asides_and_repetitions_do_not_count() -> None:
    claims = [
        claim(1, "nearly", finding="a"),
        claim(2, "does not hold", finding="a", role="echo"),
        claim(3, "does not hold", finding="b", role="aside"),
        claim(4, "does not hold", same_as="y/e01"),
    ]
    assert verdicts_of_findings(claims) == {"a": Verdict.NEARLY}


def number(place: int, interval: tuple[float, float], verdict: str, chance: float) -> dict[str, Any]:
    zones = {"holds": [-1.0, 1.0], "nearly": [-2.0, 2.0], "is_ratio": False}
    entry = claim(place, verdict, finding="a", metric="m", unit="1")
    return entry | {"measured_interval": list(interval), "zones": zones, "chance": chance}


def test_a_claim_counts_against_a_finding_where_chance_does_not_explain_it_among_so_many() -> None:
    true = [number(place, (-0.5, 0.5), "holds", 1.0) for place in range(2, 21)]
    by_chance = number(1, (2.1, 3.0), "does not hold", 0.02)  # of twenty, one such is likely
    # together they are at 0.1, but that one is outside of the smaller distance, whatever the chance
    assert verdicts_of_findings([by_chance, *true]) == {"a": Verdict.NEARLY}
    assert verdicts_of_findings([{**by_chance, "chance": 1e-4}, *true]) == {"a": Verdict.FAILS}
    assert verdicts_of_findings([{**by_chance, "chance": None}, *true]) == {"a": Verdict.FAILS}
    assert verdicts_of_findings([by_chance]) == {"a": Verdict.FAILS}


def test_numbers_of_one_kind_are_judged_together() -> None:
    undecided = [number(place, (-1.5, 1.5), "open", 1.0) for place in range(1, 13)]
    assert verdicts_of_findings(undecided) == {"a": Verdict.HOLDS}
    assert verdicts_of_findings(undecided[:3]) == {"a": Verdict.OPEN}
    shifted = [number(place, (0.5, 3.5), "open", 0.5) for place in range(1, 13)]
    assert verdicts_of_findings(shifted) == {"a": Verdict.OPEN}


def test_a_cell_too_high_and_one_too_low_do_not_cancel() -> None:
    off = [number(place, (far - 0.1, far + 0.1), "nearly", 1.0) for place, far in enumerate([1.9, -1.9] * 2, 1)]
    exact = [number(place, (-0.1, 0.1), "holds", 1.0) for place in range(5, 25)]
    assert verdicts_of_findings(off) == {"a": Verdict.NEARLY}
    assert verdicts_of_findings([*off, *exact]) == {"a": Verdict.NEARLY}  # nor do exact ones hide them
    assert verdicts_of_findings(exact) == {"a": Verdict.HOLDS}
    assert distance(off[1]) == pytest.approx(1.9)


def test_what_a_setting_decides_that_the_paper_does_not_print_is_open() -> None:
    fails = claim(1, "does not hold", finding="a", chance=1e-9, cause={"text": "So.", "evidence": "tested", "by": "x"})
    assert verdicts_of_findings([fails]) == {"a": Verdict.FAILS}
    fails["cause"] |= {"unprinted": "the buffer"}
    assert verdicts_of_findings([fails, claim(2, "holds", finding="a")]) == {"a": Verdict.OPEN}
    assert verdicts_of_findings([fails, claim(2, "does not hold", finding="a")]) == {"a": Verdict.FAILS}


def test_numbers_of_one_kind_that_an_unprinted_setting_decides_leave_their_finding_open() -> None:
    cause = {"text": "So.", "evidence": "tested", "by": "x", "unprinted": "the buffer"}
    exact = [number(place, (-0.1, 0.1), "holds", 1.0) for place in range(1, 5)]
    far = [number(place, (8.9, 9.1), "does not hold", 1e-9) for place in range(5, 9)]
    decided = [entry | {"cause": cause} for entry in far]
    assert verdicts_of_findings([*exact, *far]) == {"a": Verdict.FAILS}
    assert verdicts_of_findings([*exact, *decided]) == {"a": Verdict.OPEN}
    assert verdicts_of_findings(decided) == {"a": Verdict.OPEN}
    assert verdicts_of_findings([*exact, *decided[1:], far[0]]) == {"a": Verdict.FAILS}


def test_a_statement_is_as_far_as_the_seeds_in_which_it_fails() -> None:
    held = {str(seed): seed > 2 for seed in range(1, 21)}
    assert distance(claim(1, "nearly", held=held)) == pytest.approx(0.5)
    assert distance(claim(1, "holds")) == 0


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
    assert cells_of(claim(1, "open", **fields), about, HAVE) == {tuple(cell.split()) for cell in cells}


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
    decided, undecided = {"verdict": "nearly", "by_seed": many}, {"verdict": "open", "by_seed": few}
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
