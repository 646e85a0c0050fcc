"""Carries out `testbed gate bisect`: the version of an implementation with which a number changed."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from analysis.documents import read_yaml
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from analysis.watchdog import LIMIT_S, ended_after
from common.counts import plural
from engine.errors import EngineError
from scenarios.errors import choices
from testbed import arguments, own_study
from testbed.gate.judge import STUDY, client_ended, ends_of
from testbed.gate.versions import place_of, versions_of
from testbed.shared.panel import filled, find, points_for
from testbed.shared.vocabulary import COMPARISON, PAGES, number_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", help="an implementation that lists versions")
    parser.add_argument("--good", required=True, metavar="VERSION", help="a version with the right number")
    parser.add_argument("--bad", required=True, metavar="VERSION", help="a version with the wrong number")
    parser.add_argument("--measure", required=True, metavar="EXPRESSION", help="the number, in the words of budgets")
    parser.add_argument("--scenario", metavar="NAME", required=True, help="a scenario of `testbed compare`, or a file")
    parser.add_argument("--cell", metavar="NAME", help="the cell of the scenario, if it has several")
    arguments.add_into(parser, "results/bisect")


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
    if wrong := COMPARISON.problem(expression):
        raise EngineError(f"--measure: {wrong}; allowed: an expression in the words of {PAGES}")
    scenario = find(options.scenario, Path(), "--scenario")
    into = own_study.folder_of(options.into, name)
    measured: dict[int, float] = {}

    def measure(place: int) -> float:
        measured[place] = _measured(expression, scenario, options.cell, listed[names[place]], into)
        return measured[place]

    at_good, at_bad = measure(best), measure(worst)
    if at_good == at_bad:
        raise EngineError(
            f"--measure: {expression} is {at_good:.6g} in both {good} and {bad}; choose a number that differs"
        )
    best, worst = search(best, worst, lambda place: is_nearer(measure(place), at_good, at_bad))
    longest = max(len(names[place]) for place in measured)
    for place, number in sorted(measured.items()):
        print(f"{names[place]:{longest}}  {number:.6g}")
    print(
        f"{expression}: {measured[best]:.6g} with {name} {names[best]}, {measured[worst]:.6g} with {names[worst]}, "
        f"its neighbour; {len(measured)} of {plural(len(names), 'version')} were run"
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


def is_nearer(number: float, near: float, far: float) -> bool:
    """Whether a number is nearer to one than to another; what never happens (infinite) is near to itself only."""
    if math.isinf(near) or math.isinf(far):
        return math.isinf(number) == math.isinf(near)
    return abs(number - near) < abs(number - far)


def _measured(expression: str, scenario: Path, cell: str | None, client: str, into: Path) -> float:
    """Run one version and return its number, infinite for what never happens.

    Raises:
        EngineError: there is none, or several.
    """
    arguments.senders([client])
    there = points_for(scenario, [client])
    if cell is not None and cell not in there:
        raise EngineError(f"--cell: found {cell!r}; allowed: {choices(there, cell)}")
    if cell is None and len(there) > 1:
        raise EngineError(f"--cell: missing; allowed: one of {', '.join(there)}")
    folder = own_study.folder_of(into, client)
    with own_study.alone(folder):
        chosen = there if cell is None else [cell]
        own_study.write(folder, STUDY, {scenario.name: filled(scenario, [client], 1, chosen, may_fail="client")})
        if own_study.carry_out(folder):
            raise EngineError(f"{client} cannot be measured, for the reason above")
        with ended_after(LIMIT_S, "testbed gate bisect: the measurement"):
            return _number(expression, folder, client)


def _number(expression: str, folder: Path, client: str) -> float:
    """Return the number of the only run below a folder."""
    runs = Runs(folder / "runs")
    [file] = (folder / "studies" / STUDY).glob("*.yaml")
    experiment = read_yaml(file).get("experiment", str)
    for failure in runs.failed(experiment):
        raise EngineError(f"{client} cannot be measured: the run failed: {failure.why}")
    [run] = runs.by_cell_and_seed(experiment).values()
    if ended := client_ended([run], ends_of([expression])):
        raise EngineError(f"{client} cannot be measured: the client {ended[1]}")
    try:
        return number_of(expression, run)
    except NotMeasuredError as error:
        raise EngineError(f"{client} cannot be measured: {error}") from None
