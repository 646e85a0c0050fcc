"""The policy of who promises something for each run: a statement holds where every seed keeps its bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from analysis.errors import BadInputError
from analysis.judge.statement import Bound, Statement
from analysis.judge.verdict import Verdict
from analysis.report.formats import texts_with_unit
from analysis.run import Run
from analysis.series import NotMeasuredError


@dataclass(frozen=True)
class Decision:
    """A verdict and why; the run that decides, what was measured in it (infinity: never), and the bound there."""

    verdict: Verdict
    why: str
    run: Run | None = None
    measured: float | None = None
    bound: float | None = None


def decide(statement: Statement, runs: Sequence[Run], number: Callable[[str, Run], float], unit: str) -> Decision:
    """Judge runs, at least one of them, by the one that is farthest outside, or least far inside.

    `number` gives the value of an expression in a run; `unit` is that of the measure.

    Raises:
        BadInputError: an expression is no number.
    """
    decided: list[tuple[float, Run, float, list[float]]] = []
    kept = True
    for run in runs:
        try:
            measured, *limits = (number(text, run) for text in statement.expressions)
            of_run = list(zip(statement.bounds, limits, strict=True))
            kept &= all(statement.keeps(bound, measured, limit) for bound, limit in of_run)
        except NotMeasuredError as error:
            return Decision(Verdict.UNTESTABLE, f"seed {run.settings.seed}: {error}", run)
        except BadInputError as error:
            raise BadInputError(f"{statement.at}measure: {error}") from None
        inside = min(_inside(measured, limit, is_most=bound.is_most) for bound, limit in of_run)
        decided.append((inside, run, measured, limits))
    _, run, measured, limits = min(decided, key=itemgetter(0))
    value, *texts = texts_with_unit((measured, *limits), unit)
    allowed = texts[:1] if len(texts) > 1 and len(set(texts)) == 1 else map(Bound.shown, statement.bounds, texts)
    why = f"{statement.measure} = {value}, allowed {', '.join(allowed)}"
    limit = min(limits, key=lambda limit: abs(limit - measured) if limit != measured else 0.0)
    return Decision(Verdict.HOLDS if kept else Verdict.FAILS, why, run, measured, limit)


def _inside(measured: float, limit: float, *, is_most: bool) -> float:
    """Return how far a number is on the right side of a limit."""
    if measured == limit:
        return 0.0
    return limit - measured if is_most else measured - limit
