"""Finds and removes runs that no scenario plans any more: they would be measured with the others."""

import shutil
import sys
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from scenarios.run_files import FAILED


def among(experiments: Iterable[Path], planned: Container[Path]) -> Iterator[Path]:
    """Yield the runs in folders of experiments that are not planned, also those that failed."""
    for experiment in experiments:
        for run in (*experiment.glob("*/seed-*"), *experiment.glob(f"*/{FAILED}seed-*")):
            if run.with_name(run.name.removeprefix(FAILED)) not in planned:
                yield run


def remove(experiments: Iterable[Path], planned: Container[Path]) -> None:
    """Remove the runs in folders of experiments that are not planned, also those that failed."""
    for run in among(experiments, planned):
        print(f"removing {run}, which no scenario plans any more", file=sys.stderr)
        shutil.rmtree(run)
