"""A figure of numbers: what was measured in each case, a dot a seed, their range and their median."""

import math
from pathlib import Path
from statistics import median
from typing import Any, Final

from analysis.documents import Document
from analysis.figures import roles, style
from analysis.figures.style import Specification

ROW: Final = 38  # pixels


def make(measured: Document, runs: Path) -> "ValuesBySeed":  # noqa: ARG001 (its numbers are in the declaration)
    """Make the figure of an experiment."""
    return ValuesBySeed(measured.child("figure"))


class ValuesBySeed:
    """A figure of kind `values-by-seed`.

    Its declaration has an `axis` and `values`, each with a `label`, a `measure` (its numbers are in `by_seed`), the
    `paper`'s number where it has one, and may have a `role`, whose colour it takes.
    """

    def __init__(self, figure: Document) -> None:
        self._axis = figure.get("axis", str)
        self._unit = style.unit_of(self._axis)
        self._values = figure.children("values")

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        text = "One dot a seed; the stroke and the number are the median, the bar reaches from the smallest to the"
        text += " largest value."
        return text + (" Diamonds are the paper's values." if any("paper" in one.data for one in self._values) else "")

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        rows = [_row(one, self._unit) for one in self._values]
        seeds = [row for row in rows if row["seeds"]]
        dots = [{**row, "value": value} for row in rows for value in row["seeds"]]
        paper = [row for row in rows if row["paper"] is not None]
        labels = [row["label"] for row in rows]
        beside = width - max(map(style.text_width, labels)) - 20 >= 0.6 * width
        room = max(map(style.text_width, labels)) + 16 if beside else 0
        written = max((style.text_width(row["number"]) for row in seeds), default=0) + 16
        across = width - room - written
        height = (ROW if beside else ROW + 14) * len(rows)
        x = {"field": "value", "type": "quantitative", "title": self._axis, "axis": {"tickCount": 5}}
        x["scale"] = {"zero": False, "nice": True, "padding": 16}
        y: Specification = {"field": "label", "type": "nominal", "title": None, "sort": labels}
        y["axis"] = {"labelLimit": room, "ticks": False, "domain": False, "minExtent": room, "maxExtent": room}
        if not beside:
            y["axis"] = None
        colour = {"field": "c", "type": "nominal", "scale": None, "legend": None}
        encoding = {"x": x, "y": y, "color": colour}
        span = {**encoding, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
        tooltip = {
            "tooltip": [
                {"field": name, "title": title, "type": "nominal"}
                for name, title in (("label", "case"), ("number", "median"), ("range", "range"))
            ]
        }
        dot = {"type": "circle", "size": 55, "opacity": 0.55}
        tick = {"type": "tick", "thickness": 2.5, "size": 22}
        middle = {**encoding, "x": {**x, "field": "middle"}}
        text = {"type": "text", "align": "left", "baseline": "middle"}
        at_end = {"y": y, "x": {"value": across + 8}, "text": {"field": "number"}}
        layers: list[Specification] = [
            {"data": {"values": seeds}, "mark": {"type": "bar", "size": 14, "opacity": style.BAND}, "encoding": span},
            {"data": {"values": dots}, "mark": dot, "encoding": {**encoding, **(tooltip if interactive else {})}},
            {"data": {"values": seeds}, "mark": tick, "encoding": middle},
            {"data": {"values": seeds}, "mark": text, "encoding": at_end},
        ]
        if not beside:
            above = {"type": "text", "align": "left", "dy": -20}
            layers.append({"data": {"values": rows}, "mark": above, "encoding": {"y": y, "text": {"field": "label"}}})
            layers[-1]["encoding"]["x"] = {"value": 0}
        if paper:
            diamond = {"type": "point", "shape": "diamond", "size": 110, "strokeWidth": 2, "color": roles.PAPER}
            at = {"x": {**x, "field": "paper"}, "y": y}
            layers.append({"data": {"values": paper}, "mark": diamond, "encoding": at})
        return style.specification({"width": across, "height": height, "layer": layers})


def _row(one: Document, unit: str) -> dict[str, Any]:
    values = [value for value in one.get("by_seed", dict).values() if math.isfinite(value)]
    row: dict[str, Any] = {"label": one.get("label", str), "seeds": values, "paper": one.maybe("paper", float)}
    row["c"] = roles.colour("queue")
    if "role" in one.data:
        row["c"] = roles.declared(one, "role")
    if values:
        row |= {"low": min(values), "middle": median(values), "high": max(values)}
        row["number"] = f"{style.number(row['middle'])} {unit}".strip()
        row["range"] = f"{style.number(row['low'])} to {style.number(row['high'])} over {len(values)} seeds"
    return row
