"""Judges the runs of a client by budgets."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.documents import read_yaml
from analysis.errors import BadInputError
from analysis.judge import every_seed
from analysis.judge.every_seed import Decision
from analysis.judge.false_discoveries import largest_believed
from analysis.judge.statement import Statement, calls_of_ended, names_of
from analysis.judge.verdict import Verdict, exit_status
from analysis.run import Run
from analysis.run.outcomes import Outcome
from analysis.runs import Runs
from analysis.units import three_digits
from common.counts import plural
from testbed.gate.budgets import Budgets
from testbed.shared.differences import LEVEL
from testbed.shared.metrics import METRICS
from testbed.shared.panel import CLIENT, point
from testbed.shared.standings import add_standing, measure_metric
from testbed.shared.units import unit
from testbed.shared.vocabulary import number_of

STUDY: Final = "gate"
MOST_TOLD: Final = 5  # instants in a sentence


@dataclass(frozen=True)
class BudgetResult:
    """A budget in one cell: the numbers of its worst seed, and how the client ended there where that decides."""

    id: str
    scenario: str
    cell: str
    verdict: Verdict
    measured: float | None  # None: never, or not known
    bound: float | None
    why: str
    run: str
    wall_s: float
    unit: str = ""  # of both numbers, where it is known
    ending: str = ""


@dataclass(frozen=True)
class JudgedBudgets:
    """What became of all budgets of a client."""

    client: str
    version: str | None
    seeds: int
    outcomes: list[BudgetResult]

    @property
    def status(self) -> int:
        """The exit status: a gate demands that everything has been tested."""
        return exit_status({outcome.verdict for outcome in self.outcomes}, untestable_is_unknown=True)


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
        outcomes += _results_of(budget, _Sides(runs, experiment), results, client)
        for run in runs.by_cell_and_seed(experiment).values():
            versions |= run.summary.maybe("versions", dict) or {}
    return JudgedBudgets(client, versions.get(client), wanted.seeds, outcomes)


class _Sides:
    """The runs of an experiment, and why some failed, by implementation and point."""

    def __init__(self, runs: Runs, experiment: str) -> None:
        self._runs: dict[tuple[str, str], list[Run]] = {}
        for (cell, _), run in runs.by_cell_and_seed(experiment).items():
            self._runs.setdefault((_client_of(cell), point(cell)), []).append(run)
        self._failures = {(_client_of(each.cell), point(each.cell)): each.why for each in runs.failed(experiment)}

    def points(self, client: str) -> list[str]:
        """List the points at which an implementation was run."""
        return sorted(name for whose, name in self._runs.keys() | self._failures if whose == client)

    def runs(self, client: str, name: str) -> list[Run]:
        """Return the runs at a point that did not fail."""
        return self._runs.get((client, name), [])

    def failure(self, name: str, *clients: str) -> str | None:
        """Say why a run of one of these failed at a point; None if none did."""
        return next((why for client in clients if (why := self._failures.get((client, name))) is not None), None)


def _client_of(cell: str) -> str:
    return next((part.partition("=")[2] for part in cell.split(",") if part.startswith(f"{CLIENT}=")), "")


def _results_of(budget: Statement, sides: _Sides, results: Path, client: str) -> list[BudgetResult]:
    """One for each point of the scenario that the budget speaks of."""
    there = sides.points(client)
    chosen = [name for name in there if budget.is_about(name)]
    if not chosen:
        raise BadInputError(f"{budget.at}in: found no such run; allowed: {', '.join(there)}")
    outcomes = []
    for name in chosen:
        others = [budget.no_worse_than] if budget.no_worse_than else []
        runs = {whose: sides.runs(whose, name) for whose in (*others, client)}
        decision, ending = _decided(budget, runs, sides.failure(name, client, *others))
        outcomes.append(
            BudgetResult(
                budget.id,
                budget.scenario,
                name,
                decision.verdict,
                _finite(decision.measured),
                _finite(decision.bound),
                decision.why,
                "" if decision.run is None else str(decision.run.folder.relative_to(results)),
                sum(run.summary.maybe("wall_s", float) or 0.0 for of_side in runs.values() for run in of_side),
                unit(budget.measure) if budget.measure else "",
                ending,
            )
        )
    return outcomes


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _decided(budget: Statement, runs: Mapping[str, Sequence[Run]], failure: str | None) -> tuple[Decision, str]:
    """Decide by the runs of the other implementation, if there is one, then of the client; also how that ended."""
    if failure is not None or not all(runs.values()):
        return Decision(Verdict.OPEN, f"a run failed: {failure}" if failure else "there is no finished run of both"), ""
    *_, client = runs
    for name, of_side in runs.items():
        if ended := client_ended(of_side, ends_of(budget.expressions)):
            run, end = ended
            says = f"{'the client' if not budget.no_worse_than else name} {end}"
            return Decision(Verdict.FAILS if name == client else Verdict.OPEN, says, run), end.kind
    if budget.no_worse_than:
        return _compared(runs), ""
    decision = every_seed.decide(budget, runs[client], number_of, unit(budget.measure))
    if decision.run and decision.measured is not None:
        return Decision(
            decision.verdict,
            decision.why + _explanation(budget, decision.run),
            decision.run,
            decision.measured,
            decision.bound,
        ), ""
    return decision, ""


def _compared(runs: Mapping[str, Sequence[Run]]) -> Decision:
    """Judge by the test of a comparison, whether a number of the second one is worse than that of the first one."""
    other, client = runs
    sides = {name: list(of_side) for name, of_side in runs.items()}
    numbers = [
        entry for metric in METRICS if client in (entry := measure_metric(metric, [other, client], sides))["clients"]
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
    why = "; ".join(worse) or f"none of {plural(len(numbers), 'number')} is worse than that of {other}"
    return Decision(Verdict.FAILS if worse else Verdict.HOLDS, why, runs[client][0])


def _mean(value: float | None) -> str:
    return "never" if value is None else three_digits(value)


def ends_of(texts: Iterable[str]) -> set[str]:
    """Return the ends of the client that expressions ask for, which are results then; an empty text stands for any."""
    calls = [words for text in texts for words in calls_of_ended(text)]
    return {words.get("how", "") for words in calls if words.get("flow") == CLIENT}


def client_ended(runs: Sequence[Run], bounded: Collection[str] = ()) -> tuple[Run, Outcome] | None:
    """Return the first run in which an endpoint of the client was not done, and how it ended; None if there is none.

    Where an end of the kinds `bounded` comes first, the run counts as without one: the other endpoint ends for it.
    """
    firsts = ((run, outcome) for run in runs for outcome in run.outcomes(CLIENT)[:1])
    return next(((run, end) for run, end in firsts if not any(map(end.is_of, bounded))), None)


def _explanation(budget: Statement, run: Run) -> str:
    """Say, of a budget about ends or connections, what happened in the run."""
    sentences = [str(outcome) for outcome in run.outcomes(CLIENT)] if ends_of(budget.expressions) else []
    if any("reconnections" in names_of(text) for text in budget.expressions):
        sentences += [f"reconnected at {at_s:.3f} s" for at_s in run.reconnections(CLIENT).times[:MOST_TOLD]]
    return "".join(f"; {sentence}" for sentence in sentences)
