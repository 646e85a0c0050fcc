"""Judges the runs of a client by budgets."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from analysis.documents import read_yaml
from analysis.errors import BadInputError
from analysis.judge.false_discoveries import largest_believed
from analysis.report.formats import texts_with_unit
from analysis.run import Run
from analysis.run.outcomes import Outcome
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from analysis.units import three_digits
from common.counts import plural
from testbed.gate.budgets import Budget, Budgets, Comparison
from testbed.shared.differences import LEVEL
from testbed.shared.inequalities import number_of
from testbed.shared.metrics import METRICS
from testbed.shared.panel import CLIENT, point
from testbed.shared.standings import add_standing, measure_metric
from testbed.shared.units import unit

STUDY: Final = "gate"
PASSED, BROKEN, UNKNOWN = "passed", "broken", "unknown"
MOST_TOLD: Final = 5  # instants in a sentence


@dataclass(frozen=True)
class BudgetResult:
    """A budget in one cell: its worst seed, how the client ended there, or the reason why one of them tells nothing."""

    name: str
    scenario: str
    cell: str
    result: str
    measured: float | None  # None: never, or not known
    bound: float | None
    says: str
    run: str
    wall_s: float
    unit: str = ""  # of both numbers, where it is known
    ending: str = ""  # how the client ended, where that decides


@dataclass(frozen=True)
class JudgedBudgets:
    """What became of all budgets of a client."""

    client: str
    version: str | None
    seeds: int
    outcomes: list[BudgetResult]

    @property
    def status(self) -> int:
        """0 when all hold, 1 when one is broken, 2 when one cannot be judged."""
        results = {outcome.result for outcome in self.outcomes}
        return 1 if BROKEN in results else 2 if UNKNOWN in results else 0


def judge(wanted: Budgets, results: Path, client: str) -> JudgedBudgets:
    """Judge all budgets by the runs below a folder.

    Raises:
        BadInputError: a budget speaks of a cell that no run has, or its expression is no real number.
    """
    runs = Runs(results / "runs")
    outcomes: list[BudgetResult] = []
    versions: dict[str, str] = {}
    for budget in wanted.budgets:
        scenario = results / "studies" / STUDY / f"{Path(budget.scenario).stem}.yaml"
        experiment = read_yaml(scenario).get("experiment", str)
        outcomes += _results_of(budget, experiment, runs, results, client)
        for run in runs.by_cell_and_seed(experiment).values():
            versions |= run.summary.maybe("versions", dict) or {}
    return JudgedBudgets(client, versions.get(client), wanted.seeds, outcomes)


def _results_of(
    budget: Budget | Comparison, experiment: str, runs: Runs, results: Path, client: str
) -> list[BudgetResult]:
    """One for each cell of the client that the budget speaks of."""
    by_cell: dict[str, list[Run]] = {}
    for (cell, _), run in runs.by_cell_and_seed(experiment).items():
        by_cell.setdefault(cell, []).append(run)
    failures = {failure.cell: failure.why for failure in runs.failed(experiment)}
    cells = {cell: point(cell) for cell in sorted(by_cell.keys() | failures) if f"client={client}" in cell.split(",")}
    chosen = [cell for cell, name in cells.items() if budget.cell in (None, name)]
    if not chosen:
        raise BadInputError(f"{budget.at}cell: found {budget.cell!r}; allowed: {', '.join(cells.values())}")
    if isinstance(budget, Budget):
        return [_outcome(budget, cell, by_cell.get(cell, []), failures.get(cell), results) for cell in chosen]
    outcomes = []
    for cell in chosen:
        beside = ",".join(f"client={budget.other}" if part == f"client={client}" else part for part in cell.split(","))
        sides = {budget.other: by_cell.get(beside, []), client: by_cell.get(cell, [])}
        outcomes.append(_compared(budget, point(cell), sides, failures.get(cell, failures.get(beside)), results))
    return outcomes


def _compared(
    budget: Comparison, point: str, sides: dict[str, list[Run]], failure: str | None, results: Path
) -> BudgetResult:
    """Judge by the test of a comparison; `sides` are the runs of the other one, then those of the client."""
    other, client = sides
    wall_s = sum(run.summary.maybe("wall_s", float) or 0.0 for of_side in sides.values() for run in of_side)
    if failure is not None or not all(sides.values()):
        says = f"a run failed: {failure}" if failure else "there is no finished run of both"
        return BudgetResult(budget.name, budget.scenario, point, UNKNOWN, None, None, says, "", wall_s)
    for name, of_side in sides.items():
        if ended := _ended(of_side):
            result, folder = BROKEN if name == client else UNKNOWN, str(ended[0].folder.relative_to(results))
            says, kind = f"{name} {ended[1]}", ended[1].kind
            return BudgetResult(
                budget.name, budget.scenario, point, result, None, None, says, folder, wall_s, ending=kind
            )
    numbers = [
        entry for metric in METRICS if client in (entry := measure_metric(metric, list(sides), sides))["clients"]
    ]
    largest_p = largest_believed([p for entry in numbers if (p := entry["clients"][client]["p"]) is not None], LEVEL)
    worse = []
    for entry in numbers:
        add_standing(entry, other, largest_p)
        own = entry["clients"][client]
        if own.get("standing") == "worse":
            means = " instead of ".join(_mean(entry["clients"][name]["mean"]) for name in (client, other))
            worse.append(
                f"{entry['name']}, {entry['phase']}: {means} {entry['unit']} (p = {own['p']:.2g})".replace("  ", " ")
            )
    says = "; ".join(worse) or f"none of {plural(len(numbers), 'number')} is worse than that of {other}"
    run = str(sides[client][0].folder.relative_to(results))
    return BudgetResult(budget.name, budget.scenario, point, BROKEN if worse else PASSED, None, None, says, run, wall_s)


def _mean(value: float | None) -> str:
    return "never" if value is None else three_digits(value)


def _outcome(budget: Budget, cell: str, of_cell: list[Run], failure: str | None, results: Path) -> BudgetResult:
    def outcome(result: str, measured: float | None, bound: float | None, says: str, run: Run | None) -> BudgetResult:
        folder = "" if run is None else str(run.folder.relative_to(results))
        wall_s = sum(run_of_cell.summary.maybe("wall_s", float) or 0.0 for run_of_cell in of_cell)
        where = (budget.scenario, point(cell))
        return BudgetResult(
            budget.name, *where, result, measured, bound, says, folder, wall_s, unit(budget.holds.measured)
        )

    if failure is not None:
        return outcome(UNKNOWN, None, None, f"a run failed: {failure}", None)
    if ended := _ended(of_cell, budget.ends):
        run, end = ended
        return replace(outcome(BROKEN, None, None, f"the client {end}", run), ending=end.kind)
    worst: tuple[float, float, Run] | None = None
    kept = []
    for run in of_cell:
        try:
            measured, bound = (number_of(expression, run) for expression in budget.holds.sides)
            kept.append(budget.holds.holds(measured, bound))
        except NotMeasuredError as error:
            return outcome(UNKNOWN, None, None, f"seed {run.settings.seed}: {error}", run)
        except BadInputError as error:
            raise BadInputError(f"{budget.at}holds: {error}") from None
        if worst is None or (_excess(measured, bound) > _excess(*worst[:2])) == budget.most:
            worst = measured, bound, run
    assert worst is not None  # noqa: S101 (a cell has a run, or a failure)
    measured, bound, run = worst
    result = PASSED if all(kept) else BROKEN
    shown, allowed = texts_with_unit((measured, bound), unit(budget.holds.measured))
    says = f"{budget.holds.measured} = {shown}, budget {budget.holds.sign} {allowed}{_explanation(budget, run)}"
    finite = None if math.isinf(measured) else measured
    return outcome(result, finite, bound if math.isfinite(bound) else None, says, run)


def _ended(runs: Sequence[Run], bounded: Collection[str] = ()) -> tuple[Run, Outcome] | None:
    """Return the first run in which an endpoint of the client was not done, and how it ended; None if there is none.

    Where an end of the kinds `bounded` comes first, the run counts as without one: the other endpoint ends for it.
    """
    firsts = ((run, outcome) for run in runs for outcome in run.outcomes(CLIENT)[:1])
    return next(((run, end) for run, end in firsts if not any(map(end.is_of, bounded))), None)


def _explanation(budget: Budget, run: Run) -> str:
    """Say, of a budget about ends or connections, what happened in the run."""
    sentences = [str(outcome) for outcome in run.outcomes(CLIENT)] if budget.ends else []
    if "reconnections" in budget.words:
        sentences += [f"reconnected at {at_s:.3f} s" for at_s in run.reconnections(CLIENT).times[:MOST_TOLD]]
    return "".join(f"; {sentence}" for sentence in sentences)


def _excess(measured: float, bound: float) -> float:
    return 0.0 if measured == bound else measured - bound
