"""Reads workflows/ns2/cells.yaml: which cells of the papers run in ns-2, and how their texts are read there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.documents import Fields, read_yaml

FOLDER: Final = Path(__file__).parents[2] / "workflows/ns2"
CELLS: Final = FOLDER / "cells.yaml"
NUMBERS: Final = ("utilization", "jain", "loss")

Options = Mapping[str, str | float]


@dataclass(frozen=True)
class Reading:
    """One way to understand the texts; `options` are those of images/ns2/pair.tcl that it changes."""

    name: str
    about: str
    options: Options


@dataclass(frozen=True)
class Cell:
    """One case of a table in one reading; `claims` are the ids of the paper's numbers by NUMBERS."""

    experiment: str
    case: str
    reading: Reading
    options: Options
    seeds: int
    claims: Mapping[str, str]

    @property
    def id(self) -> str:
        """Experiment, case and reading."""
        return f"{self.experiment}/{self.case}/{self.reading.name}"


def cells(file: Path = CELLS) -> Iterator[Cell]:
    """Yield all cells, those of a case one after the other."""
    document = read_yaml(file)
    readings = [
        Reading(name, entry["about"], entry.get("options", {}))
        for name, entry in document.get("readings", dict).items()
    ]
    tables = document.child("tables")
    for experiment in tables.data:
        table = tables.child(experiment)
        for case in table.get("cases", dict):
            yield from _of_case(experiment, case, table, readings)


def _of_case(experiment: str, case: str, table: Fields, readings: list[Reading]) -> Iterator[Cell]:
    entry = table.child("cases").child(case)
    seeds = entry.get("seeds", dict)
    for reading in readings:
        if reading.name in seeds:
            options = {**table.get("common", dict), **(entry.maybe("options", dict) or {}), **reading.options}
            yield Cell(experiment, case, reading, options, seeds[reading.name], entry.maybe("claims", dict) or {})
