"""The numbers that a reference set has of a figure, drawn pale beside those of a quick look."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from analysis.documents import read_json
from analysis.reference.files import files
from common.counts import plural
from scenarios.resolve import QUICK

BySeed = dict[str, float | str]  # "never" stands for an instant that did not come
Range = list[float]  # smallest, median and largest number of the seeds


def numbers_of(figure: Mapping[str, Any]) -> dict[str, BySeed]:
    """Give the numbers that the declaration of a figure holds by seed, by their names; those of claims stand there."""
    by_name = {value["label"]: value.get("by_seed", {}) for value in figure.get("values", [])}
    for plot in figure.get("plots", []):
        for point in plot.get("points", []):
            by_name[point_name(plot["axis"], point["line"], point["x"])] = point["by_seed"]
    return {name: by_seed for name, by_seed in by_name.items() if by_seed}


def point_name(axis: str, line: str, x: float) -> str:
    """Name a point of a curve."""
    return f"{axis} | {line} | {x:g}"


def points(there: Mapping[str, Range], axis: str) -> Iterator[tuple[str, float, Range]]:
    """Yield line, x and range of the points of a plot."""
    for name, known in there.items():
        if name.startswith(f"{axis} | "):
            _, line, x = name.rsplit(" | ", 2)
            yield line, float(x), known


def range_of(numbers: Iterable[float | str]) -> Range | None:
    """Give smallest number, median and largest one; None where there is none."""
    known = [number for number in numbers if not isinstance(number, str)]
    return [min(known), median(known), max(known)] if known else None


def ranges(by_name: Mapping[str, BySeed]) -> dict[str, Range]:
    """Give the range of each number."""
    return {name: known for name, by_seed in by_name.items() if (known := range_of(by_seed.values()))}


def kept(measured: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, BySeed]:
    """Give what a reference set's file of an experiment has of its figure, by seed, also of claims that it shows."""
    of_claims = {
        value["label"]: there["claims"].get(f"{measured['experiment']['id']}/{value['claim']}", {}).get("by_seed") or {}
        for value in measured["figure"].get("values", [])
        if "claim" in value
    }
    figure: dict[str, BySeed] = there.get("figure", {})
    return of_claims | figure


def seeds_text(counts: Iterable[int]) -> str:
    """Write numbers of seeds: "20 seeds", "5 to 20 seeds"; nothing for none."""
    ends = sorted({*counts})
    return "" if not ends else plural(ends[0], "seed") if len(ends) == 1 else f"{ends[0]} to {ends[-1]} seeds"


def file_of(reference: Path | None, experiment: str) -> Path | None:
    """Give what a reference set has of an experiment; None without either."""
    return files(reference).get(experiment) if reference else None


def add(measured: dict[str, Any], reference: Path | None) -> None:
    """Add to the declaration of a quick look's figure what the reference set has of it.

    `reference` are the ranges of its numbers by their names, `reference_seeds` how many seeds each has.
    """
    file = file_of(reference, measured["experiment"]["id"])
    if file is None or not any(run["size"] == QUICK for run in measured["runs"]):
        return
    numbers = kept(measured, read_json(file).data)
    counts = {name: len(by_seed) for name, by_seed in numbers.items()}
    measured["figure"] |= {"reference": ranges(numbers), "reference_seeds": counts}
