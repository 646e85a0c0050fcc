"""What docs/extending.md says of a new topology: its example, added to a copy of the project, runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from images.cache import default_root, project_root

ROOT = project_root()
RUN = "import sys; from engine.cli import main; sys.exit(main())"


def _replace_lines(file: Path, lines: str) -> None:
    """Put each line in the place of the one that begins with the same words."""
    text = file.read_text()
    for line in filter(None, lines.splitlines()):
        start = re.escape(re.split(r"\[|import", line)[0])
        text, count = re.subn(rf"^{start}.*$", line.replace("\\", r"\\"), text, count=1, flags=re.MULTILINE)
        assert count, line
    file.write_text(text)


def test_the_topology_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    (module, names), (enum, scenario) = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "yaml")
    )
    copy = tmp_path / "project"
    for part in ("engine", "images", "scenarios", "topologies", "workflows/schemas"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", copy)
    (copy / "topologies" / "spread.py").write_text(module)
    _replace_lines(copy / "topologies" / "by_name.py", names)
    _replace_lines(copy / "workflows/schemas/scenario.schema.yaml", enum)
    file = tmp_path / "trial" / "spread.yaml"
    file.parent.mkdir()
    file.write_text(scenario)
    command = [sys.executable, "-c", RUN, "run", str(file), "--seed", "1", "--into", str(tmp_path / "runs")]
    environment = {**os.environ, "TESTBED_CACHE": str(default_root()), "PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    probe = json.loads(next((tmp_path / "runs").rglob("summary.json")).read_text())["probe"]
    for name, delay_ns in (("s1-d1", 10_000_000), ("s2-d2", 20_000_000)):
        assert all(abs(probe[name][way] - delay_ns) < 10_000 for way in ("forward_ns", "backward_ns"))
