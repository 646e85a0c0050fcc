"""Writes a study that a command makes of its arguments, and carries out its runs."""

import fcntl
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from engine import sources
from engine.errors import EngineError
from engine.finished import is_finished
from engine.run import run_folder
from images import index
from images.cache import default_root
from scenarios.cells import PlannedCell, plan
from scenarios.resolve import Cell, expand
from testbed import jobs, notes, unplanned

# in a folder's name: braces are wildcards to Snakemake, surrogates stand for bytes that are not UTF-8
_REFUSED: Final = re.compile("[{}\ud800-\udfff]")
_LONGEST_NAME_BYTES: Final = 255
_BACKEND: Final = "virtual"
_COLUMNS: Final = "analysis.capture.columns"
_COLUMNS_NOTE: Final = Path("sources/columns")


def folder_of(into: Path, name: str) -> Path:
    """Return the results folder of what a command was asked for.

    Raises:
        EngineError: no folder can have this name, or Snakemake cannot work in it.
    """
    if _REFUSED.search(str(into.absolute())):
        raise EngineError(f"--into: found {str(into.absolute())!r}; allowed: UTF-8 text without {{ and }}")
    if len(name) > _LONGEST_NAME_BYTES:
        raise EngineError(
            f"the results folder's name: found {len(name)} characters of names; allowed: {_LONGEST_NAME_BYTES}"
        )
    return into / name


def write(folder: Path, study: str, texts: Mapping[str, str]) -> None:
    """Write the scenarios of a study, by their files' names. An unchanged file keeps its time, so its runs are kept.

    Raises:
        ScenarioError: a scenario cannot be carried out with what was asked for.
    """
    place = folder / "studies" / study
    place.mkdir(parents=True, exist_ok=True)
    for file in place.glob("*.yaml"):
        if file.name not in texts:
            file.unlink()
    for name, text in texts.items():
        file = place / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        expand(file, "full")


def carry_out(folder: Path, beside: Sequence[Path] = ()) -> int:
    """Carry out the runs of a folder's study that are missing, damaged, failed, or older than the code.

    What a folder of `beside`, with a study of the same name, has of them is copied from there. If interrupted, ends
    them. Returns 0, although runs may have failed, or the status of a build that failed.

    Raises:
        EngineError: a process ended before its runs were done or failed.
    """
    folder = folder.absolute()
    cells = plan(sorted(folder.glob("studies/*/*.yaml")), "full")
    if status := _build({name for cell in cells for name in cell["programs"]}):
        return status
    runs = folder / "runs"
    of_cells = ((runs / cell["study"] / cell["experiment"] / cell["cell"], cell["seeds"]) for cell in cells)
    unplanned.remove(runs.glob("*/*"), {place / f"seed-{seed}" for place, seeds in of_cells for seed in seeds})
    for other in beside:
        _take_over(other.absolute(), folder, cells)
    due = [(planned, seeds) for planned, _, seeds in _due(folder, cells)]
    jobs.carry_out(jobs.divide(due), folder / "runs")
    return 0


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder from before its study is written until its runs are judged; wait for another command that does."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another command, which is working in {folder}.", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(programs: set[str]) -> int:
    """Build what boots and these programs, as far as they are not built from the sources as they are now."""
    missing = [name for name in sorted(programs) if not index.path(default_root(), name).exists()]
    if not missing and index.path(default_root(), index.BOOT).exists():
        return 0
    command = [sys.executable, "-P", "-m", "images", *(missing or ["--boot"])]
    return subprocess.run(command, check=False).returncode


def _take_over(other: Path, folder: Path, cells: Sequence[PlannedCell]) -> None:
    """Copy finished runs of another folder that this one lacks."""
    there = other / "runs"
    since = other / _COLUMNS_NOTE
    if not since.exists() or since.read_text() != sources.digest([_COLUMNS]):
        return  # its columns are of other code
    taken = 0
    for _, cell, seeds in list(_due(folder, cells)):
        for seed in seeds:
            run = run_folder(there, cell, seed)
            if run.exists() and is_finished(cell, seed, there, _BACKEND, since):
                into = run_folder(folder / "runs", cell, seed)
                partial = into.with_name(f".{into.name}.taken")
                shutil.rmtree(partial, ignore_errors=True)
                shutil.rmtree(into, ignore_errors=True)
                # newer than this folder's note of the code
                shutil.copytree(run, partial, copy_function=shutil.copy)
                partial.rename(into)
                taken += 1
    if taken:
        print(f"Took {taken} of the runs from {other}.", file=sys.stderr, flush=True)


def _due(folder: Path, cells: Sequence[PlannedCell]) -> Iterator[tuple[PlannedCell, Cell, tuple[int, ...]]]:
    """Yield the cells with the seeds that have no finished run whose columns are those of the code as it is now."""
    since = _columns_since(folder)
    scenarios = dict.fromkeys(cell["scenario"] for cell in cells)
    resolved = (cell for scenario in scenarios for cell in expand(Path(scenario), "full"))
    for planned, cell in zip(cells, resolved, strict=True):
        seeds = (seed for seed in cell.seeds if not is_finished(cell, seed, folder / "runs", _BACKEND, since))
        if due := tuple(seeds):
            yield planned, cell, due


def _columns_since(folder: Path) -> Path:
    """Return a file as old as the code of columns has been what it is now, as far as this folder knows."""
    note = folder / _COLUMNS_NOTE
    notes.keep(note, sources.digest([_COLUMNS]))
    return note
