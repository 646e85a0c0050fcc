"""A figure of numbers: what was measured in each case, a dot a seed, their range and their median."""

from pathlib import Path
from statistics import median
from typing import Any, Final

from analysis.documents import Fields
from analysis.figures import alternative_text, roles, style
from analysis.figures.in_reference import Range, seeds_text
from analysis.figures.style import Specification
from analysis.units import with_unit
from common.counts import plural

ROW: Final = 34  # pixels
LINE: Final = 15  # of a label
PADDING: Final = 6  # of a label that stands above its row
TITLE: Final = 7.2  # mean width of a letter of a title
LEAST: Final = 140  # of a plot that stands beside others, or beside its names
TICK: Final = 70  # from one number of an axis to the next, at least
HEADS: Final = 16  # above the numbers at the right, where there are two columns of them
SWATCH: Final = 12  # of a mark before its head
HERE: Final = "this run"
THERE: Final = "reference"
NEVER: Final = "never"

Rows = list[dict[str, Any]]


def make(measured: Fields, runs: Path) -> "ValuesBySeed":  # noqa: ARG001 (its numbers are in the declaration)
    """Make the figure of an experiment."""
    return ValuesBySeed(measured.child("figure"), measured.children("claims"))


class ValuesBySeed:
    """A figure of kind `values-by-seed`.

    Its declaration has an `axis` and `values`, each with a `label` and either a `measure`, whose numbers are in
    `by_seed`, or a `claim`, which has the paper's number, too. A value takes the colour of its `role`, or of the
    figure's. Values called "group: name" are drawn in a plot for each group, all with the same axis.
    """

    def __init__(self, figure: Fields, claims: list[Fields]) -> None:
        self._axis = figure.get("axis", str)
        self._unit = style.unit_of(self._axis)
        by_name = {claim.get("id", str).rpartition("/")[2]: claim for claim in claims}
        there = figure.maybe("reference", dict) or {}
        self._seeds = figure.maybe("reference_seeds", dict) or {}
        self._rows = _in_shown_groups(
            [_row(fields, by_name, self._unit, there, figure) for fields in figure.children("values")]
        )
        drawn = [row[name] for row in self._rows for name in ("low", "high", "paper", "least", "most") if name in row]
        drawn += [value for row in self._rows for value in row.get("there", [])]
        self._ends = style.ends([value for value in drawn if value is not None], self._unit)
        self._tell_of_reference()
        numbers = [str(row["number"]) for row in self._rows]
        self._columns = [max(map(style.text_width, [HERE, *numbers]))]  # of numbers: their widths
        if any("there" in row for row in self._rows):
            numbers = [row["number_there"] for row in self._rows if "there" in row]
            self._columns = [SWATCH + self._columns[0], SWATCH + max(map(style.text_width, [self._there, *numbers]))]

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""
        if any(len(row["seeds"]) > 1 for row in self._rows):
            text = "One dot a seed; the stroke and the number are the median, the bar reaches from the smallest to the"
            text += " largest value."
        else:
            text = "Dots and numbers are of one seed." if any(row["seeds"] for row in self._rows) else ""
        if any(row["paper"] is not None for row in self._rows):
            text += " Diamonds are the paper's values, shaded as far as counts as holding."
        known = [row for row in self._rows if "there" in row]
        if known:
            has_ranges = any(row["there"][0] < row["there"][2] for row in known)
            pale, how = ("bars and strokes", ": range and median") if has_ranges else ("strokes", "")
            text += f" Pale {pale} are the reference set, {seeds_text(self._counts)}{how}."
        return text.strip()

    @property
    def _counts(self) -> set[int]:
        """Of how many seeds the numbers of the reference set are."""
        return {self._seeds[row["label"]] for row in self._rows if "there" in row}

    def _tell_of_reference(self) -> None:
        """Write the reference set's numbers, each with how many seeds it has, where these are not alike."""
        is_told = len(self._counts) > 1
        for row in self._rows:
            if "there" in row:
                text = with_unit(style.number(row["there"][1]), self._unit)
                row["number_there"] = f"{text} ({self._seeds[row['label']]})" if is_told else text
        self._there = f"{THERE} (seeds)" if is_told else THERE

    def alternative(self) -> str:
        """Say what the figure shows to readers who do not see it."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for row in self._rows:
            groups.setdefault(row["group"], []).append((row["name"], _text(row)))
        is_one = all(len(row["seeds"]) < 2 for row in self._rows)
        how = "Values are of one seed, those of the reference set medians" if is_one else "Values are medians"
        return alternative_text.picture(self._axis, f"{how} and ranges over the seeds", list(groups.items()))

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""
        longest = max(style.text_width(row["name"]) for row in self._rows)
        written = sum(self._columns) + 8 * len(self._columns) + 8
        beside = longest + 16 <= min(0.4 * width, width - written - LEAST)
        room = longest + 16 if beside else 0
        groups = list(dict.fromkeys(row["group"] for row in self._rows))
        columns = max(1, min(len(groups), width // (room + LEAST + written))) if beside else 1
        across = width // columns - room - written
        lines: list[Specification] = []
        for first in range(0, len(groups), columns):
            part = groups[first : first + columns]
            plots: list[Specification] = []
            for group in part:
                rows = [row for row in self._rows if row["group"] == group]
                if beside:
                    placed, labels, height = _placed_beside(rows)
                else:
                    placed, labels, height = _placed_below(rows, across - 2 * PADDING)
                layers = self._layers(placed, across, interactive=interactive)
                layers.append(_named(labels, beside=beside))
                plots.append({"width": across, "height": height, "layer": layers})
                if group:
                    title = style.wrapped(group, across + written, TITLE)
                    offset = 6 + HEADS * (len(self._columns) - 1)
                    plots[-1]["title"] = {"text": title, "frame": "group", "offset": offset}
            lines.append({"hconcat": plots, "spacing": written + room, "bounds": "flush"} if columns > 1 else plots[0])
        return style.specification({"vconcat": lines, "spacing": 26} if len(lines) > 1 else lines[0])

    def _layers(self, rows: Rows, across: int, *, interactive: bool) -> list[Specification]:
        """Draw rows that have their places, in a plot `across` px wide."""
        seeds = [row for row in rows if row["seeds"]]
        dots = [{**row, "value": value} for row in rows for value in row["seeds"]]
        paper = [row for row in rows if row["paper"] is not None]
        title = style.wrapped(self._axis, across)
        x: Specification = {"field": "value", "type": "quantitative", "title": title}
        x["axis"] = {"tickCount": max(2, min(5, across // TICK))}
        x["scale"] = {"zero": False, "nice": False, "padding": 10, "domain": self._ends}
        y = {"field": "y", "type": "quantitative", "scale": None, "axis": None}
        colour = {"field": "c", "type": "nominal", "scale": None, "legend": None}
        encoding = {"x": x, "y": y, "color": colour}
        span = {**encoding, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
        tooltip = {
            "tooltip": [
                {"field": name, "title": title, "type": "nominal"}
                for name, title in (("label", "case"), ("number", "median"), ("range", "range"))
            ]
        }
        several = [row for row in seeds if len(row["seeds"]) > 1]
        dot = (
            {"type": "circle", "size": 55, "opacity": 0.55} if several else {"type": "circle", "size": 75, "opacity": 1}
        )
        tick = {"type": "tick", "orient": "vertical", "thickness": 2.5, "size": 22}
        middle = {**encoding, "x": {**x, "field": "middle"}}
        text = {"type": "text", "align": "left", "baseline": "middle"}
        ink = {"field": "ink", "type": "nominal", "scale": None, "legend": None}
        at_end = {"y": y, "x": {"value": across + 8}, "text": {"field": "number"}, "color": ink}
        bar = {"type": "bar", "orient": "horizontal", "size": 14, "opacity": style.BAND}
        layers: list[Specification] = [
            *_of_reference(rows, encoding, bar, tick),
            {"data": {"values": several}, "mark": bar, "encoding": span},
            {"data": {"values": dots}, "mark": dot, "encoding": {**encoding, **(tooltip if interactive else {})}},
            {"data": {"values": several}, "mark": tick, "encoding": middle},
            {"data": {"values": rows}, "mark": text, "encoding": at_end},
            *self._of_column_there(rows, across, text, y),
        ]
        if paper:
            diamond = {"type": "point", "shape": "diamond", "size": 110, "strokeWidth": 2, "color": roles.PAPER}
            layers.append(
                {"data": {"values": paper}, "mark": diamond, "encoding": {"x": {**x, "field": "paper"}, "y": y}}
            )
            allowed = {"x": {**x, "field": "least"}, "x2": {"field": "most"}, "y": y}
            shade = {**bar, "size": ROW - 8, "color": roles.PAPER}
            layers.insert(
                0, {"data": {"values": [row for row in paper if "least" in row]}, "mark": shade, "encoding": allowed}
            )
        return layers

    def _of_column_there(self, rows: Rows, across: int, text: Specification, y: Specification) -> list[Specification]:
        """Write the reference set's numbers in a column of their own, and above both columns whose they are."""
        if len(self._columns) < 2:
            return []
        left, top = across + 8, {"value": -HEADS / 2}
        second = left + self._columns[0] + 8
        known = [row for row in rows if "there" in row]
        soft = {**text, "color": style.SOFT}
        marks = (
            ({"type": "circle", "size": 55, "color": style.SOFT}, {"x": {"value": left + 4}}),
            (
                {"type": "bar", "size": 14, "color": style.SOFT, "opacity": style.GHOST, "orient": "horizontal"},
                {"x": {"value": second}, "x2": {"value": second + 8}},
            ),
        )
        heads = ((left + SWATCH, HERE), (second + SWATCH, self._there))
        return [
            {
                "data": {"values": known},
                "mark": soft,
                "encoding": {"y": y, "x": {"value": second}, "text": {"field": "number_there"}},
            },
            *({"data": {"values": [{}]}, "mark": mark, "encoding": {**at, "y": top}} for mark, at in marks),
            *(
                {
                    "data": {"values": [{}]},
                    "mark": soft,
                    "encoding": {"x": {"value": at}, "y": top, "text": {"value": head}},
                }
                for at, head in heads
            ),
        ]


def _of_reference(rows: Rows, encoding: Specification, bar: Specification, tick: Specification) -> list[Specification]:
    """Draw what the reference set has, paler."""
    there = [
        {**row, "low": row["there"][0], "middle": row["there"][1], "high": row["there"][2]}
        for row in rows
        if "there" in row
    ]
    if not there:
        return []
    x = encoding["x"]
    span = {**encoding, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
    data = {"data": {"values": there}}
    return [
        {**data, "mark": {**bar, "opacity": style.GHOST_BAR}, "encoding": span},
        {**data, "mark": {**tick, "opacity": style.GHOST}, "encoding": {**encoding, "x": {**x, "field": "middle"}}},
    ]


def _in_shown_groups(rows: Rows) -> Rows:
    """Leave out groups that have no number, such as those whose cells are not of this size; never all of them."""
    shown = {row["group"] for row in rows if row["measured"] or row["paper"] is not None or "there" in row}
    return [row for row in rows if row["group"] in shown] or rows


def _placed_beside(rows: Rows) -> tuple[Rows, Rows, int]:
    """Give each row its place (px from the top) beside its label; the labels; how tall all are."""
    placed = [{**row, "y": ROW * place + ROW // 2} for place, row in enumerate(rows)]
    return placed, [{"y": row["y"], "text": row["name"]} for row in placed], ROW * len(rows)


def _placed_below(rows: Rows, room: int) -> tuple[Rows, Rows, int]:
    """Give each row its place (px from the top) below its label; the labels, `room` px wide; how tall all are."""
    placed, labels, top = [], [], 0
    for row in rows:
        lines = style.wrapped(row["name"], room)
        head = PADDING + LINE * len(lines) - 6
        placed.append({**row, "y": top + head + ROW // 2})
        labels.append({"y": top + PADDING, "text": "\n".join(lines)})
        top += head + ROW
    return placed, labels, top


def _named(labels: Rows, *, beside: bool) -> Specification:
    how = {"align": "right", "baseline": "middle"} if beside else {"align": "left", "baseline": "top"}
    y = {"field": "y", "type": "quantitative", "scale": None, "axis": None}
    return {
        "data": {"values": labels},
        "mark": {"type": "text", "lineBreak": "\n", "lineHeight": LINE, **how},
        "encoding": {"y": y, "x": {"value": -8 if beside else PADDING}, "text": {"field": "text"}},
    }


def _text(row: dict[str, Any]) -> str:
    if row["seeds"]:
        text = alternative_text.spread(row["low"], row["middle"], row["high"])
        text += f", {THERE} {alternative_text.spread(*row['there'])}" if "there" in row else ""
    else:
        text = f"{alternative_text.spread(*row['there'])} in the {THERE} set" if "there" in row else "not measured"
    return text if row["paper"] is None else f"{text}, paper {style.number(row['paper'])}"


def _row(
    fields: Fields, claims: dict[str, Fields], unit: str, known: dict[str, Range], figure: Fields
) -> dict[str, Any]:
    row: dict[str, Any] = {"label": fields.get("label", str), "paper": None}
    by_seed = fields.maybe("by_seed", dict) or {}
    if "claim" in fields.data:
        claim = claims.get(fields.get("claim", str))
        if claim is None:
            allowed = "the last part of the id of a claim of this experiment"
            raise fields.error(fields.name("claim"), fields.data["claim"], allowed)
        by_seed = (claim.maybe("measured", dict) or {}).get("by_seed", {})
        row["paper"] = float(claim.get("paper", str)) if "paper" in claim.data else None
        if zones := claim.maybe("zones", dict):
            row["least"], row["most"] = zones["holds"]
    there = known.get(row["label"])
    row["seeds"] = values = [value for value in by_seed.values() if value != NEVER]
    group, _, name = row["label"].rpartition(": ")
    row |= {"measured": bool(by_seed), "group": group, "name": name, "c": roles.colour_of_name(name, group)}
    if document := next((document for document in (fields, figure) if "role" in document.data), None):
        row["c"] = roles.declared(document, "role")
    row |= {"number": NEVER if by_seed else "not run", "ink": style.SOFT}
    if values:
        row |= {"low": min(values), "middle": median(values), "high": max(values), "ink": style.INK}
        row["number"] = with_unit(style.number(row["middle"]), unit)
        row["range"] = f"{style.number(row['low'])} to {style.number(row['high'])} over {plural(len(values), 'seed')}"
        if missing := len(by_seed) - len(values):
            row["number"] += f", never in {missing} of {len(by_seed)}"
    if there:
        row["there"] = there
    return row
