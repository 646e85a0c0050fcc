"""Time series: panels (rate, window, queue, delay) one below the other, cells side by side."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Final

import numpy as np

from analysis.claims.question import Question
from analysis.documents import Fields
from analysis.errors import BadInputError
from analysis.figures import alternative_text, panels, plot, roles, style
from analysis.figures.bands import band, strokes
from analysis.figures.panels import Panel
from analysis.figures.plot import Mark, Plot, PlotLine
from analysis.figures.roles import Role
from analysis.figures.style import Specification
from analysis.run import Run
from analysis.run_json import Flow
from analysis.runs import Runs
from scenarios.cell_names import SINGLE

BESIDE: Final = 3  # cells side by side at most
FINEST: Final = 1200  # intervals whose medians and ranges are taken; figures to look at join some of them
JOINED: Final = (2, 3, 4, 6, 8, 10, 12, 24)
BEYOND: Final = 0.15  # of the interval: how far after its end an instant of the paper is still shown
STROKES: Final = 240  # intervals of a panel that draws each value
PIXELS: Final = 1.8  # of such a joined interval, at least
LABEL: Final = 100  # pixels of cells' titles as names of their lines; longer ones only stand above the panels
MOST_MISSING: Final = 4  # cells that a caption names as not run
MANY: Final = 4  # lines of a panel whose ranges over the seeds would cover each other
OWN_SCALE: Final = 5  # cells whose largest values are so many times apart do not share the axis of a panel
RoleChoice = Callable[[Sequence[Flow]], dict[str, Role]]  # gives flows their roles


@dataclass(frozen=True)
class CellSeries:
    """The runs of one cell."""

    cell: str  # after the experiment, if that is another
    title: str | None
    runs: list[Run]
    shown: Run  # the one whose medians are drawn


def make(measured: Fields, runs: Path) -> "TimeSeries":
    """Make the figure of an experiment."""
    entry = measured.child("experiment")
    ask = Question(Runs(runs), entry.get("runs_of", str), entry.maybe("words", dict) or {})
    return TimeSeries(measured.child("figure"), ask, measured.children("claims"))


class TimeSeries:
    """A figure of kind `time-series`.

    Its declaration has `panels` (names of `panels.py`, or expressions), and may have the `interval` [s, s] (default:
    the whole run), `cells` (default: all; with `runs_of` one of another experiment, for a figure of several panels),
    `step` (s, of rates) and `marks`, instants that the paper's text names, in the cells of the experiment itself; with
    `everywhere: true` in all. `heights` are values that the paper prints, by their claims, on the axis of the first
    panel. With `together: true` the lines of all cells lie in one plot.
    """

    def __init__(self, figure: Fields, ask: Question, claims: list[Fields], named: RoleChoice = roles.of_flows) -> None:
        self._named = named
        self._experiment = ask.experiment
        step_s = figure.maybe("step", float) or 1.0
        declared = [panels.panel(fields, figure, step_s, ask) for fields in figure.get("panels", list)]
        made = [_kept(panel) for panel in declared]
        self._columns = list(_columns(figure, ask, made))
        shown = {column.cell for column in self._columns}
        self._missing = [title for cell, title in _titles(figure).items() if cell not in shown]
        self._together = figure.maybe("together", bool) or False
        self._heights = _told_apart([_mark(height, claims) for height in figure.children("heights")])
        self._interval = t0, t1 = _interval(figure, self._columns)
        self._left_out = _left_out(made, self._columns)
        # packets in flight of an encrypted flow are not measured
        self._panels = [panel for panel in made if any(_has_line(panel, column.shown, t1) for column in self._columns)]
        marks = [_mark(mark, claims) for mark in figure.children("marks")]
        # what the paper names may come a little after the end of what was measured
        self._marks = [mark for mark in marks if t0 <= mark.begin and mark.end <= t1 + BEYOND * (t1 - t0)]

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        text = "; ".join(panel.says for panel in self._panels)
        text = f"From top to bottom: {text}." if len(self._panels) > 1 else f"{text[:1].upper()}{text[1:]}."
        count = max(len(column.runs) for column in self._columns)
        if count > 1:
            which = "first of 2 seeds" if count == 2 else f"seed closest to the median of {count}"
            text += f" Each line is the {which}, smoothed to medians; its band reaches from the smallest to the largest"
            text += " value of all seeds."
            if any(self._are_many(len(panel.lines)) for plots in self._plots for panel in plots):
                text += " Where lines are many, bands are of that seed alone."
        else:
            text += f" Seed {self._columns[0].shown.settings.seed}."
            if not all(panel.each for panel in self._panels):
                text += (
                    " Lines are medians over short intervals, bands reach from the smallest to the largest value there."
                )
        if any(panel.each for panel in self._panels):
            text += " Strokes are the values that occurred."
        if self._heights:
            text += " Dotted lines across are the values that the paper prints"
            text += (
                ", shaded as far as counts as holding." if any(mark.low is not None for mark in self._heights) else "."
            )
        if self._marks:
            text += " Dotted lines are the instants that the paper names"
            allowed = [mark for mark in self._marks if mark.low is not None]
            text += ", shaded as far as counts as holding" * bool(allowed)
            text += ", more strongly where two do" * any(_meet(*pair) for pair in combinations(allowed, 2))
            text += "."
        tops = ({panel.top for panel in row} for row in zip(*self._plots, strict=True))
        if not self._together and any(len(of_row) > 1 for of_row in tops):
            text += " Cells whose values differ much have axes of their own."
        if self._missing:
            beyond = len(self._missing) - MOST_MISSING
            more = f" and {beyond} more" if beyond > 0 else ""
            text += f" Not run here: {', '.join(self._missing[:MOST_MISSING])}{more}."
        if self._left_out:
            text += f" Left out: {'; '.join(self._left_out)}."
        return text

    def alternative(self) -> str:
        """Say what the figure shows to readers who do not see it."""
        return alternative_text.over_time(self._arrangement, *self._interval)

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        roomy = width >= style.WIDE
        arrangement = self._arrangement
        beside = _beside(len(arrangement)) if roomy else 1
        each = (width - style.GAP * (beside - 1)) // beside
        each -= style.AXIS + plot.gutter([panel for _, plots in arrangement for panel in plots])
        joined = 2 if interactive else next((by for by in JOINED if FINEST / by <= each / PIXELS), JOINED[-1])
        datasets: dict[str, plot.Rows] = {}
        arranged: list[Specification] = []
        for number, (heading, plots) in enumerate(arrangement):
            drawn = []
            for index, fine in enumerate(plots):
                points, name = fine.coarser(joined), f"d{number}-{index}"
                if roomy or not interactive:  # interactive layouts share those of the wide one
                    datasets[name] = plot.rows(points.lines)
                if roomy and interactive:
                    datasets[f"{name}-hover"] = plot.hover(points)
                # touching a phone's screen scrolls
                zoom = f"zoom{number}" if interactive and roomy and index == 0 else None
                height = (260 if len(plots) < 3 else 220) if index == 0 else 140
                drawn.append(plot.draw(points, each, height, data=name, interactive=interactive, zoom=zoom))
            title = {"title": {"text": heading, "fontWeight": "bold", "offset": 4}} if heading else {}
            resolve = {"resolve": {"scale": {"x": "shared"}}} if interactive and roomy else {}
            arranged.append({**title, "vconcat": drawn, "spacing": 10, **resolve})
        body = {"concat": arranged, "columns": beside, "spacing": {"row": 26, "column": style.GAP}}
        return style.specification({**body, "datasets": datasets})

    @cached_property
    def _arrangement(self) -> list[tuple[str | None, list[Plot]]]:
        if self._together:
            return self._joined()
        return [(column.title, plots) for column, plots in zip(self._columns, self._plots, strict=True)]

    def _joined(self) -> list[tuple[str | None, list[Plot]]]:
        """Join the plots of all cells: each line of a flow has the title of its cell, and a colour of its protocol.

        What the cells share stands there once: the course of the capacity, and that of the path.
        """
        titles = [column.title or column.cell for column in self._columns]
        senders = [
            replace(column.shown.settings.flows[0], name=title, start_s=0.0)
            for title, column in zip(titles, self._columns, strict=True)
        ]
        named = self._named(senders)
        return [(None, [_join(row, titles, named) for row in zip(*self._plots, strict=True)])]

    @cached_property
    def _plots(self) -> list[list[Plot]]:
        """Plots of each column, from top to bottom, in the finest intervals."""
        made: list[list[Plot]] = [[] for _ in self._columns]
        marks = [[mark for mark in self._marks if self._is_of(mark, column)] for column in self._columns]
        for index, panel in enumerate(self._panels):
            lines = [self._lines(column, panel) for column in self._columns]
            levels = [panel.levels(column.shown) for column in self._columns]
            heights = self._heights if index == 0 else []
            printed = [(mark.text, mark.end) for mark in heights]
            for number, top in enumerate(_tops(lines, [[*of_cell, *printed] for of_cell in levels])):
                made[number].append(
                    Plot(
                        panel.axis,
                        (self._interval[0], max([self._interval[1], *(mark.end for mark in self._marks)])),
                        lines[number],
                        top,
                        levels[number],
                        marks[number],
                        heights,
                        words=index == 0,
                        last=index == len(self._panels) - 1,
                    )
                )
        return made

    def _is_of(self, mark: Mark, column: CellSeries) -> bool:
        """Say whether an instant of the paper stands in the plots of a cell."""
        is_own = column.shown.settings.experiment == self._experiment
        return mark.everywhere or (is_own and (mark.cell in (None, column.cell) or len(self._columns) == 1))

    def _lines(self, column: CellSeries, panel: Panel) -> list[PlotLine]:
        t0, t1 = self._interval
        shown = panel.lines(column.shown)
        named = self._roles(column)
        lines: list[PlotLine] = []
        for name, series in shown.items():
            if series.start < t1:
                role = named.get(name) or _role(name)
                others = (panel.lines(run).get(name) for run in column.runs if run is not column.shown)
                ranges = band(series, () if self._are_many(len(shown)) else filter(None, others), t0, t1, FINEST)
                each = strokes(series, t0, t1, STROKES) if panel.each else []
                stroke = _stroke(name, role, lines)
                of_path = name not in named and _of_path(name)
                lines.append(PlotLine(role.label, role.colour, ranges, stroke, each, of_path))
        return lines

    def _are_many(self, lines: int) -> bool:
        """Say whether a plot with so many lines of each of its cells has too many for ranges over the seeds."""
        return lines * (len(self._columns) if self._together else 1) >= MANY

    def _roles(self, column: CellSeries) -> dict[str, Role]:
        of_flows = self._named(column.shown.settings.flows)
        title = column.title if column.title not in (None, column.cell) and len(of_flows) == 1 else None
        if title and all(style.text_width(every.title or "") <= LABEL for every in self._columns):
            # alpha1, alpha2 and libutp are all LEDBAT
            return {name: replace(role, label=title) for name, role in of_flows.items()}
        return of_flows


def _stroke(name: str, role: Role, before: Sequence[PlotLine]) -> int:
    """Choose how to draw a line: of several of one colour, such as the queues of both paths, the first through.

    What may lie on the line of a flow is dashed, so that both are seen.
    """
    if name in (panels.SUM, panels.CAPACITY):
        return 1
    return min(sum(line.colour == role.colour for line in before), len(plot.STROKES) - 1)


def _join(plots: Sequence[Plot], titles: Sequence[str], named: Mapping[str, Role]) -> Plot:
    """Join the plots of one panel. What is the same in all of them stands there once: lines of the path, and levels."""
    flows, of_path = list[PlotLine](), dict[tuple[str, bytes], PlotLine]()
    for title, of_cell in zip(titles, plots, strict=True):
        for line in of_cell.lines:
            if line.of_path:
                label = f"{line.label}, {title}" if line.label in {name for name, _ in of_path} else line.label
                of_path.setdefault((line.label, line.band.middle.tobytes()), replace(line, label=label))
            else:
                flows.append(replace(line, label=title, colour=named[title].colour))
    levels = dict.fromkeys(level for of_cell in plots for level in of_cell.levels)
    top = max(of_cell.top for of_cell in plots)
    return replace(plots[0], lines=[*flows, *of_path.values()], levels=list(levels), top=top)


def _tops(lines: list[list[PlotLine]], levels: list[panels.Levels]) -> list[float]:
    """Upper ends of the axes of one panel, by column: one for all where that flattens none."""
    tops = [plot.top_of(*pair) for pair in zip(lines, levels, strict=True)]
    return [max(tops)] * len(tops) if max(tops) <= OWN_SCALE * min(tops) else tops


def _role(name: str) -> Role:
    """Give the role of a line that is no flow's."""
    return Role(name, style.SOFT if name == panels.SUM or _of_path(name) else roles.colour("queue"))


def _of_path(name: str) -> bool:
    return name == panels.CAPACITY or name.endswith(panels.OF_PATH)


def _beside(cells: int) -> int:
    """How many cells to put side by side, so that rows are alike."""
    return math.ceil(cells / math.ceil(cells / BESIDE))


def _mark(declared: Fields, claims: list[Fields]) -> Mark:
    """Read an instant, or take the one that a claim says the paper prints, with what is allowed around it."""
    text, everywhere = declared.get("text", str), declared.maybe("everywhere", bool) or False
    if "claim" not in declared.data:
        at = declared.get("at", float)
        return Mark(text, at, at, everywhere=everywhere)
    named = declared.get("claim", str)
    for claim in claims:
        if claim.get("id", str).rpartition("/")[2] == named:
            begin, end = map(float, claim.maybe("interval", list) or [claim.get("paper", str)] * 2)
            low, high = (claim.maybe("zones", dict) or {}).get("holds", (None, None))
            return Mark(text, begin, end, low, high, claim.maybe("cell", str), everywhere)
    raise declared.error(declared.name("claim"), named, "the last part of the id of a claim of this experiment")


def _meet(one: Mark, other: Mark) -> bool:
    """Say whether what two instants of a plot allow has a part in common."""
    same_plot = None in (one.cell, other.cell) or one.cell == other.cell
    return same_plot and max(one.span[0], other.span[0]) < min(one.span[1], other.span[1])


def _told_apart(heights: list[Mark]) -> list[Mark]:
    """Give heights without what they allow, where that of one reaches into that of another."""
    spans = sorted(height.span for height in heights)
    if all(above[0] >= below[1] for below, above in pairwise(spans)):
        return heights
    return [replace(height, low=None, high=None) for height in heights]


def _has_line(panel: Panel, run: Run, t1: float) -> bool:
    return any(series.start < t1 for series in panel.lines(run).values())


def _left_out(made: list[Panel], columns: list[CellSeries]) -> list[str]:
    """Say which flows have no line in which panel, and why: a panel that no flow has is not drawn at all."""
    said: dict[tuple[str, str], dict[str, None]] = {}  # by panel and reason, the flows in order
    for panel in made:
        for column in columns:
            for flow, why in panel.left_out(column.shown).items():
                said.setdefault((panel.axis.partition(" [")[0], why), {})[flow] = None
    return [f"{axis} of {', '.join(flows)}, since {why}" for (axis, why), flows in said.items()]


def _kept(panel: Panel) -> Panel:
    """Give a panel that makes the lines of a run once, as long as there is room for them."""

    def lines(run: Run) -> panels.Lines:
        return run.cache.get((run.folder, panel), lambda: panel.lines(run))

    return replace(panel, lines=lines)


def _titles(figure: Fields) -> dict[str, str]:
    """Give the cells that a figure names, each with its title."""
    return {_key(cell): cell.get("title", cell["cell"]) for cell in _declared(figure)}


def _declared(figure: Fields) -> list[dict[str, str]]:
    declared = figure.maybe("cells", list) or []
    return [{"cell": SINGLE, **cell} if isinstance(cell, dict) else {"cell": cell} for cell in declared]


def _key(cell: Mapping[str, str]) -> str:
    """Name a cell of a figure: by its experiment, too, where that is another."""
    return " ".join(filter(None, (cell.get("runs_of"), cell["cell"])))


def _columns(figure: Fields, ask: Question, drawn: list[Panel]) -> Iterator[CellSeries]:
    by_cell: dict[str, list[Run]] = {}
    for (cell, _), run in ask.runs.by_cell_and_seed(ask.experiment).items():
        by_cell.setdefault(cell, []).append(run)
    for beside in _declared(figure):
        if "runs_of" in beside:
            runs = ask.runs.by_cell_and_seed(beside["runs_of"]).items()
            if of_cell := [run for (cell, _), run in runs if cell == beside["cell"]]:
                by_cell[_key(beside)] = of_cell
    if not by_cell:
        raise BadInputError(f"no run of {ask.experiment} succeeded")
    titles = _titles(figure) or {cell: cell for cell in by_cell}
    # size quick has fewer cells than the figure shows at size complete
    there = [cell for cell in titles if cell in by_cell]
    if not there:
        raise figure.error(figure.name("cells"), ", ".join(titles), f"at least one of {', '.join(by_cell)}")
    for cell in there:
        yield CellSeries(
            cell, titles[cell] if len(titles) > 1 else None, by_cell[cell], representative(by_cell[cell], drawn)
        )


def representative(runs: list[Run], drawn: list[Panel]) -> Run:
    """Choose the run to draw: over time, its lines are closest to the median over the seeds."""
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


def _interval(figure: Fields, columns: list[CellSeries]) -> tuple[float, float]:
    ends = min(run.duration for column in columns for run in column.runs)
    interval = figure.maybe("interval", list)
    if interval is None:
        return 0.0, ends
    numbers = [t for t in interval if isinstance(t, (int, float))]
    if len(interval) != 2 or len(numbers) != 2 or not 0 <= numbers[0] < numbers[1]:
        raise figure.error(figure.name("interval"), interval, "two instants in seconds, the earlier first")
    # at size quick a run may be shorter
    return float(numbers[0]), min(float(numbers[1]), ends) if ends > numbers[0] else math.nan
