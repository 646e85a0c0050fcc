"""One plot over time: ranges, medians above them, levels on top, the paper's instants, and the names of all.

Every function here gives a part of a Vega-Lite specification.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any, Final

from analysis.figures import roles, style
from analysis.figures.bands import Band
from analysis.figures.style import Specification
from analysis.units import with_unit

LINE: Final = 15  # pixels from one line of text to the next
APART: Final = 3  # pixels between a mark and its words
WORD_GAP: Final = 14  # pixels between the words of two marks
BRACKET: Final = 3  # pixels that the bracket of a range stands above what is below it
FEW: Final = 4  # marks of which all places of their words are tried
SWATCH: Final = 12  # pixels of a colour before the name that it belongs to
HOVER: Final = 4  # intervals that one tooltip speaks of
TOO_HIGH: Final = 2.5  # a level so many times above all lines is named at the top instead of flattening them
DASHES: Final[dict[str, list[float]]] = {"target": [6, 3]}  # every other level is drawn through
STROKES: Final = ([1, 0], [4, 2], [1, 2])  # of lines that have one colour: drawn through, dashed, dotted

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class PlotLine:
    """A line of a plot: its name, its colour and what it shows."""

    label: str
    colour: str
    band: Band
    stroke: int = 0  # of STROKES
    each: Sequence[tuple[float, float, float]] = ()  # from when until when (s) each value occurs, instead of the band
    of_path: bool = False  # a property of the path, whatever flows there are


@dataclass(frozen=True)
class Mark:
    """An instant (s) that a paper names, or a range of them; from `low` to `high` counts as holding."""

    text: str
    begin: float
    end: float
    low: float | None = None
    high: float | None = None
    cell: str | None = None  # the only one it speaks of
    everywhere: bool = False  # in the cells of other experiments, too

    @property
    def words(self) -> str:
        """What stands above the plot: the text, and the ends of a range."""
        ends = dict.fromkeys(map(style.number, (self.begin, self.end)))
        return f"{self.text} ({' to '.join(ends)})" if len(ends) > 1 else self.text

    @property
    def span(self) -> tuple[float, float]:
        """From the earliest to the latest instant that agrees with the paper, s."""
        return self.begin if self.low is None else self.low, self.end if self.high is None else self.high


@dataclass(frozen=True)
class Name:
    """A name at the right of a plot; `part` is how far up it belongs, from 0 to 1."""

    text: str
    part: float
    colour: str
    stroke: int = 0  # of STROKES


@dataclass(frozen=True)
class Plot:
    """What a plot shows. `levels` are names with a value on its axis; `top` is the upper end of that axis."""

    axis: str  # quantity [unit]
    interval: tuple[float, float]
    lines: Sequence[PlotLine]
    top: float
    levels: Sequence[tuple[str, float]] = ()
    marks: Sequence[Mark] = ()
    heights: Sequence[Mark] = ()  # values on its axis that a paper prints
    words: bool = True  # whether the marks' words stand above the plot
    last: bool = True  # whether the time stands below it

    @property
    def unit(self) -> str:
        """What the axis counts; nothing for plain numbers."""
        return style.unit_of(self.axis)

    def coarser(self, by: int) -> "Plot":
        """Join so many intervals of each line to one."""
        return replace(self, lines=[replace(line, band=line.band.coarser(by)) for line in self.lines])

    def shown_levels(self) -> list[tuple[str, float]]:
        """Levels that are drawn as lines: those on the axis."""
        return [(name, value) for name, value in self.levels if value <= self.top]

    def texts(self) -> list[str]:
        """Texts that stand to the right of the plot."""
        printed = [self.height(mark) for mark in self.heights]
        return [*(line.label for line in self.lines), *(self.level(*level) for level in self.levels), *printed]

    def height(self, mark: Mark) -> str:
        """What a value that the paper prints is called."""
        ends = dict.fromkeys(map(style.number, (mark.begin, mark.end)))
        return f"paper: {mark.text} {' to '.join(ends)}"

    def level(self, name: str, value: float) -> str:
        """What a level is called; an arrow says that it is above the plot."""
        return f"{name} {style.number(value)}" + " ↑" * bool(value > self.top)


def top_of(lines: Sequence[PlotLine], levels: Sequence[tuple[str, float]]) -> float:
    """Upper end of the axis that shows lines, and levels that are not far above them."""
    highest = max((value for line in lines for value in line.band.high if value == value), default=0.0)
    near = [value for _, value in levels if value <= TOO_HIGH * highest or not highest]
    return max([highest, *near]) or 1.0


def gutter(plots: Sequence[Plot]) -> int:
    """Pixels that the names at the right of plots take."""
    return SWATCH + 10 + max((style.text_width(name) for plot in plots for name in plot.texts()), default=0)


def draw(
    plot: Plot, width: int, height: int, *, data: str, interactive: bool = False, zoom: str | None = None
) -> Specification:
    """Draw a plot of so many pixels. Its rows are `rows(plot.lines)`, a data set of the name `data`.

    Interactive plots have one more, `hover(plot)` of the name `data`-hover; `zoom` lets the reader zoom in.
    """
    ceiling = plot.top * 1.06
    axis: Specification = {"title": "time [s]"} if plot.last else {"title": None, "labels": False, "ticks": False}
    axis["tickCount"] = max(2, width // 70)
    scale = {"domain": list(plot.interval), "nice": False}
    across = {"x": {"field": "t", "type": "quantitative", "axis": axis, "scale": scale}}
    value = {"type": "quantitative", "title": None, "scale": {"domain": [0, ceiling], "nice": False}}
    coloured = {
        "color": {"field": "c", "type": "nominal", "scale": None, "legend": None},
        "detail": {"field": "s", "type": "nominal"},
    }
    # what is zoomed in must not stick out; in the still picture nothing does, and clipping costs a mask a line
    clip = {"clip": True} if interactive else {}
    area = {"type": "area", "interpolate": "step-after", "opacity": style.BAND, "line": False, **clip}
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6, **clip}
    dash = {"condition": [_dashed(plot, stroke) for stroke in range(1, len(STROKES))], "value": STROKES[0]}
    low, middle = ({**value, "field": name} for name in "lm")
    until = {"x2": {"field": "u"}, "y": {**value, "field": "y"}}
    rows = {"data": {"name": data}}
    stroke = {"type": "rule", "strokeWidth": 2.4, "strokeCap": "round", **clip}
    layers: list[Specification] = [
        *_marks(plot, across, width),
        *_heights(plot, value),
        {**rows, "mark": area, "encoding": {**across, "y": low, "y2": {"field": "h"}, **coloured}},
        {**rows, "mark": line, "encoding": {**across, "y": middle, **coloured, "strokeDash": dash}},
        *(
            {"data": {"values": strokes(line)}, "mark": stroke, "encoding": {**across, **until, **coloured}}
            for line in plot.lines
            if line.each
        ),
        *_levels(plot, value),
        *_names(plot, width, height, ceiling),
    ]
    if interactive:
        layers.append(_hover(plot, across, data, zoom))
    return {"title": plot.axis[:1].upper() + plot.axis[1:], "width": width, "height": height, "layer": layers}


def _dashed(plot: Plot, stroke: int) -> Specification:
    """Give a stroke to the lines that have it."""
    labels = [json.dumps(line.label) for line in plot.lines if line.stroke == stroke]
    return {"test": f"indexof([{','.join(labels)}], datum.s) >= 0", "value": STROKES[stroke]}


def rows(lines: Sequence[PlotLine]) -> Rows:
    """Rows of lines: s (name), c (colour), t, l, m, h (range and median); what stays the same is left out."""
    made: Rows = []
    for line in lines:
        if line.each:
            continue
        last: tuple[float, ...] | None = None
        edges = line.band.edges[:-1].tolist()
        for t, *values in zip(edges, *_values(line.band), strict=True):
            here = tuple(map(_short, values))
            if here[1] != here[1]:  # before a flow begins and after it has ended
                made += [_row(line, t, last)] if last else []
                last = None
            elif here != last:
                made.append(_row(line, t, here))
                last = here
        if last:
            made.append(_row(line, float(line.band.edges[-1]), last))
    return made


def strokes(line: PlotLine) -> Rows:
    """Rows of a line that shows each value: s (name), c (colour), from t until u, y."""
    return [{"s": line.label, "c": line.colour, "t": round(t, 4), "u": round(u, 4), "y": y} for t, u, y in line.each]


def hover(plot: Plot) -> Rows:
    """Rows of what tooltips say: from t until u, for each line n its median and its range, in words and units."""
    made: Rows = []
    edges: Sequence[float] = plot.lines[0].band.edges.tolist() if plot.lines else []
    values = [_values(line.band) for line in plot.lines]
    for first in range(0, len(edges) - 1, HOVER):
        after = min(first + HOVER, len(edges) - 1)
        row: dict[str, Any] = {"t": _short(edges[first]), "u": _short(edges[after])}
        row["at"] = f"{style.number(row['t'])} s"
        for number, of_line in enumerate(values):
            low, middle, high = (part[first:after] for part in of_line)
            says = _words(low, middle, high, plot.unit)
            has_begun = any(value == value for value in of_line[1][:first])
            row[f"n{number}"] = says or ("ended" if has_begun else "not yet")
        made.append(row)
    return made


def _row(line: PlotLine, t: float, values: tuple[float, ...]) -> dict[str, Any]:
    return {"s": line.label, "c": line.colour, "t": round(t, 4), **dict(zip("lmh", values, strict=True))}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _values(band: Band) -> tuple[list[float], list[float], list[float]]:
    """Give the low, middle and high values as lists, which take a fraction of an array's time to go through."""
    return band.low.tolist(), band.middle.tolist(), band.high.tolist()


def _words(low: list[float], middle: list[float], high: list[float], unit: str) -> str:
    there = [index for index, value in enumerate(middle) if value == value]
    if not there:
        return ""
    median = style.number(sorted(middle[index] for index in there)[len(there) // 2])
    least, most = style.number(min(low[index] for index in there)), style.number(max(high[index] for index in there))
    return with_unit(median, unit) + (f" (from {least} to {most})" if least != most else "")


def _levels(plot: Plot, value: Specification) -> list[Specification]:
    """Draw levels across a plot, with a light edge that keeps them apart from what they cross."""
    layers = []
    for name, at in plot.shown_levels():
        layer = {"data": {"values": [{"y": at}]}, "encoding": {"y": {**value, "field": "y"}}}
        edge = {"type": "rule", "color": style.GROUND, "strokeWidth": 3.2, "opacity": 0.75}
        rule = {"type": "rule", "color": style.INK, "strokeWidth": 1.2, "strokeDash": DASHES.get(name, [1, 0])}
        layers += [{**layer, "mark": edge}, {**layer, "mark": rule}]
    return layers


def _heights(plot: Plot, value: Specification) -> list[Specification]:
    """Draw the values that a paper prints across a plot, with what counts as holding around them."""
    spans = [{"y": max(mark.span[0], 0), "h": min(mark.span[1], plot.top)} for mark in plot.heights]
    ends = [{"y": at} for mark in plot.heights for at in dict.fromkeys((mark.begin, mark.end)) if at <= plot.top]
    if not ends:
        return []
    y = {"y": {**value, "field": "y"}}
    band = {"type": "rect", "color": roles.PAPER, "opacity": style.BAND}
    rule = {"type": "rule", "color": roles.PAPER, "strokeWidth": 1.6, "strokeDash": [2, 2]}
    return [
        {"data": {"values": spans}, "mark": band, "encoding": {**y, "y2": {"field": "h"}}},
        {"data": {"values": ends}, "mark": rule, "encoding": y},
    ]


def _marks(plot: Plot, across: Specification, width: int) -> list[Specification]:
    if not plot.marks:
        return []
    t0, t1 = plot.interval
    spans = [{"t": max(mark.span[0], t0), "u": min(mark.span[1], t1)} for mark in plot.marks]
    ends = [{"t": t} for mark in plot.marks for t in dict.fromkeys((mark.begin, mark.end)) if t0 <= t <= t1]
    layers: list[Specification] = [
        {
            "data": {"values": spans},
            "mark": {"type": "rect", "color": roles.PAPER, "opacity": style.BAND},
            "encoding": {**across, "x2": {"field": "u"}},
        },
        {
            "data": {"values": ends},
            "mark": {"type": "rule", "color": roles.PAPER, "strokeWidth": 1.6, "strokeDash": [2, 2]},
            "encoding": across,
        },
    ]
    return [*layers, *(_words_of(plot, across, width) if plot.words else [])]


def _words_of(plot: Plot, across: Specification, width: int) -> list[Specification]:
    """Write what happens at each mark above the plot, at the top of its line; a range has a bracket below its words."""
    rule = {"type": "rule", "color": roles.PAPER, "strokeWidth": 1.2, "clip": False}
    has_brackets = any(mark.begin < mark.end for mark in plot.marks)
    layers: list[Specification] = []
    for mark, words in zip(plot.marks, place_words(plot, width), strict=True):
        ends = list(dict.fromkeys((mark.begin, mark.end)))
        below = -LINE * words.row - (BRACKET + 1 if words.row and has_brackets else 0)
        top = below - (BRACKET if len(ends) > 1 else LINE - APART)
        up = {**across, "y": {"value": 0}, "y2": {"value": top}}
        layers.append({"data": {"values": [{"t": t} for t in ends]}, "mark": rule, "encoding": up})
        if len(ends) > 1:
            over = {**across, "x2": {"field": "u"}, "y": {"value": top}}
            layers.append({"data": {"values": [{"t": mark.begin, "u": mark.end}]}, "mark": rule, "encoding": over})
        side = {"align": "right", "dx": -APART} if words.is_left else {"align": "left", "dx": APART}
        text = {"type": "text", "color": style.SOFT, "clip": False, **side}
        at = {**across, "y": {"value": below - (6 if len(ends) == 1 else 7 + BRACKET)}, "text": {"value": mark.words}}
        layers.append({"data": {"values": [{"t": words.t}]}, "mark": text, "encoding": at})
    return layers


@dataclass(frozen=True)
class Words:
    """Where the words of a mark stand: at which instant (s), on which side of it, in which row above the plot."""

    t: float
    is_left: bool
    row: int


def place_words(plot: Plot, width: int) -> list[Words]:
    """Place the words of all marks so that each stands at its own line: no other line goes up beside or through it.

    All lines reach the lowest row; above it there are only those that go up to their words. A row for each, the higher
    the further left, always does; of few marks, the best of all places are taken.
    """
    t0, t1 = plot.interval
    lines = [[(t - t0) / (t1 - t0) * width for t in dict.fromkeys((mark.begin, mark.end))] for mark in plot.marks]
    lengths = [APART + style.text_width(mark.words) for mark in plot.marks]
    count = len(lines)

    def spans(places: Sequence[tuple[int, bool]]) -> list[tuple[float, float]]:
        return [  # from the mark to beyond the words
            (of[-1] - length - WORD_GAP, of[-1]) if is_left else (of[0], of[0] + length + WORD_GAP)
            for of, length, (_, is_left) in zip(lines, lengths, places, strict=True)
        ]

    def cost(places: Sequence[tuple[int, bool]]) -> tuple[float, ...]:
        """Count what meets; then pixels beyond the plot, rows, and words to the left."""
        taken, rows = spans(places), [row for row, _ in places]
        meets = 0
        for this, other in permutations(range(count), 2):
            begin, end = taken[this]
            reaches = rows[this] == 0 or rows[other] >= rows[this]
            meets += reaches and any(begin < line < end for line in lines[other])
            meets += rows[other] == rows[this] and begin < taken[other][1] and taken[other][0] < end
        beyond = sum(max(0.0, -begin - WORD_GAP) + max(0.0, end - WORD_GAP - width) for begin, end in taken)
        return meets, beyond, max(rows), sum(rows), sum(is_left for _, is_left in places)

    if count <= FEW:
        places = min(product(product(range(count), (False, True)), repeat=count), key=cost)
    else:
        order = sorted(range(count), key=lambda index: -lines[index][0])
        places = tuple((order.index(index), False) for index in range(count))
    return [
        Words(mark.end if is_left else mark.begin, is_left, row)
        for mark, (row, is_left) in zip(plot.marks, places, strict=True)
    ]


def _names(plot: Plot, width: int, height: int, ceiling: float) -> list[Specification]:
    by_label = {line.label: line for line in plot.lines}
    lines = [Name(line.label, _end(line) / ceiling, line.colour, line.stroke) for line in by_label.values()]
    levels = [
        Name(plot.level(name, at), min(at / ceiling, 1.0), style.INK, int(name in DASHES)) for name, at in plot.levels
    ]
    printed = [
        Name(plot.height(mark), min((mark.begin + mark.end) / 2 / ceiling, 1.0), roles.PAPER, 2)
        for mark in plot.heights
    ]
    return names([*lines, *levels, *printed], width, height)


def names(wanted: Sequence[Name], width: int, height: int) -> list[Specification]:
    """Write names to the right of a plot, each with its colour and as close to its place as the others allow."""
    ordered = sorted(wanted, key=lambda name: -name.part)
    # no text sticks out of the plot, so that plots side by side begin at one height
    places = spread_out([height * (1 - name.part) - LINE / 2 for name in ordered], LINE, height - LINE)
    values = [
        {"y": round(y + LINE / 2, 2), "text": name.text, "c": name.colour, "dash": STROKES[name.stroke]}
        for y, name in zip(places, ordered, strict=True)
    ]
    if not values:
        return []
    y = {"y": {"field": "y", "type": "quantitative", "scale": None}}
    coloured = {"color": {"field": "c", "type": "nominal", "scale": None, "legend": None}}
    stroke = {"strokeDash": {"field": "dash", "type": "nominal", "scale": None}}
    return [
        {
            "data": {"values": values},
            "mark": {"type": "rule", "strokeWidth": 3, "clip": False},
            "encoding": {**y, **coloured, **stroke, "x": {"value": width + 6}, "x2": {"value": width + 6 + SWATCH}},
        },
        {
            "data": {"values": values},
            "mark": {"type": "text", "align": "left", "baseline": "middle", "clip": False},
            "encoding": {**y, "x": {"value": width + 10 + SWATCH}, "text": {"field": "text"}},
        },
    ]


def _end(line: PlotLine) -> float:
    """Where a line ends, nearly: the mean of the last tenth of it."""
    there = [float(value) for value in line.band.middle if value == value]
    last = there[-max(1, len(there) // 10) :]
    return math.fsum(last) / len(last) if last else 0.0


def spread_out(places: Sequence[float], apart: float, end: float) -> list[float]:
    """Move ascending places as little as possible so that each is so far from the next, within 0 and `end`."""
    groups: list[tuple[float, int]] = []  # of places that touch: where the first of them would be, and how many
    for place in places:
        group = place, 1
        while groups and _first(groups[-1], apart, end) + groups[-1][1] * apart > _first(group, apart, end):
            before, count = groups.pop()
            total = count + group[1]
            group = (before * count + (group[0] - count * apart) * group[1]) / total, total
        groups.append(group)
    return [_first(group, apart, end) + index * apart for group in groups for index in range(group[1])]


def _first(group: tuple[float, int], apart: float, end: float) -> float:
    return max(0.0, min(group[0], end - (group[1] - 1) * apart))


def _hover(plot: Plot, across: Specification, data: str, zoom: str | None) -> Specification:
    tooltip = [{"field": "at", "title": "from"}]
    tooltip += [{"field": f"n{number}", "title": line.label} for number, line in enumerate(plot.lines)]
    name = f"over_{data}".replace("-", "_")
    params: list[Specification] = [
        {"name": name, "select": {"type": "point", "on": "pointerover", "clear": "pointerout"}}
    ]
    if zoom:
        params.append({"name": zoom, "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"})
    return {
        "data": {"name": f"{data}-hover"},
        "params": params,
        "mark": {"type": "rect", "color": style.INK, "clip": True, "cursor": "crosshair"},
        "encoding": {
            **across,
            "x2": {"field": "u"},
            "opacity": {"condition": {"param": name, "empty": False, "value": 0.12}, "value": 0},
            "tooltip": [{**field, "type": "nominal"} for field in tooltip],
        },
    }
