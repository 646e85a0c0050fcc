"""Reads workflows/ns2: which cells of the papers run in ns-2, how their texts are read there, and what came out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analysis.documents import Fields, read_json, read_yaml
from analysis.judge.spread import spread

CELLS: Final = "cells.yaml"
RESULTS: Final = "results.json"  # beside it
NUMBERS: Final = ("utilization", "jain", "loss")
RECORDED: Final = {"utilization": "utilization_of_whole_run"}
"""Under what name the results have a number, where that is another: what both flows carry, over the whole run."""
PERCENT: Final = "utilization"  # a fraction in the results, and in percent where a paper prints it
SPREAD: Final = " spread"  # behind a number's name: its standard deviation

Options = Mapping[str, str | float]


@dataclass(frozen=True)
class SimulatorReading:
    """One way to understand the texts; `options` are those of images/ns2/pair.tcl that it changes."""

    name: str
    about: str
    options: Options


@dataclass(frozen=True)
class SimulatedCell:
    """One case of a table in one reading; `claims` are the ids of the paper's numbers by NUMBERS, or with SPREAD."""

    experiment: str
    case: str
    reading: SimulatorReading
    options: Options
    seeds: int
    claims: Mapping[str, str]

    @property
    def id(self) -> str:
        """Experiment, case and reading."""
        return f"{self.experiment}/{self.case}/{self.reading.name}"


def cells(folder: Path) -> Iterator[SimulatedCell]:
    """Yield all cells, those of a case one after the other."""
    document = read_yaml(folder / CELLS)
    readings = [
        SimulatorReading(name, entry["about"], entry.get("options", {}))
        for name, entry in document.get("readings", dict).items()
    ]
    tables = document.child("tables")
    for experiment in tables.data:
        table = tables.child(experiment)
        for case in table.get("cases", dict):
            yield from _of_case(experiment, case, table, readings)


def _of_case(experiment: str, case: str, table: Fields, readings: list[SimulatorReading]) -> Iterator[SimulatedCell]:
    entry = table.child("cases").child(case)
    seeds = entry.get("seeds", dict)
    for reading in readings:
        if reading.name in seeds:
            options = {**table.get("common", dict), **(entry.maybe("options", dict) or {}), **reading.options}
            yield SimulatedCell(
                experiment, case, reading, options, seeds[reading.name], entry.maybe("claims", dict) or {}
            )


def by_claim(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return, by the full id of a claim, what ns-2 gives for it in each reading: `title` and `measured`.

    Raises BadInputError if the results lack a cell.
    """
    results = read_json(folder / RESULTS).child("cells")
    entries: dict[str, list[dict[str, Any]]] = {}
    for cell in cells(folder):
        came = results.child(cell.id)
        for name, claim in cell.claims.items():
            number = name.removesuffix(SPREAD)
            scale = 100 if number == PERCENT else 1
            values = {seed: scale * value for seed, value in enumerate(came.get(RECORDED.get(number, number), list), 1)}
            entry = {"title": cell.reading.name, "measured": vars(spread(values))}
            entries.setdefault(f"{cell.experiment}/{claim}", []).append(entry)
    return entries
