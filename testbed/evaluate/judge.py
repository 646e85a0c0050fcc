"""Judges a control by the runs of all criteria, and what each cell of them shows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

from analysis.claims.of_run import number
from analysis.documents import read_yaml
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from analysis.units import three_digits, with_unit
from analysis.verdicts.intervals import Interval
from analysis.verdicts.intervals import mean as interval_of_mean
from analysis.verdicts.rules import EPSILON
from common.counts import plural
from testbed.evaluate.read_criteria import BASELINE, Criterion, Row
from testbed.pool import pool
from testbed.shared.panel import CLIENT, in_order, point

STUDY: Final = "evaluate"
MET, NOT_MET, OPEN, NOT_MEASURED = "met", "not met", "open", "not measured"
SIGNS: Final = {NOT_MET: "✗", OPEN: "○", NOT_MEASURED: "?", MET: "✓"}
"""The verdicts, from worst to best. What is not known at one point is not met: all points have to say so."""


@dataclass(frozen=True)
class Cell:
    """A row at one point of its scenario.

    `measured`, `beside` (the baseline) and `bound` are means over the seeds; None where a seed has no finite number.
    `margin` is the 95 % interval of the mean distance to the bound, seed by seed, positive where it is kept; None
    with one seed, and where a number is not finite. `ended` says how the control died or gave up, if it did: then the
    cell is not met, or not measured.
    """

    row: str
    point: str
    verdict: str
    why: str
    seeds: int
    measured: float | None
    beside: float | None
    bound: float | None
    margin: Interval | None
    run: str
    ended: str = ""


@dataclass(frozen=True)
class Result:
    """What became of a criterion; `verdict` is the worst of its cells."""

    criterion: Criterion
    cells: list[Cell]

    @property
    def verdict(self) -> str:
        """The worst verdict of the cells; NOT_MEASURED for a criterion without any."""
        return worst([cell.verdict for cell in self.cells])

    def verdict_of(self, row: Row) -> str:
        """The worst verdict of a row's cells."""
        return worst([cell.verdict for cell in self.of(row)])

    def of(self, row: Row) -> list[Cell]:
        """Return the cells of a row."""
        return [cell for cell in self.cells if cell.row == row.id]


def wording(verdict: str, seeds: int) -> str:
    """Return the words for a verdict: one seed decides nothing."""
    return f"{verdict} in one seed" if seeds == 1 and verdict in (MET, NOT_MET) else verdict


def worst(verdicts: Sequence[str]) -> str:
    """Return the worst of some verdicts."""
    return next((verdict for verdict in SIGNS if verdict in verdicts), NOT_MEASURED)


def judge(criteria: Sequence[Criterion], folder: Path, client: str, baseline: str) -> list[Result]:
    """Judge a control in all criteria by the runs below a folder, several criteria at a time."""
    with pool() as processes:
        cells = processes.map(partial(cells_of, folder=folder, client=client, baseline=baseline), criteria)
        return [Result(criterion, of_criterion) for criterion, of_criterion in zip(criteria, cells, strict=True)]


def cells_of(criterion: Criterion, folder: Path, client: str, baseline: str) -> list[Cell]:
    """Judge each row of a criterion at each of its points."""
    if not criterion.rows:
        return []
    runs = Runs(folder / "runs")
    cells: list[Cell] = []
    for row in criterion.rows:
        scenario = read_yaml(folder / "studies" / STUDY / f"{criterion.id}-{row.scenario}.yaml")
        sides = _sides(runs, scenario.get("experiment", str), client, baseline)
        for name in in_order(scenario, list(sides)):
            if row.points is None or name in row.points:
                cells.append(_cell(row, name, sides[name], folder))
    return cells


@dataclass(frozen=True)
class Sides:
    """Runs of one point by their seeds: of the control under test, and of the baseline; and why some failed."""

    own: dict[int, Run]
    beside: dict[int, Run]
    failures: list[str]


def _sides(runs: Runs, experiment: str, client: str, baseline: str) -> dict[str, Sides]:
    """Return the runs of each point."""
    sides: dict[str, Sides] = {}
    for (cell, seed), run in runs.by_cell_and_seed(experiment).items():
        of_point = sides.setdefault(point(cell), Sides({}, {}, []))
        whose = run.settings.cell_values[CLIENT]
        for name, of_side in ((client, of_point.own), (baseline, of_point.beside)):
            if whose == name:
                of_side[seed] = run
    for failure in runs.failed(experiment):
        of_point = sides.setdefault(point(failure.cell), Sides({}, {}, []))
        of_point.failures.append(f"seed {failure.seed}: {failure.why}")
    return sides


def count_failed(folder: Path) -> int:
    """Return how many runs below a folder failed."""
    scenarios = (folder / "studies" / STUDY).glob("*.yaml")
    experiments = [read_yaml(file).get("experiment", str) for file in scenarios]
    return sum(len(Runs(folder / "runs").failed(experiment)) for experiment in experiments)


def _cell(row: Row, name: str, sides: Sides, folder: Path) -> Cell:
    """Judge a row at one point."""
    own = [sides.own[seed] for seed in sides.own.keys() & sides.beside.keys()]
    run, ended = (str(own[0].folder.relative_to(folder)), _ended(own)) if own else ("", "")
    if sides.failures or not own:
        why = f"a run failed: {sides.failures[0]}" if sides.failures else "there is no finished run of both"
        return Cell(row.id, name, NOT_MEASURED, why, len(own), None, None, None, None, run)
    try:
        numbers = [_numbers(row, sides.own[seed], sides.beside[seed]) for seed in sorted(sides.own)]
    except NotMeasuredError as error:
        return Cell(row.id, name, NOT_MEASURED, str(error), len(own), None, None, None, None, run, ended)
    why = why_of(row, numbers)
    beside_ended = _ended([sides.beside[run.settings.seed] for run in own]) if BASELINE in row.bound else ""
    verdict, interval = decided(row, numbers)
    # who sends nothing harms nobody, and sets no bound
    if beside_ended or (ended and verdict != NOT_MET):
        why += f"; the baseline {beside_ended}" if beside_ended else ""
        return Cell(row.id, name, NOT_MEASURED, why, len(own), None, None, None, None, run, ended)
    measured, beside, bound = (_mean(column) for column in zip(*numbers, strict=True))
    return Cell(row.id, name, verdict, why, len(own), measured, beside, bound, interval, run, ended)


def _ended(runs: Sequence[Run]) -> str:
    """Say how a control ended in the first of its runs in which it ended before the run did, or moved nothing."""
    flows = ((run, flow) for run in runs for flow in run.settings.flows if flow.may_fail)
    ends = ((run, outcome) for run, flow in flows for outcome in run.outcomes(flow.name))
    return next((str(outcome) for run, outcome in ends if outcome.is_before(run.ends_s)), "")


def decided(row: Row, numbers: Sequence[tuple[float, float, float]]) -> tuple[str, Interval | None]:
    """Return the verdict and the interval of the mean margin, for what each seed gives (see `_numbers`).

    Without an interval, every seed has to be on the same side of its bound.
    """
    margins = [_margin(row, value, bound) for value, _, bound in numbers]
    interval = interval_of_mean(margins) if len(margins) > 1 and all(map(math.isfinite, margins)) else None
    low, high = interval or (min(margins), max(margins))
    return MET if low >= 0 else NOT_MET if high < 0 else OPEN, interval


def _numbers(row: Row, own: Run, beside: Run) -> tuple[float, float, float]:
    """Return what a seed gives for the control and for the baseline, and the bound."""
    reference = number(row.measure, beside)
    return number(row.measure, own), reference, number(row.bound, own, names={BASELINE: reference})


def _margin(row: Row, measured: float, bound: float) -> float:
    """Return how far a number is inside its bound. What equals it is inside, also where both never happened."""
    if measured == bound or abs(measured - bound) <= EPSILON * abs(bound):
        return 0.0
    return bound - measured if row.is_most else measured - bound


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if all(map(math.isfinite, values)) else None


def why_of(row: Row, numbers: Sequence[tuple[float, float, float]]) -> str:
    """Say what was measured, what the baseline has, and the bound, for what each seed gives (see `_numbers`)."""
    measured, beside, bounds = zip(*numbers, strict=True)
    bound = f"{'at most' if row.is_most else 'at least'} {_shown(bounds)}"
    return f"{_shown(measured, row.unit)}; baseline {_shown(beside)}; allowed: {bound}"


def _shown(values: Sequence[float], unit: str = "") -> str:
    """Show a mean with its unit; with the number of seeds where the event never came."""
    never = sum(map(math.isinf, values))
    if never == len(values):
        return "never"
    finite = fmean(value for value in values if math.isfinite(value))
    return with_unit(three_digits(finite), unit) + (
        f" (never in {never} of {plural(len(values), 'seed')})" if never else ""
    )
