"""Tells which runs need not be carried out again."""

import copy
import json
import re
import sys
from pathlib import Path
from typing import Any

from common import sums
from engine import backends
from engine.run import folder_of
from scenarios.run_files import OF_RUN

LOGS = re.compile("logs")
_CHANGES = ("origin_ns",)
_OF_PROVENANCE = ("commit", "host")


def is_finished(run: dict[str, Any], into: Path, since: Path | None = None) -> bool:
    """Tell whether a run succeeded as run.json says, with the images and code of now, and all of it is there.

    With `since` it must also have ended after that file was written. What is damaged or missing is named on stderr.

    Raises:
        EngineError: what boots has not been built.
    """
    folder = folder_of(into, run)
    if not folder.exists():
        return False
    damaged = damage(folder)
    for name, what in damaged.items():
        print(f"{folder / name}: {what}; the run is made again", file=sys.stderr)
    if damaged:
        return False
    if since is not None and (folder / "summary.json").stat().st_mtime_ns <= since.stat().st_mtime_ns:
        return False
    return made_of(json.loads((folder / "run.json").read_text())) == made_of(completed(run))


def damage(folder: Path) -> dict[str, str]:
    """Return what is wrong with a finished run's files, by their paths in its folder."""
    return sums.damaged(folder, OF_RUN) | dict.fromkeys(sums.unvouched(folder, LOGS), sums.WITHOUT)


def completed(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run.json with what only images and code tell, as it would be read after the run, but for its instant.

    Raises:
        EngineError: what boots has not been built.
    """
    run = copy.deepcopy(run)
    run["provenance"] = backends.prepare(run).provenance
    whole: dict[str, Any] = json.loads(json.dumps(run))
    return whole


def made_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return what determines the bytes of a run."""
    rest = {name: value for name, value in run.items() if name not in _CHANGES}
    provenance = run.get("provenance")
    if isinstance(provenance, dict):
        rest["provenance"] = {name: value for name, value in provenance.items() if name not in _OF_PROVENANCE}
    return rest
