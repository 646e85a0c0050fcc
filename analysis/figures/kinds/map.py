"""A number in every cell of a grid: plots of one field for each pair of values, the deeper its colour the larger."""

from pathlib import Path
from statistics import median
from typing import Final

from analysis.documents import Fields
from analysis.figures import alternative_text, pixels, roles, style
from analysis.figures.in_reference import Range
from analysis.figures.pixels import Rows
from analysis.figures.style import Specification

ROW: Final = 26  # pixels
HEAD: Final = 20  # the title of a plot, and the names of its columns
BELOW: Final = 16  # between plots
WIDEST: Final = 420  # a plot
NARROWEST: Final = 270
COLOUR: Final = roles.colour(roles.LEDBAT)  # of every plot: here it is no protocol's
DEEPEST: Final = 0.6  # opacity of the largest number: its text stays readable on a light and on a dark ground


def make(measured: Fields, runs: Path) -> "Map":  # noqa: ARG001 (its numbers are in the declaration)
    """Make the figure of an experiment."""
    return Map(measured.child("figure"))


class Map:
    """A figure of kind `map`.

    Its declaration has `axis`, the number's name; `across` and `down`, the names of what columns and rows are; and
    `values`, labelled "plot: column: row".
    """

    def __init__(self, figure: Fields) -> None:
        self._axis, self._across, self._down = (figure.get(name, str) for name in ("axis", "across", "down"))
        there: dict[str, Range] = figure.maybe("reference", dict) or {}
        self._plots: dict[str, dict[str, dict[str, float]]] = {}
        self._pale: set[tuple[str, str, str]] = set()
        self._numbers = "the numbers of one seed"
        for value in figure.children("values"):
            label = value.get("label", str)
            if label.count(": ") != 2:
                raise value.error(value.name("label"), label, "three names, such as 'CUBIC: 10 Mbit/s: 50 ms'")
            plot, column, row = label.split(": ")
            rows = self._plots.setdefault(plot, {}).setdefault(row, {})
            numbers = [number for number in value.get("by_seed", dict).values() if number != "never"]
            if numbers:
                rows[column] = median(numbers)
                self._numbers = "medians over the seeds" if len(numbers) > 1 else self._numbers
            elif label in there:
                rows[column] = there[label][1]
                self._pale.add((plot, column, row))
        numbers = [number for rows in self._plots.values() for row in rows.values() for number in row.values()]
        self._largest = max(numbers, default=0) or 1

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        axis = f"{self._axis[:1].upper()}{self._axis[1:]}"
        text = f"{axis}. Columns: {self._across}; rows: {self._down}. Shown are {self._numbers}."
        return text + (" Those in frames are of this run, all others of the reference set." if self._pale else "")

    def alternative(self) -> str:
        """Say what the figure shows to readers who do not see it."""
        parts = [
            (f"{plot}, {row}", [(column, style.number(number)) for column, number in columns.items()])
            for plot, rows in self._plots.items()
            for row, columns in rows.items()
        ]
        how = f"Values are {self._numbers}, for {self._across}"
        return alternative_text.picture(f"{self._axis}, for {self._down}", how, parts)

    def specify(self, width: int, *, interactive: bool) -> Specification:  # noqa: ARG002 (it says all its numbers)
        """Give the Vega-Lite specification for a page of `width` pixels."""
        beside = max(1, min(len(self._plots), (width + style.GAP) // (NARROWEST + style.GAP)))
        each = min(WIDEST, (width - style.GAP * (beside - 1)) // beside)
        fields: Rows = []
        texts: Rows = []
        what = {"x": 0, "y": HEAD / 2, "text": self._axis[:1].upper() + self._axis[1:], "colour": style.INK}
        named = {"text": f"across: {self._across}; down: {self._down}", "colour": style.SOFT}
        texts += [{**what, "align": "left"}, {**what, "align": "left", "y": 1.5 * HEAD, **named}]
        top = 2 * HEAD + BELOW // 2
        plots = list(self._plots.items())
        for first in range(0, len(plots), beside):
            side_by_side = plots[first : first + beside]
            for index, (plot, rows) in enumerate(side_by_side):
                more = self._plot(plot, rows, index * (each + style.GAP), top, each)
                fields += more[0]
                texts += more[1]
            top += 2 * HEAD + ROW * max(len(rows) for _, rows in side_by_side) + BELOW
        shades: Specification = {
            "data": {"values": fields},
            "mark": {"type": "rect", "color": COLOUR},
            "encoding": {
                "x2": {"field": "x2"},
                "y2": {"field": "y2"},
                "fillOpacity": {"field": "deep", "type": "quantitative", "scale": None, "legend": None},
                "stroke": {"field": "frame", "type": "nominal", "scale": None, "legend": None},
                "strokeWidth": {"field": "thick", "type": "quantitative", "scale": None, "legend": None},
            },
        }
        return pixels.specification(width, top, [shades], texts, {"baseline": "middle"})

    def _plot(self, plot: str, rows: dict[str, dict[str, float]], left: int, top: int, width: int) -> tuple[Rows, Rows]:
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        names = max(style.text_width(row) for row in rows) + 14
        step = (width - names) / max(1, len(columns))
        texts = [{"x": left, "y": top + HEAD / 2, "text": plot, "colour": style.INK, "align": "left"}]
        fields: Rows = []
        middles = {column: left + names + step * (index + 0.5) for index, column in enumerate(columns)}
        texts += [
            {"x": x, "y": top + 1.5 * HEAD, "text": column, "colour": style.SOFT, "align": "center"}
            for column, x in middles.items()
        ]
        for index, (row, numbers) in enumerate(rows.items()):
            y = top + 2 * HEAD + ROW * index
            texts.append({"x": left, "y": y + ROW / 2, "text": row, "colour": style.SOFT, "align": "left"})
            for column, number in numbers.items():
                pale, x = (plot, column, row) in self._pale, middles[column]
                part = max(0.0, number / self._largest)
                framed = bool(self._pale) and not pale
                field = {"x": x - step / 2, "x2": x + step / 2 - 3, "y": y, "y2": y + ROW - 3, "deep": DEEPEST * part}
                fields.append(field | {"frame": style.INK if framed else style.FRAME, "thick": 1.6 if framed else 0.6})
                shown = {"text": style.number(number), "colour": style.INK, "align": "center"}
                texts.append({"x": x - 1, "y": y + ROW / 2 - 1, **shown})
        return fields, texts
