"""The papers' usual figure: congestion windows over time, and below them the bottleneck's queue."""

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
Rows = list[dict[str, Any]]


def windows_and_queue(runs: list[Run], figure: Document, width: int) -> dict[str, Any]:
    """Draw the windows of all flows with their sum, and the queue with target and buffer; all seeds, one of them bold.

    `figure` may say the `interval` [s, s] (default: the whole run) and `marks`, instants that the paper's text names.
    Returns a Vega-Lite specification `width` pixels wide.
    """
    shown = representative(runs)
    others = [run for run in runs if run is not shown]
    t0, t1 = _interval(figure, shown)
    marks = [{"t": mark.get("at", float), "text": mark.get("text", str)} for mark in figure.children("marks")]
    roomy = width >= style.WIDE
    time = alt.X("t:Q", scale=alt.Scale(domain=[t0, t1], nice=False), title="time [s]")

    def points(run: Run, series: Series, **line: Any) -> Rows:
        # the more lines, the coarser: the file stays small, and faint lines need no detail
        buckets = width if run is shown else max(width // (2 * len(runs)), 60)
        thinned = thin(series, max(t0, series.start), t1, buckets)
        return [{"t": t, "pkts": pkts, "seed": run.settings.seed, **line} for t, pkts in thinned]

    def window_rows(of: list[Run]) -> Rows:
        return [row for run in of for name, series in _windows(run).items() for row in points(run, series, line=name)]

    def queue_rows(of: list[Run]) -> Rows:
        return [row for run in of for row in points(run, run.queue_pkts)]

    lines = list(_windows(shown))
    colours = [style.SUM if line == SUM else style.FLOWS[index] for index, line in enumerate(lines)]
    encoding = [
        time.title(None),
        alt.Y("pkts:Q", title="window [packets]"),
        alt.Color("line:N", scale=alt.Scale(domain=lines, range=colours), legend=alt.Legend(title=None)),
        alt.Detail(["line:N", "seed:N"]),
    ]
    upper = alt.layer(
        *_marks(marks, words=roomy),
        _lines(window_rows(others), 0.8, style.FAINT).encode(*encoding),
        _lines(window_rows([shown]), 1.6, 1).encode(*encoding, tooltip=["line:N", "t:Q", "pkts:Q", "seed:N"]),
    ).properties(width=width, height=290 if roomy else 210)

    top = max(shown.settings.buffer_pkts, *(run.queue_pkts.max() for run in runs)) * 1.12
    encoding = [
        time,
        alt.Y("pkts:Q", title="queue [packets]", scale=alt.Scale(domain=[0, top], nice=False)),
        alt.Color(value=style.QUEUE),
        alt.Detail("seed:N"),
    ]
    lower = alt.layer(
        *_marks(marks, words=False),
        _lines(queue_rows(others), 0.8, style.FAINT).encode(*encoding),
        _lines(queue_rows([shown]), 1.2, 1).encode(*encoding, tooltip=["t:Q", "pkts:Q", "seed:N"]),
        *_levels(shown, t1),
    ).properties(width=width, height=150 if roomy else 120)

    zoom = alt.selection_interval(bind="scales", encodings=["x"], name="zoom")
    both = alt.vconcat(upper, lower.add_params(zoom), spacing=12).resolve_scale(x="shared")
    specification: dict[str, Any] = both.configure(**style.CONFIG).to_dict()
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


def _lines(rows: Rows, stroke: float, opacity: float) -> alt.Chart:
    data = alt.InlineData(values=rows)
    chart: alt.Chart = alt.Chart(data).mark_line(
        interpolate="step-after", strokeWidth=stroke, opacity=opacity, clip=True
    )
    return chart


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


def _levels(run: Run, t1: float) -> list[alt.Chart]:
    levels: list[tuple[float, str, list[float]]] = [(run.settings.buffer_pkts, "buffer", [1, 0])]
    levels += [(target, "target", [6, 3]) for target in _targets(run)]
    charts = []
    for level, name, dash in levels:
        chart = alt.Chart(alt.InlineData(values=[{"t": t1, "pkts": level, "text": name}])).encode(y="pkts:Q")
        words = chart.mark_text(align="right", baseline="bottom", dx=-3, dy=-1, color=style.REFERENCE)
        charts += [
            chart.mark_rule(color=style.REFERENCE, strokeDash=dash, strokeWidth=1.1),
            words.encode(x="t:Q", text="text:N"),
        ]
    return charts
