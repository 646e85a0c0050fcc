"""A run that was carried out before, as a cell that can be carried out again: from its folder alone."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from common import sums
from engine.errors import EngineError
from scenarios import implementations
from scenarios.errors import choices
from scenarios.resolve import Cell, resolve

_HEAD: Final = ("format", "study", "experiment", "cell", "size", "seed", "backend")
_PLACED: Final = ("implementations", "lead", "sizes", "hosts", "network")
_OF_ENGINE: Final = ("provenance", "agent", "origin_ns")
_OF_FLOW: Final = ("from_address", "to_address", "port", "direction")


@dataclass(frozen=True)
class Past:
    """A finished run: its cell, with every event that was drawn, its seed, and what it recorded of itself.

    `taps` are those at which it could be captured.
    """

    folder: Path
    cell: Cell
    seed: int
    digests: dict[str, str]
    taps: list[str]


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
    past = Past(folder, _cell(folder, run), run["seed"], summary["digests"], list(run["network"]["taps"]))
    today = json.loads(json.dumps(resolve(past.cell, past.seed)))
    changed = [name for name in today if name not in _PLACED[:1] and today[name] != run.get(name)]
    if changed:
        raise EngineError(f"{folder}: its scenario means something else in this version: {', '.join(changed)}")
    return past


def _cell(folder: Path, run: dict[str, Any]) -> Cell:
    settings = {name: value for name, value in run.items() if name not in (*_HEAD, *_PLACED, *_OF_ENGINE)}
    settings["flows"] = [_without(flow, _OF_FLOW) for flow in run["flows"]]
    settings["events"] = [_without(event, ("changes",)) for event in run["events"]]
    known = implementations.known()
    missing = sorted(set(run["implementations"]) - set(known))
    if missing:
        allowed = choices(sorted(known), missing[0])
        raise EngineError(f"{folder}: found {missing[0]!r}, no implementation of today; allowed: {allowed}")
    return Cell(
        scenario=folder / "run.json",
        study=run["study"],
        experiment=run["experiment"],
        name=run["cell"],
        draws=run["cell"],
        size=run["size"],
        seeds=range(run["seed"], run["seed"] + 1),
        start_jitter_ns={flow["name"]: 0 for flow in run["flows"]},
        delay_spread_ns=0,
        settings=settings | {"drawn_events": []},
        known=known,
    )


def _without(data: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}
