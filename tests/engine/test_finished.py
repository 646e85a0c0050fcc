"""What a repeated job keeps, and what a failed run leaves behind."""

import json
from pathlib import Path

import pytest

from engine import provenance
from engine.errors import EngineError
from engine.finished import is_finished
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from testbed.cli import main
from tests.engine.conftest import sabotage  # noqa: F401  a fixture
from tests.trial import trial
from tests.trust.conftest import AGENT, SHORT, Sabotage

STARTS = "run = json.load(file)\n"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return trial(tmp_path, SHORT)


def test_a_finished_run_is_kept_while_nothing_that_made_it_changes(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    since, into = tmp_path / "since", tmp_path / "runs"
    since.touch()
    command = ["run", str(scenario), "--into", str(into), "--keep-since", str(since)]
    assert main(command) == 0
    assert "kept" not in capsys.readouterr().out
    (cell,) = expand(scenario, "complete")
    summary = run_folder(into, cell, 1) / "summary.json"
    made_ns = summary.stat().st_mtime_ns
    # a comment changes nothing, nor does a commit
    scenario.write_text(SHORT + "# so\n")
    monkeypatch.setattr(provenance, "commit", lambda: "another")
    assert main(command) == 0
    assert "trial/short/single/seed-1: finished before, and kept" in capsys.readouterr().out
    assert summary.stat().st_mtime_ns == made_ns

    assert is_finished(resolve(cell, 1), into, since)
    since.touch()
    assert not is_finished(resolve(cell, 1), into, since)
    scenario.write_text(SHORT.replace("40p", "41p"))
    assert not is_finished(resolve(expand(scenario, "complete")[0], 1), into)
    assert not is_finished(resolve(cell, 2), into)
    monkeypatch.setattr(provenance, "code", lambda backend: "another")
    assert not is_finished(resolve(cell, 1), into)


def test_a_guest_that_cannot_tell_leaves_its_reason_all_the_same(
    scenario: Path,
    tmp_path: Path,
    sabotage: Sabotage,  # noqa: F811
) -> None:
    sabotage(AGENT, STARTS, f"import os; os._exit(3)\n            {STARTS}")
    (cell,) = expand(scenario, "complete")
    with pytest.raises(EngineError, match="before its agent was done") as caught:
        execute(resolve(cell, 1), tmp_path / "runs")
    failed = run_folder(tmp_path / "runs", cell, 1).with_name("failed-seed-1")
    summary = json.loads((failed / "summary.json").read_text())
    assert summary["status"] == "failed"
    assert summary["error"] in str(caught.value)
