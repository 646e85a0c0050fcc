"""The one picture of an observed run: throughput, delay, window and queue over time, one above the other."""

from collections.abc import Callable
from typing import Any, Final

import vl_convert

from analysis.figures import style
from analysis.figures.thin import thin
from analysis.run import Run
from analysis.series import NotMeasuredError, Series

RATE_BIN_S: Final = 1.0
HEIGHT: Final = 130
QUEUE: Final = "queue"


def picture(run: Run) -> str:
    """Give the SVG. What a run does not tell stays empty."""
    names = [flow.name for flow in run.settings.flows]
    panels: dict[str, dict[str, Series]] = {
        "throughput [Mbit/s]": _each(names, lambda name: run.rate(name, RATE_BIN_S).scaled(1e-6)),
        "queuing delay seen [ms]": _each(names, run.seen_delay_ms),
        "in flight [packets]": _each(names, run.in_flight),
        "queue [packets]": {QUEUE: run.queue_pkts},
    }
    colour = style.colours(names, legend=True, width=style.WIDE)
    colour["scale"] = {
        "domain": [*colour["scale"]["domain"], QUEUE],
        "range": [*colour["scale"]["range"], style.QUEUE],
    }
    bottom = list(panels)[-1]
    plots = [
        {
            "width": style.WIDE,
            "height": HEIGHT,
            "data": {"values": _rows(lines, run.duration)},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.2},
            "encoding": {
                "x": {
                    "field": "t",
                    "type": "quantitative",
                    "scale": {"domain": [0, run.duration], "nice": False},
                    "title": "time [s]" if title == bottom else None,
                },
                "y": {"field": "value", "type": "quantitative", "title": title},
                "color": colour,
            },
        }
        for title, lines in panels.items()
    ]
    whole = style.specification({"vconcat": plots, "spacing": 10, "resolve": {"scale": {"color": "shared"}}})
    return str(vl_convert.vegalite_to_svg(whole))


def _each(names: list[str], series: Callable[[str], Series]) -> dict[str, Series]:
    """Series of those flows that have it."""
    lines = {}
    for name in names:
        try:
            lines[name] = series(name)
        except NotMeasuredError:
            continue
    return lines


def _rows(lines: dict[str, Series], end: float) -> list[dict[str, Any]]:
    return [
        {"line": line, "t": t, "value": value}
        for line, series in lines.items()
        if series.start < end
        for t, value in thin(series, series.start, end, style.WIDE)
    ]
