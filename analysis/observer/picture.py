"""Pictures of what was observed: panels over one time, one above the other."""

from collections.abc import Mapping
from typing import Final

from analysis.figures import alternative_text, plot, style, svg
from analysis.figures.bands import band
from analysis.figures.plot import Plot, PlotLine
from analysis.figures.roles import Role
from analysis.series import Series

HEIGHT: Final = 130
INTERVALS: Final = 400  # whose medians and ranges are drawn


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
            PlotLine(look[name].label, look[name].colour, band(values, (), *interval, INTERVALS))
            for name, values in series.items()
            if values.start < interval[1]
        ]
        plots.append(Plot(axis, interval, lines, plot.top_of(lines, ()), last=axis == list(panels)[-1]))
    inside = width - style.AXIS - plot.gutter(plots)
    drawn = [plot.draw(panel, inside, HEIGHT, data=panel.axis) for panel in plots]
    datasets = {panel.axis: plot.rows(panel.lines) for panel in plots}
    whole = style.specification({"vconcat": drawn, "spacing": 10, "datasets": datasets})
    return svg.draw(whole, alternative_text.over_time([(None, plots)], *interval))
