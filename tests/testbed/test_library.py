"""The library for notebooks, and docs/howto/notebooks.md: its code does what it says."""

import ast
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import nbformat
import polars as pl
import pytest

from analysis.errors import BadInputError
from analysis.run import Run as AnalysedRun
from analysis.words import words
from common import sums
from common.sums import DamagedError
from engine.errors import EngineError
from testbed import Observation, Results, Run, Scenario

PAGE = Path(__file__).parents[2] / "docs/howto/notebooks.md"


def blocks(language: str) -> list[str]:
    """The page's blocks of code in a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [text for kind, text in fenced if kind == language]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's scenario has run twice."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine").mkdir()
    (folder / "mine/beside.yaml").write_text(blocks("yaml")[0])
    Scenario(folder / "mine/beside.yaml").run(seeds=2, into=folder / "results")
    return folder


def test_a_command_starts_without_the_library() -> None:
    asked = "import sys, testbed.cli; print('polars' in sys.modules, 'testbed.library' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "False"


def test_a_run_has_tables_words_and_figures(home: Path) -> None:
    run = Results(home / "results").run("beside", seed=2)
    assert words(Run) == words(AnalysedRun)
    packets = run.frame("packets")
    assert set(packets["tap"]) == {"bottleneck-in", "bottleneck-out"}
    assert 0.5 < run.utilization(10, 20) <= 1
    figure = Run(run.folder).figure("rate", "queue")
    assert figure.svg().startswith("<svg")
    assert "Seed 2." in figure.caption


def test_results_have_one_table_over_runs(home: Path) -> None:
    results = Results(home / "results")
    flows = results.frame("flows")
    assert flows["seed"].to_list() == [1, 1, 2, 2]
    assert "2 seeds" in results.figure("beside", "queue").caption
    with pytest.raises(BadInputError, match="found 'cells'; allowed: runs, flows"):
        results.frame("cells")
    with pytest.raises(BadInputError, match="found no run of other"):
        results.figure("other", "queue")


def test_a_figure_has_its_own_lines_whatever_was_drawn_before(home: Path) -> None:
    alone = Results(home / "results").figure("beside", "rate", "window").svg()
    results = Results(home / "results")
    results.figure("beside", "rate", "queue").svg()
    assert results.figure("beside", "rate", "window").svg() == alone


def test_what_is_not_there_is_refused_by_name(home: Path) -> None:
    with pytest.raises(BadInputError, match="found no folder `runs`"):
        Results(home / "mine")
    results = Results(home / "results")
    with pytest.raises(BadInputError, match=r"found 0 of other, cell single, seed 1; allowed: beside$"):
        results.run("other")
    with pytest.raises(BadInputError, match="allowed: single seed-1, single seed-2"):
        results.run("beside", seed=3)
    with pytest.raises(BadInputError, match=r"found 'nope'; allowed: .*packets"):
        results.run("beside").frame("nope")


@pytest.mark.parametrize("seeds", [0, [], ["a"], [-1], [True]])
def test_what_is_no_seed_is_refused_before_anything_runs(home: Path, seeds: int | list[int]) -> None:
    with pytest.raises(EngineError, match="allowed: a whole number"):
        Scenario(home / "mine/beside.yaml").run(seeds=seeds, into=home / "refused")
    assert not (home / "refused").exists()


def test_a_damaged_table_is_not_read_and_an_old_one_is_made_again(home: Path) -> None:
    results = Results(home / "results")
    table = home / "results/tables/queues.parquet"
    results.frame("queues")
    kept = table.read_bytes()
    table.write_bytes(kept[:-1])
    with pytest.raises(DamagedError):
        results.frame("queues")
    newer = next(home.glob("results/runs/*/beside/single/seed-1")) / sums.FILE
    os.utime(newer)
    assert len(results.frame("queues"))
    assert table.read_bytes() == kept


def test_what_the_page_shows_works(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    names: dict[str, object] = {}
    for text in blocks("python"):
        exec(text, names)  # noqa: S102  the page's own code
    assert (home / "beside.svg").exists()
    asked, for_r = blocks("sql")
    rows = duckdb.connect().execute(asked).fetchall()
    assert {name for name, *_ in rows} == {"cubic", "ledbat"}
    queues = Results("results").frame("queues")
    assert sum(dropped for *_, dropped in rows) == queues["dropped_pkts"].sum() > 0
    duckdb.connect().execute(for_r)
    if shutil.which("Rscript"):
        [in_r] = blocks("r")
        said = subprocess.run(["Rscript", "-e", in_r], capture_output=True, text=True, check=True).stdout
        assert {line.split()[1] for line in said.splitlines()[1:]} == {"cubic", "ledbat"}
        assert (home / "share.svg").exists()


def test_what_was_not_measured_is_null(tmp_path: Path) -> None:
    """Drops of one flow, without a capture before the queue; the queue counted some."""
    (tmp_path / "mine").mkdir()
    scenario = blocks("yaml")[0] + "captures: [bottleneck-out]\n"
    (tmp_path / "mine/beside.yaml").write_text(scenario)
    results = Scenario(tmp_path / "mine/beside.yaml").run(into=tmp_path)
    assert results.frame("queues")["dropped_pkts"].sum() > 0
    flows = results.frame("flows")
    assert flows["dropped_pkts"].to_list() == flows["loss_rate"].to_list() == [None, None]
    assert flows["throughput_bps"].null_count() == 0


BACKWARD = """\
experiment: backward
title: CUBIC against the main direction, behind a short queue
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 60p}
backward_bottleneck: {rate: 5mbit, buffer: 20p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: there, implementation: tcp-cubic, from: s1, to: d1}
  - {name: back, implementation: tcp-cubic, from: d2, to: s2}
duration: 20s
"""
PARKING_LOT = """\
experiment: lot
title: Three flows over one or both of two bottlenecks
topology: {name: parking-lot, pairs: 3}
bottleneck: {rate: 10mbit, buffer: 40p}
more_bottlenecks: [{rate: 4mbit, buffer: 30p}]
spans: [[1, 2], [1, 1], [2, 2]]
delay: {forward: 20ms, backward: 15ms}
flows:
  - {name: both, implementation: tcp-reno, from: s1, to: d1}
  - {name: first, implementation: tcp-reno, from: s2, to: d2}
  - {name: second, implementation: tcp-reno, from: s3, to: d3}
duration: 20s
"""


@pytest.mark.parametrize(
    ("scenario", "flow", "unknown"),
    [
        (BACKWARD, "back", {"dropped_pkts", "loss_rate", "waited_p95_ms"}),
        (PARKING_LOT, "second", {"throughput_bps", "share", "dropped_pkts", "loss_rate", "waited_p95_ms"}),
    ],
    ids=["backward", "parking lot"],
)
def test_a_flow_that_does_not_pass_the_first_queue_has_no_numbers_of_it(
    tmp_path: Path, scenario: str, flow: str, unknown: set[str]
) -> None:
    """Both lose packets elsewhere: a 0, or the few acknowledgements that are lost here, would be taken for theirs."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a.yaml").write_text(scenario)
    results = Scenario(tmp_path / "mine/a.yaml").run(into=tmp_path)
    rows = {row["flow"]: row for row in results.frame("flows").iter_rows(named=True)}
    assert rows[flow]["retransmitted_pkts"] > 20
    asked = ("throughput_bps", "share", "dropped_pkts", "loss_rate", "waited_p95_ms", "srtt_p95_ms")
    assert {name for name in asked if rows[flow][name] is None} == unknown
    others = [row for name, row in rows.items() if name != flow]
    assert all(row[name] is not None for row in others for name in asked)
    shares = [row["share"] for row in rows.values() if row["share"] is not None and row["direction"] == "forward"]
    assert sum(shares) == pytest.approx(1)


SWARM = """\
experiment: both-ways
title: The acknowledgements of a flow wait behind data in a short queue
topology: {name: swarm, peers: 2}
bottleneck: {rate: 2mbit, buffer: 5p}
backward_bottleneck: {rate: 20mbit, buffer: 100p}
peers:
  - {host: p2, up: {rate: 20mbit, buffer: 1000p}}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: up, implementation: tcp-cubic, from: p1, to: p2}
  - {name: down, implementation: tcp-cubic, from: p2, to: p1}
duration: 10s
"""


def test_drops_of_a_flow_are_those_of_its_data(tmp_path: Path) -> None:
    """Those of its acknowledgements, which a peer's queue loses among that peer's own data, are not."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/both-ways.yaml").write_text(SWARM)
    results = Scenario(tmp_path / "mine/both-ways.yaml").run(into=tmp_path)
    run = results.run("both-ways")
    until_end = pl.col("time_ns") < 10 * 10**9
    of_data = run.passages.filter(pl.col("forward") & pl.col("dropped") & until_end)["flow"].value_counts()
    lost = dict(of_data.iter_rows())
    rows = {row["flow"]: row for row in results.frame("flows").iter_rows(named=True)}
    assert {name: row["dropped_pkts"] for name, row in rows.items()} == {name: lost.get(name, 0) for name in rows}
    assert rows["up"]["dropped_pkts"] > 0 == rows["down"]["dropped_pkts"] == rows["down"]["loss_rate"]
    assert run.drops().count() > 10 * rows["up"]["dropped_pkts"]


def test_an_observation_has_what_the_command_finds(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    capture = home / "results/runs/mine/beside/single/seed-1/pcap/bottleneck-out.pcap.gz"
    seen = Observation(capture)
    assert seen.page == Path("observed/bottleneck-out/index.html")
    assert seen.lines[0].startswith("flow-1, ")
    assert seen.frame("flows")["flow"].to_list() == ["flow-1", "flow-2"]
    assert set(seen.frame("series")["flow"]) == {"flow-1", "flow-2"}
    assert seen.figure("flow-1").startswith("<svg")
    with pytest.raises(BadInputError, match=r"figure: found 'flow-3'; allowed: flow-1, flow-2"):
        seen.figure("flow-3")
    with pytest.raises(BadInputError, match=r"frame: found 'packets'; allowed: flows, series"):
        seen.frame("packets")


NOTEBOOKS = sorted((PAGE.parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_cells_of_a_notebook_work(
    file: Path,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a kernel: what a cell ends with is shown as a notebook would show it."""
    program("libutp")
    notebook = json.loads(file.read_text())
    nbformat.validate(notebook)
    folder = tmp_path / "docs" / "notebooks"
    folder.mkdir(parents=True)
    (tmp_path / "workflows").symlink_to(PAGE.parents[2] / "workflows")
    capture = home / "results/runs/mine/beside/single/seed-1/pcap/bottleneck-out.pcap.gz"
    (folder / "capture.pcap").write_bytes(gzip.decompress(capture.read_bytes()))
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            assert cell["execution_count"] is None
            shown.append(carried_out("".join(cell["source"]), names))
    drawn = [one._repr_svg_() for one in shown if hasattr(one, "_repr_svg_")]
    assert drawn and all(svg.startswith("<svg") for svg in drawn)
    said = capsys.readouterr().out
    if file.stem == "icccn-fig2a":
        by_hand, by_words = map(float, re.findall(r"\d+\.\d+", said))
        assert 6 < by_hand == by_words < 8  # of 50 seeds 6.9 to 7.0
    if file.stem == "libutp-beside-cubic":
        shares = next(one for one in shown if isinstance(one, pl.DataFrame))
        assert shares["cell_buffer_pkts"].to_list() == [20, 20, 40, 40, 80, 80, 160, 160]
        assert not shares["dropped_pkts"].null_count()


def carried_out(source: str, names: dict[str, object]) -> object:
    """Carry out a cell; returns the value of the expression that it ends with, or None."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102  the notebook's own code
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


CAPTURED_AT_HOSTS = """\
experiment: at-hosts
title: What is captured at hosts only
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 20mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: cubic, implementation: tcp-cubic, from: s1, to: d1}
  - {name: call, implementation: udp-cbr, from: s2, to: d2, params: {rate: 64kbit}}
captures: [sender, receiver]
duration: 20s
"""


def test_a_figure_names_what_it_leaves_out_and_no_rate_is_above_the_links(
    tmp_path: Path, program: Callable[[str], None]
) -> None:
    program("udp-cbr")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/at-hosts.yaml").write_text(CAPTURED_AT_HOSTS)
    run = Scenario(tmp_path / "mine/at-hosts.yaml").run(into=tmp_path).run("at-hosts")
    assert 15e6 < run.arriving("cubic").max() <= 20e6 * 1.01
    caption = run.figure("rate", "window", "waited-ms").caption
    assert "window of call, since the controller of the flow reports no cwnd" in caption
    assert "waited of cubic, call, since this needs a capture" in caption
    assert "rate of" not in caption
