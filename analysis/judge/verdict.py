"""The five verdicts of every statement, what they look like, and what they make of a command."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """The verdicts.

    Nearly: within the larger of two distances, and not shown to be within the smaller one. Open: more seeds, or a run
    that failed or is missing, may decide. Cannot be tested: runs do not show what the statement speaks of.
    """

    HOLDS = "holds"
    NEARLY = "nearly"
    OPEN = "open"
    FAILS = "does not hold"
    UNTESTABLE = "cannot be tested"


SIGNS: Final[dict[Verdict, str]] = {
    Verdict.HOLDS: "✓",
    Verdict.NEARLY: "≈",
    Verdict.OPEN: "○",
    Verdict.FAILS: "✗",
    Verdict.UNTESTABLE: "\N{EN DASH}",
}
WORST_FIRST: Final = (Verdict.FAILS, Verdict.OPEN, Verdict.UNTESTABLE, Verdict.NEARLY, Verdict.HOLDS)
"""The order of lists: what does not hold comes first, then what is not known."""
KEPT, BROKEN, UNKNOWN = 0, 1, 2
"""Exit statuses."""


def exit_status(verdicts: Collection[Verdict], *, untestable_is_unknown: bool = False) -> int:
    """Return BROKEN where a statement does not hold, else UNKNOWN where one is open, else KEPT.

    `untestable_is_unknown`: what cannot be tested counts as open, for who demands that everything has been tested.
    """
    if Verdict.FAILS in verdicts:
        return BROKEN
    unknown = Verdict.OPEN in verdicts or (untestable_is_unknown and Verdict.UNTESTABLE in verdicts)
    return UNKNOWN if unknown else KEPT


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several that all have to hold; without any, nothing can be tested."""
    return min(verdicts, key=WORST_FIRST.index, default=Verdict.UNTESTABLE)


def counted(verdicts: Iterable[Verdict]) -> str:
    """Say how often each verdict came, as in "3 hold, 1 open"."""
    return told(Counter(verdicts))


def told(counts: Mapping[Verdict, int]) -> str:
    """Say how often each verdict came."""
    return ", ".join(so_many(counts[verdict], verdict) for verdict in Verdict if counts.get(verdict))


def so_many(number: int, verdict: str) -> str:
    """Say how many have a verdict: 1 holds, 2 hold, 2 do not hold."""
    words = {"holds": "hold", "does": "do", "agrees": "agree", "differs": "differ"}
    said = verdict if number == 1 else " ".join(words.get(word, word) for word in verdict.split())
    return f"{number:,} {said}"
