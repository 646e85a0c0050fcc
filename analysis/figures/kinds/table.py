"""A table as the paper prints it: in each field the paper's value and below it what was measured, with its verdict."""

import math
from pathlib import Path
from typing import Any, Final

from analysis.documents import Fields
from analysis.figures import alternative_text, pixels, style
from analysis.figures.style import Specification
from analysis.judge.verdict import SIGNS, Verdict
from common.counts import plural

HEAD: Final = 44  # pixels
ROW: Final = 46
AIR: Final = 12  # pixels between two fields, at least
NO_VALUE: Final = "\N{EN DASH}"


def make(measured: Fields, runs: Path) -> "TableFigure":  # noqa: ARG001 (its numbers are the claims')
    """Make the figure of an experiment."""
    return TableFigure(measured.child("figure"), measured.children("claims"))


class TableFigure:
    """A figure of kind `table`.

    Its declaration has `columns` (their heads) and `rows`, each with a `label` and, for each column, the last part of a
    claim's id, or null for an empty field. With `intervals: true` both values stand with the half width of their 95 %
    interval, in place of the deviation of the seeds.
    """

    def __init__(self, figure: Fields, claims: list[Fields]) -> None:
        by_name = {claim.get("id", str).rpartition("/")[2]: claim.data for claim in claims}
        self._has_intervals = figure.maybe("intervals", bool) or False
        self._columns = [str(column) for column in figure.get("columns", list)]
        self._rows: list[tuple[str, list[dict[str, Any] | None]]] = []
        for row in figure.children("rows"):
            names = row.get("claims", list)
            if len(names) != len(self._columns):
                raise row.error(
                    row.name("claims"), names, f"one claim or null for each of {len(self._columns)} columns"
                )
            for name in names:
                if name is not None and name not in by_name:
                    raise row.error(row.name("claims"), name, "the last part of the id of a claim of this experiment")
            self._rows.append((row.get("label", str), [by_name[name] if name else None for name in names]))

    def caption(self) -> str:
        """Say what the reader has to know to read the table."""
        of_claims = [(claim or {}).get("measured") or {} for _, claims in self._rows for claim in claims]
        is_one = max((measured.get("seeds", 0) for measured in of_claims), default=0) < 2
        spread = "± half of the 95 % interval" if self._has_intervals else "± their standard deviation"
        below = "what one seed has, " if is_one else f"the mean over the seeds, {spread}, "
        text = f"In each field, above: the paper's value; below: {below}"
        text += f"marked as holds ✓, nearly ≈, open ○, does not hold ✗, not judged {NO_VALUE}."
        if any(claim and "legible" in claim for _, claims in self._rows for claim in claims):
            text += " A question mark: hard to read in the scanned text."
        return text

    def alternative(self) -> str:
        """Say what the table shows to readers who do not see it."""
        columns = [column.replace("\n", " ") for column in self._columns]
        parts = [
            (
                label.replace("\n", ", "),
                [
                    (column, f"{self._paper(claim)}, {self._text(claim)}")
                    for column, claim in zip(columns, claims, strict=True)
                    if claim
                ],
            )
            for label, claims in self._rows
        ]
        how = "Values are the paper's, and the measured one with its verdict"
        return alternative_text.picture(f"Table of {plural(len(parts), 'row')}", how, parts)

    def specify(self, width: int, *, interactive: bool) -> Specification:  # noqa: ARG002 (a table has no moving parts)
        """Give the Vega-Lite specification for a page of `width` pixels."""
        longest = max((len(line) for label, _ in self._rows for line in label.split("\n")), default=0)
        labels = max(60, min(width // 2, round(6.4 * longest) + 8))
        fields = [text for _, claims in self._rows for claim in claims if claim for text in self._field(claim, 0, 0)]
        widest = max(style.text_width(text) for text in [*self._columns, *(field["text"] for field in fields)])
        most = max(1, (width - labels) // (widest + AIR))  # what does not fit beside goes below
        blocks = math.ceil(len(self._columns) / most)
        beside = math.ceil(len(self._columns) / blocks)
        each = (width - labels) / beside
        texts: list[dict[str, Any]] = []
        rules: list[dict[str, float]] = []
        y = 0.0
        for first in range(0, len(self._columns), beside):
            for index, column in enumerate(self._columns[first : first + beside]):
                for line, part in enumerate(column.split("\n")):
                    at = {"x": labels + each * (index + 1) - 8, "y": y + 14 + 15 * line}
                    texts.append({**at, "text": part, "colour": style.SOFT, "align": "right"})
            y += HEAD
            for label, claims in self._rows:
                rules.append({"y": y - 4, "x": 0, "x2": width})
                for line, part in enumerate(label.split("\n")):
                    texts.append({"x": 0, "y": y + 10 + 16 * line, "text": part, "colour": style.INK, "align": "left"})
                for index, claim in enumerate(claims[first : first + beside]):
                    if claim is not None:
                        texts += self._field(claim, labels + each * (index + 1) - 8, y)
                y += ROW
            y += 12
        between: Specification = {
            "data": {"values": rules},
            "mark": {"type": "rule", "color": style.FRAME},
            "encoding": {"x2": {"field": "x2"}},
        }
        return pixels.specification(width, y, [between], texts, {"fontSize": 11.5})

    def _paper(self, claim: dict[str, Any]) -> str:
        """Write the paper's value, with its interval where the table has these."""
        text = str(claim.get("paper", NO_VALUE))
        return f"{text} ±{claim['interval']}" if self._has_intervals and "interval" in claim else text

    def _text(self, claim: dict[str, Any]) -> str:
        number = _measured(claim, self._has_intervals)
        return f"measured {number}, {claim['verdict']}" if number else str(claim["verdict"])

    def _field(self, claim: dict[str, Any], right: float, y: float) -> list[dict[str, Any]]:
        paper = self._paper(claim) + "?" * ("legible" in claim)
        below = f"{_measured(claim, self._has_intervals)} {SIGNS[Verdict(claim['verdict'])]}".strip()
        common = {"x": right, "align": "right"}
        return [
            {**common, "y": y + 10, "text": paper, "colour": style.INK},
            {**common, "y": y + 26, "text": below, "colour": style.VERDICTS[claim["verdict"]]},
        ]


def _with_deviation(mean: float, std: float) -> str:
    """Write a mean and its deviation, the mean with no more decimals than the deviation leaves known."""
    mantissa, _, exponent = (rounded := _rounded(std, mean)).partition("e")
    decimals = len(mantissa.partition(".")[2])
    known = f"{mean:.{decimals}f}" if decimals and not exponent else _short(mean)
    return f"{min(known, _short(mean), key=len)} ±{rounded}"


def _rounded(std: float, mean: float) -> str:
    """Write a deviation with one digit; 0 where the mean's three digits do not show it."""
    if std <= 1e-3 * abs(mean):
        return "0"
    return f"{std:.0f}" if std >= 10 else f"{std:.1g}".replace("e-0", "e-")


def _short(number: float) -> str:
    """Write a number in a narrow field."""
    if 0 < abs(number) < 1e-3:
        return f"{number:.1e}".replace("e-0", "e-")
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _measured(claim: dict[str, Any], has_intervals: bool) -> str:
    measured = claim.get("measured")
    if not measured or measured["mean"] is None:
        return ""
    std = measured["std"]
    if claim.get("statistic") == "std":
        return NO_VALUE if std is None else _short(std)
    if has_intervals and (interval := claim.get("measured_interval")):
        return f"{measured['mean']:.0f} ±{(interval[1] - interval[0]) / 2:.0f}"
    return _short(measured["mean"]) if std is None else _with_deviation(measured["mean"], std)
