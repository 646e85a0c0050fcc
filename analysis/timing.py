"""Reports where the time of a reproduction went: virtual hours, wall time, processors."""

import json
import time
from pathlib import Path

from rich.console import Console

from analysis.report.formats import duration
from common.counts import plural


def print_times(
    results: Path, since: float, cores: int, cpu_s: float | None = None, console: Console | None = None
) -> None:
    """Print where the time since an instant (seconds of the epoch) went; nothing if no run has been made since then.

    Tables tell the age of a run: one that shares them with another name was made with that.

    `cpu_s` is the CPU time that a pipeline and all processes below it have used.
    """
    elapsed_s = time.time() - since
    found = results.glob("runs/*/*/*/seed-*/columns/queue.parquet")
    made = [table.parents[1] for table in found if table.stat().st_mtime >= since]
    runs = [json.loads((folder / "summary.json").read_text(encoding="utf-8")) for folder in made]
    if not runs:
        return
    virtual_s, guests_s = (sum(run[name] for run in runs) for name in ("virtual_s", "wall_s"))
    console = console or Console()
    console.print(
        f"{plural(len(runs), 'run')}, {virtual_s / 3600:.1f} h of virtual time in {duration(elapsed_s)}: "
        f"{virtual_s / elapsed_s:.0f} times as fast as real time, on {plural(cores, 'core')}, on which guests ran for "
        f"{guests_s / (cores * elapsed_s):.0%} of the time.",
        soft_wrap=True,
    )
    if cpu_s:
        guests_cpu_s = sum(run["cpu_s"] for run in runs)
        console.print(
            f"CPU time: {cpu_s:.0f} s, of it {guests_cpu_s:.0f} s in guests; {1 - guests_cpu_s / cpu_s:.0%} outside.",
            soft_wrap=True,
        )
