"""Time series: panels (rate, window, queue, delay) one below the other, cells side by side."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.claims.question import Question
from analysis.documents import Document
from analysis.errors import BadInputError
from analysis.figures import panels, style
from analysis.figures.panels import Panel
from analysis.figures.style import Specification
from analysis.figures.thin import thin
from analysis.run import Run
from analysis.runs import Runs

COARSE: Final = 100  # buckets for the lines of the other seeds; faint lines need no detail, and the file stays small
OTHERS: Final = 9  # seeds drawn faint at most; more of them only make a grey band
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Column:
    """The runs of one cell."""

    title: str | None
    runs: list[Run]
    shown: Run  # the one drawn bold


def make(measured: Document, runs: Path) -> "TimeSeries":
    """Make the figure of an experiment."""
    entry = measured.child("experiment")
    ask = Question(Runs(runs), entry.get("runs_of", str), entry.maybe("words", dict) or {})
    return TimeSeries(measured.child("figure"), ask)


class TimeSeries:
    """A figure of kind `time-series`.

    Its declaration has `panels` (names of `panels.py`, or expressions), and may have the `interval` [s, s] (default:
    the whole run), `cells` (default: all), `step` (s, of rates) and `marks`, instants that the paper's text names.
    """

    def __init__(self, figure: Document, ask: Question) -> None:
        step_s = figure.maybe("step", float) or 1.0
        declared = [panels.panel(one, figure, step_s, ask) for one in figure.get("panels", list)]
        self._panels = [_kept(panel, number) for number, panel in enumerate(declared)]
        self._columns = list(_columns(figure, ask, self._panels))
        self._interval = _interval(figure, self._columns)
        marks = [{"t": mark.get("at", float), "text": mark.get("text", str)} for mark in figure.children("marks")]
        self._marks = [mark for mark in marks if self._interval[0] <= float(str(mark["t"])) <= self._interval[1]]
        names = [line for panel in self._panels for column in self._columns for line in panel.lines(column.shown)]
        self._lines = [line for line in dict.fromkeys(names) if line not in (panels.SUM, panels.QUEUE)]

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        text = "; ".join(panel.says for panel in self._panels)
        text = f"From top to bottom: {text}." if len(self._panels) > 1 else f"{text[:1].upper()}{text[1:]}."
        levels = dict.fromkeys(
            f"“{name}” at {value:.4g} {panel.axis.partition('[')[2].rstrip(']')}"
            for panel in self._panels
            for column in self._columns
            for name, value in panel.levels(column.shown)
        )
        if levels:
            text += f" Lines across: {', '.join(levels)}."
        count = max(len(column.runs) for column in self._columns)
        if count == 2:
            text += " Bold is the first of 2 seeds, the other is faint."
        elif count > 2:
            faint = "the others are" if count <= OTHERS + 1 else f"{OTHERS} others are"
            text += f" Bold is the seed closest to the median of {count}; {faint} faint."
        else:
            text += f" Seed {self._columns[0].shown.settings.seed}."
        if self._marks:
            text += " Dotted lines mark the instants that the paper's text names."
        return text

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        roomy = width >= style.WIDE
        count = len(self._columns) if roomy else 1
        each = (width - style.GAP * (count - 1)) // count
        datasets: dict[str, Rows] = {}
        arranged = []
        for number, column in enumerate(self._columns):
            plots = []
            for index, (panel, top) in enumerate(zip(self._panels, self._tops, strict=True)):
                name = f"{number}-{index}"
                datasets[name] = self._rows_of(panel, column.shown, each)
                others = [run for run in column.runs if run is not column.shown][:OTHERS]
                datasets[f"{name}-others"] = [row for run in others for row in self._rows_of(panel, run, COARSE)]
                plot = self._plot(panel, column, name, each, top, first=index == 0, last=index == len(self._tops) - 1)
                if interactive:
                    _make_interactive(plot, f"zoom{number}" if index == 0 else None)
                plots.append(plot)
            title = {"title": column.title} if column.title else {}
            resolve = {"scale": {"x": "shared", "color": "independent"}}
            arranged.append({**title, "vconcat": plots, "spacing": 12, "resolve": resolve})
        direction = "hconcat" if roomy else "vconcat"
        return style.specification(
            {direction: arranged, "datasets": datasets, "resolve": {"scale": {"color": "independent"}}}
        )

    @cache  # noqa: B019 (a figure lives as long as the process that draws it)
    def _rows_of(self, panel: Panel, run: Run, buckets: int) -> Rows:
        t0, t1 = self._interval
        return [
            {"line": line, "t": t, "y": y, "seed": run.settings.seed}
            for line, series in panel.lines(run).items()
            if series.start < t1
            for t, y in thin(series, max(t0, series.start), t1, buckets)
        ]

    @cached_property
    def _tops(self) -> list[float]:
        """Upper end of each panel's axis, the same in all columns: it holds all lines and levels."""
        return [self._top(panel) for panel in self._panels]

    def _top(self, panel: Panel) -> float:
        t0, t1 = self._interval
        highest = [
            series.max(max(t0, series.start), t1)
            for column in self._columns
            for run in column.runs
            for series in panel.lines(run).values()
            if series.start < t1
        ]
        highest += [value for column in self._columns for _, value in panel.levels(column.shown)]
        return max(highest, default=1.0) or 1.0

    def _plot(
        self, panel: Panel, column: Column, data: str, width: int, top: float, *, first: bool, last: bool
    ) -> Specification:
        roomy = width >= style.WIDE
        marks = self._marks if first else []
        lines = self._lines + ([panels.SUM] if panels.SUM in panel.lines(column.shown) else [])
        colour = style.colours(lines, legend=first and bool(lines), width=width)
        if panels.SUM in lines:
            colour["scale"]["range"][-1] = style.SUM
        if panels.QUEUE in panel.lines(column.shown):
            colour = {"value": style.QUEUE}
        room = 1.15 if marks and roomy else 1.06
        time = {"field": "t", "type": "quantitative", "title": "time [s]" if last else None}
        encoding = {
            "x": {**time, "scale": {"domain": list(self._interval), "nice": False}},
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": panel.axis,
                "scale": {"domain": [0, top * room], "nice": False},
            },
            "color": colour,
            "detail": [{"field": "line"}, {"field": "seed"}],
        }
        levels = panel.levels(column.shown)
        height = (290 if roomy else 210) if first else (150 if roomy else 120)
        return {
            "width": width,
            "height": height,
            "layer": [
                *_rules(self._marks, words=roomy and first),
                *_across(levels, width),
                # few points: straight lines between them are closer to the truth than steps
                {
                    "data": {"name": f"{data}-others"},
                    "mark": {"type": "line", "strokeWidth": 0.8, "strokeOpacity": style.FAINT},
                    "encoding": encoding,
                },
                {
                    "data": {"name": data},
                    "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
                    "encoding": encoding,
                },
            ],
        }


def _kept(panel: Panel, number: int) -> Panel:
    """Give a panel that makes the lines of a run once, as long as there is room for them."""

    def lines(run: Run) -> panels.Lines:
        return run.kept.get((run.folder, number), lambda: panel.lines(run))

    return replace(panel, lines=lines)


def _columns(figure: Document, ask: Question, drawn: list[Panel]) -> Iterator[Column]:
    by_cell: dict[str, list[Run]] = {}
    for (cell, _), run in ask.runs.by_cell_and_seed(ask.experiment).items():
        by_cell.setdefault(cell, []).append(run)
    if not by_cell:
        raise BadInputError(f"there is no run of {ask.experiment} that ended well")
    declared = figure.maybe("cells", list) or list(by_cell)
    titles = dict(
        (one["cell"], one.get("title", one["cell"])) if isinstance(one, dict) else (one, one) for one in declared
    )
    # size quick has fewer cells than the figure shows at size full
    there = [cell for cell in titles if cell in by_cell]
    if not there:
        raise figure.error(figure.name("cells"), ", ".join(titles), f"at least one of {', '.join(by_cell)}")
    for cell in there:
        yield Column(titles[cell] if len(there) > 1 else None, by_cell[cell], representative(by_cell[cell], drawn))


def representative(runs: list[Run], drawn: list[Panel]) -> Run:
    """Choose the run to draw bold: over time, its lines are closest to the median over the seeds."""
    if len(runs) < 3:
        return runs[0]
    times = np.linspace(0, min(run.duration for run in runs), 500, endpoint=False)
    distance = np.zeros(len(runs))
    for panel in drawn:
        lines = [{name: line.sampled(times) for name, line in panel.lines(run).items()} for run in runs]
        for name in lines[0]:
            curves = np.array([of_run.get(name, 0 * times) for of_run in lines])
            # panels have different units: distances count in parts of the largest value
            distance += np.abs(curves - np.median(curves, axis=0)).mean(axis=1) / (curves.max() or 1.0)
    return runs[int(distance.argmin())]


def _interval(figure: Document, columns: list[Column]) -> tuple[float, float]:
    ends = min(run.duration for column in columns for run in column.runs)
    interval = figure.maybe("interval", list)
    if interval is None:
        return 0.0, ends
    numbers = [t for t in interval if isinstance(t, (int, float))]
    if len(interval) != 2 or len(numbers) != 2 or not 0 <= numbers[0] < numbers[1]:
        raise figure.error(figure.name("interval"), interval, "two instants in seconds, the earlier first")
    # at size quick a run may be shorter
    return float(numbers[0]), min(float(numbers[1]), ends) if ends > numbers[0] else math.nan


def _rules(marks: Rows, *, words: bool) -> list[Specification]:
    if not marks:
        return []
    x = {"x": {"field": "t", "type": "quantitative"}}
    rule = {"type": "rule", "color": style.MARK, "strokeDash": [2, 3]}
    layers: list[Specification] = [{"data": {"values": marks}, "mark": rule, "encoding": x}]
    text = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "color": "#555555"}
    for row, mark in enumerate(marks if words else []):
        # a line for each: marks may be closer together than their words are long
        encoding = {**x, "y": {"value": 3 + 14 * row}, "text": {"field": "text"}}
        layers.append({"data": {"values": [mark]}, "mark": text, "encoding": encoding})
    return layers


def _across(levels: panels.Levels, width: int) -> list[Specification]:
    """Draw lines across a panel, named at their right end."""
    layers: list[Specification] = []
    for name, value in levels:
        data = {"values": [{"y": value, "text": name}]}
        y = {"y": {"field": "y", "type": "quantitative"}}
        rule = {"type": "rule", "color": style.REFERENCE, "strokeDash": style.DASHES[name], "strokeWidth": 1.1}
        text = {"type": "text", "align": "left", "baseline": "middle", "dx": 4, "color": style.REFERENCE}
        layers.append({"data": data, "mark": rule, "encoding": y})
        layers.append({"data": data, "mark": text, "encoding": {**y, "x": {"value": width}, "text": {"field": "text"}}})
    return layers


def _make_interactive(plot: Specification, zoom: str | None) -> None:
    """Let the reader zoom in time, and read values under the pointer."""
    bold = plot["layer"][-1]
    for layer in plot["layer"][-2:]:
        # what is zoomed in must not stick out; in the still picture nothing does, and clipping costs a mask a line
        layer["mark"] = {**layer["mark"], "clip": True}
    bold["encoding"] = {**bold["encoding"], "tooltip": [{"field": name} for name in ("line", "t", "y", "seed")]}
    if zoom:
        bold["params"] = [{"name": zoom, "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}]
