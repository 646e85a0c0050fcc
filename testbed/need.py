"""The one place that decides which runs are due, and carries them out; `testbed run` is how forks do."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engine import sources
from engine.finished import is_finished
from engine.recorder import BOTTLENECK
from engine.run import execute, folder_of, run_folder
from engine.store import Store
from images import index
from images.cache import default_root
from scenarios.cells import PlannedCell, plan
from scenarios.resolve import Cell, expand, resolve
from testbed import jobs, notes, unplanned

_COLUMNS: Final = "analysis.capture.columns"
_COLUMNS_NOTE: Final = Path("sources/columns")
_RESULTS: Final = Path("results")


@dataclass(frozen=True)
class Wanted:
    """A cell as it is planned and as it is resolved, and the seeds that it needs."""

    planned: PlannedCell
    cell: Cell
    seeds: Sequence[int]


def planned(scenarios: Sequence[Path]) -> list[Wanted]:
    """Return the cells of scenarios with the seeds that these ask for.

    Raises:
        ScenarioError: a scenario is wrong.
    """
    cells = (cell for scenario in scenarios for cell in expand(scenario, "complete"))
    return [Wanted(one, cell, cell.seeds) for one, cell in zip(plan(scenarios, "complete"), cells, strict=True)]


def needed(run: dict[str, Any], into: Path, keep: Sequence[str] = BOTTLENECK, since: Path | None = None) -> Path:
    """Return the folder of a run with its tables, carried out here unless it is finished (see `columns_since`).

    Raises:
        EngineError: it failed.
    """
    from analysis.capture.columns import write_columns  # loads Polars

    folder = folder_of(into, run)
    if not is_finished(run, into, since):
        execute(run, into, keep)
        write_columns(folder)
    return folder


def need(folder: Path, wanted: Sequence[Wanted], kept: Sequence[Wanted] = ()) -> int:
    """Carry out the runs of a folder that are missing, damaged, failed, or older than the code.

    Those that are there under another name, of another product or of the papers, share its files (`engine.store`).

    Runs that are neither wanted nor `kept`, which would be measured with the others, lie in `unused-runs` until a call
    wants them. If interrupted, ends what it carries out. Returns 0, although runs may have failed, or the status of a
    build that failed.

    Raises:
        EngineError: a process ended before its runs were done or failed.
    """
    folder = folder.absolute()
    runs = folder / "runs"
    if missing := unbuilt(wanted):
        programs = [name for name in missing if name != index.BOOT]
        command = [sys.executable, "-P", "-m", "images", *(programs or ["--boot"])]
        if status := subprocess.run(command, check=False).returncode:
            return status
    planned_runs = {run_folder(runs, one.cell, seed) for one in (*wanted, *kept) for seed in one.seeds}
    unplanned.set_aside(folder, runs.glob("*/*"), planned_runs)
    since, store = columns_since(folder), _store(folder)
    due = _due(wanted, runs, since, Store(store, since.read_text()))
    jobs.carry_out(jobs.divide([(one.planned, tuple(one.seeds)) for one in due]), runs, since, store)
    return 0


def unbuilt(wanted: Sequence[Wanted]) -> list[str]:
    """Name what `need` has to build first, since it is not built from the sources as they are now."""
    programs = {name for one in wanted for name in one.planned["programs"]}
    return [name for name in (index.BOOT, *sorted(programs)) if not index.path(default_root(), name).exists()]


def _store(folder: Path) -> Path:
    """Return the store of a product's folder: that of all results, or elsewhere of the folders beside it."""
    results = _RESULTS.absolute()
    return (results if folder.is_relative_to(results) else folder.parent) / "store"


def _due(wanted: Sequence[Wanted], runs: Path, since: Path, store: Store) -> Iterator[Wanted]:
    """Yield what has no finished run, with the seeds that lack one; each run that is finished gets its address."""
    for one in wanted:
        due = []
        for seed in one.seeds:
            run = resolve(one.cell, seed)
            if is_finished(run, runs, since):
                store.add(run, runs)
            else:
                due.append(seed)
        if due:
            yield replace(one, seeds=due)


def columns_since(folder: Path) -> Path:
    """Return a file as old as the code of columns has been what it is now, as far as this folder knows."""
    note = folder / _COLUMNS_NOTE
    notes.keep(note, sources.stage([_COLUMNS]))
    return note
