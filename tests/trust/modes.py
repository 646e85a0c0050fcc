"""Whether both ways into a guest's kernel give the same bytes: `python -m tests.trust.modes [--drawn COUNT]`.

Each run is carried out by way of stub processes and with the guest's kernel in its processes; the digests in the two
summaries must be the same. Runs are those of size quick with the first seed, in an order that is drawn, or some that
are drawn from the complete set.
"""

import argparse
import multiprocessing
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine import images, syscall_mode
from engine.errors import EngineError
from engine.run import execute
from images import programs
from images.cache import Store, default_root
from images.errors import ImageError
from scenarios import scenario_files
from scenarios.resolve import Cell, expand, resolve
from tests.trust.identity import STUDIES, programs_of

_TEN_MBPS = 10e6


@dataclass(frozen=True)
class Pair:
    """What was found about one run: a row of the table."""

    cell: Cell
    seed: int
    result: str
    files: int = 0
    cpu_s: tuple[float, float] = (0, 0)

    def __str__(self) -> str:
        """Give the row."""
        stub_s, here_s = self.cpu_s
        what = f"{self.cell.experiment} | {self.cell.name} | {self.seed} | {self.cell.virtual_s:g} s | {self.files}"
        return f"| {what} | {stub_s:.2f} | {here_s:.2f} | {self.result} |"


def pair(run: tuple[Cell, int]) -> Pair:
    """Carry out a run in both modes and say what was found."""
    cell, seed = run
    with tempfile.TemporaryDirectory(prefix="testbed-modes-") as folder:
        try:
            for name in programs_of(cell):
                programs.build(Store(default_root()), lambda _: None, name)
            images.program.cache_clear()
            told = []
            for stubs in (True, False):
                with syscall_mode.by_stubs(stubs):
                    told.append(execute(resolve(cell, seed), Path(folder)))
        except (EngineError, ImageError) as error:
            return Pair(cell, seed, f"NOT COMPARED: {error}")
    stub, here = (summary["digests"] for summary in told)
    different = sorted(name for name in {*stub, *here} if stub.get(name) != here.get(name))
    result = f"DIFFERENT: {', '.join(different)}" if different else "identical"
    return Pair(cell, seed, result, len(stub), (told[0]["cpu_s"], told[1]["cpu_s"]))


def cells_of(size: str) -> list[Cell]:
    """Return the cells of all studies."""
    return [
        cell for study in sorted(STUDIES.iterdir()) for file in scenario_files(study) for cell in expand(file, size)
    ]


def light(cell: Cell, most_s: float) -> bool:
    """Tell whether `cell` moves no more than a flow of 10 Mbit/s does in `most_s` virtual seconds."""
    return bool(cell.virtual_s * max(1, cell.settings["bottleneck"]["rate_bps"] / _TEN_MBPS) <= most_s)


def chosen(count: int | None, most_s: float, seed: int) -> list[tuple[Cell, int]]:
    """Return the runs to be compared in an order drawn by `seed`: `count` of the complete set, or all of size quick."""
    if count is None:
        runs = [(cell, cell.seeds[0]) for cell in cells_of("quick") if cell.seeds]
    else:
        runs = [(cell, number) for cell in cells_of("complete") if light(cell, most_s) for number in cell.seeds]
    return random.Random(seed).sample(runs, min(count or len(runs), len(runs)))  # noqa: S311 - it must repeat


def asked(says: str, beside: bool = False) -> argparse.Namespace:
    """Read the command line of a comparison, which `says` what it does: the runs, and how many guests at once.

    With `beside`, it may name results that are compared, too.
    """
    parser = argparse.ArgumentParser(description=says, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drawn", type=int, metavar="COUNT", help="runs of the complete set; default: those of quick")
    parser.add_argument("--seed", type=int, default=1, help="of the draw; default: %(default)s")
    parser.add_argument("--most-s", type=float, default=300, help="virtual seconds at 10 Mbit/s; default: %(default)s")
    parser.add_argument("--guests", type=int, default=2, help="at once; default: %(default)s")
    if beside:
        parser.add_argument("--beside", type=Path, metavar="RESULTS", help="of the pipeline, with all these runs")
    return parser.parse_args()


def main() -> int:
    """Print the table, and what it comes to; 1 where something is not identical."""
    options = asked(__doc__ or "")
    if lacks := syscall_mode.lacking():
        print(f"this host has nothing but stub processes: no {', no '.join(lacks)}", file=sys.stderr)
        return 1
    runs = chosen(options.drawn, options.most_s, options.seed)
    pairs = []
    print("| experiment | cell | seed | virtual | files | CPU s, stubs | CPU s, in process | found |\n|" + "---|" * 8)
    with multiprocessing.Pool(options.guests) as pool:
        for outcome in pool.imap(pair, runs):
            print(outcome, flush=True)
            pairs.append(outcome)
    same = sum(outcome.result == "identical" for outcome in pairs)
    stub_s, here_s = (sum(outcome.cpu_s[mode] for outcome in pairs) for mode in (0, 1))
    files = sum(outcome.files for outcome in pairs)
    print(f"\n{same} of {len(pairs)} runs identical, {files} captures and traces; CPU s {stub_s:.0f} and {here_s:.0f}")
    return 0 if same == len(pairs) else 1


if __name__ == "__main__":
    sys.exit(main())
