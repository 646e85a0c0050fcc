"""Tells which runs need not be carried out again."""

import json
from pathlib import Path
from typing import Any

from engine import backends
from engine.run import run_folder
from scenarios.resolve import Cell, resolve

_CHANGES = ("origin_ns",)
_OF_PROVENANCE = ("commit", "host")


def is_finished(cell: Cell, seed: int, into: Path, backend: str, since: Path | None = None) -> bool:
    """Tell whether a run succeeded with the scenario, images and code that it would have now.

    With `since` it must also have ended after that file was written.

    Raises:
        EngineError: what boots has not been built.
    """
    folder = run_folder(into, cell, seed)
    try:
        made = json.loads((folder / "run.json").read_text())
        ended_ns = (folder / "summary.json").stat().st_mtime_ns
    except (OSError, ValueError):
        return False
    if since is not None and ended_ns <= since.stat().st_mtime_ns:
        return False
    run = resolve(cell, seed, backend)
    run["provenance"] = backends.prepare(run).provenance
    return _made_of(made) == _made_of(json.loads(json.dumps(run)))


def _made_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return what determines the bytes of a run."""
    rest = {name: value for name, value in run.items() if name not in _CHANGES}
    provenance = run.get("provenance")
    if isinstance(provenance, dict):
        rest["provenance"] = {name: value for name, value in provenance.items() if name not in _OF_PROVENANCE}
    return rest
