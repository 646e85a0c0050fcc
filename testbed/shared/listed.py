"""Columns of a table in Markdown that list by number what did not hold; all else holds."""

from collections.abc import Sequence
from typing import Final

from analysis.judge.verdict import Verdict

LISTED: Final = (Verdict.FAILS, Verdict.OPEN, Verdict.UNTESTABLE)
HEAD: Final = " | ".join(LISTED)
RULE: Final = f"|{'---|' * (1 + len(LISTED))}"


def cells(verdicts: Sequence[Verdict]) -> str:
    """Return the numbers, counted from 1, of the verdicts of each column."""
    numbers = ([str(i) for i, each in enumerate(verdicts, 1) if each == verdict] for verdict in LISTED)
    return " | ".join(map(", ".join, numbers))
