"""Judges a control by the runs of all criteria, and what each cell of them shows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

from analysis.claims.of_run import number
from analysis.documents import read_yaml
from analysis.judge import interval
from analysis.judge.interval import Chances
from analysis.judge.intervals import Interval
from analysis.judge.statement import Statement
from analysis.judge.verdict import Verdict, worst
from analysis.run import Run
from analysis.run_json import Flow
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from analysis.units import three_digits, with_unit
from common.counts import plural
from scenarios.cell_names import values_of
from testbed.evaluate.read_criteria import BASELINE, Criterion, references_of
from testbed.pool import pool
from testbed.shared.panel import CLIENT, in_order, point

STUDY: Final = "evaluate"


@dataclass(frozen=True)
class RowAtPoint:
    """A row at one point of its scenario.

    `measured`, `beside` (the baseline) and `bound` are means over the seeds; None where a seed has no finite number.
    `margin` is the 95 % interval of the mean distance to the bound, seed by seed, positive where it is kept; None
    with one seed, and where a number is not finite. `chances` are those of distances so far outside and so far inside,
    for a control on its bound; None where one seed says nothing. `placebo` is the verdict on the placebo in this cell.
    `ended` says how the control died or gave up, if it did: then the row does not hold, or cannot be tested. Where
    nothing would break the bound, the cell does not count.
    """

    row: str
    point: str
    verdict: Verdict
    why: str
    seeds: int
    measured: float | None
    beside: float | None
    bound: float | None
    margin: Interval | None
    run: str
    ended: str = ""
    chances: Chances | None = None
    placebo: Verdict | None = None
    counts: bool = True


@dataclass(frozen=True)
class Result:
    """What became of a criterion; `verdict` is the worst of its cells."""

    criterion: Criterion
    cells: list[RowAtPoint]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the cells; what is not measured in part cannot be tested as a whole."""
        verdict = worst(cell.verdict for cell in self.cells if cell.counts)
        return Verdict.UNTESTABLE if verdict == Verdict.HOLDS and self.criterion.not_measured else verdict

    def verdict_of(self, row: Statement) -> Verdict:
        """The worst verdict of a row's cells."""
        return worst(cell.verdict for cell in self.of(row) if cell.counts)

    def of(self, row: Statement) -> list[RowAtPoint]:
        """Return the cells of a row."""
        return [cell for cell in self.cells if cell.row == row.id]


def judge(criteria: Sequence[Criterion], folder: Path, client: str, baseline: str, placebo: str | None) -> list[Result]:
    """Judge a control in all criteria by the runs below a folder, several criteria at a time.

    A row does not hold in a cell where the false discovery rate of all cells allows that, and the placebo, which
    differs from the baseline in nothing that anybody would notice, does not miss its bound, too.
    """
    with pool() as processes:
        cells = processes.map(partial(cells_of, folder=folder, client=client, baseline=baseline), criteria)
        judged = [Result(criterion, of_criterion) for criterion, of_criterion in zip(criteria, cells, strict=True)]
    own = decided(judged)
    if placebo is None:
        return own
    return beside_placebo(own, judge(criteria, folder, placebo, baseline, None))


def decided(judged: Sequence[Result]) -> list[Result]:
    """Decide all cells of a page together."""
    verdicts = iter(interval.decide([cell.chances for each in judged for cell in each.cells if cell.chances]))

    def of_cell(cell: RowAtPoint) -> RowAtPoint:
        if cell.chances is None:
            return cell
        verdict = next(verdicts)
        # who sends nothing harms nobody
        return replace(cell, verdict=Verdict.UNTESTABLE if cell.ended and verdict != Verdict.FAILS else verdict)

    return [Result(each.criterion, list(map(of_cell, each.cells))) for each in judged]


def beside_placebo(own: Sequence[Result], placebos: Sequence[Result]) -> list[Result]:
    """Put the placebo's verdict beside each cell: what a placebo misses, too, is open."""

    def beside(cell: RowAtPoint, placebo: RowAtPoint) -> RowAtPoint:
        cell = replace(cell, placebo=placebo.verdict)
        if not cell.verdict == placebo.verdict == Verdict.FAILS:
            return cell
        return replace(cell, verdict=Verdict.OPEN, why=f"{cell.why}; the placebo misses it, too: {placebo.why}")

    return [
        Result(one.criterion, [beside(*pair) for pair in zip(one.cells, other.cells, strict=True)])
        for one, other in zip(own, placebos, strict=True)
    ]


def cells_of(criterion: Criterion, folder: Path, client: str, baseline: str) -> list[RowAtPoint]:
    """Give each row of a criterion at each of its points, with its chances, before all are decided."""
    if not criterion.rows:
        return []
    runs = Runs(folder / "runs")
    cells: list[RowAtPoint] = []
    for row in criterion.rows:
        scenario = read_yaml(folder / "studies" / STUDY / f"{criterion.id}-{row.scenario}.yaml")
        experiment = scenario.get("experiment", str)
        sides = _sides(runs, experiment, client, baseline)
        for word in references_of(row):
            for (cell, seed), run in runs.by_cell_and_seed(f"{experiment}-{word}").items():
                if cell in sides:
                    sides[cell].references.setdefault(seed, {})[word] = run
        for name in in_order(scenario, list(sides)):
            if row.is_about(name):
                cells.append(_cell(row, name, sides[name], folder))
    return cells


@dataclass(frozen=True)
class Sides:
    """Runs of one point by their seeds: of the control under test, and of the baseline; and why some failed.

    `references` are those without the control, or with the victim beside itself, by the words of bounds.
    """

    own: dict[int, Run]
    beside: dict[int, Run]
    failures: list[str]
    references: dict[int, dict[str, Run]]


def _sides(runs: Runs, experiment: str, client: str, baseline: str) -> dict[str, Sides]:
    """Return the runs of each point."""
    sides: dict[str, Sides] = {}
    for (cell, seed), run in runs.by_cell_and_seed(experiment).items():
        of_point = sides.setdefault(point(cell), Sides({}, {}, [], {}))
        whose = run.settings.cell_values[CLIENT]
        for name, of_side in ((client, of_point.own), (baseline, of_point.beside)):
            if whose == name:
                of_side[seed] = run
    for failure in runs.failed(experiment):
        of_point = sides.setdefault(point(failure.cell), Sides({}, {}, [], {}))
        if values_of(failure.cell).get(CLIENT) in (client, baseline):
            of_point.failures.append(f"seed {failure.seed}: {failure.why}")
    return sides


def chaotic(judged: Sequence[Result]) -> set[str]:
    """Name the scenarios in which the placebo itself is open: what chance does there hides what a control does."""
    return {
        f"{of_criterion.criterion.id}-{row.scenario}.yaml"
        for of_criterion in judged
        for row in of_criterion.criterion.rows
        if any(cell.placebo == Verdict.OPEN for cell in of_criterion.of(row))
    }


def count_failed(folder: Path) -> int:
    """Return how many runs below a folder failed."""
    scenarios = (folder / "studies" / STUDY).glob("*.yaml")
    experiments = [read_yaml(file).get("experiment", str) for file in scenarios]
    return sum(len(Runs(folder / "runs").failed(experiment)) for experiment in experiments)


def _cell(row: Statement, name: str, sides: Sides, folder: Path) -> RowAtPoint:
    """Judge a row at one point."""
    own = [sides.own[seed] for seed in sides.own.keys() & sides.beside.keys()]
    run, ended = (str(own[0].folder.relative_to(folder)), _ended(own)) if own else ("", "")
    if sides.failures or not own:
        why = f"a run failed: {sides.failures[0]}" if sides.failures else "there is no finished run of both"
        return RowAtPoint(row.id, name, Verdict.OPEN, why, len(own), None, None, None, None, run)
    numbers: list[Numbers] = []
    margins: list[float] = []
    for seed in sorted(sides.own.keys() & sides.beside.keys()):
        try:
            of_seed = _numbers(row, sides.own[seed], sides.beside[seed], sides.references.get(seed, {}))
            margins.append(interval.margin_of(row, of_seed.measured, of_seed.bound))
        except NotMeasuredError as error:
            why = f"seed {seed}: {error}"
            return RowAtPoint(row.id, name, Verdict.UNTESTABLE, why, len(own), None, None, None, None, run, ended)
        numbers.append(of_seed)
    why = why_of(row, numbers) + _neighbours_ended(own)
    beside_ended = _ended([sides.beside[run.settings.seed] for run in own]) if BASELINE in row.bounds[0].text else ""
    if beside_ended:  # it sets no bound
        why += f"; the baseline {beside_ended}"
        return RowAtPoint(row.id, name, Verdict.UNTESTABLE, why, len(own), None, None, None, None, run, ended)
    measured, beside, bound = (
        _mean([getattr(of_seed, column) for of_seed in numbers]) for column in ("measured", "baseline", "bound")
    )
    cell = RowAtPoint(row.id, name, Verdict.OPEN, why, len(own), measured, beside, bound, None, run, ended)
    if not row.bounds[0].is_most and bound is not None and bound <= 0:  # rates and shares are never below
        why += "; so little is left beside the baseline, or moved by it, that nothing would break the bound"
        return replace(cell, verdict=Verdict.UNTESTABLE, why=why, counts=False)
    margin, chances = interval.chances_of(margins)
    return replace(cell, margin=margin, chances=chances)


def _ended(runs: Sequence[Run]) -> str:
    """Say how a control ended in the first of its runs in which it ended before the run did, or moved nothing."""
    ends = (
        (run, outcome)
        for run in runs
        for flow in run.settings.flows
        if _is_clients(flow)
        for outcome in run.outcomes(flow.name)
    )
    return next((str(outcome) for run, outcome in ends if outcome.is_before(run.ends_s)), "")


def _is_clients(flow: Flow) -> bool:
    """Whether a flow is the control's own; there may be several, numbered from 1."""
    return flow.name == CLIENT or flow.name.startswith(f"{CLIENT}-")


def _neighbours_ended(runs: Sequence[Run]) -> str:
    """Say of each flow beside the control in how many runs it ended too soon or moved nothing, and how it first did."""
    says = ""
    for name in [flow.name for flow in runs[0].settings.flows if not _is_clients(flow)]:
        if ended := [outcomes[0] for run in runs if (outcomes := run.outcomes(name))]:
            says += f"; {name} {ended[0].verb} in {len(ended)} of {plural(len(runs), 'run')}: {ended[0].says}"
    return says


@dataclass(frozen=True)
class Numbers:
    """What a seed gives for the control and for the baseline, the bound, and what else this is made of."""

    measured: float
    baseline: float
    bound: float
    references: Mapping[str, float] = field(default_factory=dict)


def _numbers(row: Statement, own: Run, beside: Run, references: Mapping[str, Run]) -> Numbers:
    if missing := [word for word in references_of(row) if word not in references]:
        raise NotMeasuredError(f"there is no finished run of the other flow {missing[0]}")
    reference = number(row.measure, beside)
    others = {word: number(row.measure, references[word]) for word in references_of(row)}
    bound = number(row.bounds[0].text, own, names={BASELINE: reference, **others})
    return Numbers(number(row.measure, own), reference, bound, others)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if all(map(math.isfinite, values)) else None


def why_of(row: Statement, numbers: Sequence[Numbers]) -> str:
    """Say what was measured, what the baseline and others have, and the bound, for what each seed gives."""
    measured = _shown([of_seed.measured for of_seed in numbers], row.unit)
    others = [f"baseline {_shown([of_seed.baseline for of_seed in numbers])}"]
    others += [f"{word} {_shown([of_seed.references[word] for of_seed in numbers])}" for word in references_of(row)]
    bound = row.bounds[0].shown(_shown([of_seed.bound for of_seed in numbers]))
    return "; ".join([measured, *others, f"allowed: {bound}"])


def _shown(values: Sequence[float], unit: str = "") -> str:
    """Show a mean with its unit; with the number of seeds where the event never came."""
    never = sum(map(math.isinf, values))
    if never == len(values):
        return "never"
    finite = fmean(value for value in values if math.isfinite(value))
    return with_unit(three_digits(finite), unit) + (
        f" (never in {never} of {plural(len(values), 'seed')})" if never else ""
    )
