"""What the full run has of a figure's numbers: the reference set, shown pale behind the figure of a quick look."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

QUICK: Final = "quick"
Range = list[float]  # smallest, median and largest number of the seeds


def ranges(figure: Mapping[str, Any]) -> dict[str, Range]:
    """Give what a reference set keeps of a figure: the range of each number that its declaration holds, by its name."""
    by_name = {value["label"]: range_of(value.get("by_seed", {}).values()) for value in figure.get("values", [])}
    for plot in figure.get("plots", []):
        for point in plot.get("points", []):
            by_name[point_name(plot["axis"], point["line"], point["x"])] = range_of(point["by_seed"].values())
    return {name: known for name, known in by_name.items() if known}


def range_of(values: Iterable[float | str]) -> Range | None:
    """Give the smallest number, the median and the largest one, to nine digits; None where nothing happened."""
    numbers = [value for value in values if not isinstance(value, str)]
    return [float(f"{value:.9g}") for value in (min(numbers), median(numbers), max(numbers))] if numbers else None


def point_name(axis: str, line: str, x: float) -> str:
    """Name a point of a curve."""
    return f"{axis} | {line} | {x:g}"


def points(kept: Mapping[str, Range], axis: str) -> Iterator[tuple[str, float, Range]]:
    """Yield line, x and range of the points of a plot."""
    for name, known in kept.items():
        if name.startswith(f"{axis} | "):
            _, line, x = name.rsplit(" | ", 2)
            yield line, float(x), known


def add_to(measured: dict[str, Any], reference: Path | None) -> None:
    """Add to the declaration of a quick look's figure, as `full_run`, the ranges that the reference set has of it."""
    file = reference / f"{measured['experiment']['id']}.json" if reference else None
    if file is None or not file.exists() or not any(run["size"] == QUICK for run in measured["runs"]):
        return
    kept = json.loads(file.read_text(encoding="utf-8"))
    by_name: dict[str, Range] = dict(kept.get("figure", {}))
    for value in measured["figure"].get("values", []):
        claim = kept["claims"].get(f"{measured['experiment']['id']}/{value.get('claim')}")
        if claim and (known := range_of((claim["by_seed"] or {}).values())):
            by_name[value["label"]] = known
    measured["figure"]["full_run"] = by_name
