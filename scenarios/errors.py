"""Problems of a scenario or implementation file, in words that suffice to fix it without reading code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

FieldPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One mistake: its place, what was found there and what is allowed."""

    file: Path
    line: int
    field: str
    found: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}: {self.found}; allowed: {self.allowed}"


class ScenarioError(ValueError):
    """Raised with every problem found; its text has a line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        # Cells of one file share most lines, so a mistake may be found once per cell.
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(map(str, self.problems)))


def field_name(path: Iterable[str | int]) -> str:
    """Return the name of a field: ``flows[1].params.target``."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name or "(whole file)"


def choices(allowed: Sequence[str], found: object = None) -> str:
    """List the allowed values, and suggest the nearest one if `found` looks like a slip."""
    listed = ", ".join(allowed) if allowed else "nothing"
    close = difflib.get_close_matches(str(found), allowed, n=1)
    return f"{listed} (did you mean {close[0]}?)" if close else listed
