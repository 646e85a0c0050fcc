"""The papers' usual figure: congestion windows over time, and below them the bottleneck's queue."""

from collections.abc import Callable
from typing import Any, Final

import altair as alt
import numpy as np

from analysis.documents import Document
from analysis.errors import BadInputError
from analysis.figures import style
from analysis.figures.thin import thin
from analysis.run import Run
from analysis.series import Series

SUM: Final = "sum"
COARSE: Final = 100  # buckets for the lines of the other seeds; faint lines need no detail, and the file stays small
Rows = list[dict[str, Any]]


def windows_and_queue(runs: list[Run], figure: Document, width: int) -> dict[str, Any]:
    """Draw the windows of all flows with their sum, and the queue with target and buffer; all seeds, one of them bold.

    `figure` may say the `interval` [s, s] (default: the whole run) and `marks`, instants that the paper's text names.
    Returns a Vega-Lite specification `width` pixels wide.
    """
    shown = representative(runs)
    t0, t1 = _interval(figure, shown)
    marks = [{"t": mark.get("at", float), "text": mark.get("text", str)} for mark in figure.children("marks")]
    roomy = width >= style.WIDE

    def rows(of: list[Run], buckets: int, series_of: Callable[[Run], dict[str, Series]]) -> Rows:
        return [
            {"line": line, "t": t, "pkts": pkts, "seed": run.settings.seed}
            for run in of
            for line, series in series_of(run).items()
            for t, pkts in thin(series, max(t0, series.start), t1, buckets)
        ]

    others = [run for run in runs if run is not shown]
    # the drawing library copies inline data over and over, so charts only name data that is added at the end
    datasets = {
        "windows": rows([shown], width, _windows),
        "windows-others": rows(others, COARSE, _windows),
        "queue": rows([shown], width, _queue),
        "queue-others": rows(others, COARSE, _queue),
    }
    lines = list(_windows(shown))
    colours = [style.SUM if line == SUM else style.FLOWS[index] for index, line in enumerate(lines)]
    headroom = 1.15 if marks and roomy else 1.05
    time = alt.X("t:Q", scale=alt.Scale(domain=[t0, t1], nice=False), title="time [s]")
    encoding = [
        time.title(None),
        alt.Y("pkts:Q", title="window [packets]", scale=_scale(datasets, "windows", headroom)),
        alt.Color("line:N", scale=alt.Scale(domain=lines, range=colours), legend=alt.Legend(title=None)),
    ]
    upper = alt.layer(*_marks(marks, words=roomy), *_lines("windows", encoding)).properties(
        width=width, height=290 if roomy else 210
    )
    levels = [("buffer", float(shown.settings.buffer_pkts))]
    levels += [("target", target) for target in _targets(shown)]
    encoding = [
        time,
        alt.Y("pkts:Q", title="queue [packets]", scale=_scale(datasets, "queue", 1.1, *(level for _, level in levels))),
        alt.ColorValue(style.QUEUE),
    ]
    lower = alt.layer(*_marks(marks, words=False), *_levels(levels, width), *_lines("queue", encoding)).properties(
        width=width, height=150 if roomy else 120
    )
    zoom = alt.selection_interval(bind="scales", encodings=["x"], name="zoom")
    both = alt.vconcat(upper, lower.add_params(zoom), spacing=12).resolve_scale(x="shared")
    specification: dict[str, Any] = both.configure(**style.CONFIG).to_dict()
    specification["datasets"] = {**specification.get("datasets", {}), **datasets}
    return specification


def caption(runs: list[Run]) -> str:
    """Say what the reader has to know to read the figure."""
    shown = representative(runs)
    text = (
        "Above: congestion window of each sender, and their sum. Below: packets waiting in the bottleneck's FIFO at "
        f"router r1, of at most {shown.settings.buffer_pkts} (line “buffer”); the packet being sent is not counted"
    )
    targets = _targets(shown)
    if targets:
        levels = " and ".join(f"{packets:.1f} packets ({packets * shown.packet_ms:.0f} ms)" for packets in targets)
        text += f"; the line “target” is LEDBAT's, {levels}"
    text += f". Bold is seed {shown.settings.seed}"
    if len(runs) > 2:
        text += f", the one closest to the median of the {len(runs)} seeds; the others are faint"
    elif len(runs) == 2:
        text += ", the other seed is faint"
    return text + ". Dotted lines mark the instants that the paper's text names."


def representative(runs: list[Run]) -> Run:
    """Choose the run to draw: its windows and queue are, over time, closest to the median over the seeds."""
    if len(runs) < 3:
        return runs[0]
    times = np.linspace(0, min(run.duration for run in runs), 500, endpoint=False)
    curves = np.array([np.concatenate([series.sampled(times) for series in _drawn(run)]) for run in runs])
    distance = np.abs(curves - np.median(curves, axis=0)).mean(axis=1)
    return runs[int(distance.argmin())]


def _drawn(run: Run) -> list[Series]:
    return [*(run.cwnd(flow.name) for flow in run.settings.flows), run.queue_pkts]


def _windows(run: Run) -> dict[str, Series]:
    windows = {flow.name: run.cwnd(flow.name) for flow in run.settings.flows}
    if len(windows) > 1:
        total, *others = windows.values()
        for other in others:
            total = total.plus(other)
        windows[SUM] = total
    return windows


def _queue(run: Run) -> dict[str, Series]:
    return {"queue": run.queue_pkts}


def _interval(figure: Document, run: Run) -> tuple[float, float]:
    interval = figure.maybe("interval", list)
    if interval is None:
        return 0.0, run.duration
    numbers = [t for t in interval if isinstance(t, (int, float))]
    if len(interval) != 2 or len(numbers) != 2 or not 0 <= numbers[0] < numbers[1]:
        raise figure.error(figure.name("interval"), interval, "two instants in seconds, the earlier first")
    if numbers[1] > run.duration:
        raise BadInputError(f"{run.folder}: the figure ends at {numbers[1]:g} s, but the run at {run.duration:g} s")
    return float(numbers[0]), float(numbers[1])


def _lines(data: str, encoding: list[Any]) -> list[alt.Chart]:
    """Draw the lines of the drawn run, and under them those of the other seeds."""
    bold = alt.Chart(alt.NamedData(data)).mark_line(interpolate="step-after", strokeWidth=1.5, clip=True)
    # few points: straight lines between them are closer to the truth than steps
    faint = alt.Chart(alt.NamedData(f"{data}-others")).mark_line(strokeWidth=0.8, opacity=style.FAINT, clip=True)
    detail = alt.Detail(["line:N", "seed:N"])
    tooltip = ["line:N", "t:Q", "pkts:Q", "seed:N"]
    return [faint.encode(*encoding, detail), bold.encode(*encoding, detail, tooltip=tooltip)]


def _scale(datasets: dict[str, Rows], name: str, room: float, *levels: float) -> alt.Scale:
    """Let an axis begin at 0 and hold all lines and levels, with some room above them."""
    top = max(*(row["pkts"] for key in (name, f"{name}-others") for row in datasets[key]), *levels, 1.0)
    return alt.Scale(domain=[0, top * room], nice=False)


def _marks(marks: Rows, *, words: bool) -> list[alt.Chart]:
    rules = alt.Chart(alt.InlineData(values=marks)).mark_rule(color=style.MARK, strokeDash=[2, 3], clip=True)
    charts = [rules.encode(x="t:Q")]
    for row, mark in enumerate(marks if words else []):
        # a line for each: marks may be closer together than their words are long
        text = alt.Chart(alt.InlineData(values=[mark])).mark_text(align="left", baseline="top", dx=4, color="#555555")
        charts.append(text.encode(x="t:Q", y=alt.value(3 + 14 * row), text="text:N"))
    return charts


def _targets(run: Run) -> list[float]:
    """Targets of the flows that have one, in packets of the bottleneck, each once."""
    targets = {flow.params["target_ns"] for flow in run.settings.flows if flow.params.get("target_ns") is not None}
    return [target / 1e6 / run.packet_ms for target in sorted(targets)]


def _levels(levels: list[tuple[str, float]], width: int) -> list[alt.Chart]:
    """Draw lines across the queue, named at their right end."""
    charts = []
    for name, level in levels:
        chart = alt.Chart(alt.InlineData(values=[{"pkts": level, "text": name}])).encode(y="pkts:Q")
        words = chart.mark_text(align="left", baseline="middle", dx=4, color=style.REFERENCE, clip=False)
        charts += [
            chart.mark_rule(color=style.REFERENCE, strokeDash=style.DASHES[name], strokeWidth=1.1),
            words.encode(x=alt.value(width), text="text:N"),
        ]
    return charts
