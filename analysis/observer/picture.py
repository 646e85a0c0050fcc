"""The one picture of an observed run: throughput, delay, window and queue over time, one above the other."""

from collections.abc import Callable, Mapping
from typing import Final

from analysis.figures import alternative_text, plot, roles, style, svg
from analysis.figures.bands import band
from analysis.figures.plot import Line, Plot
from analysis.figures.roles import Role
from analysis.run import Run
from analysis.series import NotMeasuredError, Series

RATE_BIN_S: Final = 1.0
HEIGHT: Final = 130
INTERVALS: Final = 400  # whose medians and ranges are drawn
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
    look = {**roles.of_flows(run.settings.flows), QUEUE: Role(QUEUE, roles.colour(QUEUE))}
    return stacked(panels, look, (0, run.duration))


def stacked(
    panels: Mapping[str, Mapping[str, Series]],
    look: Mapping[str, Role],
    interval: tuple[float, float],
    width: int = style.WIDE,
) -> str:
    """Give the SVG of panels by their axes, one above the other over one time (s); of each line the name and series.

    It is `width` pixels wide.
    """
    plots = []
    for axis, series in panels.items():
        lines = [
            Line(look[name].label, look[name].colour, band(values, (), *interval, INTERVALS))
            for name, values in series.items()
            if values.start < interval[1]
        ]
        plots.append(Plot(axis, interval, lines, plot.top_of(lines, ()), last=axis == list(panels)[-1]))
    inside = width - style.AXIS - plot.gutter(plots)
    drawn = [plot.draw(panel, inside, HEIGHT, data=panel.axis) for panel in plots]
    datasets = {panel.axis: plot.rows(panel.lines) for panel in plots}
    whole = style.specification({"vconcat": drawn, "spacing": 10, "datasets": datasets})
    return svg.draw(whole, alternative_text.over_time([(None, plots)], *interval, interval[1]))


def _each(names: list[str], series: Callable[[str], Series]) -> dict[str, Series]:
    """Series of those flows that have it."""
    lines = {}
    for name in names:
        try:
            lines[name] = series(name)
        except NotMeasuredError:
            continue
    return lines
