"""The one place that decides which runs are due, and carries them out; `testbed run` is how forks do."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from common import sums
from engine import sources
from engine.finished import is_finished
from engine.recorder import BOTTLENECK
from engine.run import execute, folder_of, run_folder
from images import index
from images.cache import default_root
from scenarios.cells import PlannedCell, plan
from scenarios.resolve import Cell, expand, resolve
from testbed import jobs, notes, unplanned

_COLUMNS: Final = "analysis.capture.columns"
_COLUMNS_NOTE: Final = Path("sources/columns")


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


def need(folder: Path, wanted: Sequence[Wanted], beside: Sequence[Path] = (), kept: Sequence[Wanted] = ()) -> int:
    """Carry out the runs of a folder that are missing, damaged, failed, or older than the code.

    Runs that are neither wanted nor `kept`, which would be measured with the others, lie in `unused-runs` until a call
    wants them.
    What a folder of `beside` has of them, in whatever study, is copied from there. If interrupted, ends
    them. Returns 0, although runs may have failed, or the status of a build that failed.

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
    for other in beside:
        _take_over(other.absolute(), folder, wanted)
    due = [(one.planned, tuple(one.seeds)) for one in _due(folder, wanted)]
    jobs.carry_out(jobs.divide(due), runs)
    return 0


def unbuilt(wanted: Sequence[Wanted]) -> list[str]:
    """Name what `need` has to build first, since it is not built from the sources as they are now."""
    programs = {name for one in wanted for name in one.planned["programs"]}
    return [name for name in (index.BOOT, *sorted(programs)) if not index.path(default_root(), name).exists()]


def _take_over(other: Path, folder: Path, wanted: Sequence[Wanted]) -> None:
    """Copy finished runs of another folder that this one lacks."""
    there = other / "runs"
    since = other / _COLUMNS_NOTE
    if not since.exists() or since.read_text() != sources.stage([_COLUMNS]):
        return  # its columns are of other code
    taken = 0
    for one in list(_due(folder, wanted)):
        for run in (resolve(one.cell, seed) for seed in one.seeds):
            studies = sorted(place.name for place in there.iterdir() if place.is_dir())
            as_there = ({**run, "study": study} for study in studies)
            finished = (each for each in as_there if is_finished(each, there, since))
            found = next(finished, None)
            if found:
                _copy(folder_of(there, found), folder_of(folder / "runs", run), run["study"])
                taken += 1
    if taken:
        print(f"Took {taken} of the runs from {other}.", file=sys.stderr, flush=True)


def _copy(run: Path, into: Path, study: str) -> None:
    """Copy a run's folder for a study, in which nothing that the run did depends on the study's name."""
    partial = into.with_name(f".{into.name}.taken")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(run, partial, copy_function=shutil.copy)  # newer than this folder's note of the code
    file = partial / "run.json"
    description = json.loads(file.read_text())
    if description["study"] != study:
        file.write_text(json.dumps(description | {"study": study}, indent=1))
        sums.write(partial, sums.read(partial) | {file.name: sums.digest(file)})
    partial.rename(into)


def _due(folder: Path, wanted: Sequence[Wanted]) -> Iterator[Wanted]:
    """Yield what has no finished run, with the seeds that lack one whose columns are those of the code as it is now."""
    since = columns_since(folder)
    for one in wanted:
        due = [seed for seed in one.seeds if not is_finished(resolve(one.cell, seed), folder / "runs", since)]
        if due:
            yield replace(one, seeds=due)


def columns_since(folder: Path) -> Path:
    """Return a file as old as the code of columns has been what it is now, as far as this folder knows."""
    note = folder / _COLUMNS_NOTE
    notes.keep(note, sources.stage([_COLUMNS]))
    return note
