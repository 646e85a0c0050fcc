"""docs: a reader who copies a page's files and runs its commands gets what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from images.cache import default_root

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tutorial/first-experiment.md").read_text()
QUESTIONS = (DOCS / "howto/questions.md").read_text()
COMMANDS = {"testbed": ["-c", "import sys; from testbed.cli import main; sys.exit(main())"], "python": []}


def _carried_out(page: str, folder: Path) -> str:
    """Run all commands of a page; return what they print."""
    said = ""
    environment = {**os.environ, "TESTBED_CACHE": str(default_root())}
    for line in "".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)).splitlines():
        program, *words = line.split()
        command = [sys.executable, *COMMANDS[program], *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        said += done.stdout
    return said


def test_a_question_that_is_saved_is_run_and_observed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for text in re.findall(r"^```yaml\n(.*?)^```", QUESTIONS, re.DOTALL | re.MULTILINE):
        (tmp_path / "mine" / f"{re.match('experiment: (.*)', text)[1]}.yaml").write_text(text)  # type: ignore[index]
    said = _carried_out(QUESTIONS, tmp_path)
    runs = [f"control={name}/seed-1" for name in ("tcp-ledbatpp", "tcp-ledbat", "tcp-cubic")]
    assert all(f"mine/losses/{run}: " in said for run in runs)
    assert all((tmp_path / "results/mine/mine/losses" / run / "observation.svg").exists() for run in runs)


def test_the_first_experiment_ends_with_verdicts(tmp_path: Path) -> None:
    for name, text in re.findall(r"`(mine/[\w.-]+)`[^`]*:\n\n```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    said = _carried_out(PAGE, tmp_path)
    claims = json.loads((tmp_path / "out/mine-rate-step/verdicts.json").read_text())["claims"]
    assert [claim["verdict"] for claim in claims] == ["holds", "holds"]
    assert "mine-rate-step/e02: agrees in one seed (it holds; one seed has no interval): The link stays busy.\n" in said
    assert (tmp_path / "out/mine-rate-step/figure.svg").exists()
