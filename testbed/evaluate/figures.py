"""Draws what decides a cell: rates and queue over time, the control under test beside the baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from analysis.claims.question import Question
from analysis.documents import read_yaml
from analysis.errors import BadInputError
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from testbed.evaluate.judge import STUDY
from testbed.pool import pool
from testbed.shared import pictures
from testbed.shared.panel import CLIENT, in_order, point

PANELS: Final = ("rate", "queue")
FOLDER: Final = "figures"


@dataclass(frozen=True)
class DrawnFigure:
    """`address` is where it lies, from the evaluation's folder, without -narrow and .svg."""

    address: str
    caption: str


Drawings = dict[tuple[str, str], DrawnFigure]
"""By the scenario's file and the point."""


def draw(folder: Path, files: Sequence[str], client: str, baseline: str) -> Drawings:
    """Draw each point of scenarios, given by their files' names.

    A point without a finished run of both has none.
    """
    with pool() as processes:
        drawn = processes.map(partial(_of_scenario, folder=folder, order=(client, baseline)), files)
        return {(file, name): drawing for file, of_file in zip(files, drawn, strict=True) for name, drawing in of_file}


def _of_scenario(file: str, folder: Path, order: tuple[str, str]) -> list[tuple[str, DrawnFigure]]:
    scenario = read_yaml(folder / "studies" / STUDY / file)
    ask = Question(Runs(folder / "runs"), scenario.get("experiment", str), {})
    cells: dict[str, dict[str, str]] = {}
    for (cell, _), run in ask.runs.by_cell_and_seed(ask.experiment).items():
        cells.setdefault(point(cell), {})[run.settings.cell_values[CLIENT]] = cell
    drawn = []
    for number, name in enumerate(in_order(scenario, list(cells)), 1):
        if not all(side in cells[name] for side in order):
            continue
        beside = [{"cell": cells[name][side], "title": side} for side in order]
        address = f"{FOLDER}/{file.removesuffix('.yaml')}-{number}"
        try:
            caption = pictures.draw(folder / address, ask, beside, PANELS)
        except (BadInputError, NotMeasuredError):
            continue
        drawn.append((name, DrawnFigure(address, caption)))
    return drawn
