"""The policy of who compares: a statement is decided by the interval of the mean distance inside its bound.

All statements of a page are decided together, since one in twenty of those on their bound would seem to be beyond it.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from analysis.judge import intervals
from analysis.judge.false_discoveries import largest_believed
from analysis.judge.intervals import Interval, standard_deviation, student_above
from analysis.judge.rules import EPSILON
from analysis.judge.statement import Bound, Statement
from analysis.judge.verdict import Verdict

FALSE_DISCOVERIES: Final = 0.05
"""Of all statements that do not hold, so many lie on their bound, on average; of those that hold, too."""
Chances = tuple[float, float]
"""Of distances so far outside and so far inside, for what lies on its bound."""


def margin_of(statement: Statement, measured: float, limit: float) -> float:
    """Return how far a number is inside the only bound, at this value; what equals it is inside.

    Raises:
        NotMeasuredError: both never happened.
    """
    [bound] = statement.bounds
    is_inside = statement.keeps(Bound(f"{bound.sign[0]}=", bound.text), measured, limit)
    distance = abs(measured - limit)
    if math.isfinite(distance) and distance <= EPSILON * abs(limit):
        return 0.0
    return distance if is_inside else -distance


def chances_of(margins: Sequence[float]) -> tuple[Interval | None, Chances | None]:
    """Return the interval of the mean margin and its chances; one seed has neither.

    Of margins that are not finite, and of margins that do not differ, all have to be on one side.
    """
    if len(margins) == 1:
        return None, None
    if not all(map(math.isfinite, margins)) or standard_deviation(margins) == 0:
        interval = (margins[0], margins[0]) if math.isfinite(fmean(margins)) else None
        return interval, (float(max(margins) >= 0), float(min(margins) < 0))
    error = standard_deviation(margins) / math.sqrt(len(margins))
    inside = student_above(fmean(margins) / error, len(margins) - 1)
    return intervals.mean(margins), (1 - inside, inside)


def decide(chances: Sequence[Chances]) -> list[Verdict]:
    """Decide all statements of a page together (see `FALSE_DISCOVERIES`)."""
    if not chances:
        return []
    outside, inside = (largest_believed(column, FALSE_DISCOVERIES) for column in zip(*chances, strict=True))
    return [
        Verdict.FAILS if out <= outside else Verdict.HOLDS if within <= inside else Verdict.OPEN
        for out, within in chances
    ]
