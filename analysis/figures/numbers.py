"""Measures the numbers that a declared figure shows; verdicts.json hands them to the drawing."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from analysis.claims.question import Question
from analysis.documents import Fields

CELL: Final = "{cell}"
"""In the expressions of curves, the name of the cell that a point is of: for the same cell of another experiment."""


def numbers_of(figure: Fields, ask: Question) -> dict[str, Any]:
    """Give the declaration with what was measured for it: `by_seed` in its `values`, `points` in its `plots`."""
    made = dict(figure.data)
    if "values" in made:
        made["values"] = [
            fields.data
            if "claim" in fields.data  # which has its numbers
            else {**fields.data, "by_seed": _of(fields.get("measure", str), fields.maybe("cell", str), ask)}
            for fields in figure.children("values")
        ]
    if "plots" in made:
        made["plots"] = [
            {
                **plot.data,
                "points": [
                    {"line": point.line, "x": point.x, "by_seed": _of(point.expression, point.cell, ask)}
                    for point in _points(figure, plot, ask)
                ],
            }
            for plot in figure.children("plots")
        ]
    return made


def _of(expression: str, cell: str | None, ask: Question) -> dict[Any, float | str]:
    return as_json(ask.numbers(expression, cell)[0])


def as_json(by_seed: Mapping[Any, float]) -> dict[Any, float | str]:
    """Give numbers as JSON may have them: an instant that never comes is infinite, in JSON "never"."""
    return {seed: value if math.isfinite(value) else "never" for seed, value in by_seed.items()}


def expressions_of(figure: Fields, ask: Question) -> Iterator[tuple[str, str | None]]:
    """Yield all expressions that `numbers_of` evaluates, each with its cell."""
    for fields in figure.children("values"):
        if "claim" not in fields.data:
            yield fields.get("measure", str), fields.maybe("cell", str)
    for plot in figure.children("plots"):
        yield from ((point.expression, point.cell) for point in _points(figure, plot, ask))


class _Point(NamedTuple):
    line: str
    x: float
    expression: str
    cell: str


def _points(figure: Fields, plot: Fields, ask: Question) -> Iterator[_Point]:
    """Yield what a plot needs of every cell that it shows."""
    over = figure.get("over", str)
    for cell, values in ask.cells().items():
        if over not in values:
            raise figure.error(
                figure.name("over"), over, f"a name of the matrix: {', '.join(values) or 'there is none'}"
            )
        for name, expression in lines_of(plot).items():
            if place := point_of(figure, name, values):
                yield _Point(*place, expression.replace(CELL, cell), cell)


def lines_of(plot: Fields) -> dict[str, str]:
    """Give the expressions of a plot by the names of their lines."""
    measure = plot.data.get("measure")
    return {"": measure} if isinstance(measure, str) else plot.get("measure", dict)


def point_of(figure: Fields, name: str, values: Mapping[str, Any]) -> tuple[str, float] | None:
    """Give line and x of the number of this name in a cell with these values; None where the figure leaves it out."""
    over, labels, wanted = figure.get("over", str), figure.maybe("labels", dict) or {}, figure.maybe("only", dict) or {}
    if over not in values or any(values.get(other) != value for other, value in wanted.items()):
        return None
    rest = ",".join(f"{other}={value}" for other, value in values.items() if other != over and other not in wanted)
    label = labels.get(rest, rest)
    line = f"{label} {name}" if label.endswith(":") else ", ".join(part for part in (name, label) if part)
    return line, _number(values[over], figure)


def _number(value: object, figure: Fields) -> float:
    """Give the number in a value of the matrix, such as 25 in 25ms; a figure's values share one unit."""
    match = re.match(r"-?\d+(\.\d+)?", str(value))
    if not match:
        raise figure.error(figure.name("over"), value, "a name whose values are numbers")
    return float(match[0])
