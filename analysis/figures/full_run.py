"""What the full run has of a figure's numbers: the reference set, shown pale behind the figure of a quick look."""

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from analysis.documents import Fields
from analysis.figures.numbers import lines_of, point_of
from scenarios.resolve import FULL, QUICK, expand

Range = list[float]  # smallest, median and largest number of the seeds


def ranges(figure: Mapping[str, Any]) -> dict[str, Range]:
    """Give what a reference set keeps of a figure: the range of each number that its declaration holds, by its name."""
    by_name = {value["label"]: range_of(value.get("by_seed", {}).values()) for value in figure.get("values", [])}
    for plot in figure.get("plots", []):
        for point in plot.get("points", []):
            by_name[point_name(plot["axis"], point["line"], point["x"])] = range_of(point["by_seed"].values())
    return {name: known for name, known in by_name.items() if known}


def range_of(values: Iterable[float | str]) -> Range | None:
    """Give smallest number, median and largest one, to the digits that a figure can show; None where there is none."""
    numbers = [value for value in values if not isinstance(value, str)]
    return [_shown(value) for value in (min(numbers), median(numbers), max(numbers))] if numbers else None


@dataclass(frozen=True)
class Recorded:
    """What the reference set has of a figure's numbers, by name; the `few` are of only so many seeds: `seeds`.

    These may have been run with other builds than the rest.
    """

    ranges: dict[str, Range]
    few: frozenset[str] = frozenset()
    seeds: int | None = None
    other_builds: bool = False

    @property
    def description(self) -> str:
        """Say what the pale parts of a figure are: the full run, or the few seeds of it whose figure was kept."""
        if not self.few:
            return "the full run"
        seeds = "one seed" if self.seeds == 1 else f"{self.seeds} seeds"
        builds = ", of later builds" if self.other_builds else ""
        if len(self.few) == len(self.ranges):
            return f"{seeds} at full size{builds}" if builds else f"{seeds} of the full run"
        return f"the full run ({seeds}{builds}; all where a claim has the same number)"


NOTHING: Final = Recorded({})


def recorded(figure: Fields, measured: Mapping[str, Any], kept: Mapping[str, Any]) -> Recorded:
    """Give what a reference set's file has of a figure.

    What was recorded of the figure counts before what claims and further numbers say of it, unless in fewer seeds.
    """
    recorded, judged = kept.get("figure", {}), _of_the_same(figure, _judged(measured, kept))
    if seeds := kept.get("figure_seeds"):
        few = frozenset(recorded.keys() - judged.keys())
        return Recorded({**recorded, **judged}, few, seeds, kept.get("figure_builds") == "other")
    return Recorded({**judged, **recorded})


def point_name(axis: str, line: str, x: float) -> str:
    """Name a point of a curve."""
    return f"{axis} | {line} | {x:g}"


def points(kept: Mapping[str, Range], axis: str) -> Iterator[tuple[str, float, Range]]:
    """Yield line, x and range of the points of a plot."""
    for name, known in kept.items():
        if name.startswith(f"{axis} | "):
            _, line, x = name.rsplit(" | ", 2)
            yield line, float(x), known


def add_ranges(measured: dict[str, Any], reference: Path | None) -> None:
    """Add to the declaration of a quick look's figure, as `full_run`, the ranges that the reference set has of it."""
    file = reference / f"{measured['experiment']['id']}.json" if reference else None
    if file is None or not file.exists() or not any(run["size"] == QUICK for run in measured["runs"]):
        return
    kept = json.loads(file.read_text(encoding="utf-8"))
    figure = Fields(file, measured["figure"], "figure")
    there = recorded(figure, measured, kept)
    measured["figure"]["full_run"], measured["figure"]["full_run_called"] = there.ranges, there.description
    names = set(_names(figure, measured["experiment"].get("scenario")))
    measured["figure"]["full_run_lacks"] = [len(names - there.ranges.keys()), len(names)]


def missing_numbers(figure: Mapping[str, Any]) -> str:
    """Say what of a quick look's figure the reference set does not have; nothing where it has all."""
    missing, total = figure.get("full_run_lacks", (0, 0))
    if "full_run_lacks" in figure and figure["kind"] == "time-series":
        return " The full run's curves are not kept; its numbers stand on the claims."
    if missing == total:
        return " The full run's numbers of this figure are not kept." if total else ""
    are = "is" if missing == 1 else "are"
    return f" Of the full run's {total} numbers in this figure, {missing} {are} not kept." if missing else ""


def _names(figure: Fields, scenario: str | None) -> Iterator[str]:
    """Yield the names of all numbers that a figure shows of the full run."""
    yield from (value["label"] for value in figure.data.get("values", []))
    plots = figure.children("plots")
    cells = expand(Path(scenario), FULL) if plots and scenario and Path(scenario).exists() else []
    for cell in cells:
        for plot in plots:
            for name in lines_of(plot):
                if place := point_of(figure, name, cell.settings["cell_values"]):
                    yield point_name(plot.get("axis", str), *place)


def _judged(measured: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give what the reference set has of claims and of further numbers: `measure`, `cell` and `range`, by their names.

    Of further numbers it keeps the mean in place of the median.
    """
    known = {}
    for claim in measured["claims"]:
        there = kept["claims"].get(claim["id"]) or {}
        if extent := range_of((there.get("by_seed") or {}).values()):
            known[claim["id"].rpartition("/")[2]] = {**claim, "range": extent}
    for extra in measured["experiment"].get("also_measured", []):
        if there := kept.get("also_measured", {}).get(extra["metric"]):
            known[extra["metric"]] = {**extra, "range": [there[name] for name in ("minimum", "mean", "maximum")]}
    return known


def _of_the_same(figure: Fields, judged: Mapping[str, Mapping[str, Any]]) -> dict[str, Range]:
    """Give the range of each number of a figure that is also that of a claim, or a further number, by its name."""
    measures = [
        (_factor(entry["measure"]), entry.get("cell"), entry["range"])
        for entry in judged.values()
        if "measure" in entry
    ]
    by_name: dict[str, Range] = {}
    for value in figure.data.get("values", []):
        if "claim" in value and value["claim"] in judged:
            by_name[value["label"]] = judged[value["claim"]]["range"]
        elif "measure" in value:
            factor, number = _factor(value["measure"])
            for (other, measure), cell, known in measures:
                if (measure, cell) == (number, value.get("cell")):
                    by_name[value["label"]] = _scaled(known, factor / other)
    for plot in figure.children("plots"):
        axis = plot.get("axis", str)
        for name, expression in lines_of(plot).items():
            factor, number = _factor(expression)
            for (other, measure), cell, known in measures:
                values = dict(part.split("=", 1) for part in (cell or "").split(",") if "=" in part)
                if measure == number and (place := point_of(figure, name, values)):
                    by_name[point_name(axis, *place)] = _scaled(known, factor / other)
        for line, printed in (plot.maybe("paper", dict) or {}).items():
            for x, y, *claim in printed:
                known_claim = judged.get(claim[0]) if claim else None
                if known_claim and (there := _number(known_claim.get("paper"))):
                    # the claim may count in another unit
                    by_name[point_name(axis, line, x)] = _scaled(known_claim["range"], y / there)
    return by_name


def _number(paper: object) -> float:
    """Give the number that a paper prints; 0 for a range, a dash or nothing, which tell no unit."""
    try:
        return float(paper) if isinstance(paper, str) else 0.0
    except ValueError:
        return 0.0


def _factor(expression: str) -> tuple[float, str]:
    """Take an expression apart: its factor, and what that multiplies. 100 * share("low") is (100, share('low'))."""
    factor, tree = 1.0, ast.parse(expression.strip(), mode="eval").body
    while isinstance(tree, ast.BinOp):
        left, right = tree.left, tree.right
        if isinstance(tree.op, ast.Mult) and isinstance(left, ast.Constant) and isinstance(left.value, int | float):
            factor, tree = factor * left.value, right
        elif isinstance(tree.op, ast.Div) and isinstance(right, ast.Constant) and isinstance(right.value, int | float):
            factor, tree = factor / right.value, left
        else:
            break
    return factor, ast.unparse(tree)


def _scaled(known: Range, factor: float) -> Range:
    return [_shown(value * factor) for value in known]


def _shown(value: float) -> float:
    return float(f"{value:.6g}")
