"""Curves over a value of the matrix, with the spread over seeds and what the paper has."""

import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.documents import Document
from analysis.figures import style
from analysis.figures.style import Specification

HEIGHT: Final = 230


def make(measured: Document, runs: Path) -> "Curves":  # noqa: ARG001 (its numbers are in the declaration)
    """Make the figure of an experiment."""
    return Curves(measured.child("figure"))


class Curves:
    """A figure of kind `curves`.

    Its declaration has `over` (a name of the matrix), the `axis` of it (`log: true` for a logarithmic one) and `plots`,
    each with an `axis`, a `measure` (or several by name, a line each) and what the `paper` has: points [x, y] by line.
    Other names of the matrix, and cases, make lines, which `labels` may rename and `only` may choose from.
    """

    def __init__(self, figure: Document) -> None:
        self._figure = figure
        self._plots = figure.children("plots")
        self._lines = list(
            dict.fromkeys(
                line
                for plot in self._plots
                for line in [*(one["line"] for one in plot.get("points", list)), *(plot.maybe("paper", dict) or {})]
            )
        )

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        text = "Means over the seeds; the bars are one standard deviation up and down."
        if any(plot.maybe("paper", dict) for plot in self._plots):
            text += " Diamonds and dashed lines are the paper's values."
        return text

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        across = min(2, len(self._plots)) if width >= style.WIDE else 1
        each = (width - style.GAP * (across - 1)) // across
        named = self._lines != [""]
        plots = [
            self._plot(plot, each, legend=index == 0 and named, interactive=interactive)
            for index, plot in enumerate(self._plots)
        ]
        return style.specification({"concat": plots, "columns": across, "resolve": {"scale": {"color": "independent"}}})

    def _plot(self, plot: Document, width: int, *, legend: bool, interactive: bool) -> Specification:
        measured = list(filter(None, (_summary(point) for point in plot.get("points", list))))
        paper = [
            {"line": line, "x": x, "y": y}
            for line, points in (plot.maybe("paper", dict) or {}).items()
            for x, y in points
        ]
        places = sorted({row["x"] for row in [*measured, *paper]})
        scale: Specification = {"zero": False, "padding": 12}
        if self._figure.maybe("log", bool) and places:
            scale = {"type": "log", "nice": False, "domain": [places[0] / 1.2, places[-1] * 1.2]}
        colour = style.colours(self._lines, legend, width)
        encoding: Specification = {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": self._figure.get("axis", str),
                "scale": scale,
                "axis": {"values": places, "labelOverlap": True},
            },
            "y": {"field": "y", "type": "quantitative", "title": plot.get("axis", str)},
            "color": colour if self._lines != [""] else {"value": style.FLOWS[0]},
        }
        # the shared scale takes the axis' title from the first layer only if no other contradicts
        bars = {**encoding, "y": {**encoding["y"], "field": "low"}, "y2": {"field": "high"}}
        shown = dict(encoding)
        if interactive:
            shown["tooltip"] = [{"field": name} for name in ("line", "x", "y", "std", "seeds")]
        diamonds = {"type": "point", "shape": "diamond", "size": 90, "strokeWidth": 1.6}
        layers: list[Specification] = [
            {"data": {"values": measured}, "mark": {"type": "line", "strokeWidth": 1.8}, "encoding": encoding},
            {"data": {"values": measured}, "mark": {"type": "rule", "strokeWidth": 1.2}, "encoding": bars},
            {"data": {"values": measured}, "mark": {"type": "circle", "size": 45, "opacity": 1}, "encoding": shown},
        ]
        if paper:
            dashed = {"type": "line", "strokeDash": [4, 4], "strokeWidth": 1, "strokeOpacity": 0.7}
            layers += [
                {"data": {"values": paper}, "mark": dashed, "encoding": encoding},
                {"data": {"values": paper}, "mark": diamonds, "encoding": encoding},
            ]
        return {"width": width, "height": HEIGHT, "layer": layers}


def _summary(point: dict[str, Any]) -> dict[str, Any] | None:
    """Mean and standard deviation over the seeds in which the thing happened."""
    values = np.array([value for value in point["by_seed"].values() if math.isfinite(value)], float)
    if not len(values):
        return None
    mean, std = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    numbers = {"y": mean, "low": mean - std, "high": mean + std, "std": std}
    rounded = {name: float(f"{number:.5g}") for name, number in numbers.items()}
    return {"line": point["line"], "x": point["x"], "seeds": len(values), **rounded}
