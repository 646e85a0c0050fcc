"""The numbers that a declared figure shows, asked while the runs are at hand: verdicts.json carries them on."""

import re
from typing import Any

from analysis.claims.question import Question
from analysis.documents import Document


def numbers_of(figure: Document, ask: Question) -> dict[str, Any]:
    """Give the declaration with what was measured for it: `by_seed` in its `values`, `points` in its `plots`."""
    made = dict(figure.data)
    if "values" in made:
        made["values"] = [
            {**one.data, "by_seed": ask.numbers(one.get("measure", str), one.maybe("cell", str))[0]}
            for one in figure.children("values")
        ]
    if "plots" in made:
        made["plots"] = [{**plot.data, "points": _points(figure, plot, ask)} for plot in figure.children("plots")]
    return made


def _points(figure: Document, plot: Document, ask: Question) -> list[dict[str, Any]]:
    """Measure a plot's expressions in every cell: `line`, `x` and the numbers `by_seed`."""
    over = figure.get("over", str)
    labels = figure.maybe("labels", dict) or {}
    wanted = figure.maybe("only", dict) or {}
    lines = {"": plot.get("measure", str)} if isinstance(plot.data.get("measure"), str) else plot.get("measure", dict)
    points = []
    for cell, values in ask.cells().items():
        if over not in values:
            raise figure.error(
                figure.name("over"), over, f"a name of the matrix: {', '.join(values) or 'there is none'}"
            )
        if any(values.get(name) != value for name, value in wanted.items()):
            continue
        rest = ",".join(f"{name}={value}" for name, value in values.items() if name != over and name not in wanted)
        for name, expression in lines.items():
            line = ", ".join(part for part in (name, labels.get(rest, rest)) if part)
            by_seed = ask.numbers(expression, cell)[0]
            points.append({"line": line, "x": _number(values[over], figure), "by_seed": by_seed})
    return points


def _number(value: object, figure: Document) -> float:
    """Give the number in a value of the matrix, such as 25 in 25ms; a figure's values share one unit."""
    match = re.match(r"-?\d+(\.\d+)?", str(value))
    if not match:
        raise figure.error(figure.name("over"), value, "a name whose values are numbers")
    return float(match[0])
