"""Finds what a claims file names and its study, its scenario or the figures do not have: before anything runs."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from analysis.claims import kinds
from analysis.claims.registry import EXPRESSION, Experiment, Study, expressions_of, found
from analysis.figures.panels import NAMES as PANELS
from scenarios import scenario_files
from scenarios.cell_names import SINGLE
from scenarios.errors import FieldPath, Problem, ScenarioError, choices
from scenarios.load import read
from scenarios.resolve import Outline, outlines

Cells = Mapping[str, Outline]
"""Of each cell of a scenario its flows and its duration."""
FindCells = Callable[[str], Cells | None]
"""The cells of an experiment; None where its scenario is not at hand, or wrong, which its own command says."""

_TIME_SERIES: Final = "time-series"


def problems(experiment: Experiment, study: Study, cells_of: FindCells) -> Iterator[Problem]:
    """Find unknown findings, cells, flows and panels, and words of a run that do not say of which cell."""
    document = experiment.document
    for index, claim in enumerate(experiment.claims):
        if not claim.same_as and claim.finding not in study.findings:
            path: FieldPath = ("claims", index, "finding")
            yield document.problem(path, f"found {claim.finding!r}", choices(list(study.findings), claim.finding))
    yield from _panels(experiment)
    cells = cells_of(experiment.runs_of)
    if cells is None:
        return
    wrong_cells = set()
    for path, name in _cells(experiment):
        if name not in cells:
            wrong_cells.add(path[:-1])
            yield document.problem(path, f"found {name!r}", choices(list(cells), name))
    for path, expression in expressions_of(document):
        if path[0] == "words" or path[:-1] in wrong_cells:
            continue  # a word is checked where it is used
        entry = _around(experiment, path)
        own = [cells[entry["cell"]]] if entry.get("cell") in cells else list(cells.values())
        names = dict.fromkeys(name for cell in own for name in cell.flows)
        flows = {name: {cell.flows[name] for cell in own if name in cell.flows} for name in names}
        ends_s = max(cell.duration_s for cell in cells.values() if "cell" not in entry or cell in own)
        # a figure of kind curves, and lines of a panel, are drawn for each cell
        has_cell = bool({"cell", "cells"} & entry.keys()) or set(cells) == {SINGLE} or path[0] == "figure"
        scope = kinds.Scope(experiment.words, flows=flows, cells=cells, has_cell=has_cell, ends_s=ends_s)
        if wrong := kinds.problem(expression, scope):
            yield document.problem(path, f"{found(expression)}: {wrong}", EXPRESSION)


def scenario_of(folder: Path, experiment: str) -> Path | None:
    """Find the scenario of an experiment in the folder of its study, whatever the file's name."""
    for file in scenario_files(folder):
        try:
            if read(file).data.get("experiment") == experiment:
                return file
        except ScenarioError:
            continue
    return None


def cells_in(scenario: Path | None) -> Cells | None:
    """Return the cells of a scenario; None without one, and for one that is wrong."""
    try:
        return outlines(scenario) if scenario and scenario.exists() else None
    except ScenarioError:
        return None


def _panels(experiment: Experiment) -> Iterator[Problem]:
    figure = experiment.figure
    if figure["kind"] != _TIME_SERIES:
        return
    if not isinstance(figure.get("panels"), list):
        yield experiment.document.problem(("figure", "panels"), "missing", f"a list of {choices(PANELS)}")
        return
    for index, panel in enumerate(figure["panels"]):
        if not isinstance(panel, dict) and panel not in PANELS:
            allowed = f"{choices(PANELS, panel)}, or axis and lines"
            yield experiment.document.problem(("figure", "panels", index), f"found {panel!r}", allowed)


def _cells(experiment: Experiment) -> Iterator[tuple[FieldPath, str]]:
    """Yield each field that names a cell of the experiment's runs."""
    data = experiment.document.data
    for name, cell in data.get("cells", {}).items():
        yield ("cells", name), cell
    figure = data["figure"]
    lists: dict[FieldPath, list[Any]] = {("claims",): data["claims"], ("asserts",): data.get("asserts", [])}
    lists |= {("also_measured",): data.get("also_measured", [])}
    lists |= {("figure", name): figure[name] for name in ("cells", "values") if isinstance(figure.get(name), list)}
    for path, entries in lists.items():
        for index, entry in enumerate(entries):
            is_own = isinstance(entry, dict) and "runs_of" not in entry
            if is_own and isinstance(entry.get("cell"), str):
                yield (*path, index, "cell"), entry["cell"]


def _around(experiment: Experiment, path: FieldPath) -> Mapping[str, Any]:
    """Return the entry in which an expression stands."""
    entry: Any = experiment.document.data
    for part in path[:-1]:
        entry = entry[part]
    return entry if isinstance(entry, dict) else {}
