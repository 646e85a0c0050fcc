"""What the full run has of a figure's numbers: the reference set, shown pale behind the figure of a quick look."""

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from analysis.claims import shortened
from analysis.digits import nine_digits
from analysis.documents import Fields
from analysis.figures import seeds_behind
from analysis.figures.numbers import lines_of, point_of
from common.counts import plural
from scenarios.resolve import COMPLETE, QUICK, expand

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
    """What the reference set has of a figure's numbers, by name; the `few` are of only so many seeds: `few_seeds`.

    Where these are of other builds than the rest, `few_recorded` is the day of their runs; `day` is that of the rest.
    `seeds` has the number of seeds of each number, or two bounds of it; `means` are the numbers in whose range the mean
    stands in place of the median.
    """

    ranges: dict[str, Range]
    few: frozenset[str] = frozenset()
    few_seeds: int | None = None
    few_recorded: str = ""
    day: str = ""
    seeds: dict[str, list[int]] = field(default_factory=dict)
    means: frozenset[str] = frozenset()

    @property
    def most(self) -> str:
        """Say how many seeds the numbers have that are not of the few: "20 seeds"; nothing where none is known."""
        counts = (count for name in self.ranges.keys() - self.few for count in self.seeds.get(name, []))
        return seeds_behind.said({*counts})

    @property
    def description(self) -> str:
        """Say what the pale parts of a figure are: the full run and its seeds, or the few whose figure was kept."""
        if not self.few:
            return f"the full run, {self.most}" if self.most else "the full run"
        few, full_run = seeds_behind.said([self.few_seeds or 0]), f"the full run of {self.day}"
        if len(self.few) == len(self.ranges):
            if self.few_recorded:
                return f"{few} at full size of {self.few_recorded}, of other builds than {full_run}"
            return f"{few} of the full run"
        if self.few_recorded:
            of = f"of {' and '.join(self._axes_of_few)}, " if self._axes_of_few else ""
            few = f"{of}where no claim has the number, {few} of {self.few_recorded}, of other builds"
            return f"{full_run} ({self.most or 'all seeds'}; {few})"
        return f"the full run ({self.most or 'all seeds'}, or {few} where no claim has the number)"

    @property
    def called(self) -> str:
        """Say in a few words whose the pale parts are: the full run's, or those of the few of other builds than it."""
        if self.few_recorded and len(self.few) == len(self.ranges):
            return f"{seeds_behind.said([self.few_seeds or 0])} at full size"
        return "full run"

    @property
    def _axes_of_few(self) -> list[str]:
        """The axes, without units, of the points of curves that are of few seeds."""
        return sorted({name.partition(" | ")[0].partition(" [")[0] for name in self.few if " | " in name})


NOTHING: Final = Recorded({})


def recorded(figure: Fields, measured: Mapping[str, Any], kept: Mapping[str, Any]) -> Recorded:
    """Give what a reference set's file has of a figure.

    What was recorded of the figure counts before what claims and further numbers say of it, unless in fewer seeds.
    """
    recorded, judged = kept.get("figure", {}), _of_the_same(figure, _judged(measured, kept))
    means = frozenset(name for name, known in judged.items() if known.is_mean)
    judged_ranges = {name: known.range for name, known in judged.items()}
    of_claims = {name: [known.seeds] for name, known in judged.items() if known.seeds}
    seeds = _seeds(figure, measured, kept) | of_claims
    if few_seeds := kept.get("figure_seeds"):
        few = frozenset(recorded.keys() - judged.keys())
        days = kept.get("figure_recorded", ""), kept.get("ended", "")[:10]
        seeds |= {name: [few_seeds] for name in few}
        return Recorded({**recorded, **judged_ranges}, few, few_seeds, *days, seeds, means)
    return Recorded({**judged_ranges, **recorded}, seeds=seeds, means=means - recorded.keys())


def _seeds(figure: Fields, measured: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, list[int]]:
    """Give the number of seeds that the full run has of each number of a figure, by its cells."""
    by_cell = seeds_behind.by_cell(measured, kept)
    names = _names(figure, measured["experiment"].get("scenario"))
    return {name: seeds_behind.of_cells(wanted, measured, by_cell) for name, wanted in names}


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
    names = {name for name, _ in _names(figure, measured["experiment"].get("scenario"))}
    measured["figure"] |= {
        "full_run": there.ranges,
        "full_run_called": there.description,
        "full_run_head": there.called,
        "full_run_means": sorted(there.means),
        "full_run_seeds": there.seeds,
        "full_run_lacks": [len(names - there.ranges.keys()), len(names)],
    }
    if measured["figure"].get("kind") == "time-series":
        measured["figure"] |= _curves(measured, kept)


def _curves(measured: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a time series gets of the full run: its curves where these runs are shorter, or what they are."""
    if not shortened.lengths(measured.get("settings", [])):
        return {"full_run_curves_are": _curves_are(measured, kept)}
    if "curves" in kept:
        sooner = shortened.how_much_sooner(Path(measured["experiment"].get("scenario") or ""))
        return {"full_run_curves": kept["curves"], "full_run_curves_of": {**kept["curves_of"], "sooner": sooner}}
    return {"full_run_curves_are": "The full run's curves are not kept; its numbers stand on the claims."}


def missing_numbers(figure: Mapping[str, Any]) -> str:
    """Say what of a quick look's figure the reference set does not have; nothing where it has all."""
    if curves_are := figure.get("full_run_curves_are"):
        return f" {curves_are}"
    missing, total = figure.get("full_run_lacks", (0, 0))
    if missing == total:
        return " The full run's numbers of this figure are not kept." if total else ""
    are = "is" if missing == 1 else "are"
    return f" Of the full run's {total} numbers in this figure, {missing} {are} not kept." if missing else ""


def lengths(measured: Mapping[str, Any]) -> str:
    """Say how long the runs of a quick look last, and those of the full run, where they are longer."""
    lengths = shortened.lengths(measured.get("settings", []))
    if not lengths:
        return ""
    here, full = lengths
    most = "at most " * shortened.ends_with_transfers(Path(measured["experiment"].get("scenario") or ""))
    return f" Runs last {here} s here, {most}{full} s in the full run."


def same_numbers(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[bool]:
    """Say for each claim with numbers on both sides whether a set has the same in all seeds that there are here.

    Means over seeds are other numbers with fewer seeds; what counts as another experiment's claim is compared there.
    Both are claims as the reference set has them.
    """
    return [
        numbers.items() <= others.items()
        for name, other in there.items()
        if "mean_over_seeds" not in other["check"] and not other["check"].startswith("as ")
        for kind in ("by_seed", "held")
        if (numbers := json.loads(json.dumps(here.get(name, {}).get(kind))) or {}) and (others := other[kind] or {})
    ]


def _curves_are(measured: Mapping[str, Any], kept: Mapping[str, Any]) -> str:
    """Say how the curves of a quick look, of runs as long as the full run's, are related to those."""
    here = {
        claim["id"]: {"by_seed": nine_digits((claim.get("measured") or {}).get("by_seed")), "held": claim.get("held")}
        for claim in measured["claims"]
    }
    same = same_numbers(here, kept["claims"])
    if not same:
        return "The full run's curves are not kept."
    numbers = plural(len(same), "claim")
    if all(same):
        return f"Seed 1 of the full run has the same numbers ({numbers}), so these are its curves."
    return f"The full run's curves are not kept; its seed 1 has other numbers in {same.count(False)} of {numbers}."


def _names(figure: Fields, scenario: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the names of all numbers that a figure shows of the full run, each with what it measures, in which cell."""
    yield from ((value["label"], value) for value in figure.data.get("values", []))
    plots = figure.children("plots")
    cells = expand(Path(scenario), COMPLETE) if plots and scenario and Path(scenario).exists() else []
    for cell in cells:
        for plot in plots:
            for name, expression in lines_of(plot).items():
                if place := point_of(figure, name, cell.settings["cell_values"]):
                    yield point_name(plot.get("axis", str), *place), {"measure": expression, "cell": cell.name}


def _judged(measured: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give what the reference set has of claims and of further numbers: `measure`, `cell` and `range`, by their names.

    Of further numbers it keeps the mean in place of the median, and `is_mean` says so; only claims have `seeds`.
    """
    known = {}
    for claim in measured["claims"]:
        there = kept["claims"].get(claim["id"]) or {}
        if extent := range_of((there.get("by_seed") or {}).values()):
            known[claim["id"].rpartition("/")[2]] = {**claim, "range": extent, "seeds": seeds_behind.of_claim(there)}
    for extra in measured["experiment"].get("also_measured", []):
        if there := kept.get("also_measured", {}).get(extra["metric"]):
            known[extra["metric"]] = {
                **extra,
                "range": [there[name] for name in ("minimum", "mean", "maximum")],
                "is_mean": True,
            }
    return known


@dataclass(frozen=True)
class _Judged:
    """The range of a number that is also that of a claim, with its seeds, or a further number, with its mean."""

    range: Range
    seeds: int
    is_mean: bool


def _of_the_same(figure: Fields, judged: Mapping[str, Mapping[str, Any]]) -> dict[str, _Judged]:
    """Give what is known of each number of a figure that is also that of a claim, or a further number, by its name."""
    measures = [
        (_factor(entry["measure"]), entry.get("cell"), entry) for entry in judged.values() if "measure" in entry
    ]
    by_name: dict[str, _Judged] = {}

    def add(name: str, entry: Mapping[str, Any], factor: float) -> None:
        by_name[name] = _Judged(_scaled(entry["range"], factor), entry.get("seeds", 0), "is_mean" in entry)

    for value in figure.data.get("values", []):
        if "claim" in value and value["claim"] in judged:
            add(value["label"], judged[value["claim"]], 1)
        elif "measure" in value:
            factor, number = _factor(value["measure"])
            for (other, measure), cell, entry in measures:
                if (measure, cell) == (number, value.get("cell")):
                    add(value["label"], entry, factor / other)
    for plot in figure.children("plots"):
        axis = plot.get("axis", str)
        for name, expression in lines_of(plot).items():
            factor, number = _factor(expression)
            for (other, measure), cell, entry in measures:
                values = dict(part.split("=", 1) for part in (cell or "").split(",") if "=" in part)
                if measure == number and (place := point_of(figure, name, values)):
                    add(point_name(axis, *place), entry, factor / other)
        for line, printed in (plot.maybe("paper", dict) or {}).items():
            for x, y, *claim in printed:
                known_claim = judged.get(claim[0]) if claim else None
                if known_claim and (there := _number(known_claim.get("paper"))):
                    # the claim may count in another unit
                    add(point_name(axis, line, x), known_claim, y / there)
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
