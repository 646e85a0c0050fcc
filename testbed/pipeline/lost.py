"""What failed, is damaged, or was removed, so that it is made again.

Snakemake by itself looks neither into files nor at what lies between those that rules name, and does not miss a file as
long as what was made of it is there.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from common import sums
from scenarios.run_files import FAILED
from testbed.pipeline.plan import Plan
from testbed.pipeline.sources import Sources

_MADE: Final = re.compile(
    r"kunit\.json|tables/(\w+\.parquet|datapackage\.json)"
    r"|runs/.+/seed-\d+/.+"
    r"|experiments/([^/]+/(metrics\.csv|verdicts\.json|figure(-narrow)?\.(svg|html)|figure\.txt)|viewer\.js)"
)
"""What a step makes anew, with its sum, even where there is such a file already."""


def tell(plans: Iterable[Plan], asked_for: Plan, sources: Sources) -> None:
    """Print what is lost of the results of each plan, and take a note of it.

    A wrong scenario of the plan that is asked for is refused here, in its own words, and not while jobs are looked for.
    """
    there = [plan for plan in plans if Path(plan.results, "runs").exists()]
    for plan in dict.fromkeys([asked_for, *there]):
        lost = (_damaged(plan) if plan in there else {}) | dict.fromkeys(_removed(plan), "missing")
        foreign = [file for file, what in lost.items() if what == sums.WITHOUT and not _MADE.fullmatch(file)]
        for file in foreign:
            del lost[file]
            print(f"{plan.results}/{file}: {sums.WITHOUT}, and nothing here makes it: remove it", file=sys.stderr)
        for file, what in lost.items():
            if not _has_failed(Path(plan.results, file)):
                print(f"{plan.results}/{file}: {what}; due again", file=sys.stderr)
        for what in set(map(_made_by, lost)):
            sources.tell_lost(plan.size, what)


def _damaged(plan: Plan) -> dict[str, str]:
    """Return what became of each file that is not as it was left, by its path below the results."""
    command = [sys.executable, "-P", "-m", "analysis", "sums", plan.results]
    lines = subprocess.check_output(command).splitlines()
    files: dict[str, str] = dict(json.loads(line) for line in lines)
    return files


def _removed(plan: Plan) -> Iterator[str]:
    """Yield the sums of folders that somebody removed or that were never made, by the same paths."""
    root = Path(plan.results)
    for shown in (root / "report" / "figures").glob("*/"):
        if not (root / "experiments" / shown.name / sums.FILE).exists():
            yield f"experiments/{shown.name}/{sums.FILE}"
    for experiment in plan.experiments:
        for marker, batch in plan.jobs(experiment).items():
            was_used = any((root / "experiments" / experiment).glob("*.json"))
            if was_used or Path(marker).exists():
                expected = [Path(marker).parent / run / sums.FILE for run in batch.runs()]
                yield from (str(file.relative_to(root)) for file in expected if not file.exists())
    if (root / "kunit.json").exists() and not (root / sums.FILE).exists():
        yield "kunit.json"
    for part in ("tables", "report"):
        if any((root / part).glob(".made-for-*")) and not (root / part / sums.FILE).exists():
            yield f"{part}/{sums.FILE}"


def _has_failed(file: Path) -> bool:
    """Tell whether a file would belong to a run that failed."""
    return file.parent.with_name(f"{FAILED}{file.parent.name}").exists()


def _made_by(file: str) -> str:
    """Return which note stands for what makes a file, given by its path below the results."""
    folder, *names = Path(file).parts
    if folder == "runs":
        return f"runs/{names[1]}"
    if folder == "experiments" and names[1:] and names[1] in ("metrics.csv", "verdicts.json", sums.FILE):
        return f"experiments/{names[0]}"
    return "kunit" if folder in ("kunit.json", sums.FILE) else "report"
