"""Carries out `testbed gate`: runs an implementation in the scenarios that its budgets name, and has them judged."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from scenarios.errors import choices
from testbed import arguments, own_study
from testbed.compare.command import filled, panel, points
from testbed.own_study import ROOT

STUDY = "gate"
SNAKEFILE = ROOT / "workflows" / "gate" / "Snakefile"
DEFAULT = ROOT / "workflows" / "gate" / "budgets.yaml"
UNKNOWN = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("budgets", type=Path, nargs="?", default=DEFAULT, help="default: workflows/gate's")
    parser.add_argument("--client", help="the implementation; default: the one that the budgets name")
    parser.add_argument("--into", type=Path, default=Path("results/gate"), help="default: %(default)s")
    parser.add_argument("--history", type=Path, metavar="FILE", help="append a line of JSON with what was measured")
    parser.set_defaults(kept="finished runs are kept")


def main(options: argparse.Namespace) -> int:
    """Return 0 when all budgets hold, 1 when one is broken, 2 when one cannot be judged."""
    return gate(options.budgets, options.client, options.into, options.history)


def gate(file: Path, client: str | None, into: Path, history: Path | None) -> int:
    """Return 0 when all budgets hold, 1 when one is broken, 2 when one cannot be judged.

    Everything is kept in the folder `into`/<the client>; runs that nothing has changed for are not repeated.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    asked = _asked(file)
    name = client or asked["client"]
    if not name:
        raise EngineError(f"{file} names no client, and there is no --client; allowed: one of both")
    folder = own_study.folder_of(into, name)
    study = ROOT / folder / "studies" / STUDY
    found = {scenario: _find(scenario, file) for scenario in asked["scenarios"]}
    files = {found[scenario]: [name, *others] for scenario, others in asked["scenarios"].items()}
    arguments.senders([other for names in files.values() for other in names])
    for one in asked["cells"]:
        if one["cell"] not in (there := points(found[one["scenario"]])):
            raise EngineError(f"{file}: cell: found {one['cell']!r}; allowed: {choices(there, one['cell'])}")
    if history:
        _check_writable(history)
    own_study.write(study, {study / one.name: filled(one, names, asked["seeds"]) for one, names in files.items()})
    if own_study.carry_out(SNAKEFILE, "gate", folder):
        return UNKNOWN
    words = [str(file), "--results", str(ROOT / folder), "--client", name]
    words += ["--history", str(history)] if history else []
    return subprocess.run([*_ANALYSIS, *words], check=False).returncode


def _check_writable(history: Path) -> None:
    try:
        history.parent.mkdir(parents=True, exist_ok=True)
        history.open("a").close()
    except OSError as error:
        raise EngineError(f"--history: {history} cannot be written: {error.strerror}") from None


_ANALYSIS = [sys.executable, "-P", "-m", "analysis", "gate"]


def _asked(file: Path) -> dict[str, Any]:
    """What the budgets need to be run, as the analysis reads them.

    Raises:
        EngineError: it refuses them, for the reasons that it gives.
    """
    done = subprocess.run([*_ANALYSIS, str(file)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(done.stderr.strip().removeprefix("analysis: "))
    asked: dict[str, Any] = json.loads(done.stdout)
    return asked


def _find(scenario: str, budgets: Path) -> Path:
    """Find a scenario of the panel by its name, any other by its path from the budgets' folder.

    Raises:
        EngineError: there is none.
    """
    known = {file.stem: file for file in panel()}
    found = known.get(scenario, budgets.parent / scenario)
    if not found.is_file():
        allowed = f"{choices(sorted(known), scenario)}, or a file"
        raise EngineError(f"{budgets}: scenario: found {scenario!r}, no file; allowed: {allowed}")
    return found
