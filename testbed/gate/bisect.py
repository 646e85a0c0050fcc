"""Carries out `testbed bisect`: the version of an implementation with which a number changed."""

import argparse
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import yaml

from engine.errors import EngineError
from testbed import own_study
from testbed.gate import command as gate
from testbed.gate.versions import place_of, versions_of
from testbed.own_study import ROOT

BUDGETS = "budgets.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", help="one that lists versions")
    parser.add_argument("--good", required=True, metavar="VERSION", help="whose number is as it should be")
    parser.add_argument("--bad", required=True, metavar="VERSION", help="whose number is not")
    parser.add_argument("--measure", required=True, metavar="EXPRESSION", help="the number, in the words of budgets")
    parser.add_argument("--scenario", required=True, help="of the panel of `testbed compare`, or a file")
    parser.add_argument("--cell", help="the point of the scenario that counts, if it has several")
    parser.add_argument("--into", type=Path, default=Path("results/bisect"), help="default: %(default)s")
    parser.set_defaults(kept="finished runs are kept")


def main(options: argparse.Namespace) -> int:
    """Find the version whose number is no longer nearer to the good version's than to the bad one's.

    The good one may be the newer. Everything is kept in the folder --into/<the name>.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, or a version cannot be judged.
    """
    name, good, bad, expression = options.implementation, options.good, options.bad, options.measure
    listed = versions_of(name)
    names = list(listed)
    best, worst = place_of(names, good, "--good", 0), place_of(names, bad, "--bad", 0)
    if best == worst:
        raise EngineError(f"--bad: found {bad}, the good one; allowed: another of {', '.join(names)}")
    if not expression.strip():
        raise EngineError(
            "--measure: found nothing; allowed: an expression in the words of docs/claims.md and docs/gate.md"
        )
    file = _budgets(ROOT / own_study.folder_of(options.into, name), options.scenario, options.cell, expression)
    measured: dict[int, float] = {}

    def measure(place: int) -> float:
        measured[place] = _measured(file, listed[names[place]])
        return measured[place]

    at_good, at_bad = measure(best), measure(worst)
    if at_good == at_bad:
        found = f"{expression}, {at_good:.6g} with {good} and with {bad}"
        raise EngineError(f"--measure: found {found}; allowed: what differs between them")
    best, worst = search(best, worst, lambda place: is_nearer(measure(place), at_good, at_bad))
    longest = max(len(names[place]) for place in measured)
    for place, number in sorted(measured.items()):
        print(f"{names[place]:{longest}}  {number:.6g}")
    print(
        f"{expression}: {measured[best]:.6g} with {name} {names[best]}, {measured[worst]:.6g} with {names[worst]}, "
        f"its neighbour; {len(measured)} of {len(names)} versions were run"
    )
    return 0


def search(good: int, bad: int, is_good: Callable[[int], bool]) -> tuple[int, int]:
    """Narrow a good and a bad place down to neighbours, by halves."""
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        if is_good(middle):
            good = middle
        else:
            bad = middle
    return good, bad


def is_nearer(number: float, one: float, other: float) -> bool:
    """Whether a number is nearer to one than to another; what never happens (infinite) is near to itself only."""
    if math.isinf(one) or math.isinf(other):
        return math.isinf(number) == math.isinf(one)
    return abs(number - one) < abs(number - other)


def _budgets(folder: Path, scenario: str, cell: str | None, expression: str) -> Path:
    """Write a budget that asks for the expression, and bounds it by itself: it cannot be broken."""
    folder.mkdir(parents=True, exist_ok=True)
    # a scenario by its path is looked for from the budgets' folder
    where = str(Path(scenario).absolute()) if Path(scenario).is_file() else scenario
    budget = {"name": expression, "scenario": where, "holds": f"({expression}) <= ({expression})"}
    if cell:
        budget["cell"] = cell
    file = folder / BUDGETS
    file.write_text(yaml.safe_dump({"budgets": [budget]}))
    return file


def _measured(budgets: Path, name: str) -> float:
    """Carry out the gate for one version; the number that it measured.

    Raises:
        EngineError: it measured none, or several.
    """
    try:
        failed = gate.gate(budgets, name, budgets.parent, None)
    except EngineError as error:
        raise EngineError(_of_option(str(error), budgets)) from None
    if failed:
        raise EngineError(f"{name} cannot be judged, for the reason above")
    outcomes = json.loads((budgets.parent / name / "gate.json").read_text())["outcomes"]
    if len(outcomes) > 1:
        raise EngineError(f"--cell: missing; allowed: one of {', '.join(one['cell'] for one in outcomes)}")
    measured = outcomes[0]["measured"]
    return math.inf if measured is None else float(measured)


def _of_option(said: str, budgets: Path) -> str:
    """Say of an option what a gate says of the field that was made of it."""
    found = re.fullmatch(rf"{re.escape(str(budgets))}(?::\d+)?: (?:budgets\[0\]\.)?(holds|cell|scenario): (.*)", said)
    if not found:
        return said
    option = {"holds": "measure"}.get(found[1], found[1])
    return f"--{option}: {found[2].removesuffix(', one of < <= > >=, and a bound')}"
