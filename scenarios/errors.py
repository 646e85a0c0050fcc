"""Problems of a scenario or implementation file, in words that suffice to fix it without reading code."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

FieldPath = tuple[str | int, ...]

_MOST_SHOWN = 20
"""Problems of a file; more only hide the first."""
_LONGEST = 300
"""Characters of what was found, and of a field's name."""
_MOST_CHOICES = 40
_NEAREST = 10
"""Names of many that are shown: those most like what was found."""
_MOST_COMPARED = 1000
_LONGEST_SLIP = 50


@dataclass(frozen=True)
class Problem:
    """One mistake: its place, what was found there and what is allowed."""

    file: Path
    line: int
    field: str
    found: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {shortened(self.field)}: {shortened(self.found)}; allowed: {self.allowed}"


class ScenarioError(ValueError):
    """Raised with every problem found; its text has a line for each of the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        # Cells of one file share most lines, so a mistake may be found once per cell.
        self.problems = tuple(dict.fromkeys(problems))
        more = len(self.problems) - _MOST_SHOWN
        also = [f"{self.problems[0].file}: {more} more problems"] if more > 0 else []
        super().__init__("\n".join([*map(str, self.problems[:_MOST_SHOWN]), *also]))


def field_name(path: Iterable[str | int]) -> str:
    """Return the name of a field: ``flows[1].params.target``."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name or "(whole file)"


def choices(allowed: Sequence[str], found: object = None) -> str:
    """List the allowed values, and suggest the nearest one if `found` looks like a slip."""
    meant = suggestion(str(found), allowed)
    if len(allowed) <= _MOST_CHOICES:
        return (", ".join(allowed) or "nothing") + meant
    near = difflib.get_close_matches(str(found)[:_LONGEST_SLIP], allowed[:_MOST_COMPARED], n=_NEAREST, cutoff=0)
    return f"one of {len(allowed)}{meant}, such as {', '.join(near)}"


def suggestion(found: str, allowed: Collection[str]) -> str:
    """Ask in parentheses whether the nearest of few names was meant; nothing if none is near."""
    if not allowed or len(allowed) > _MOST_COMPARED or len(found) > _LONGEST_SLIP:
        return ""
    close = difflib.get_close_matches(found, allowed, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def shortened(text: str) -> str:
    """Cut what a stranger wrote to what a message has room for."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
