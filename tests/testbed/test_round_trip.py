"""Results of the real pipeline go into an archive, and come out of it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.archive.verify import verify

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
# of four studies, with every character that cells' names have: one, several, one with a percent sign, one alone
EXPERIMENTS = [
    "icccn-fig3-top-dt2-b40",
    "aina-fig2-random-change-dynamics",
    "eunice-fig6-choices",
    "today-lossy-choices",
]
PERCENT = "today-lossy-choices"


def test_results_of_the_pipeline_are_archived_and_verified(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("results")
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    config = ["size=quick", f"folders={{studies: workflows/studies, results: {folder}}}"]
    making = ["snakemake", "--cores", "2", "--config", *config, "--", *EXPERIMENTS]
    out = folder / "quick.zip"
    archiving = ["testbed", "archive", "--results", str(folder / "quick"), "--out", str(out)]
    for command in (making, archiving):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    findings = list(verify(out, everything=True))
    assert not [finding.text for finding in findings if finding.differs]
    for experiment in EXPERIMENTS:
        told = [finding.text for finding in findings if finding.text.startswith(f"{experiment}: ")]
        assert f"{experiment}: its figures: " in " ".join(told)
        [line] = [text for text in told if not text.startswith(f"{experiment}: its ")]
        verdicts = json.loads((folder / "quick/experiments" / experiment / "verdicts.json").read_text())
        judged = [claim for claim in verdicts["claims"] if not claim.get("kunit")]
        assert "; computed again and identical: " in line
        assert not judged or f", {len(judged)} verdict" in line
    assert any("%" in finding.text for finding in findings if finding.text.startswith(f"today/{PERCENT}/"))
