"""`testbed gate versions` and `testbed gate bisect` of two real versions of a client."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCENARIO = """\
experiment: old-and-new
title: A torrent begins
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 2mbit, buffer: 60p}
matrix: {client: [transmission-4]}
delay: {forward: 25ms, backward: 25ms}
flows: [{name: client, implementation: "${client}", from: s1, to: d1}]
duration: 16s
"""


def test_two_real_versions(tmp_path: Path) -> None:
    """The search finds the runs of the page, and carries none out again."""
    (tmp_path / "begins.yaml").write_text(SCENARIO)
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text(
        "statements: [{id: fills, scenario: begins.yaml, measure: 'alone(\"throughput\")', above: 0.1}]\n"
    )
    order = [f"{Path(sys.executable).parent}/testbed"]
    into = ["--into", f"{tmp_path}/out"]
    old, new = "3.00", "4.1.0-beta2"

    def run(*words: str | Path) -> str:
        command = [*order, *words, *into]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("gate", "versions", "transmission", budgets, "--from", old, "--to", new)
    data = json.loads((tmp_path / "out/transmission/versions.json").read_text())
    assert list(data["versions"]) == [old, new]
    [budget] = data["budgets"]
    measured = {version: facts["measured"] for version, facts in budget["by_version"].items()}
    [summary] = (tmp_path / "out/transmission/transmission-4/runs").rglob("summary.json")
    written_ns = summary.stat().st_mtime_ns
    search = ["--good", old, "--bad", new, "--measure", 'alone("throughput")', "--scenario", f"{tmp_path}/begins.yaml"]
    said = run("gate", "bisect", "transmission", *search)
    assert f"{measured[old]:.6g} with transmission 3.00, {measured[new]:.6g} with 4.1.0-beta2, its neighbour" in said
    assert summary.stat().st_mtime_ns == written_ns
