"""A run that was carried out before and can be carried out again: from its folder alone."""

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import sums
from engine.errors import EngineError
from scenarios import implementations
from scenarios.errors import choices
from scenarios.resolve import changed, unlike


@dataclass(frozen=True)
class Past:
    """A finished run: its run.json with today's implementations, and what it recorded of itself."""

    folder: Path
    run: dict[str, Any]
    digests: dict[str, str]


def read(folder: Path) -> Past:
    """Read a run's folder.

    Raises:
        EngineError: it holds no finished run of the default backend, or one that means something else today.
    """
    if not folder.is_dir():
        raise EngineError(f"{folder}: no such folder; allowed: a run's folder (seed-N)")
    if not (folder / "run.json").exists():
        raise EngineError(f"{folder}: found no run.json; allowed: a run's folder (seed-N)")
    try:
        run = json.loads(sums.checked(folder, "run.json").read_text())
        summary = json.loads(sums.checked(folder, "summary.json").read_text())
    except FileNotFoundError as error:
        raise EngineError(f"{folder}: found no {Path(error.filename).name}; allowed: a run's folder (seed-N)") from None
    except ValueError as error:
        raise EngineError(f"{folder}: {error}; allowed: a run's folder (seed-N)") from None
    if summary.get("status") != "ok" or run.get("backend") != "virtual":
        state = f"status {summary.get('status')!r}, backend {run.get('backend')!r}"
        raise EngineError(f"{folder}: found {state}; allowed: a finished run in virtual time")
    known = implementations.known()
    if missing := sorted(set(run["implementations"]) - set(known)):
        allowed = choices(sorted(known), missing[0])
        raise EngineError(f"{folder}: found {missing[0]!r}, no implementation of today; allowed: {allowed}")
    today = changed(run, implementations={name: copy.deepcopy(known[name]) for name in run["implementations"]})
    if different := unlike(run, json.loads(json.dumps(today))):
        raise EngineError(f"{folder}: its scenario means something else in this version: {', '.join(different)}")
    return Past(folder, today, summary["digests"])
