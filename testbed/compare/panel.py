"""The scenarios of a comparison: the panel that every implementation goes through, and files like those."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from engine.errors import EngineError
from scenarios import load
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.resolve import expand

CASES: Final = Path(__file__).with_name("cases")
# matrix names whose values are the implementations; a flow's `implementation: "${client}"` stands for one
CLIENT, RIVAL = "client", "rival"


def panel() -> list[Path]:
    """List the scenarios of a comparison that names none."""
    return sorted(CASES.glob("*.yaml"))


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
    return ",".join(part for part in cell.split(",") if not part.startswith(f"{CLIENT}=")) or "single"


def check_point(scenario: Path, name: str, field: str) -> None:
    """Refuse a point that the scenario does not have.

    Raises:
        EngineError: the message begins with the field that named it.
    """
    points = list(dict.fromkeys(point(cell.name) for cell in expand(scenario, "full")))
    if name not in points:
        raise EngineError(f"{field}: found {name!r}; allowed: {choices(points, name)}")


def filled(scenario: Path, names: Sequence[str], seeds: int) -> str:
    """Return the text of a scenario that compares these implementations.

    Raises:
        ScenarioError: the file has no place for them, or is not a scenario.
    """
    expand(scenario, "full")
    document = load.read(scenario)
    data: dict[str, Any] = document.data
    matrix = data.get("matrix", {})
    if CLIENT not in matrix or not any(flow["name"] == CLIENT for flow in data["flows"]):
        allowed = f'a matrix name `{CLIENT}`, and a flow of that name with implementation "${{{CLIENT}}}"'
        raise ScenarioError([Problem(scenario, 1, "matrix", f"has no place for what is compared, {CLIENT}", allowed)])
    data["matrix"] = {name: list(names) if name in (CLIENT, RIVAL) else values for name, values in matrix.items()}
    data["seeds"] = {"full": seeds}
    return f"# {scenario.name}, filled by `testbed compare`\n" + yaml.safe_dump(data, sort_keys=False, width=120)
