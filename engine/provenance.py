"""Records what made a run besides its scenario."""

import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

from common.commit import commit
from engine import sources
from engine.images import Images, Program

MOST_PARTS = 100
"""That a stranger's provenance may have."""
_LONGEST = 1000  # characters of a part that are shown


@cache
def code(backend: str) -> str:
    """Return the digest of only those sources that carry out a run on a backend."""
    return sources.runs(backend)


def of(images: Images, programs: Mapping[str, Program], arguments: list[str]) -> dict[str, Any]:
    """Return the provenance for run.json, which holds no path of this host."""
    return {
        "commit": commit(),
        "code": code("virtual"),
        **images.provenance,
        **{f"program:{name}": program.provenance for name, program in programs.items()},
        "boot_arguments": " ".join(arguments),
        "host": {"machine": platform.machine(), "python": platform.python_version()},
    }


def told(part: Any) -> str:
    """Return a part of a provenance, which may be a stranger's, as a line of text."""
    if isinstance(part, dict):
        return ", ".join(f"{name} {told(value)}" for name, value in part.items())[:_LONGEST]
    return str(part)[:_LONGEST]
