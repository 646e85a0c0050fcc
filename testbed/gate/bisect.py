"""Carries out `testbed gate bisect`: the version of an implementation with which a number changed."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from common.counts import plural
from engine.errors import EngineError
from testbed import arguments, own_study
from testbed.gate import budgets
from testbed.gate import command as gate
from testbed.gate.budgets import Budgets
from testbed.gate.judge import BROKEN
from testbed.gate.versions import place_of, versions_of


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
    try:
        wanted = budgets.unbroken(expression, options.scenario, options.cell)
    except ValueError as error:
        raise EngineError(f"--measure: {error}; allowed: {budgets.WORDS}") from None
    into = own_study.folder_of(options.into, name)
    measured: dict[int, float] = {}

    def measure(place: int) -> float:
        measured[place] = _measured(wanted, listed[names[place]], into, options.again)
        return measured[place]

    at_good, at_bad = measure(best), measure(worst)
    if at_good == at_bad:
        same = f"{expression}, {at_good:.6g} with {good} and with {bad}"
        raise EngineError(f"--measure: found {same}; allowed: what differs between them")
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


def _measured(wanted: Budgets, client: str, into: Path, again: str) -> float:
    """Carry out the gate for one version; return the number that it measured, infinite for what never happens.

    Raises:
        EngineError: it measured none, or several.
    """
    judgement = gate.carry_out(wanted, client, *gate.prepare(wanted, client, into, Path()), again)
    if judgement is None or judgement.status == gate.UNKNOWN:
        raise EngineError(f"{client} cannot be judged, for the reason above")
    if len(judgement.outcomes) > 1:
        cells = ", ".join(outcome.cell for outcome in judgement.outcomes)
        raise EngineError(f"--cell: missing; allowed: one of {cells}")
    [outcome] = judgement.outcomes
    if outcome.result == BROKEN:  # a number is never beyond itself: the client did not get to its end
        raise EngineError(f"{client} cannot be judged: {outcome.says}")
    number = outcome.measured
    return math.inf if number is None else number
