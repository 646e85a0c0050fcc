"""Carries archived runs out again and compares what they give, byte by byte."""

import json
import shutil
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.repetition import Repetition, differences
from engine.run import execute, run_folder
from scenarios.resolve import resolve
from scenarios.run_files import FAILED
from testbed.archive.contents import ArchivedRun, Contents

_OF_THIS_REPETITION = ("wall_s", "cpu_s", "digests")
"""What summary.json has that differs by design, or is compared file by file."""


def repeat(archived: ArchivedRun, runs: Path) -> Repetition:
    """Carry out a run again, below the folder `runs`, and compare captures, traces and what it reported.

    Raises:
        EngineError: it failed.
    """
    execute(resolve(archived.cell, archived.seed), runs, keep=_kept(archived))
    folder = run_folder(runs, archived.cell, archived.seed)
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    description: dict[str, Any] = json.loads((folder / "run.json").read_text())
    reported = differences(*(_without_times(summary) for summary in (archived.summary, summary)))
    return Repetition(
        name=archived.name,
        files=len(summary["digests"]),
        different=[
            *differences(archived.digests, summary["digests"]),
            *(f"summary.json: {difference}" for difference in reported),
        ],
        made_with_another=_made_with(archived.description, description),
    )


def fail_again(archived: Contents, name: str, runs: Path) -> Repetition:
    """Carry out a run that failed once more, below the folder `runs`; it has to fail with the same reason."""
    cell, seed = archived.failed_run(name)
    was = archived.failed[name]
    try:
        execute(resolve(cell, seed), runs)
    except EngineError:
        failed = run_folder(runs, cell, seed)
        summary = failed.with_name(f"{FAILED}{failed.name}") / "summary.json"
        why = str(json.loads(summary.read_text()).get("error")) if summary.exists() else "it left no reason"
        different = [] if why == was else [f"why it fails: {why}, archived: {was}"]
    else:
        different = [f"its end: it does not fail, archived: {was}"]
        shutil.rmtree(run_folder(runs, cell, seed))  # no experiment has it
    return Repetition(name, 1, different, [], kind="reason why it fails")


def _kept(archived: ArchivedRun) -> list[str]:
    """Return the taps whose packets a run kept beside those that its scenario asks for."""
    kept = {Path(name).name.partition(".")[0] for name in archived.digests if name.startswith("pcap/")}
    return [tap for tap in archived.description["network"]["taps"] if tap in kept]


def _without_times(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name not in _OF_THIS_REPETITION}


def _made_with(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Name the parts of the provenance that differ, and what else the engine decided in another way."""
    provenance = differences(before.pop("provenance"), after.pop("provenance"))
    return [*provenance, *differences(before, after)]
