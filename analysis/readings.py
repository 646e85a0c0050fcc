"""Judges claims by the other readings of a paper's text that ran: the same question, asked of other cells.

One reading counts, and the claims file says why. What the others give stands beside it, so that a verdict which depends
on the choice is seen to do so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from analysis.claims.question import Question
from analysis.claims.reads import runs_named
from analysis.claims.registry import Claim, Experiment, Reading
from analysis.figures.numbers import as_json
from analysis.judge.of_claim import judge
from analysis.judge.spread import spread
from analysis.runs import Runs
from scenarios.cell_names import SINGLE


def questions(experiment: Experiment, runs: Runs) -> dict[str, Question]:
    """Return what answers each reading, by its title."""
    return {reading.title: Question(runs, reading.runs_of, experiment.words) for reading in experiment.readings}


def verdicts(claim: Claim, experiment: Experiment, questions: Mapping[str, Question]) -> list[dict[str, Any]]:
    """Return a verdict for each reading that has runs for the claim.

    A claim whose expression names further cells that a reading replaces has none: it would compare two readings.
    """
    return list(_verdicts(claim, experiment, questions))


def _verdicts(claim: Claim, experiment: Experiment, questions: Mapping[str, Question]) -> Iterator[dict[str, Any]]:
    for reading in experiment.readings:
        cell = reading.cell(claim.cell)
        if cell is None or claim.kunit or claim.not_testable or _mixes(claim, experiment, reading):
            continue
        ask = questions[reading.title]
        values = ask.numbers(claim.measure, cell)[0] if claim.measure else {}
        held = ask.truths(claim.holds, cell)[0] if claim.holds else {}
        judgement = judge(claim, experiment.words, values, held)
        if judgement is not None:
            yield {
                "title": reading.title,
                "cell": cell,
                "verdict": judgement.verdict,
                "why": judgement.why,
                "measured": asdict(spread(values)) | {"by_seed": as_json(values)} if values else None,
                "held": held or None,
            }


def _mixes(claim: Claim, experiment: Experiment, reading: Reading) -> bool:
    """Tell whether an expression of the claim names a further cell that the reading would replace."""
    expression = claim.holds or claim.measure or "None"
    cells = {cell for _, cell in runs_named(expression, experiment.runs_of, experiment.words)}
    return any(cell is None or (cell != (claim.cell or SINGLE) and reading.cell(cell)) for cell in cells)
