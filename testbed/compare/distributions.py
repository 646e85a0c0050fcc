"""How often a client has which delay and which rate: distributions over time, alone and beside others."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from analysis.figures import alternative_text, plot, roles, style
from analysis.figures.style import Specification
from analysis.run import Run
from analysis.series import NotMeasuredError, Series
from testbed.shared.metrics import BIN_S, PHASES, interval
from testbed.shared.panel import CLIENT

PERCENTS: Final = tuple(range(0, 101, 2))
HEIGHT: Final = 190
QUANTITIES: Final[dict[str, Callable[[Run], Series]]] = {
    "queuing delay [ms]": lambda run: run.queue_ms,
    "rate of the client [Mbit/s]": lambda run: run.rate(CLIENT, BIN_S).scaled(1e-6),
}


def specify(runs: dict[str, list[Run]], width: int) -> Specification:
    """Give the Vega-Lite specification of a figure that is `width` pixels wide; `runs` are those of each client."""
    plots = _plots(runs)
    across = 2 if width >= style.WIDE else 1
    names = max(map(style.text_width, runs)) + plot.SWATCH + 10
    each = (width - style.GAP * (across - 1)) // across - style.AXIS - names
    drawn = [_plot(*panel, each) for panel in plots]
    return style.specification({"concat": drawn, "columns": across, "spacing": {"row": 22, "column": style.GAP}})


def caption(seeds: int) -> str:
    """Say what the reader has to know to read such a figure."""
    text = "For each value, the part of the time in which it was not exceeded: further left is less. "
    if seeds > 1:
        text += "Lines are medians over the seeds, bands reach from the smallest to the largest seed. "
    return text + "Rates are those of whole seconds."


def alternative(runs: dict[str, list[Run]]) -> str:
    """Say what such a figure shows to readers who do not see it."""
    parts = []
    for quantity, phase, rows in _plots(runs):
        known = {(row["s"], row["p"]): style.number(row["m"]) for row in rows}
        clients = dict.fromkeys(client for client, _ in known)
        says = [(client, f"{known[client, 50]} and {known[client, 90]}") for client in clients]
        parts.append((f"{phase}, {quantity}", says))
    axes = f"Distributions over time of {' and '.join(QUANTITIES)}"
    return alternative_text.picture(axes, "Values are those not exceeded in 50 and in 90 % of the time", parts)


def _plots(runs: dict[str, list[Run]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Give what is drawn: quantity, phase, and the rows of all clients."""
    lines = _lines(runs)
    return [
        (quantity, phase, rows)
        for phase in PHASES
        for quantity, series in QUANTITIES.items()
        if (rows := [row for line in lines for row in _rows(runs[line["s"]], line, phase, series)])
    ]


def _lines(runs: dict[str, list[Run]]) -> list[dict[str, Any]]:
    """Give each client s (its name), c (a colour of its protocol) and d (a stroke, where others have that colour)."""
    lines: list[dict[str, Any]] = []
    seen: Counter[str] = Counter()
    for client, seeds in runs.items():
        protocol = roles.protocol(seeds[0].flow(CLIENT))
        colour = roles.colour(protocol, seen[protocol])
        used = sum(line["c"] == colour for line in lines)
        lines.append({"s": client, "c": colour, "d": min(used, len(plot.STROKES) - 1)})
        seen[protocol] += 1
    return lines


def _rows(runs: list[Run], line: dict[str, Any], phase: str, series: Callable[[Run], Series]) -> list[dict[str, Any]]:
    """Of each percent of the time the value not exceeded: median, smallest and largest of the seeds."""
    values = []
    for run in runs:
        try:
            t0, t1 = interval(run, phase)
            # bins of a second count where they are wholly inside
            values.append([series(run).percentile(percent, t0 + BIN_S, t1) for percent in PERCENTS])
        except NotMeasuredError:
            continue
    if not values:
        return []
    low, middle, high = np.min(values, 0), np.median(values, 0), np.max(values, 0)
    return [
        {
            **line,
            "p": percent,
            **{name: float(f"{value:.5g}") for name, value in zip("lmh", x, strict=True)},
        }
        for percent, *x in zip(PERCENTS, low, middle, high, strict=True)
    ]


def _plot(quantity: str, phase: str, rows: list[dict[str, Any]], width: int) -> Specification:
    top = max(row["h"] for row in rows) * 1.04 or 1.0
    value = {"type": "quantitative", "title": quantity, "scale": {"domain": [0, top], "nice": False}}
    encoding: Specification = {
        "y": {"field": "p", "type": "quantitative", "title": None, "scale": {"domain": [0, 100]}},
        "color": {"field": "c", "type": "nominal", "scale": None, "legend": None},
        "detail": {"field": "s", "type": "nominal"},
    }
    dash = {
        "field": "d",
        "type": "ordinal",
        "scale": {"domain": list(range(len(plot.STROKES))), "range": list(plot.STROKES)},
        "legend": None,
    }
    ends = {row["s"]: row for row in rows if row["p"] == PERCENTS[-1]}
    # the least is at the top: where lines end, further left
    ordered = sorted(ends.values(), key=lambda row: float(row["m"]))
    names = [plot.Name(row["s"], 1 - index / 1e6, row["c"], row["d"]) for index, row in enumerate(ordered)]
    layers = [
        {
            "mark": {"type": "area", "orient": "horizontal", "opacity": style.BAND},
            "encoding": {**encoding, "x": {**value, "field": "l"}, "x2": {"field": "h"}},
        },
        {
            "mark": {"type": "line", "strokeWidth": 1.8},
            "encoding": {
                **encoding,
                "x": {**value, "field": "m"},
                "order": {"field": "p", "type": "quantitative"},
                "strokeDash": dash,
            },
        },
        *plot.names(names, width, HEIGHT),
    ]
    title = f"{phase.capitalize()}: part of the time [%]"
    return {"title": title, "width": width, "height": HEIGHT, "data": {"values": rows}, "layer": layers}
