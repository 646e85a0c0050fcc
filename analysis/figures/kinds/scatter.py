"""One number against another: a point for each case at the medians, with the ranges over the seeds both ways."""

from pathlib import Path
from statistics import median
from typing import Any, Final

from analysis.documents import Fields
from analysis.figures import alternative_text, plot, roles, style
from analysis.figures.in_reference import Range, seeds_text
from analysis.figures.style import Specification

HEIGHT: Final = 300
ROOM: Final = 1.08  # of an axis, over its largest number
ANGLE: Final = 45  # of the names above the plot, degrees
APART: Final = 1.5 * plot.LINE  # pixels from one of these names to the next

Rows = list[dict[str, Any]]


def make(measured: Fields, runs: Path) -> "Scatter":  # noqa: ARG001 (its numbers are in the declaration)
    """Make the figure of an experiment."""
    return Scatter(measured.child("figure"))


class Scatter:
    """A figure of kind `scatter`.

    Its declaration has `axes`, the first across and the second up, by names; and `values`, called "axis: case".
    """

    def __init__(self, figure: Fields) -> None:
        axes = figure.get("axes", dict)
        if len(axes) != 2:
            raise figure.error(figure.name("axes"), axes, "two axes by name, such as {queue: 'queue [ms]', ...}")
        self._axes = [str(title) for title in axes.values()]
        across, up = axes
        self._has_range = False  # several seeds ran
        here: dict[str, Range] = {}
        for value in figure.children("values"):
            numbers = [number for number in value.get("by_seed", dict).values() if number != "never"]
            self._has_range |= len(numbers) > 1
            if numbers:
                here[value.get("label", str)] = [min(numbers), median(numbers), max(numbers)]
        there: dict[str, Range] = figure.maybe("reference", dict) or {}
        self._seeds = seeds_text((figure.maybe("reference_seeds", dict) or {}).values())
        labels = [value.get("label", str) for value in figure.children("values")]
        cases = list(dict.fromkeys(label.partition(": ")[2] for label in labels))
        self._rows: Rows = []
        for case in cases:
            for known in (there, here):  # what is drawn first is below the other
                x, y = known.get(f"{across}: {case}"), known.get(f"{up}: {case}")
                if x and y:
                    self._rows.append(_row(case, x, y, is_here=known is here))

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        text = "Points are medians over the seeds; lines reach from the smallest to the largest value."
        text = text if self._has_range else "One seed, so no range."
        there = [row for row in self._rows if not row["here"]]
        ranges = ": medians and ranges" if any(row["xl"] < row["xh"] or row["yl"] < row["yh"] for row in there) else ""
        hidden = ", hidden where they are shorter than a ring is wide" if ranges else ""
        return text + (f" Pale rings and lines are the reference set, {self._seeds}{ranges}{hidden}." if there else "")

    def alternative(self) -> str:
        """Say what the figure shows to readers who do not see it."""
        across, up = self._axes
        rows = sorted(self._rows, key=lambda row: not row["here"])
        cases = [(row["case"], row["told"] + " (reference set)" * (not row["here"])) for row in rows]
        return alternative_text.picture(
            f"{across} across and {up} up", "Values are medians over the seeds", [("", cases)]
        )

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        names = max((style.text_width(row["case"]) for row in self._rows), default=0)
        size = min(width, style.WIDE // 2) - style.AXIS - round(0.75 * names)  # the last name reaches over the end
        x, y = (
            {"type": "quantitative", "title": title, "scale": {"domain": [0, self._top(end)], "nice": False}}
            for title, end in zip(self._axes, ("xh", "yh"), strict=True)
        )
        common = {
            "color": {"field": "c", "type": "nominal", "scale": None, "legend": None},
            "opacity": {"field": "o", "type": "quantitative", "scale": None, "legend": None},
        }
        middle = {"x": {**x, "field": "x"}, "y": {**y, "field": "y"}, **common}
        flat = {"x": {**x, "field": "xl"}, "x2": {"field": "xh"}, "y": {**y, "field": "y"}, **common}
        upright = {"x": {**x, "field": "x"}, "y": {**y, "field": "yl"}, "y2": {"field": "yh"}, **common}
        fields = [{"field": name, "title": title} for name, title in (("case", "case"), ("told", "medians"))]
        tooltip = {"tooltip": fields} if interactive else {}
        layers: list[Specification] = [
            {"mark": {"type": "rule", "strokeWidth": 1.4}, "encoding": flat},
            {"mark": {"type": "rule", "strokeWidth": 1.4}, "encoding": upright},
            _of(here=False) | {"mark": {"type": "point", "size": 260, "strokeWidth": 2}, "encoding": middle},
            _of(here=True) | {"mark": {"type": "circle", "size": 80}, "encoding": {**middle, **tooltip}},
            *self._names(size),
        ]
        body = {"data": {"values": self._rows}, "width": size, "height": HEIGHT, "layer": layers}
        return style.specification(body)

    def _top(self, end: str) -> float:
        return ROOM * (max((row[end] for row in self._rows), default=1.0) or 1.0)

    def _names(self, size: int) -> list[Specification]:
        """Write the name of each case above the plot, with a line from there to its point."""
        by_case = {row["case"]: row for row in self._rows}  # of both, the one here
        ordered = sorted(by_case.values(), key=lambda row: float(row["x"]))
        across = [row["x"] / self._top("xh") * size for row in ordered]
        places = plot.spread_out(across, APART, size)
        values = [
            {"text": row["case"], "c": row["c"], "x": x, "at": at, "top": -2}
            | {"y": round(HEIGHT * (1 - row["y"] / self._top("yh")), 2)}
            for row, x, at in zip(ordered, across, places, strict=True)
        ]
        pixels = {"type": "quantitative", "scale": None}
        coloured = {"color": {"field": "c", "type": "nominal", "scale": None, "legend": None}}
        line = {"type": "rule", "strokeWidth": 0.8, "clip": False}
        text = {"type": "text", "align": "left", "baseline": "middle", "angle": 360 - ANGLE, "dx": 3, "clip": False}
        above = {"x": {**pixels, "field": "at"}, "y": {**pixels, "field": "top"}}
        down = {**above, "x2": {"field": "x"}, "y2": {"field": "y"}}
        return [
            {"data": {"values": values}, "mark": line, "encoding": {**down, **coloured}},
            {"data": {"values": values}, "mark": text, "encoding": {**above, **coloured, "text": {"field": "text"}}},
        ]


def _of(*, here: bool) -> Specification:
    """Draw only these runs, or only the reference set: a ring around the point, which would cover another point."""
    return {"transform": [{"filter": f"datum.here === {str(here).lower()}"}]}


def _row(case: str, x: Range, y: Range, *, is_here: bool) -> dict[str, Any]:
    row = {"case": case, "c": roles.colour_of_name(case), "here": is_here, "o": 1 if is_here else style.GHOST}
    row |= dict(zip(("xl", "x", "xh", "yl", "y", "yh"), (*x, *y), strict=True))
    return row | {"told": f"{style.number(x[1])} and {style.number(y[1])}"}
