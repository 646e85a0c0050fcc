"""Whether recording changes a run: `python -m tests.trust.recorded [--drawn COUNT] [--beside RESULTS]`.

Each run is carried out twice, without any packet recorded and with those of all taps; all that its guest made or said
must be the same. Runs are those of `tests.trust.modes`. With RESULTS, such as results/quick, they are the runs that
it has, of which a third time is that of the pipeline, with the packets that its scenario asks for and the bottleneck's:
what its guest made or said must be the same, too, and each of its captures that of the run with all taps, byte for
byte. So the verdicts of RESULTS are those of both.
"""

import json
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from engine import images
from engine.errors import EngineError
from engine.recorder import BOTTLENECK
from engine.run import execute, run_folder
from images import programs
from images.cache import Store, default_root
from images.errors import ImageError
from scenarios.resolve import Cell, resolve
from tests.trust.identity import programs_of
from tests.trust.modes import asked, chosen

SAID = ("virtual_s", "ended_ns", "versions", "probe", "flows", "counters", "latest_event_ns")


@dataclass(frozen=True)
class Pair:
    """What was found about one run: a row of the table."""

    cell: Cell
    seed: int
    result: str
    pkts: int = 0
    bottleneck_bytes: int = 0
    cpu_s: tuple[float, float] = (0, 0)

    def __str__(self) -> str:
        """Give the row."""
        what = f"{self.cell.experiment} | {self.cell.name} | {self.seed} | {self.pkts} | {self.bottleneck_bytes}"
        return f"| {what} | {self.cpu_s[0]:.2f} | {self.cpu_s[1]:.2f} | {self.result} |"


def of_guest(cell: Cell, seed: int, into: Path, captures: Sequence[str], keep: Sequence[str]) -> dict[str, Any]:
    """Run a cell with these captures and taps that are kept; return its summary, with what its guest made or said."""
    summary = execute(resolve(replace(cell, settings={**cell.settings, "captures": captures}), seed), into, keep=keep)
    return {**summary, "of_guest": made_or_said(summary)}


def made_or_said(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what a run's guest made or said, by its name."""
    traces = {name: digest for name, digest in summary["digests"].items() if name.startswith("traces/")}
    return {**traces, **{name: summary[name] for name in SAID}}


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Name what is not the same."""
    return sorted(what for what in {*ours, *theirs} if ours.get(what) != theirs.get(what))


def beside(kept: Path, every: dict[str, Any]) -> list[str]:
    """Name what differs between a run that is kept and the same with all taps: also its captures, of which it has some.

    What it would have of packets that it packs, and the other keeps as they are, has another name and is not there.
    """
    summary = json.loads((kept / "summary.json").read_text())
    captures = {name: digest for name, digest in summary["digests"].items() if name.startswith("pcap/")}
    ours = {name: every["digests"].get(name) for name in captures}
    return [f"{what} beside {kept}" for what in differing(made_or_said(summary) | captures, every["of_guest"] | ours)]


def pair(run: tuple[Cell, int], results: Path | None = None) -> Pair:
    """Carry out a run both ways and say what was found."""
    cell, seed = run
    with tempfile.TemporaryDirectory(prefix="testbed-recorded-") as name:
        folder = Path(name)
        try:
            for program in programs_of(cell):
                programs.build(Store(default_root()), lambda _: None, program)
            images.program.cache_clear()
            taps = list(resolve(cell, seed, "virtual")["network"]["taps"])
            none = of_guest(cell, seed, folder / "none", [], [])
            every = of_guest(cell, seed, folder / "all", cell.settings["captures"], taps)
        except (EngineError, ImageError) as error:
            return Pair(cell, seed, f"NOT COMPARED: {error}")
        files = (run_folder(folder / "all", cell, seed) / "pcap").iterdir()
        bottleneck_bytes = sum(file.stat().st_size for file in files if file.name.partition(".")[0] in BOTTLENECK)
    different = differing(none["of_guest"], every["of_guest"])
    if results:
        different += beside(run_folder(results / "runs", cell, seed), every)
    result = f"DIFFERENT: {', '.join(different)}" if different else "identical"
    pkts = sum(held["pkts"] for held in every["captured"].values())
    return Pair(cell, seed, result, pkts, bottleneck_bytes, (none["cpu_s"], every["cpu_s"]))


def main() -> int:
    """Print the table, and what it comes to; 1 where something is not identical."""
    options = asked(__doc__ or "", beside=True)
    print("| experiment | cell | seed | packets | packed | CPU s, none | CPU s, all taps | found |\n|" + "---|" * 8)
    pairs = []
    runs = chosen(options.drawn, options.most_s, options.seed)
    if options.beside:
        runs = [run for run in runs if run_folder(options.beside / "runs", *run).exists()]
    with multiprocessing.Pool(options.guests) as pool:
        compare = partial(pair, results=options.beside)
        for outcome in pool.imap(compare, runs):
            print(outcome, flush=True)
            pairs.append(outcome)
    same = sum(outcome.result == "identical" for outcome in pairs)
    none_s, all_s = (sum(outcome.cpu_s[which] for outcome in pairs) for which in (0, 1))
    pkts, packed_bytes = (sum(getattr(outcome, what) for outcome in pairs) for what in ("pkts", "bottleneck_bytes"))
    print(
        f"\n{same} of {len(pairs)} runs identical, with none and {pkts} packets; those of the bottleneck take "
        f"{packed_bytes / 1e6:.0f} MB; CPU s {none_s:.0f} and {all_s:.0f}"
    )
    return 0 if same == len(pairs) else 1


if __name__ == "__main__":
    sys.exit(main())
