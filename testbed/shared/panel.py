"""The scenarios of a comparison: the panel that every implementation goes through, and files like those."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from analysis.documents import Fields
from analysis.judge.statement import Statement
from engine.errors import EngineError
from scenarios import implementations, tables
from scenarios.cell_names import CASE, values_of, without, written
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.resolve import expand
from testbed.shared.rulebooks import FOLDER

CASES: Final = FOLDER / "compare"
# matrix names whose values are the implementations; a flow's `implementation: "${client}"` stands for one
CLIENT, RIVAL = "client", "rival"
STANDARD: Final = "tcp-cubic"
"""What everybody knows: beside it others are judged, if nothing else is asked for."""


def panel() -> list[Path]:
    """List the scenarios of a comparison that names none."""
    return sorted(CASES.glob("*.yaml"))


def panel_for(names: Sequence[str]) -> list[Path]:
    """List the scenarios of the panel that can show something of these implementations."""
    return [file for file in panel() if points_for(file, names)]


def points_for(scenario: Path, names: Sequence[str]) -> list[str]:
    """Return the points that can show something of these implementations: packets without timestamps show no clock."""
    known = implementations.known()
    timestamped = all(known[name]["transport"] in implementations.TIMESTAMPED for name in names)
    cells = expand(scenario, "complete")
    return list(dict.fromkeys(point(cell.name) for cell in cells if timestamped or not cell.settings.get("clocks")))


def find(scenario: str, beside: Path, field: str) -> Path:
    """Find a scenario of the panel by its name, any other by its path from the folder `beside`.

    Raises:
        EngineError: there is none; the message begins with the field that named it.
    """
    known = {file.stem: file for file in panel()}
    file = known.get(scenario, beside / scenario)
    if not file.is_file():
        allowed = f"{choices(sorted(known), scenario)}, or a file"
        raise EngineError(f"{field}: found {scenario!r}, no file; allowed: {allowed}")
    return file


def point(cell: str) -> str:
    """Return a cell's name without the name of the client: the point at which clients are compared."""
    return without(cell, CLIENT)


def in_order(document: Fields, points: Sequence[str]) -> list[str]:
    """Sort points as a scenario lists the values of its matrix and its cases."""
    matrix = document.maybe("matrix", dict) or {}
    listed = {CASE: list(document.maybe("cases", dict) or {}), **matrix}

    def place(point: str) -> list[int]:
        return [[written(value) for value in listed[name]].index(value) for name, value in values_of(point).items()]

    return sorted(points, key=place)


def points_of(scenario: Path, statement: Statement) -> list[str]:
    """Return the points of a scenario that a statement is about.

    Raises:
        EngineError: it has none; the message begins with the statement's field.
    """
    points = list(dict.fromkeys(point(cell.name) for cell in expand(scenario, "complete")))
    chosen = [name for name in points if statement.is_about(name)]
    if not chosen:
        found = ", ".join(f"{name}: {' or '.join(values)}" for name, values in statement.cells.items())
        raise EngineError(f"{statement.at}in: found {found}; allowed: {choices(points, found.replace(': ', '='))}")
    return chosen


def filled(
    scenario: Path,
    names: Sequence[str],
    seeds: int,
    points: Collection[str] = (),
    may_fail: Literal["nobody", "client", "everybody"] = "nobody",
) -> str:
    """Return the text of a scenario that compares these implementations.

    With `points` it has only the cases, and only the values of its matrix, that these points need. `may_fail` says
    whose end is a result, whatever it is, and does not fail the run.

    Raises:
        ScenarioError: the file has no place for them, or is not a scenario.
    """
    expand(scenario, "complete")
    document = tables.read(scenario)
    data: dict[str, Any] = document.data
    if CLIENT not in data.get("matrix", {}) or not any(flow["name"] == CLIENT for flow in data["flows"]):
        allowed = f'a matrix name `{CLIENT}`, and a flow of that name with implementation "${{{CLIENT}}}"'
        raise ScenarioError([Problem(scenario, 1, "matrix", f"has no place for implementations, {CLIENT}", allowed)])
    if may_fail != "nobody":
        for fields in (data, *data.get("cases", {}).values()):  # a case may have flows of its own
            for flow in fields.get("flows", []):
                if may_fail == "everybody" or flow["name"] == CLIENT:
                    flow["may_fail"] = True
    if points:
        _keep_points(data, points)
    for name in data["matrix"]:
        if name in (CLIENT, RIVAL):
            data["matrix"][name] = list(names)
    data["seeds"] = {"complete": seeds}
    return f"# {scenario.name}, filled by `testbed compare`\n" + yaml.safe_dump(data, sort_keys=False, width=120)


def _keep_points(data: dict[str, Any], points: Collection[str]) -> None:
    """Leave out the cases and the matrix's values that no point has, as far as points are named by them."""
    parts = {part for name in points for part in values_of(name).items()}
    if "cases" in data:
        data["cases"] = {name: case for name, case in data["cases"].items() if (CASE, name) in parts}
    for name, values in data["matrix"].items():
        if name not in (CLIENT, RIVAL):
            data["matrix"][name] = [value for value in values if (name, written(value)) in parts]
