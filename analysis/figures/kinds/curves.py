"""Curves over a value of the matrix, with the range over seeds and what the paper has."""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

from analysis.documents import Fields
from analysis.figures import alternative_text, in_reference, plot, roles, style
from analysis.figures.style import Specification
from analysis.units import with_unit

HEIGHT: Final = 250
PADDING: Final = 14  # pixels beside the first and the last value
FROM_ZERO: Final = 0.95  # an axis begins at 0 where its smallest value is below that part of the largest

_REFERENCE: Final = "reference set"

Rows = list[dict[str, Any]]


def make(measured: Fields, runs: Path) -> "Curves":  # noqa: ARG001 (its numbers are in the declaration)
    """Make the figure of an experiment."""
    return Curves(measured.child("figure"), measured.children("claims"))


class Curves:
    """A figure of kind `curves`.

    Its declaration has `over` (a name of the matrix), the `axis` of it (`log: true` for a logarithmic one, `zero` for
    the value from which it counts) and `plots`,
    each with an `axis`, a `measure` (or several by name, a line each) and what the `paper` has: by line points [x, y],
    or [x, y, claim] where a claim says what is allowed around y. Other names of the matrix, and cases, make lines,
    which `labels` may rename, `only` may choose from, and `roles` may give the colour of a protocol. Lines called
    "group: name" are drawn in a plot for each group, all with the same axes.
    """

    def __init__(self, figure: Fields, claims: list[Fields]) -> None:
        self._figure = figure
        self._plots = figure.children("plots")
        self._zero = figure.maybe("zero", float) or 0.0
        self._reference: dict[str, in_reference.Range] = figure.maybe("reference", dict) or {}
        self._claims = {claim.get("id", str).rpartition("/")[2]: claim for claim in claims}
        measured = {
            line
            for fields in self._plots
            for line in [*(point["line"] for point in fields.get("points", list)), *(fields.maybe("paper", dict) or {})]
        } | {
            line
            for fields in self._plots
            for line, _, _ in in_reference.points(self._reference, fields.get("axis", str))
        }
        order = [str(label) for label in (figure.maybe("labels", dict) or {}).values()]
        # labels are whole names where a cell has one line
        self._labels = order if any(label in measured for label in order) else []
        # numbers in names count as numbers: 30 ms comes before 100 ms
        self._lines = sorted(measured, key=lambda line: (_place(line, order), _natural(line)))

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        points = [point for fields in self._plots for point in self._points(fields)]
        seeds = max((len(point["by_seed"]) for point in points), default=0)
        if seeds > 1:
            text = f"Lines join the medians of {seeds} seeds; bands reach from the smallest to the largest value."
        else:
            text = "One seed, so no range."
        if any(fields.maybe("paper", dict) for fields in self._plots):
            text += " Diamonds, joined by dots, are the paper's values"
            text += "; the strokes through them reach as far as counts as holding." if self._tolerances() else "."
        if self._is_pale_seen():
            has_ranges = any(low < high for low, _, high in self._reference.values())
            pale, how = ("lines and bands", ": medians and ranges") if has_ranges else ("lines", "")
            of_seeds = in_reference.seeds_text(self._figure.get("reference_seeds", dict).values())
            text += f" Pale {pale} are the reference set, {of_seeds}{how}."
        return text

    def _is_pale_seen(self) -> bool:
        """Say whether anything of the reference set is drawn elsewhere than under the points of these runs."""
        return any(
            low < high or not any((point["line"], point["x"]) == (line, x) and point["by_seed"] for point in points)
            for fields in self._plots
            for points in [self._points(fields)]
            for line, x, (low, _, high) in self._points_there(fields)
        )

    def alternative(self) -> str:
        """Say what the figure shows to readers who do not see it."""
        parts = [(fields.get("axis", str), list(self._text(fields))) for fields in self._plots]
        axes = f"{', '.join(axis for axis, _ in parts)} over {self._figure.get('axis', str)}"
        return alternative_text.picture(axes, "Values are medians over the seeds", parts)

    def _text(self, fields: Fields) -> Iterator[tuple[str, str]]:
        measured = list(filter(None, (self._summary(point, "") for point in self._points(fields))))
        sources = (("", measured), (_REFERENCE, self._there(fields)), ("paper", self._paper(fields)))
        for line in self._lines:
            for whose, rows in sources:
                points = [(float(row["x"]), float(row["y"])) for row in rows if row["s"] == line]
                if points and not (whose == _REFERENCE and any(row["s"] == line for row in measured)):
                    yield f"{line} ({whose})" if line and whose else line or whose, alternative_text.course(points)

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        groups = list(dict.fromkeys(map(_group, self._lines))) or [""]
        across = min(2, len(self._plots) * len(groups)) if width >= style.WIDE else 1
        named = max((style.text_width(_name(line)) for line in self._lines), default=0) + plot.SWATCH + 10
        each = (width - style.GAP * (across - 1)) // across - style.AXIS - named
        plots = [self._plot(fields, group, each, interactive=interactive) for fields in self._plots for group in groups]
        return style.specification({"concat": plots, "columns": across, "spacing": {"row": 26, "column": style.GAP}})

    def _points(self, fields: Fields) -> Rows:
        """Give the points of a plot, as far from `zero` as the axis has them."""
        return [{**point, "x": point["x"] - self._zero} for point in fields.get("points", list)]

    def _points_there(self, fields: Fields) -> Iterator[tuple[str, float, in_reference.Range]]:
        """Yield the reference set's points of a plot likewise."""
        for line, x, there in in_reference.points(self._reference, fields.get("axis", str)):
            yield line, x - self._zero, there

    def _tolerances(self) -> bool:
        return any("low" in row for fields in self._plots for row in self._paper(fields))

    def _colour(self, line: str) -> str:
        if line in (self._figure.maybe("roles", dict) or {}):
            return roles.declared(self._figure.child("roles"), line)
        # a line that was not run here leaves its colour to no other
        named = [*self._labels, *(other for other in self._lines if other not in self._labels)]
        beside = [other for other in named if _group(other) == _group(line)]
        return roles.colour(roles.LEDBAT, beside.index(line))

    def _paper(self, fields: Fields) -> Rows:
        rows: Rows = []
        for line, points in (fields.maybe("paper", dict) or {}).items():
            for x, y, *claim in points:
                row = {"s": line, "c": self._colour(line), "x": x, "y": y}
                if claim and (zones := self._claims[claim[0]].maybe("zones", dict)):
                    low, high = zones["holds"]
                    # the claim may count in another unit
                    scale = y / float(self._claims[claim[0]].get("paper", str))
                    row |= {name: end * scale for name, end in (("low", low), ("high", high)) if end is not None}
                rows.append(row)
        return rows

    def _there(self, fields: Fields) -> Rows:
        """Give the reference set's points, for a figure of a quick look."""
        return [
            {"s": line, "c": self._colour(line), "x": x, "y": middle, "l": low, "h": high}
            for line, x, (low, middle, high) in self._points_there(fields)
        ]

    def _plot(self, fields: Fields, group: str, width: int, *, interactive: bool) -> Specification:
        unit = style.unit_of(fields.get("axis", str))
        measured = list(filter(None, (self._summary(point, unit) for point in self._points(fields))))
        paper, there = self._paper(fields), self._there(fields)
        rows = [*measured, *paper, *there]
        places = sorted({row["x"] for row in rows})
        values = [row[name] for row in rows for name in ("y", "l", "h", "low", "high") if name in row]
        bottom, top = style.ends(values, unit, FROM_ZERO)
        air = 0.08 * (top - bottom)
        bottom, top = bottom - (air if bottom else 0), top + air
        measured, paper, there = (
            [row for row in part if _group(row["s"]) == group] for part in (measured, paper, there)
        )
        scale: Specification = {"zero": False, "nice": False, "padding": PADDING}
        if len(places) > 1:  # of all groups: the reference set may have more points of another
            scale["domain"] = [places[0], places[-1]]
        if self._figure.maybe("log", bool) and places:
            scale = {"type": "log", "nice": False, "domain": [places[0] / 1.15, places[-1] * 1.15]}
        encoding: Specification = {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": style.wrapped(self._figure.get("axis", str), width),
                "scale": scale,
                "axis": {
                    "values": places,
                    "labelOverlap": "greedy",
                    "labelSeparation": 4,
                    "grid": False,
                    # a `format` would be rounded to the step of the axis: 25 to 30
                    "labelExpr": "format(datum.value, '~r')",
                },
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": None,
                "scale": {"domain": [bottom, top], "nice": False},
            },
            "color": {"field": "c", "type": "nominal", "scale": None, "legend": None},
            "detail": {"field": "s", "type": "nominal"},
        }
        ranges = {**encoding, "y": {**encoding["y"], "field": "l"}, "y2": {"field": "h"}}
        shown = dict(encoding)
        if interactive:
            titles = {"s": "line", "at": self._figure.get("axis", str), "median": "median", "range": "range"}
            shown["tooltip"] = [{"field": name, "title": title, "type": "nominal"} for name, title in titles.items()]
        data, joined = {"data": {"values": measured}}, {"data": {"values": [*measured, *_gaps(measured, there)]}}
        layers: list[Specification] = [
            *_of_reference(there, encoding, ranges),
            {**joined, "mark": {"type": "area", "opacity": style.BAND}, "encoding": ranges},
            {**data, "mark": {"type": "rule", "strokeWidth": 1.2}, "encoding": ranges},
            {**joined, "mark": {"type": "line", "strokeWidth": 1.8}, "encoding": encoding},
            {**data, "mark": {"type": "circle", "size": 50, "opacity": 1}, "encoding": shown},
            *_of_paper(paper, encoding),
            *self._names([*there, *paper, *measured], width, bottom, top),
        ]
        axis = fields.get("axis", str)
        title = f"{group}: {axis}" if group else axis[:1].upper() + axis[1:]
        # beside the plot's frame, whatever sticks out of it, as in the plots beside it
        return {"title": {"text": title, "frame": "group"}, "width": width, "height": HEIGHT, "layer": layers}

    def _summary(self, point: dict[str, Any], unit: str) -> dict[str, Any] | None:
        """Median and range over the seeds in which the thing happened."""
        values = [value for value in point["by_seed"].values() if value != "never"]
        if not values:
            return None
        low, middle, high = (float(f"{value:.5g}") for value in (min(values), median(values), max(values)))
        words = f"{style.number(low)} to {style.number(high)} over {len(values)} seeds"
        return {
            "s": point["line"],
            "c": self._colour(point["line"]),
            "x": point["x"],
            "y": middle,
            "l": low,
            "h": high,
            "at": style.number(point["x"]),
            "median": with_unit(style.number(middle), unit),
            "range": words if len(values) > 1 else "one seed",
        }

    def _names(self, rows: Rows, width: int, bottom: float, top: float) -> list[Specification]:
        """Write the name of each line where it ends."""
        ends = {row["s"]: row for row in sorted(rows, key=lambda row: float(row["x"]))}
        wanted = [
            plot.Name(_name(line), (row["y"] - bottom) / (top - bottom), row["c"]) for line, row in ends.items() if line
        ]
        return plot.names(wanted, width, HEIGHT)


def _group(line: str) -> str:
    return line.partition(": ")[0] if ": " in line else ""


def _name(line: str) -> str:
    return line.partition(": ")[2] or line


def _gaps(measured: Rows, there: Rows) -> Rows:
    """Give empty points where only the reference set has one, so that a line does not join what lies on both sides."""
    known = {(row["s"], row["x"]) for row in measured}
    lines = {row["s"] for row in measured}
    empty = [row for row in there if row["s"] in lines and (row["s"], row["x"]) not in known]
    return [{**row, "y": None, "l": None, "h": None} for row in empty]


def _of_reference(rows: Rows, encoding: Specification, ranges: Specification) -> list[Specification]:
    if not rows:
        return []
    data = {"data": {"values": rows}}
    return [
        {**data, "mark": {"type": "area", "opacity": style.GHOST_BAND}, "encoding": ranges},
        {**data, "mark": {"type": "line", "strokeWidth": 1.4, "opacity": style.GHOST}, "encoding": encoding},
        {**data, "mark": {"type": "circle", "size": 30, "opacity": style.GHOST}, "encoding": encoding},
    ]


def _of_paper(rows: Rows, encoding: Specification) -> list[Specification]:
    if not rows:
        return []
    data = {"data": {"values": rows}}
    layers: list[Specification] = [
        {**data, "mark": {"type": "line", "strokeDash": [2, 3], "strokeWidth": 1.2}, "encoding": encoding},
        {
            **data,
            "mark": {"type": "point", "shape": "diamond", "size": 90, "strokeWidth": 1.6, "filled": False},
            "encoding": encoding,
        },
    ]
    allowed = [row for row in rows if "low" in row]
    if allowed:
        span = {**encoding, "y": {**encoding["y"], "field": "low"}, "y2": {"field": "high"}}
        mark = {"type": "rule", "strokeWidth": 7, "opacity": style.BAND}
        layers.insert(0, {"data": {"values": allowed}, "mark": mark, "encoding": span})
    return layers


def _place(line: str, order: list[str]) -> int:
    """Place among the declared labels, one of which is the line's name or its end."""
    return next((place for place, label in enumerate(order) if line == label or line.endswith(f", {label}")), 0)


def _natural(text: str) -> list[tuple[float, str]]:
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(float(part), "") if index % 2 else (0.0, part) for index, part in enumerate(parts)]
