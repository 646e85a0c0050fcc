"""verdicts.json and the report name a seed whose run failed, and have no number for it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.__main__ import main
from analysis.run.outcomes import Outcome, with_kind
from analysis.runs import Failure, Runs
from tests.analysis.synthetic import plain, vouch, write

WRONG = "receiver exited with 1: wrong bytes after offset 14888672"
WHY = "flow tcp: the receiver <b>left</b>"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two seeds that ended well and a third one that failed, as the engine leaves it."""
    for seed in (1, 2):
        made = plain()
        made.seed = seed
        write(tmp_path / "runs", made)
    [experiment] = (tmp_path / "runs").glob("*/*")
    [cell] = experiment.iterdir()
    fail(cell, 3, WHY)
    claim = {"id": "e01", "title": "It is so.", "source": "sec. 1", "unit": "1", "metric": "queue"}
    entry = {
        "experiment": experiment.name,
        "artefact": "Fig. 1",
        "title": "one figure",
        "finding": "made",
        "figure": {"kind": "time-series", "panels": ["queue"]},
        "claims": [{**claim, "predicate": "a < b", "holds": "queue_pkts.max() < 1e9"}],
    }
    paper = {"title": "T", "authors": ["A"], "venue": "V"}
    (tmp_path / "made").mkdir()
    for name, written in (("study", {"paper": paper, "findings": {"made": "Something."}}), ("hand.claims", entry)):
        (tmp_path / "made" / f"{name}.yaml").write_text(yaml.safe_dump(written))
    return tmp_path


def fail(cell: Path, seed: int, why: str) -> None:
    folder = cell / f"failed-seed-{seed}"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"status": "failed", "error": why}))
    vouch(folder)


def measured(results: Path, experiment: str) -> dict[str, Any]:
    assert main(["columns", *map(str, results.glob("runs/*/*/*/seed-*"))]) == 0
    command = ["measure", str(results / "made/hand.claims.yaml")]
    assert main([*command, "--runs", str(results / "runs"), "--out", str(results / "experiments")]) == 0
    verdicts: dict[str, Any] = json.loads((results / "experiments" / experiment / "verdicts.json").read_text())
    return verdicts


def test_a_failed_seed_is_named_from_verdicts_to_report(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [experiment] = (results / "runs").glob("*/*")
    [cell] = experiment.iterdir()
    data = measured(results, experiment.name)
    assert data["failed"] == [{"cell": cell.name, "seed": 3, "why": WHY}]
    [claim] = data["claims"]
    assert claim["held"] == {"1": True, "2": True}
    assert claim["unknown"].keys() == {"3"}
    assert WHY in claim["unknown"]["3"]
    assert claim["why"].endswith("without seed 3, whose runs failed")
    folders = ["--runs", str(results / "runs"), "--out", str(results / "experiments")]
    assert main(["figure", experiment.name, *folders]) == 0
    assert main(["report", "--results", str(results), "--out", str(results / "report")]) == 0
    page = (results / "report" / f"{experiment.name}.html").read_text()
    assert "seed 3: flow tcp: the receiver &lt;b&gt;left&lt;/b&gt;" in page
    assert "without 1 failed" in (results / "report/index.html").read_text()
    assert main(["summary", "--results", str(results)]) == 0
    assert f"failed, and left out: {experiment.name}: {cell.name}, seed 3: {WHY}" in capsys.readouterr().out


def test_an_experiment_whose_runs_all_failed_is_refused_with_the_reasons(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [experiment] = (results / "runs").glob("*/*")
    [cell] = experiment.iterdir()
    for folder in cell.glob("seed-*"):
        shutil.rmtree(folder)
    command = ["measure", str(results / "made/hand.claims.yaml")]
    assert main([*command, "--runs", str(results / "runs"), "--out", str(results / "experiments")]) == 2
    assert f"cell {cell.name}, seed 3 failed: {WHY}" in capsys.readouterr().err


def test_columns_of_a_failed_run_say_why_there_are_none(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [cell] = (results / "runs").glob("*/*/*")
    assert main(["columns", str(cell / "seed-3")]) == 0
    said = f"analysis: {cell}/seed-3: no tables, since the run failed: {WHY}\n"
    assert capsys.readouterr().err == said


def test_failed_runs_are_listed_by_cell_and_seed(results: Path) -> None:
    [experiment] = (results / "runs").glob("*/*")
    [cell] = experiment.iterdir()
    fail(cell, 10, "late")
    (cell / "failed-seed-4").mkdir()
    failures = Runs(results / "runs").failed(experiment.name)
    assert failures == [
        Failure(cell.name, 3, WHY),
        Failure(cell.name, 4, "it left no reason"),
        Failure(cell.name, 10, "late"),
    ]


@pytest.mark.parametrize(
    ("why", "status", "says"),
    [
        ("flow it: sender exited with 1: out of luck", 1, "flow it gave up: sender exited with 1: out of luck"),
        ("flow it: sender was ended by SIGSEGV", -11, "flow it died: sender was ended by SIGSEGV"),
        ("flow it: sender exited with 127", 127, "flow it refused: sender exited with 127"),
        (f"flow it: {WRONG}", 1, f"flow it got wrong bytes: {WRONG}"),
        ("flow it: its receiver got no byte", -15, "flow it was incomplete: its receiver got no byte"),
        (
            "flow it: is done, but its receiver has 5 of 9 bytes",
            0,
            "flow it was incomplete: is done, but its receiver has 5 of 9 bytes",
        ),
        ("flow it: sender still ran 1 s after SIGTERM", -9, "flow it hung: sender still ran 1 s after SIGTERM"),
        (
            "flow it: sender ended by itself at 0.4 s, before its flow's end",
            0,
            "flow it gave up: sender ended by itself at 0.4 s, before its flow's end",
        ),
        ("the audit failed", 1, "the audit failed"),
    ],
)
def test_a_failed_run_says_how_its_flow_ended(why: str, status: int, says: str) -> None:
    assert with_kind(why, {"it": {"sender_exit": status, "receiver_exit": -15}}) == says


def test_a_transfer_that_was_corrupted_is_not_said_to_have_been_given_up() -> None:
    assert str(Outcome("receiver", "gave up", 24.572, WRONG)) == f"got wrong bytes at 24.572 s: {WRONG}"
    assert str(Outcome("sender", "gave up", 4.2, "no luck")) == "gave up at 4.200 s: no luck"
    assert (
        str(Outcome("receiver", "incomplete", 40.0, "got no byte")) == "was incomplete: got no byte"
    )  # known at the end
