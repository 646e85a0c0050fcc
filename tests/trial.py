"""Scenarios that a test writes for itself, and their runs."""

from pathlib import Path
from typing import Any

from analysis.capture.columns import write_columns
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve


def trial(folder: Path, text: str) -> Path:
    """Write a scenario below `folder`, in a file with the name of its experiment; the study is `trial`."""
    name = text.partition("\n")[0].removeprefix("experiment: ")
    file = folder / "trial" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def carried_out(folder: Path, text: str, backend: str = "virtual") -> tuple[Path, dict[str, Any]]:
    """Carry out the only cell of a scenario with seed 1 and write its columns; return run folder and summary."""
    (cell,) = expand(trial(folder, text), "complete")
    summary = execute(resolve(cell, 1, backend), folder)
    run = run_folder(folder, cell, 1)
    write_columns(run)
    return run, summary
