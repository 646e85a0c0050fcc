"""Reports where the time of a reproduction went: virtual hours, wall time, processors, and peak memory."""

import csv
import json
import re
import time
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from analysis.report.formats import duration
from scenarios.counts import plural

# the rules of the pipeline whose jobs leave their times in logs/<rule>/
JOBS: Final = {"measurements": "metrics and verdicts", "report": "figures and report"}
# who measures or draws uses two
PROCESSORS: Final = {"measurements": 2, "report": 2}


def print_times(
    results: Path, since: float, cores: int, cpu_s: float | None = None, console: Console | None = None
) -> None:
    """Print where the time since an instant (seconds of the epoch) went; nothing if no run has been made since then.

    `cpu_s` is the CPU time that a pipeline and all processes below it have used.
    """
    elapsed_s = time.time() - since
    virtual_s, guests_s, guests_cpu_s, count = 0.0, 0.0, 0.0, 0
    for path in results.glob("runs/*/*/*/seed-*/summary.json"):
        if path.stat().st_mtime >= since:
            summary = json.loads(path.read_text(encoding="utf-8"))
            virtual_s += summary["virtual_s"]
            guests_s += summary["wall_s"]
            guests_cpu_s += summary["cpu_s"]
            count += 1
    if not count:
        return
    jobs = _jobs(results, since)
    jobs_s: defaultdict[str, float] = defaultdict(float)
    for job in jobs:
        jobs_s[job.rule] += job.seconds
    parts = {
        "guests: boot, network, scenario": guests_s,
        "start of programs, captures to columns": jobs_s["runs"] - guests_s,
        **{what: jobs_s[rule] * min(cores, PROCESSORS.get(rule, 1)) for rule, what in JOBS.items()},
    }
    parts["Snakemake, and cores without work"] = max(0.0, cores * elapsed_s - sum(parts.values()))
    console = console or Console()
    console.print(
        f"{plural(count, 'run')}, {virtual_s / 3600:.1f} h of virtual time in {duration(elapsed_s)}: "
        f"{virtual_s / elapsed_s:.0f} times as fast as real time, on {plural(cores, 'core')}.",
        soft_wrap=True,
    )
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("where the time of the cores went", no_wrap=True)
    table.add_column("time", justify="right")
    table.add_column("part", justify="right")
    for what, seconds in parts.items():
        table.add_row(what, duration(seconds), f"{seconds / (cores * elapsed_s):.0%}")
    console.print(table)
    if cpu_s:
        console.print(
            f"CPU time: {cpu_s:.0f} s, of it {guests_cpu_s:.0f} s in guests; {1 - guests_cpu_s / cpu_s:.0%} outside.",
            soft_wrap=True,
        )
    if jobs:
        largest = max(jobs, key=lambda job: job.most_mb)
        console.print(f"Largest job: {largest.most_mb:,.0f} MB of memory ({largest.name}).", soft_wrap=True)


class Job(NamedTuple):
    """One job and its processes, from the table that Snakemake writes beside its log."""

    name: str
    seconds: float
    most_mb: float  # peak resident memory, shared pages counted once; 0 if the job was too short to be sampled

    @property
    def rule(self) -> str:
        """The rule that it belongs to."""
        return self.name.partition("/")[0]


def _jobs(results: Path, since: float) -> list[Job]:
    """List the jobs that have ended since then."""
    jobs = []
    for path in results.glob("logs/**/*.tsv"):
        if path.stat().st_mtime >= since:
            name = path.relative_to(results / "logs").with_suffix("").as_posix()
            with path.open(encoding="utf-8") as file:
                jobs += [Job(name, float(row["s"]), _mb(row)) for row in csv.DictReader(file, delimiter="\t")]
    return jobs


def _mb(row: dict[str, str]) -> float:
    most = row.get("max_pss", "")
    return float(most) if re.fullmatch(r"[\d.]+", most) else 0.0
