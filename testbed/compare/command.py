"""Carries out `testbed compare`: fills scenarios with the named implementations and hands them to the pipeline."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from engine.errors import EngineError
from scenarios import load
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.resolve import expand
from testbed import arguments, own_study
from testbed.own_study import ROOT

PANEL = ROOT / "workflows" / "compare"
SNAKEFILE = PANEL / "Snakefile"
STUDY = "compare"
# matrix names whose values are the implementations; a flow's `implementation: "${client}"` stands for one
CLIENT, RIVAL = "client", "rival"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", nargs="+", help="two or more; the others are tested against the first")
    parser.add_argument("--scenario", action="append", default=[], help="of the panel, or a file; may be repeated")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell; default: %(default)s")
    parser.add_argument("--into", type=Path, default=Path("results/compare"), help="default: %(default)s")


def main(options: argparse.Namespace) -> NoReturn:
    """Compare implementations in scenarios (none: the whole panel): write the scenarios, then become the pipeline.

    Everything is kept in the folder --into/<the names>; a second call continues there.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    names, seeds = options.implementation, options.seeds
    _check_names(names)
    if seeds < 1:
        raise EngineError(f"--seeds: found {seeds}; allowed: a whole number, at least 1")
    files = [_find(scenario) for scenario in options.scenario] or panel()
    folder = own_study.folder_of(options.into, "-".join(names))
    study = ROOT / folder / "studies" / STUDY
    written = {study / file.name: filled(file, names, seeds) for file in files}
    if len(written) < len(files):
        raise EngineError(f"--scenario: found two files of one name; allowed: {choices(sorted({*map(str, files)}))}")
    own_study.write(study, written)
    own_study.become_pipeline(SNAKEFILE, "comparison", folder)


def panel() -> list[Path]:
    """List the scenarios of a comparison that names none."""
    return sorted(PANEL.glob("*.yaml"))


def points(scenario: Path) -> list[str]:
    """Return the points at which a scenario's numbers are measured: its cells without the name of the client."""
    parts = [cell.name.split(",") for cell in expand(scenario, "full")]
    named = [",".join(part for part in one if not part.startswith(f"{CLIENT}=")) or "single" for one in parts]
    return list(dict.fromkeys(named))


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


def _check_names(names: Sequence[str]) -> None:
    arguments.senders(names)
    if len(set(names)) < max(2, len(names)):
        raise EngineError(f"found {', '.join(names)}; allowed: two or more different implementations")


def _find(scenario: str) -> Path:
    """Find a scenario of the panel by its name, any other by its path."""
    known = {file.stem: file for file in panel()}
    found = known.get(scenario, Path(scenario))
    if not found.is_file():
        raise EngineError(
            f"--scenario: found {scenario!r}, no file; allowed: {choices(sorted(known), scenario)}, or a file"
        )
    return found
