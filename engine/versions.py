"""Carries out `testbed versions` and `testbed bisect`: what a gate measures, over the versions of an implementation."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from engine import gate, own_study
from engine.errors import EngineError
from engine.own_study import ROOT
from scenarios import implementations
from scenarios.errors import choices

BUDGETS = "budgets.yaml"


def versions(name: str, first: str | None, last: str | None, budgets: Path, into: Path) -> int:
    """Measure what the budgets ask in each version from the first to the last (default: all), and draw it.

    Everything is kept in the folder `into`/<the name>; a second call continues there. Returns 0, or 2 when a version
    could not be judged.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    listed = _listed(name)
    names = list(listed)
    begin, end = _place(names, first, "--from", 0), _place(names, last, "--to", len(names) - 1)
    if begin > end:
        raise EngineError(f"--from: found {first}, which comes after {last}; allowed: an older one, or none")
    chosen = {version: listed[version] for version in names[begin : end + 1]}
    folder = own_study.folder_of(into, name)
    found = [gate.main(budgets, one, ROOT / folder, None) for one in chosen.values()]
    order = {"implementation": name, "versions": chosen}
    (ROOT / folder / "order.json").write_text(json.dumps(order, indent=1) + "\n")
    command = [sys.executable, "-m", "analysis", "versions", "--results", str(ROOT / folder)]
    drawn = subprocess.run(command, check=False).returncode
    return drawn or (gate.UNKNOWN if gate.UNKNOWN in found else 0)


def bisect(name: str, good: str, bad: str, scenario: str, cell: str | None, expression: str, into: Path) -> int:
    """Find the version whose number is no longer nearer to the good version's than to the bad one's.

    The good one may be the newer. Everything is kept in the folder `into`/<the name>.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, or a version cannot be judged.
    """
    listed = _listed(name)
    names = list(listed)
    best, worst = _place(names, good, "--good", 0), _place(names, bad, "--bad", 0)
    if best == worst:
        raise EngineError(f"--bad: found {bad}, the good one; allowed: another of {', '.join(names)}")
    if not expression.strip():
        raise EngineError(
            "--measure: found nothing; allowed: an expression in the words of docs/claims.md and docs/gate.md"
        )
    file = _budgets(ROOT / own_study.folder_of(into, name), scenario, cell, expression)
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
        failed = gate.main(budgets, name, budgets.parent, None)
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


def _listed(name: str) -> dict[str, str]:
    """Return the versions of an implementation, each with the implementation that it is."""
    listed = implementations.versions()
    if name not in listed:
        found = f"{name} lists no versions" if name in implementations.known() else f"unknown implementation {name!r}"
        raise EngineError(f"{found}; allowed: {choices(sorted(listed), name)}")
    return listed[name]


def _place(names: list[str], version: str | None, option: str, default: int) -> int:
    if version is None:
        return default
    if version not in names:
        raise EngineError(f"{option}: found {version!r}; allowed: {choices(names, version)}")
    return names.index(version)
