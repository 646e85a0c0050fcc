"""A figure of numbers: what was measured in each case, a dot a seed and a stroke at the mean."""

import math
from pathlib import Path

from analysis.documents import Document
from analysis.figures import style
from analysis.figures.style import Specification


def make(measured: Document, runs: Path) -> "ValuesBySeed":  # noqa: ARG001 (its numbers are in the declaration)
    """Make the figure of an experiment."""
    return ValuesBySeed(measured.child("figure"))


class ValuesBySeed:
    """A figure of kind `values-by-seed`.

    Its declaration has an `axis` and `values`, each with a `label`, a `measure` (its numbers are in `by_seed`) and,
    where it has one, the `paper`'s number.
    """

    def __init__(self, figure: Document) -> None:
        self._axis = figure.get("axis", str)
        self._values = {
            one.get("label", str): [value for value in one.get("by_seed", dict).values() if math.isfinite(value)]
            for one in figure.children("values")
        }
        papers = {one.get("label", str): one.maybe("paper", float) for one in figure.children("values")}
        self._paper = {label: paper for label, paper in papers.items() if paper is not None}

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        text = "One dot a seed; the stroke and the number are the mean over the seeds."
        return text + (" Diamonds are the paper's values." if self._paper else "")

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        dots = [{"label": label, "value": value} for label, seeds in self._values.items() for value in seeds]
        means = [{"label": label, "value": sum(seeds) / len(seeds)} for label, seeds in self._values.items() if seeds]
        paper = [{"label": label, "value": value} for label, value in self._paper.items()]
        encoding = {
            "x": {
                "field": "value",
                "type": "quantitative",
                "title": self._axis,
                "scale": {"zero": False, "padding": 25},
                "axis": {"tickCount": 5},
            },
            "y": {
                "field": "label",
                "type": "nominal",
                "title": None,
                "sort": list(self._values),
                "axis": {"grid": True, "labelLimit": width // 3},
            },
        }
        dot = {"type": "circle", "size": 60, "opacity": 0.45, "color": style.FLOWS[0], "tooltip": interactive}
        tick = {"type": "tick", "thickness": 2.5, "size": 26, "color": style.QUEUE}
        number = {"type": "text", "dy": -20, "color": style.QUEUE}
        text = {"text": {"field": "value", "type": "quantitative", "format": ".3~g"}}
        diamond = {"type": "point", "shape": "diamond", "size": 110, "strokeWidth": 2, "color": style.REFERENCE}
        layers: list[Specification] = [
            {"data": {"values": dots}, "mark": dot, "encoding": encoding},
            {"data": {"values": means}, "mark": tick, "encoding": encoding},
            {"data": {"values": means}, "mark": number, "encoding": {**encoding, **text}},
        ]
        if paper:
            layers.append({"data": {"values": paper}, "mark": diamond, "encoding": encoding})
        return style.specification({"width": width, "height": 60 * len(self._values), "layer": layers})
