"""Names the claims that a quick look does not judge, since its runs end before what they measure."""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from analysis.claims.extent import is_first_instant, reaches_the_end
from analysis.claims.question import Question
from analysis.claims.registry import Experiment
from analysis.run import Run
from analysis.runs import Runs
from scenarios.resolve import COMPLETE, QUICK, expand


class Lengths:
    """How long the runs of some experiments last at size complete."""

    def __init__(self, runs: Runs, experiments: Iterable[Experiment]) -> None:
        self._runs = runs
        self._scenarios = {each.id: each.scenario for each in experiments if each.scenario}

    def full_s(self, run: Run) -> float:
        """Length of a run when complete, virtual s; its own where its transfers ended it, or without its scenario."""
        planned_s = run.settings.duration_s
        scenario = self._scenarios.get(run.settings.experiment)
        if run.settings.size == COMPLETE or run.duration < planned_s or scenario is None or not scenario.exists():
            return run.duration
        return _full_lengths_s(scenario).get(run.settings.cell, planned_s)

    def why_not(self, expression: str, cell: str | None, ask: Question) -> str | None:
        """Say why an expression about a cell is not judged here; None where it is."""
        if not expression:
            return None
        for experiment, read in ask.reads(expression, cell):
            for seed in ask.seeds:
                run = self._runs.by_cell_and_seed(experiment).get((read, seed))
                if run and run.duration < self.full_s(run) and not self._is_settled(expression, cell, run, ask):
                    return self._of(run)
        return None

    def _is_settled(self, expression: str, cell: str | None, run: Run, ask: Question) -> bool:
        """Say whether an expression has the value in a run that it has in one of size complete."""
        if not reaches_the_end(expression, ask.words, run.duration):
            return True
        is_first = is_first_instant(expression, ask.words, run.duration)
        return is_first and all(map(math.isfinite, ask.numbers(expression, cell)[0].values()))

    def _of(self, run: Run) -> str:
        here_s, full_s = run.duration, self.full_s(run)
        lasts = f"the runs last {here_s:g} s (full: {full_s:g} s), and"
        scenario = self._scenarios.get(run.settings.experiment)
        sooner = how_much_sooner(scenario) if scenario else 1.0
        if sooner != 1:
            return f"{lasts} the path changes {sooner:g} times sooner in them"
        return f"{lasts} the claim measures to their end"


def lengths(settings: Iterable[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Give in seconds how long the runs last that are shorter than when complete, here and there: ("60", "300 to 600").

    None where there are none; `settings` are the cells of verdicts.json.
    """
    pairs = {(cell["duration_s"], cell.get("full_s", 0)) for cell in settings}
    shorter = [pair for pair in pairs if pair[0] < pair[1]]
    if not shorter:
        return None
    here, full = (
        " to ".join(dict.fromkeys(f"{end:,.0f}" for end in (min(ends), max(ends))))
        for ends in zip(*shorter, strict=True)
    )
    return here, full


def is_shortened(scenario: Path) -> bool:
    """Say whether size quick shortens runs of a scenario; not of one that is gone."""
    if not scenario.is_file():
        return False
    full_s = _full_lengths_s(scenario)
    return any(cell.virtual_s < full_s.get(cell.name, 0) for cell in expand(scenario, QUICK))


def ends_with_transfers(scenario: Path) -> bool:
    """Say whether runs of a scenario at size complete can end before their time, since all flows have so many bytes."""
    return scenario.is_file() and any(
        all(flow["bytes"] is not None for flow in cell.settings["flows"]) for cell in expand(scenario, COMPLETE)
    )


@cache
def how_much_sooner(scenario: Path) -> float:
    """Give how many times sooner the path changes at size quick; 1 where it changes at the same instants, or never."""
    there = {cell.name: cell.settings["events"] for cell in expand(scenario, COMPLETE)} if scenario.is_file() else {}
    times = {
        full["at_ns"] / quick["at_ns"]
        for cell in (expand(scenario, QUICK) if there else [])
        for full, quick in zip(there.get(cell.name, []), cell.settings["events"], strict=False)
        if quick["at_ns"]
    }
    return times.pop() if len(times) == 1 else 1.0


@cache
def _full_lengths_s(scenario: Path) -> dict[str, float]:
    """Length of the runs of each cell at size complete, virtual s."""
    return {cell.name: cell.virtual_s for cell in expand(scenario, COMPLETE)}
