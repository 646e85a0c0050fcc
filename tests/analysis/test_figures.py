"""Each kind of figure, drawn by the command line from runs built by hand, and the messages for mistakes."""

import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from analysis import report
from analysis.__main__ import main
from analysis.claims import registry
from analysis.documents import Fields
from analysis.figures import alternative_text, kinds, panels, roles, style
from analysis.figures import svg as svg_module
from analysis.figures.draw import draw as draw_figures
from analysis.figures.kinds.curves import Curves
from analysis.figures.kinds.scatter import Scatter
from analysis.figures.kinds.table import TableFigure, _with_deviation
from analysis.figures.kinds.values_by_seed import ValuesBySeed
from analysis.figures.svg import plain as plain_svg
from analysis.runs import Runs
from analysis.series import Series
from tests.analysis.synthetic import plain, vouch, write

MOST_BYTES = 1500  # of an alternative text
STUDIES = Path(__file__).parents[2] / "workflows" / "studies"
CLAIM = {"title": "A share.", "source": "sec. 1", "unit": "1", "metric": "share"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for buffer in (20, 40):
        for seed in (1, 2, 3):
            made = plain()
            made.cell, made.seed = f"buffer={buffer}p", seed
            made.changes = {"cell_values": {"buffer": f"{buffer}p"}}
            made.cwnd = {name: [(t / 10, 1 + t % buffer) for t in range(100)] for name in made.flows}
            assert main(["columns", str(write(root, made))]) == 0
    return root


def draw(runs: Path, folder: Path, figure: dict[str, Any]) -> int:
    claims = [
        {"id": "e01", "paper": "0.20", "measure": "share('ledbat', 1, 5)", "cell": "buffer=20p", **CLAIM},
        {"id": "e02", "paper": "0.90", "measure": "share('ledbat', 1, 5)", "cell": "buffer=40p", **CLAIM},
        {
            "id": "e03",
            "paper": "4",
            "measure": "4 + 0 * cwnd('tcp').max()",
            "cell": "buffer=40p",
            **CLAIM,
            "unit": "s",
            "metric": "time_of_it",
        },
    ]
    experiment = {"experiment": "made-by-hand", "artefact": "Fig. 1", "title": "made", "finding": "f"}
    (folder / "made.claims.yaml").write_text(yaml.safe_dump({**experiment, "figure": figure, "claims": claims}))
    paper = {"title": "T", "authors": [], "venue": "V"}
    (folder / "study.yaml").write_text(yaml.safe_dump({"paper": paper, "findings": {"f": "F."}}))
    options = ["--runs", str(runs), "--out", str(folder)]
    done = main(["measure", str(folder / "made.claims.yaml"), *options])
    return done or main(["figure", "made-by-hand", *options])


def test_measure_by_hand_makes_the_tables_that_runs_lack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path, plain())
    assert not (run / "columns").exists()
    claim = {"id": "e01", "paper": "0.2", "measure": "share('ledbat', 1, 5)", **CLAIM}
    entry: dict[str, Any] = {"experiment": "made-by-hand", "artefact": "Fig. 1", "title": "made", "finding": "f"}
    entry |= {"figure": {"kind": "time-series", "panels": ["queue"]}, "claims": [claim]}
    (tmp_path / "made.claims.yaml").write_text(yaml.safe_dump(entry))
    paper = {"title": "T", "authors": [], "venue": "V"}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({"paper": paper, "findings": {"f": "F."}}))
    options = ["--runs", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(["measure", str(tmp_path / "made.claims.yaml"), *options]) == 0
    assert (run / "columns/packets.parquet").exists()
    assert "made-by-hand/e01: " in capsys.readouterr().out


def svg_of(folder: Path) -> str:
    for name in ("figure-narrow.svg", "figure.html", "figure.txt"):
        assert (folder / "made-by-hand" / name).stat().st_size > 0
    return (folder / "made-by-hand" / "figure.svg").read_text()


def told_of(folder: Path) -> str:
    """Give the text that each drawing of a figure carries for readers who do not see it."""
    figure = folder / "made-by-hand"
    text = alternative_text.of_file(figure / "figure.svg")
    assert alternative_text.of_file(figure / "figure-narrow.svg") == text
    assert json.dumps(text)[1:-1] in (figure / "figure.html").read_text()
    assert len(text) < MOST_BYTES
    return text


def test_time_series(runs: Path, tmp_path: Path) -> None:
    own: dict[str, Any] = {"axis": "twice the window", "lines": {"doubled": "cwnd('tcp').scaled(2)"}}
    figure = {"kind": "time-series", "panels": ["rate", "window", "queue", "queue-ms", "waited-ms", own]}
    assert draw(runs, tmp_path, figure) == 2  # `scaled` is no word of claims
    own["lines"] = {"its window": "cwnd('tcp')"}
    assert draw(runs, tmp_path, figure) == 0
    own["lines"]["a name that leaves hardly any room on a phone"] = "cwnd('ledbat')"
    assert draw(runs, tmp_path, figure) == 0
    svg = svg_of(tmp_path)
    for text in ("buffer=20p", "buffer=40p", "Rate [Mbit/s]", ">its window<", ">target 25<", ">LEDBAT<", "time [s]"):
        assert text in svg
    text = told_of(tmp_path)
    assert text.startswith(
        "Rate [Mbit/s], window [packets], queue [packets], queue [ms], waited [ms], twice the window"
    )
    assert "over 0 to 10 s; TCP, LEDBAT, " in text
    assert "Buffer=20p, window [packets]: " in text and "at most 20" in text
    assert "closest to the median of 3" in (tmp_path / "made-by-hand" / "figure.txt").read_text()


def test_the_line_of_a_stopped_flow_ends_with_its_last_packet(runs: Path) -> None:
    run = Runs(runs).by_cell_and_seed("made-by-hand")["buffer=20p", 1]
    stopped = replace(run.settings.flows[0], stop_s=4.0)
    rate = Series(np.arange(10.0), np.array([5.0] * 6 + [0.0] * 4), 10)
    assert panels._until_its_end(rate, run, stopped).end == 6
    assert panels._until_its_end(rate, run, run.settings.flows[0]).end == 10


def test_a_panel_without_a_line_is_left_out(tmp_path: Path) -> None:
    made = plain()
    made.cell, made.cwnd = "buffer=20p", {name: [] for name in made.flows}
    assert main(["columns", str(write(tmp_path, made))]) == 0
    assert draw(tmp_path, tmp_path, {"kind": "time-series", "panels": ["queue", "window"]}) == 0
    assert "queue [packets]" in svg_of(tmp_path).lower() and "window" not in svg_of(tmp_path).lower()


def test_instants_of_the_paper_come_from_claims_with_what_they_allow(runs: Path, tmp_path: Path) -> None:
    marks: list[dict[str, Any]] = [{"at": 2, "text": "told by hand"}, {"claim": "e03", "text": "told by a claim"}]
    figure = {"kind": "time-series", "panels": ["window"], "marks": marks}
    assert draw(runs, tmp_path, figure) == 0
    svg = svg_of(tmp_path)
    # the claim speaks of one cell only
    assert (svg.count(">told by hand<"), svg.count(">told by a claim<")) == (2, 1)
    assert "shaded as far as counts as holding" in (tmp_path / "made-by-hand" / "figure.txt").read_text()
    marks[1]["claim"] = "e99"
    assert draw(runs, tmp_path, figure) == 2


def test_cells_in_one_plot_beside_what_the_paper_prints(runs: Path, tmp_path: Path) -> None:
    cells = [{"cell": f"buffer={size}p", "title": f"{size} packets"} for size in (20, 40)]
    heights = [{"claim": "e03", "text": "of the paper"}]
    own = {"axis": "window", "lines": {"window": "cwnd('tcp')"}}
    figure = {"kind": "time-series", "panels": [own], "cells": cells, "together": True, "heights": heights}
    assert draw(runs, tmp_path, figure) == 0
    svg = svg_of(tmp_path)
    for said in ("20 packets", "40 packets", "paper: of the paper 4"):
        assert f">{said}<" in svg, said
    assert svg.count(">time [s]<") == 1
    assert (
        "Dotted lines across are the values that the paper prints" in (tmp_path / "made-by-hand/figure.txt").read_text()
    )


def test_a_panel_of_the_path_has_what_the_scenario_changes_of_it(tmp_path: Path) -> None:
    made = plain()
    made.cell = "buffer=20p"
    events = [
        {"at_ns": 4 * 10**9, "on": "path", "delay": {"forward_ns": 40 * 10**6}},
        {"at_ns": 6 * 10**9, "on": "path", "delay": {"forward_ns": 60 * 10**6}, "jitter": {"backward_ns": 10**7}},
    ]
    made.changes = {"delay": {"forward_ns": 20 * 10**6, "backward_ns": 5 * 10**6}, "events": events}
    folder = write(tmp_path, made)
    assert main(["columns", str(folder)]) == 0
    (run,) = Runs(tmp_path).by_cell_and_seed("made-by-hand").values()
    assert dict(run.settings.path_steps) == {
        "forward delay": ((0.0, 20.0), (4.0, 40.0), (6.0, 60.0)),
        "backward jitter": ((0.0, 0.0), (6.0, 10.0)),
    }
    assert draw(tmp_path, tmp_path, {"kind": "time-series", "panels": ["path", "queue"]}) == 0
    assert ">forward delay<" in svg_of(tmp_path) and ">path [ms]<" in svg_of(tmp_path).lower()


def test_cells_in_one_plot_have_the_courses_of_path_and_capacity_once_and_on_top(tmp_path: Path) -> None:
    events = [
        {"at_ns": 4 * 10**9, "on": "path", "delay": {"forward_ns": 40 * 10**6}},
        {"at_ns": 6 * 10**9, "on": "bottleneck", "rate_bps": 5 * 10**6},
    ]
    for buffer, seed in product((20, 40), (1, 2)):
        made = plain()
        made.cell, made.seed = f"buffer={buffer}p", seed
        made.changes = {"events": events, "bottleneck": {"rate_bps": 12_000_000, "buffer_pkts": buffer}}
        assert main(["columns", str(write(tmp_path, made))]) == 0
    cells = [{"cell": f"buffer={size}p", "title": f"{size} packets"} for size in (20, 40)]
    figure = {"kind": "time-series", "panels": ["rate", "path", "queue"], "cells": cells, "together": True}
    assert draw(tmp_path, tmp_path, figure) == 0
    svg = svg_of(tmp_path)
    assert [svg.count(f">{name}<") for name in ("capacity", "forward delay", "buffer 20", "buffer 40")] == [1, 1, 1, 1]
    drawn = re.findall(r'; s: ([^"]+)" [^>]*"line mark"[^>]* stroke-dasharray="([0-9,]+)"', svg)
    # dashed, and after the rates that it may lie on
    assert drawn[:3] == [("20 packets", "1,0"), ("40 packets", "1,0"), ("capacity", "4,2")]
    # rates and capacity are four lines, two of each cell
    assert "Where lines are many, bands are of that seed alone." in (tmp_path / "made-by-hand/figure.txt").read_text()


def test_a_figure_has_cells_of_other_experiments_beside_its_own(tmp_path: Path) -> None:
    for name, cell in (("made-by-hand", "buffer=20p"), ("another", "single")):
        made = plain()
        made.experiment, made.cell = name, cell
        assert main(["columns", str(write(tmp_path, made))]) == 0
    cells = [{"cell": "buffer=20p", "title": "upper"}, {"runs_of": "another", "cell": "single", "title": "lower"}]
    marks = [{"at": 2, "text": "of the upper one"}, {"at": 8, "text": "of both", "everywhere": True}]
    assert draw(tmp_path, tmp_path, {"kind": "time-series", "panels": ["queue"], "cells": cells, "marks": marks}) == 0
    svg = svg_of(tmp_path)
    assert svg.count(">upper<") == svg.count(">lower<") == svg.count(">of the upper one<") == 1
    assert svg.count(">of both<") == 2


def test_each_value_that_occurs_is_a_stroke(runs: Path, tmp_path: Path) -> None:
    own = {"axis": "window", "lines": {"window": "cwnd('tcp')"}, "each": True}
    assert draw(runs, tmp_path, {"kind": "time-series", "panels": [own], "cells": ["buffer=20p"]}) == 0
    assert "Strokes are the values that occurred" in (tmp_path / "made-by-hand/figure.txt").read_text()
    svg = svg_of(tmp_path)
    assert svg.count('stroke-linecap="round"') > 5


def test_a_cell_has_its_title_where_others_were_not_run(runs: Path, tmp_path: Path) -> None:
    cells = [{"cell": "buffer=20p", "title": "Short"}, {"cell": "buffer=80p", "title": "Long"}]
    assert draw(runs, tmp_path, {"kind": "time-series", "panels": ["queue"], "cells": cells}) == 0
    assert ">Short<" in svg_of(tmp_path)
    assert (tmp_path / "made-by-hand" / "figure.txt").read_text().endswith(" Not run here: Long.\n")


def test_of_many_lines_only_the_run_that_is_drawn_has_bands(runs: Path, tmp_path: Path) -> None:
    caption = tmp_path / "made-by-hand" / "figure.txt"
    for names, alone in (("abc", False), ("abcd", True)):
        panel = {"axis": "window", "lines": dict.fromkeys(names, "cwnd('tcp')")}
        assert draw(runs, tmp_path, {"kind": "time-series", "panels": [panel]}) == 0
        assert ("bands are of that seed alone" in caption.read_text()) == alone


def test_a_cell_that_would_be_flattened_has_an_axis_of_its_own(runs: Path, tmp_path: Path) -> None:
    more = shutil.copytree(runs, tmp_path / "runs")
    much = {"axis": "made up", "lines": {"line": "cwnd('tcp')"}}
    assert draw(runs, tmp_path, {"kind": "time-series", "panels": [much]}) == 0
    assert "axes of their own" not in (tmp_path / "made-by-hand" / "figure.txt").read_text()
    for seed in (1, 2, 3):
        made = plain()
        made.cell, made.seed, made.changes = "buffer=400p", seed, {"cell_values": {"buffer": "400p"}}
        made.cwnd = {"tcp": [(0.0, 400.0)]}
        assert main(["columns", str(write(more, made))]) == 0
    assert draw(more, tmp_path, {"kind": "time-series", "panels": [much]}) == 0
    assert "axes of their own" in (tmp_path / "made-by-hand" / "figure.txt").read_text()


def test_curves_are_medians_over_seeds_beside_the_papers_values(runs: Path, tmp_path: Path) -> None:
    plot = {"axis": "largest window", "measure": "cwnd('tcp').max()", "paper": {"": [[20, 21, "e03"]]}}
    assert draw(runs, tmp_path, {"kind": "curves", "over": "buffer", "axis": "buffer [packets]", "plots": [plot]}) == 0
    assert "Largest window" in svg_of(tmp_path)
    assert told_of(tmp_path) == (
        "Largest window over buffer [packets]; paper. Values are medians over the seeds. "
        "Largest window: 20 at 20 to 40 at 40; paper 21 at 20."
    )
    caption = (tmp_path / "made-by-hand" / "figure.txt").read_text()
    assert "medians of 3 seeds" in caption
    assert "strokes through them reach as far as counts as holding" in caption
    measured = json.loads((tmp_path / "made-by-hand" / "verdicts.json").read_text())["figure"]["plots"][0]["points"]
    assert measured == [
        {"line": "", "x": 20, "by_seed": {"1": 20, "2": 20, "3": 20}},
        {"line": "", "x": 40, "by_seed": {"1": 40, "2": 40, "3": 40}},
    ]


def test_a_line_keeps_its_colour_where_another_was_not_run(tmp_path: Path) -> None:
    labels = {"case=a": "first", "case=b": "second", "case=c": "third"}
    third = {"line": "third", "x": 1, "by_seed": {"1": 1.0}}
    for ran in ([third], [{**third, "line": "first"}, third], [{**third, "line": label} for label in labels.values()]):
        figure = {"over": "x", "axis": "x", "labels": labels, "plots": [{"axis": "y", "points": ran}]}
        assert Curves(Fields(tmp_path, figure), [])._colour("third") == roles.colour(roles.LEDBAT, 2)


def test_curves_of_groups_are_drawn_apart(runs: Path, tmp_path: Path) -> None:
    names = {f"{group}: {name}": f"cwnd('{name}').max()" for group in ("one", "two") for name in ("tcp", "ledbat")}
    figure = {"kind": "curves", "over": "buffer", "axis": "x", "plots": [{"axis": "window", "measure": names}]}
    assert draw(runs, tmp_path, figure) == 0
    svg = svg_of(tmp_path)
    assert [svg.count(f">{text}<") for text in ("one: window", "two: window", "tcp", "one: tcp")] == [1, 1, 2, 0]


def test_an_axis_has_the_numbers_of_its_points(tmp_path: Path) -> None:
    points = [{"line": "a", "x": x, "by_seed": {"1": 1.0}} for x in (25, 50, 100)]
    figure = {"over": "x", "axis": "target [ms]", "plots": [{"axis": "y", "points": points}]}
    svg = plain_svg(Curves(Fields(tmp_path, figure), []).specify(1200, interactive=False))
    assert [f">{text}<" in svg for text in ("25", "50", "100")] == [True] * 3


def test_a_long_name_of_an_axis_makes_no_picture_wider(tmp_path: Path) -> None:
    points = [{"line": "of a long name", "x": x, "by_seed": {"1": 1.0}} for x in (1, 2)]
    axis = "jitter of one of the two flows, plus and minus [ms]"
    figure = {"over": "x", "axis": axis, "plots": [{"axis": "y", "points": points}]}
    svg = plain_svg(Curves(Fields(tmp_path, figure), []).specify(style.NARROW, interactive=False))
    assert float(re.findall(r'width="([\d.]+)"', svg)[0]) < style.NARROW + style.AXIS / 2


def test_groups_share_their_axes(tmp_path: Path) -> None:
    points = [{"line": line, "x": x, "by_seed": {"1": 1.0}} for line, x in (("a: l", 1), ("b: l", 1), ("b: l", 2))]
    figure = {"over": "x", "axis": "x", "plots": [{"axis": "y", "points": points}]}
    plots = Curves(Fields(tmp_path, figure), []).specify(1200, interactive=False)["concat"]
    lines = [layer for each in plots for layer in each["layer"] if "x" in layer.get("encoding", {})]
    assert [layer["encoding"]["x"]["scale"]["domain"] for layer in lines if "field" in layer["encoding"]["x"]] == [
        [1, 2]
    ] * 8


def test_what_the_studies_figures_name_exists() -> None:
    """Marks and values name claims with a number, roles are those of the palette: drawing is too late to find out."""
    for file in sorted((Path(__file__).parents[2] / "workflows/studies").glob("*/*.claims.yaml")):
        experiment = registry.load(file)
        claims = {claim.data["id"].rpartition("/")[2]: claim.data for claim in experiment.claims}
        figure = experiment.figure
        for mark in figure.get("marks", []):
            if "claim" in mark:
                assert claims[mark["claim"]]["unit"] == "s", file
                assert "paper" in claims[mark["claim"]] or "interval" in claims[mark["claim"]], file
        named = [value["claim"] for value in figure.get("values", []) if "claim" in value]
        named += [
            point[2] for plot in figure.get("plots", []) for line in plot.get("paper", {}).values() for point in line
        ]
        assert {*named} <= {*claims}, file
        used = [
            *figure.get("roles", {}).values(),
            *(part["role"] for part in (figure, *figure.get("values", [])) if "role" in part),
        ]
        for role in used:
            assert roles.declared(Fields(file, {"role": role}), "role")
        panels = [panel for panel in figure.get("panels", []) if isinstance(panel, dict)]
        for axis in [fields["axis"] for fields in (figure, *panels, *figure.get("plots", [])) if "axis" in fields]:
            assert "[" not in axis or axis.endswith("]"), f"{file}: {axis}"  # of the unit


def test_a_table_shows_the_papers_value_and_what_was_measured(runs: Path, tmp_path: Path) -> None:
    rows = [{"label": "B = 20", "claims": ["e01", None]}, {"label": "B = 40", "claims": [None, "e02"]}]
    assert draw(runs, tmp_path, {"kind": "table", "columns": ["share", "other"], "rows": rows}) == 0
    svg = svg_of(tmp_path)
    for text in ("B = 20", ">0.90<", "0.2 ±0 ✓", "0.2 ±0 ✗"):
        assert text in svg
    assert "B = 40: other 0.90, measured 0.2 ±0, does not hold." in told_of(tmp_path)


def test_a_table_may_have_intervals_as_the_paper_prints_them() -> None:
    claim = {"id": "x/e01", "paper": "790.5", "interval": "30.2", "verdict": "nearly", "unit": "kbps"}
    measured = {"measured": {"mean": 670.4, "std": 150.0, "seeds": 20}, "measured_interval": [600.4, 740.4]}
    figure = {"columns": ["a"], "rows": [{"label": "r", "claims": ["e01"]}], "intervals": True}
    file = Path("x.yaml")
    drawn = TableFigure(Fields(file, figure), [Fields(file, claim | measured)])
    assert "R: a 790.5 ±30.2, measured 670 ±70, nearly." in drawn.alternative()
    assert "± half of the 95 % interval" in drawn.caption()


def test_fields_of_a_table_do_not_meet() -> None:
    claim = {"paper": "1.3e-2", "verdict": "holds", "measured": {"mean": 0.0118, "std": 0.0002, "seeds": 20}}
    figure = {"columns": ["one", "two"], "rows": [{"label": "2 Mbit/s, slow start", "claims": ["e01", "e02"]}]}
    claims = [Fields(Path("x.yaml"), {"id": f"x/{name}", **claim}) for name in ("e01", "e02")]
    layers = TableFigure(Fields(Path("x.yaml"), figure), claims).specify(310, interactive=False)["layer"]
    right = next(layer["data"]["values"] for layer in layers if layer["mark"].get("align") == "right")
    row = sorted(text["x"] for text in right if text["y"] == right[-1]["y"])
    assert all(end - begin > style.text_width("0.0118 ±0.0002 ✓") for begin, end in pairwise(row))


@pytest.mark.parametrize(
    ("mean", "std", "written"),
    [
        (0.00371, 0.0004, "0.0037 ±0.0004"),
        (0.3312, 0.0096, "0.33 ±0.01"),
        (0.25, 0.0, "0.25 ±0"),
        (0.9984, 0.0002, "0.998 ±0"),
        (1128.97, 62.3, "1129 ±62"),
        (7.9e-4, 1e-5, "7.9e-4 ±1e-5"),
    ],
)
def test_a_table_has_no_digits_that_the_seeds_leave_unknown(mean: float, std: float, written: str) -> None:
    assert _with_deviation(mean, std) == written


def test_values_by_seed(runs: Path, tmp_path: Path) -> None:
    values = [{"label": "B = 20", "measure": "cwnd('tcp').max() + 2", "cell": "buffer=20p", "role": "TCP"}]
    values.append({"label": "a claim", "claim": "e03"})
    assert draw(runs, tmp_path, {"kind": "values-by-seed", "axis": "window [packets]", "values": values}) == 0
    svg = svg_of(tmp_path)
    assert ">22 packets<" in svg
    assert told_of(tmp_path).endswith("B = 20 22; a claim 4, paper 4.")
    assert svg.count(f'stroke="{roles.PAPER}"') == 1
    del values[0]["role"]
    figure = {"kind": "values-by-seed", "axis": "window [packets]", "values": values, "role": "LEDBAT"}
    assert draw(runs, tmp_path, figure) == 0
    assert svg_of(tmp_path).count(f'fill="{roles.colour("LEDBAT")}"') > svg.count(f'fill="{roles.colour("LEDBAT")}"')
    values[0]["role"] = "UDP"
    assert draw(runs, tmp_path, {"kind": "values-by-seed", "axis": "window [packets]", "values": values}) == 2


def test_a_quick_look_has_the_reference_set_behind_it(runs: Path, tmp_path: Path) -> None:
    values: list[dict[str, Any]] = [
        {"label": "B = 20", "measure": "cwnd('tcp').max()", "cell": "buffer=20p"},
        {"label": "not run", "measure": "cwnd('tcp').max()", "cell": "buffer=80p"},
        {"label": "share", "claim": "e01"},
    ]
    assert draw(runs, tmp_path, {"kind": "values-by-seed", "axis": "window [packets]", "values": values}) == 0
    folder, reference = tmp_path / "made-by-hand", tmp_path / "reference"
    measured = json.loads((folder / "verdicts.json").read_text())
    for run in measured["runs"]:
        run["size"] = "quick"
    (folder / "verdicts.json").write_text(json.dumps(measured))
    vouch(folder)
    reference.mkdir()
    (reference / "set.json").write_text(json.dumps({"commit": "c"}))
    figure = {"B = 20": {"1": 18, "2": 21, "3": 19}, "not run": {"1": 70, "2": 77, "3": 80, "4": "never"}}
    kept = {"commit": "c", "claims": {"made-by-hand/e01": {"by_seed": {"1": 20.0, "2": 30.0}}}, "figure": figure}
    (reference / "made-by-hand.json").write_text(json.dumps(kept))
    draw_figures(["made-by-hand"], runs, tmp_path, reference=reference)
    svg = svg_of(tmp_path)
    of_reference = ("reference (seeds)", "19 packets (3)", "77 packets (4)", "25 packets (2)")
    for text in ("20 packets", "not run", "this run", *of_reference):
        assert f">{text}<" in svg
    assert "B = 20 20, reference 19 (18 to 21); not run 77 (70 to 80) in the reference set; " in told_of(tmp_path)
    caption = (folder / "figure.txt").read_text()
    assert "Pale bars and strokes are the reference set, 2 to 4 seeds: range and median." in caption
    # on a dark ground the pale parts are less so
    for light, dark in style.DARK_OPACITY.items():
        assert f'[opacity="{light}"]{{opacity:{dark}}}' in svg_module.DARK


def test_numbers_of_as_many_seeds_do_not_say_so_each(tmp_path: Path) -> None:
    values = [{"label": label, "by_seed": {"1": 3.0}} for label in "ab"]
    there = {"reference": {"a": [1, 2, 4], "b": [2, 3, 3]}, "reference_seeds": {"a": 20, "b": 20}}
    made = ValuesBySeed(Fields(tmp_path, {"axis": "time [s]", "values": values, **there}), [])
    svg = plain_svg(made.specify(1200, interactive=False))
    assert ">2 s<" in svg and ">reference<" in svg
    assert "Pale bars and strokes are the reference set, 20 seeds: range and median." in made.caption()


def test_one_number_against_another(runs: Path, tmp_path: Path) -> None:
    axes = {"queue": "queue [packets]", "window": "window [packets]"}
    values = [
        {"label": f"{name}: {case}", "measure": measure, "cell": f"buffer={buffer}p"}
        for case, buffer in (("LEDBAT", 20), ("CUBIC", 40))
        for name, measure in (("queue", "queue_pkts.max() + 3"), ("window", "cwnd('tcp').max()"))
    ]
    figure = {"kind": "scatter", "axes": axes, "values": values}
    assert draw(runs, tmp_path, figure) == 0
    svg = svg_of(tmp_path)
    for text in ("LEDBAT", "CUBIC", "queue [packets]", "window [packets]"):
        assert f">{text}<" in svg
    assert told_of(tmp_path).startswith("Queue [packets] across and window [packets] up; LEDBAT, CUBIC.")
    assert roles.colour(roles.TCP) in svg and roles.colour(roles.LEDBAT) in svg
    assert (tmp_path / "made-by-hand/figure.txt").read_text().startswith("Points are medians over the seeds;")
    one = [{**value, "by_seed": {"1": 5}} for value in values]
    assert Scatter(Fields(tmp_path, {**figure, "values": one})).caption() == "One seed, so no range."
    # the reference set's are rings, which the points of these runs do not hide
    ghosts = {"reference": {value["label"]: [4.9, 5, 5] for value in values}, "reference_seeds": {"a": 5}}
    look = Scatter(Fields(tmp_path, {**figure, **ghosts, "values": one}))
    assert " Pale rings and lines are the reference set, 5 seeds: medians and ranges, hidden " in look.caption()
    assert plain_svg(look.specify(1200, interactive=False)).count('aria-roledescription="point"') == 2
    assert draw(runs, tmp_path, {**figure, "axes": {"queue": "queue [packets]"}}) == 2


def test_a_number_for_each_field_of_a_grid(runs: Path, tmp_path: Path) -> None:
    values = [
        {"label": f"{plot}: {column}: {row}", "measure": measure, "cell": f"buffer={column}p"}
        for plot in ("LEDBAT", "CUBIC")
        for column in (20, 40)
        for row, measure in (("near", "queue_pkts.max() + 3"), ("far", "2 * queue_pkts.max() + 6"))
    ]
    figure = {"kind": "map", "axis": "queue [packets]", "across": "buffer", "down": "distance", "values": values}
    assert draw(runs, tmp_path, figure) == 0
    svg = svg_of(tmp_path)
    for text in ("LEDBAT", "CUBIC", "near", "far", "20", "40"):
        assert f">{text}<" in svg
    assert told_of(tmp_path).startswith("Queue [packets], for distance")
    # half as large, half as deep; of these runs or of the reference set
    depths = [float(depth) for depth in re.findall(r'fill-opacity="([\d.]+)"', svg)]
    assert sorted(depths) == pytest.approx(4 * [0.3] + 4 * [0.6])
    ghosts = {"reference": {"LEDBAT: 20: near": [1, 2, 3]}}
    looks = [{**value, "by_seed": {} if value is values[0] else {"1": 4.0}} for value in values]
    look = kinds.make(Fields(tmp_path, {"figure": {**figure, **ghosts, "values": looks}}), runs)
    assert look.caption().endswith("Those in frames are of this run, all others of the reference set.")
    assert plain_svg(look.specify(1200, interactive=False)).count(f'stroke="{style.INK}" stroke-width="1.6"') == 7
    values[0]["label"] = "LEDBAT: 20"
    assert draw(runs, tmp_path, figure) == 2


@pytest.mark.parametrize(
    ("names", "protocol"),
    [
        (("LEDBAT, first 5 s", ""), "LEDBAT"),
        (("LEDBAT++", "CUBIC"), "LEDBAT++"),
        (("fLEDBAT", "CUBIC"), "LEDBAT"),
        (("10 ms", "CUBIC"), "TCP"),
        (("drop-tail", ""), "queue"),
        (("uTP", "one of three over TCP"), "LEDBAT"),
        (("beside CUBIC", ""), "TCP"),
        (("30 flows of LEDBAT++, at least two", ""), "LEDBAT++"),
        (("its own", "one Transmission"), "LEDBAT"),
        (("what TCP leaves to LEDBAT", ""), "queue"),
    ],
)
def test_a_name_has_the_colour_of_its_protocol(names: tuple[str, str], protocol: str) -> None:
    assert roles.colour_of_name(*names) == roles.colour(protocol)


def test_values_of_groups_stand_side_by_side(runs: Path, tmp_path: Path) -> None:
    def value(group: str, name: str) -> dict[str, str]:
        return {"label": f"{group}: {name}", "measure": "cwnd('tcp').max()", "cell": "buffer=20p"}

    values = [value(group, name) for group in ("one", "two") for name in ("first", "second")]
    assert draw(runs, tmp_path, {"kind": "values-by-seed", "axis": "window [packets]", "values": values}) == 0
    svg = svg_of(tmp_path)
    # each plot can be read by itself
    assert [svg.count(f">{text}<") for text in ("one", "two", "first", "second", "20 packets")] == [1, 1, 2, 2, 4]
    narrow = (tmp_path / "made-by-hand" / "figure-narrow.svg").read_text()
    assert [narrow.count(f">{text}<") for text in ("one", "two", "first", "second", "20 packets")] == [1, 1, 2, 2, 4]
    assert height(svg) < height(narrow)


def test_the_names_of_axes_that_stand_side_by_side_do_not_meet(runs: Path, tmp_path: Path) -> None:
    values = [
        {"label": f"{group}: it", "measure": "cwnd('tcp').max()", "cell": "buffer=20p"}
        for group in ("one", "two", "three", "four", "five")
    ]
    axis = "the largest window that the flow had [packets]"
    assert draw(runs, tmp_path, {"kind": "values-by-seed", "axis": axis, "values": values}) == 0
    svg = svg_of(tmp_path)
    assert f">{axis}<" not in svg
    assert svg.count(">the largest") == 5


def test_the_axis_of_a_single_value_tells_where_it_is(runs: Path, tmp_path: Path) -> None:
    values = [{"label": "one", "measure": "4.41 + 0 * cwnd('tcp').max()", "cell": "buffer=20p"}]
    assert draw(runs, tmp_path, {"kind": "values-by-seed", "axis": "score", "values": values}) == 0
    assert ">4<" not in svg_of(tmp_path)
    assert ">4.40<" in svg_of(tmp_path)


def test_a_group_of_values_without_a_number_is_left_out(runs: Path, tmp_path: Path) -> None:
    here = {"label": "here: first", "measure": "cwnd('tcp').max()", "cell": "buffer=20p"}
    never = {"label": "never: second", "measure": "cwnd('tcp').first_time_above(99)", "cell": "buffer=20p"}
    figure = {"kind": "values-by-seed", "axis": "window [packets]", "values": [here, never]}
    assert draw(runs, tmp_path, figure) == 0
    path = tmp_path / "made-by-hand" / "verdicts.json"
    measured = json.loads(path.read_text())
    measured["figure"]["values"].append({**here, "label": "elsewhere: third", "by_seed": {}})
    path.write_text(json.dumps(measured))
    vouch(path.parent)
    draw_figures(["made-by-hand"], runs, tmp_path)
    svg = svg_of(tmp_path)
    assert [f">{text}<" in svg for text in ("here", "never", "elsewhere")] == [True, True, False]


def height(svg: str) -> int:
    match = re.search(r'<svg[^>]* height="(\d+)', svg)
    assert match
    return int(match[1])


def test_what_never_happens_is_told_in_figures_of_numbers(runs: Path, tmp_path: Path) -> None:
    late = "cwnd('tcp').first_time_above({})"
    values = [{"label": "a window of 21", "measure": late.format(21), "cell": "buffer=20p"}]
    assert draw(runs, tmp_path, {"kind": "values-by-seed", "axis": "instant [s]", "values": values}) == 0
    assert ">a window of 21<" in svg_of(tmp_path) and ">never<" in svg_of(tmp_path)
    plot = {"axis": "instant [s]", "measure": late.format(30)}
    assert draw(runs, tmp_path, {"kind": "curves", "over": "buffer", "axis": "buffer", "plots": [plot]}) == 0
    measured = json.loads((tmp_path / "made-by-hand" / "verdicts.json").read_text())["figure"]["plots"][0]["points"]
    assert [set(point["by_seed"].values()) for point in measured] == [{"never"}, {2.9}]


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"kind": "pie"}, "figure.kind: found 'pie'; allowed: time-series, curves, table, values-by-seed"),
        (
            {"kind": "time-series", "panels": ["wind"]},
            "rate, sent-rate, window, in-flight, queue, queue-ms, waited-ms, estimate-ms, rtt-ms, path (did you mean",
        ),
        (
            {"kind": "time-series", "panels": ["rate"], "cells": ["x"]},
            "figure.cells: found 'x', allowed is at least one of buffer=",
        ),
        ({"kind": "time-series", "panels": ["rate"], "interval": [5]}, "allowed is two instants in seconds"),
        (
            {"kind": "curves", "over": "rate", "axis": "x", "plots": [{"measure": "cwnd('tcp').max()"}]},
            "a name of the matrix: buffer",
        ),
        (
            {"kind": "table", "columns": ["a"], "rows": [{"label": "r", "claims": ["e99"]}]},
            "found 'e99', allowed is the",
        ),
        ({"kind": "table", "columns": ["a"], "rows": [{"label": "r", "claims": []}]}, "for each of 1 columns"),
    ],
)
def test_a_wrong_declaration_is_one_sentence(
    runs: Path, tmp_path: Path, figure: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draw(runs, tmp_path, figure) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_verdicts_have_the_colours_of_the_pages() -> None:
    sheet = (Path(report.__file__).parent / "templates" / "report.css").read_text()
    light, *dark = re.findall(r"--holds: .*", sheet)
    for verdict in ("holds", "nearly", "open", "does not hold"):
        name, colour = verdict.replace(" ", "-"), style.VERDICTS[verdict]
        assert f"--{name}: {colour};" in light
        assert len(dark) == 2 and all(f"--{name}: {style.DARK[colour]};" in line for line in dark)
