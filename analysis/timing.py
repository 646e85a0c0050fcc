"""Where the time of a reproduction went: virtual hours, wall time, and what used the processors."""

import csv
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from analysis.report.words import duration

# the rules of the pipeline whose jobs leave their times in logs/<rule>/
JOBS: Final = {"measurements": "metrics and verdicts", "report": "figures and report"}
# a report draws on two processors
PROCESSORS: Final = {"report": 2}


def print_times(results: Path, since: float, cores: int, console: Console | None = None) -> None:
    """Print where the time since an instant (seconds of the epoch) went; nothing if no run has been made since then."""
    elapsed_s = time.time() - since
    virtual_s, guests_s, count = 0.0, 0.0, 0
    for path in results.glob("runs/*/*/*/seed-*/summary.json"):
        if path.stat().st_mtime >= since:
            summary = json.loads(path.read_text(encoding="utf-8"))
            virtual_s += summary["virtual_s"]
            guests_s += summary["wall_s"]
            count += 1
    if not count:
        return
    jobs_s = _jobs(results, since)
    parts = {
        "guests: boot, network, scenario": guests_s,
        "start of programs, captures to columns": jobs_s["runs"] - guests_s,
        **{what: jobs_s[rule] * min(cores, PROCESSORS.get(rule, 1)) for rule, what in JOBS.items()},
    }
    parts["Snakemake, and cores without work"] = max(0.0, cores * elapsed_s - sum(parts.values()))
    console = console or Console()
    console.print(
        f"{count} runs, {virtual_s / 3600:.1f} h of virtual time in {duration(elapsed_s)}: "
        f"{virtual_s / elapsed_s:.0f} times as fast as real time, on {cores} cores.",
        soft_wrap=True,
    )
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("where the time of the cores went", no_wrap=True)
    table.add_column("time", justify="right")
    table.add_column("part", justify="right")
    for what, seconds in parts.items():
        table.add_row(what, duration(seconds), f"{seconds / (cores * elapsed_s):.0%}")
    console.print(table)


def _jobs(results: Path, since: float) -> defaultdict[str, float]:
    """Seconds of the jobs since then, by rule, from the tables that Snakemake keeps beside their logs."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for path in results.glob("logs/**/*.tsv"):
        if path.stat().st_mtime >= since:
            with path.open(encoding="utf-8") as file:
                rule = path.relative_to(results / "logs").parts[0]
                seconds[rule] += sum(float(row["s"]) for row in csv.DictReader(file, delimiter="\t"))
    return seconds
