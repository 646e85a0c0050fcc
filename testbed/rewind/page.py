"""The page of a rewind: the run and its futures in a picture, what became of each, and packets around the instant."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.figures import alternative_text, style, svg
from analysis.report.evidence import Link, of_run
from analysis.run import Run
from analysis.series import NotMeasuredError
from common.counts import plural
from testbed.shared.made import made_of
from testbed.shared.packets import TAP, ShownPacket, around
from testbed.shared.page import write_page
from testbed.shared.panel import CLIENT

TEMPLATE: Final = Path(__file__).with_name("rewind.html")
RUN, KEPT, BROKEN, OTHER = "the run", "a future that keeps it", "a future that breaks it", "a future"
COLOURS: Final = {
    RUN: style.INK,
    KEPT: style.VERDICTS["holds"],
    BROKEN: style.VERDICTS["does not hold"],
    OTHER: style.VERDICTS["open"],
}
DASHES: Final = {RUN: [1, 0], KEPT: [6, 2], BROKEN: [2, 2], OTHER: [6, 2]}
HEIGHT: Final = 220
_STEPS: Final = 150  # of a line
_FINEST_S: Final = 0.1

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Branch:
    """A future: its run, whether it breaks the property, what was measured, and late captures.

    `is_broken` is None without a property, and where the future does not tell.
    """

    name: str
    folder: Path
    is_broken: bool | None
    measured: str
    same_pkts: int
    late: Sequence[Path]

    @property
    def kind(self) -> str:
        """What its line is called."""
        return OTHER if self.is_broken is None else BROKEN if self.is_broken else KEPT


@dataclass(frozen=True)
class PageData:
    """What a page shows: the run, the instant (s) and the futures from there, what is otherwise, and shares by instant.

    `lost_s` is None without a search for the point of no return; `at_s` is the last open instant with one.
    """

    run: Path
    cell: str
    at_s: float
    lost_s: float | None
    holds: str | None
    otherwise: str
    branches: Sequence[Branch]
    shares: Sequence[tuple[float, float]]
    command: str


def write(home: Path, shown: PageData) -> Path:
    """Write index.html and its pictures into the folder of a rewind; return the page."""
    run = Run(shown.run)
    flow = watched(run)
    futures = [(branch, Run(branch.folder)) for branch in shown.branches]
    rates = rate_of_run = ""
    drawn = True
    try:
        rates = _spread([_mean(future, flow, shown.at_s) for _, future in futures])
        rate_of_run = style.number(_mean(run, flow, shown.at_s))
        _draw(home / "futures", _futures(run, futures, flow, shown.at_s), _told_futures(run, futures, flow, shown.at_s))
    except NotMeasuredError:  # neither the bottleneck nor the sender says what passed
        drawn = False
    if shown.shares:
        says = [(f"{at_s:.3f} s", f"{100 * share:.0f} %") for at_s, share in shown.shares]
        axes = "Futures that fail [%] over the instant from which they are otherwise [s]"
        _draw(
            home / "shares",
            _shares(shown),
            alternative_text.picture(axes, "A point for each instant that was tried", [("", says)]),
        )
    broken = _broken(shown)
    unknown = sum(branch.is_broken is None for branch in shown.branches)
    came_out = f"{broken} from that instant{f'; of {unknown} it is unknown' if unknown else ''}."
    if not shown.holds:
        came_out = f"{flow} has {rates} Mbit/s from that instant on; in the run, {rate_of_run} Mbit/s." if rates else ""
    values = {
        "shown": shown,
        "headline": _headline(shown, run.settings.experiment, f"{flow} has {rates} Mbit/s" if rates else ""),
        "came_out": came_out,
        "experiment": run.settings.experiment,
        "seed": run.settings.seed,
        "flow": flow,
        "drawn": drawn,
        "run_title": run.settings.title,
        "tap": _tap(run),
        "packets": _packets(run, shown.at_s, flow),
        "own": of_run(shown.run, home),
        "futures": [
            {
                "branch": branch,
                "evidence": of_run(branch.folder, home),
                "late": [Link(file.stem, str(file.relative_to(home))) for file in branch.late],
                "packets": _packets(future, shown.at_s, flow),
            }
            for branch, future in futures
        ],
    }
    made = made_of([shown.run, *(branch.folder for branch in shown.branches)])
    return write_page(home / "index.html", TEMPLATE, values, made, again=shown.command, files=["rewind.json"])


def _headline(shown: PageData, experiment: str, rates: str) -> str:
    """Say what came out in a line; `rates` is what the flow has in the futures, if that was measured."""
    if shown.lost_s == 0:
        return f"No instant decides {experiment}: half of the futures or more fail from its beginning"
    if shown.lost_s is not None:
        return f"{experiment} is decided between {shown.at_s:.3f} s and {shown.lost_s:.3f} s"
    since = f"from {shown.at_s:.3f} s on"
    futures = f"{plural(len(shown.branches), 'future')} of {experiment}"
    if shown.holds:
        return f"{_broken(shown, experiment)} {since}"
    return f"{rates} {since} in {futures}" if rates else f"{futures} {since}"


def _broken(shown: PageData, experiment: str = "") -> str:
    """Say how many futures break the property."""
    broken = sum(branch.is_broken is True for branch in shown.branches)
    of = f" of {experiment}" if experiment else ""
    futures = plural(len(shown.branches), "future")
    return f"{broken} of {futures}{of} {'breaks' if broken == 1 else 'break'} the property"


def watched(run: Run) -> str:
    """Name the flow that is shown: the client of the products' scenarios, else the first."""
    names = [flow.name for flow in run.settings.flows]
    return CLIENT if CLIENT in names else names[0]


def _tap(run: Run) -> str | None:
    """Name the tap whose packets are shown; None if nothing was captured."""
    taps = run.settings.captures
    return TAP if TAP in taps else next(iter(taps), None)


def _packets(run: Run, at_s: float, flow: str) -> list[ShownPacket]:
    tap = _tap(run)
    return around(run, at_s, tap, flow) if tap else []


def _rates(run: Run, flow: str, begin_s: float, kind: str, name: str) -> Rows:
    """Give the rate (Mbit/s) of a flow from an instant on, in steps that a picture can show."""
    step_s = max(_FINEST_S, round(run.duration / _STEPS, 1))
    series = run.rate(flow, step_s).scaled(1e-6)
    times = np.arange(max(begin_s, 0.0), run.duration - step_s / 2, step_s)
    return [
        {"t": round(float(t), 3), "v": round(float(value), 4), "kind": kind, "name": name}
        for t, value in zip(times, series.sampled(times), strict=True)
    ]


def _futures(run: Run, futures: Sequence[tuple[Branch, Run]], flow: str, at_s: float) -> style.Specification:
    rows = [row for branch, future in futures for row in _rates(future, flow, at_s, branch.kind, branch.name)]
    rows += _rates(run, flow, 0.0, RUN, RUN)
    kinds = [kind for kind in COLOURS if any(row["kind"] == kind for row in rows)]
    colours = {"domain": kinds, "range": [COLOURS[kind] for kind in kinds]}
    dashes = {"domain": kinds, "range": [DASHES[kind] for kind in kinds]}
    legend: dict[str, Any] = {"title": None, "orient": "top", "symbolType": "stroke", "symbolSize": 400}
    legend |= {"labelColor": style.INK, "labelFontSize": style.TEXT, "labelLimit": style.NARROW}
    lines = {
        "data": {"values": rows},
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6},
        "encoding": {
            "x": _time(run.duration),
            "y": {"field": "v", "type": "quantitative", "title": f"rate of {flow} [Mbit/s]"},
            "color": {"field": "kind", "type": "nominal", "scale": colours, "legend": legend},
            "strokeDash": {"field": "kind", "type": "nominal", "scale": dashes, "legend": legend},
            "detail": {"field": "name"},
        },
    }
    return {"layer": [lines, _rule(at_s)]}


def _mean(run: Run, flow: str, at_s: float) -> float:
    """Mean rate of a flow (Mbit/s) from an instant on."""
    return run.rate(flow, _FINEST_S).scaled(1e-6).mean(at_s)


def _spread(numbers: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(map(style.number, (min(numbers), max(numbers)))))


def _told_futures(run: Run, futures: Sequence[tuple[Branch, Run]], flow: str, at_s: float) -> str:
    ends = [(RUN, run), *((f"{branch.name}, {branch.kind}", future) for branch, future in futures)]
    means = [(name, style.number(_mean(each, flow, at_s))) for name, each in ends]
    axes = f"Rate of {flow} [Mbit/s] over 0 to {style.number(run.duration)} s, of the run and its futures"
    return alternative_text.picture(axes, f"Values are means from {style.number(at_s)} s on", [("", means)])


def _shares(shown: PageData) -> style.Specification:
    points = [{"t": at_s, "v": 100 * share} for at_s, share in shown.shares]
    mark = {
        "data": {"values": points},
        "mark": {"type": "point", "filled": True, "size": 60, "color": style.INK},
        "encoding": {
            "x": _time(max(at_s for at_s, _ in shown.shares)),
            "y": {"field": "v", "type": "quantitative", "title": "fail [%]", "scale": {"domain": [0, 100]}},
        },
    }
    half = {
        "data": {"values": [{"v": 50}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": style.SOFT},
        "encoding": {"y": {"field": "v", "type": "quantitative"}},
    }
    return {"layer": [mark, half, _rule(shown.at_s)]}


def _time(end_s: float) -> dict[str, Any]:
    return {
        "field": "t",
        "type": "quantitative",
        "title": "time [s]",
        "axis": {"tickCount": 10},
        "scale": {"domain": [0, end_s], "nice": False},
    }


def _rule(at_s: float) -> style.Specification:
    return {
        "data": {"values": [{"t": at_s}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": style.VERDICTS["nearly"], "strokeWidth": 1.5},
        "encoding": {"x": {"field": "t", "type": "quantitative"}},
    }


def _draw(place: Path, layers: style.Specification, alternative: str) -> None:
    def specify(width: int) -> style.Specification:
        return style.specification({"width": width - style.AXIS - style.GAP, "height": HEIGHT, **layers})

    svg.write(place, specify, alternative)
