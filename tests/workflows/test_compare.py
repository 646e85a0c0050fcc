"""`testbed compare`: what it refuses, what it writes, and a real small comparison as docs/compare.md shows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.compare import filled, panel
from engine.scenario import ScenarioError, expand, plan
from engine.scenario.load import read

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compare.md").read_text()
BIN = Path(sys.executable).parent
TWO = ("tcp-cubic", "tcp-ledbat")


def run(command: str, folder: Path) -> str:
    """What a command of the page prints, both streams together; it must succeed."""
    words = command.split()
    done = subprocess.run([BIN / words[0], *words[1:]], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_page_shows_the_panel() -> None:
    listed = re.search(r"\|---\|---\|\n(.*?)\n<!-- end of panel", PAGE, re.DOTALL)
    assert listed
    assert listed[1].splitlines() == [f"| `{file.stem}` | {read(file).data['title']} |" for file in panel()]


def test_the_panel_takes_any_implementations(tmp_path: Path) -> None:
    names = ("libutp", "tcp-lp", "tcp-ledbatpp")
    for file in panel():
        (tmp_path / file.name).write_text(filled(file, names, 4))
    cells = plan(sorted(tmp_path.glob("*.yaml")), "full")
    assert {cell["experiment"] for cell in cells} == {cell["experiment"] for cell in plan(panel(), "full")}
    assert {tuple(cell["seeds"]) for cell in cells} == {(1, 2, 3, 4)}
    pairs = [cell["cell"] for cell in cells if cell["experiment"] == "compare-pairs"]
    assert pairs == [f"client={one},rival={other}" for one in names for other in names]
    # what is compared is what runs
    [flows] = [
        cell.settings["flows"]
        for cell in expand(tmp_path / "pairs.yaml", "full")
        if cell.name == "client=libutp,rival=tcp-lp"
    ]
    assert [flow["implementation"] for flow in flows] == ["libutp", "tcp-lp"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tcp-cubic"], "found tcp-cubic; allowed: two or more different implementations"),
        (["tcp-cubic", "tcp-cubic"], "found tcp-cubic, tcp-cubic; allowed: two or more different implementations"),
        (["tcp-cubic", "tcp-ledbta"], "unknown implementation 'tcp-ledbta'"),
        ([*TWO, "--seeds", "0"], "--seeds: found 0; allowed: a whole number, at least 1"),
        ([*TWO, "--scenario", "alon"], "--scenario: found 'alon', no file; allowed: against-tcp, alone"),
        ([*TWO, "--scenario", "workflows/studies/icccn/fig2a.yaml"], "has no place for what is compared, client"),
    ],
)
def test_a_wrong_order_is_one_message(
    arguments: list[str], message: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["compare", *arguments, "--into", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_scenario_without_the_flow_is_refused(tmp_path: Path) -> None:
    text = (ROOT / "workflows/compare/alone.yaml").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("{name: client, ", "{name: flow, "))
    with pytest.raises(ScenarioError, match="a flow of that name"):
        filled(file, TWO, 1)


def test_a_real_comparison(tmp_path: Path) -> None:
    scenario = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    command = re.search(r"^(testbed compare .*mine\.yaml.*)$", PAGE, re.MULTILINE)
    again = re.search(r"^(snakemake .*)$", PAGE, re.MULTILINE)
    assert scenario
    assert command
    assert again
    (tmp_path / "mine.yaml").write_text(scenario[1])
    said = run(command[1], tmp_path)
    folder = tmp_path / "results/compare/tcp-cubic-tcp-ledbat"
    assert f"Comparison: {folder}/index.html" in said

    result = json.loads((folder / "experiments/mine-against-tcp/comparison.json").read_text())
    [point] = result["points"]
    metrics = {one["name"]: one["clients"] for one in point["metrics"]}
    cubic, ledbat = ({name: of[client] for name, of in metrics.items()} for client in TWO)
    # RFC 6817, section 1: LEDBAT yields to standard TCP; one CUBIC does not yield to another
    assert cubic["time to yield"]["by_seed"] == {"1": "never", "2": "never", "3": "never"}
    assert ledbat["time to yield"]["never"] == 0
    assert 0 < ledbat["time to yield"]["maximum"] < 10
    assert ledbat["queuing delay"]["maximum"] < cubic["queuing delay"]["minimum"]
    # a link that is full: what the client has not is TCP's, and Jain's index follows from the share (of two flows)
    share = ledbat["share of the client"]["by_seed"]["1"] / 100
    assert ledbat["fairness"]["by_seed"]["1"] == pytest.approx(1 / (2 * (share**2 + (1 - share) ** 2)))
    # three against three, all on one side: 2 of the 20 ways to deal six numbers
    assert ledbat["time to yield"]["p"] == pytest.approx(0.1)
    assert cubic["time to yield"]["p"] is None

    index, page = ((folder / name).read_text() for name in ("index.html", "mine-against-tcp.html"))
    assert "no test can show a difference" in index
    for text in (index, page):
        for linked in re.findall(r'(?:href|src|srcset)="([^"#]+)"', text):
            assert linked == "data:," or (folder / linked).exists(), linked

    # everything is there: nothing is done again, here or by hand
    before = (folder / "index.html").stat().st_mtime_ns
    assert "Nothing to be done" in run(again[1].replace("results/compare/tcp-cubic-tcp-ledbat", str(folder)), ROOT)
    assert (folder / "index.html").stat().st_mtime_ns == before


def test_what_fails_leaves_the_rest(tmp_path: Path) -> None:
    scenario = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert scenario
    short = scenario[1].replace("start: 4s", "start: 1s").replace("duration: 20s", "duration: 3s")
    lost = "events: [{at: 1ms, on: path, loss: {forward: 100%}}]\n"
    (tmp_path / "dead.yaml").write_text(short.replace("experiment: mine", "experiment: dead") + lost)
    # one point of this scenario is as dead
    cases = f"cases: {{good: {{}}, lost: {{{lost.strip()}}}}}\n"
    (tmp_path / "good.yaml").write_text(short + cases)
    options = ["--scenario", "good.yaml", "--scenario", "dead.yaml", "--seeds", "1"]
    done = subprocess.run(
        [BIN / "testbed", "compare", "libutp", "tcp-ledbat", *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    folder = tmp_path / "results/compare/libutp-tcp-ledbat"
    # both flows are dead; which one is told is the one that ends first
    why = r"case=lost,client=libutp, seed-1: flow \w+: .*never connected"
    index, page = ((folder / name).read_text() for name in ("index.html", "mine-against-tcp.html"))
    assert re.search(r"<br>dead\.yaml: client=libutp, seed-1: flow \w+: .*never connected", index)
    assert re.search(rf"<br>good\.yaml: {why}", index)
    assert re.search(why, page)
    result = json.loads((folder / "experiments/mine-against-tcp/comparison.json").read_text())
    assert {run["cell"] for run in result["runs"]} == {f"case=good,client={name}" for name in ("libutp", "tcp-ledbat")}
