"""Runs that no scenario plans any more: they would be measured with the others, so they lie aside until one does."""

import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from common.counts import plural
from scenarios.run_files import FAILED

UNUSED: Final = "unused-runs"


def set_aside(results: Path, experiments: Iterable[Path], planned: Collection[Path]) -> None:
    """Move what is not planned out of folders of experiments, below `runs` of results, into `unused-runs`.

    A planned run that lies there and is missing comes back. Runs that failed are moved, too. Of two runs of one cell
    and seed in `unused-runs` the newer one stays.
    """
    runs, unused = results / "runs", results / UNUSED
    aside = list(_unplanned(experiments, planned))
    for run in aside:
        _move(run, unused / run.relative_to(runs))
    if aside:
        print(f"{plural(len(aside), 'run')} that no scenario plans now lie in {unused}", file=sys.stderr, flush=True)
    for run in sorted(planned) if unused.exists() else ():
        kept = unused / run.relative_to(runs)
        if kept.exists() and not run.exists():
            _move(kept, run)


def _unplanned(experiments: Iterable[Path], planned: Collection[Path]) -> Iterator[Path]:
    for experiment in experiments:
        for run in (*experiment.glob("*/seed-*"), *experiment.glob(f"*/{FAILED}seed-*")):
            if run.with_name(run.name.removeprefix(FAILED)) not in planned:
                yield run


def _move(run: Path, into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    into.parent.mkdir(parents=True, exist_ok=True)
    run.rename(into)
