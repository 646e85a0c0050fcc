"""Whether every implementation and every experiment repeats to the byte: `python -m tests.trust.identity [NAME...]`.

Each is carried out twice with the same seed: alone on one core; then on any core, beside as many busy processes as
there are cores, in a folder whose path is longer. The digests in the two summaries must be the same. `make trial
NAME=identity` does all of it.
"""

import functools
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine import images
from engine.errors import EngineError
from engine.run import execute
from images import programs
from images.cache import Store, default_root
from images.errors import ImageError
from scenarios import implementations, load, scenario_files
from scenarios.resolve import Cell, expand, resolve
from testbed.interop.judge import PEER
from testbed.interop.pairings import CASES, SCRIPTS, order_of, read_scripts, scripted

STUDIES = images.PROJECT / "workflows" / "studies"
SEED = 1
ALONE = """\
experiment: alone
title: One flow, on a path that loses and delays packets from its middle on
topology: {{name: dumbbell, pairs: 1}}
bottleneck: {{rate: 2mbit, buffer: 60p}}
delay: {{forward: 25ms, backward: 25ms}}
start_jitter: 100ms
flows: [{{name: it, implementation: {name}, from: s1, to: d1}}]
events: [{{at: 10s, on: path, jitter: {{forward: 1ms}}, loss: {{forward: 1%}}}}]
duration: 20s
captures: [sender, bottleneck-out]
"""


@dataclass(frozen=True)
class Outcome:
    """What was found about one implementation or experiment: a row of the table."""

    name: str
    cell: str
    virtual_s: float
    files: int
    result: str

    @property
    def identical(self) -> bool:
        """Whether all captures and traces were."""
        return self.result == "identical"

    def __str__(self) -> str:
        """Give the row."""
        return f"| {self.name} | {self.cell} | {self.virtual_s:g} s | {self.files} | {self.result} |"


def of_implementations(folder: Path) -> dict[str, Cell]:
    """A flow of each implementation by itself; the scenarios are written below `folder`."""
    cells = {}
    for name, known in implementations.known().items():
        if "sender" in known["roles"]:
            file = folder / "alone" / f"{name}.yaml"
            file.parent.mkdir(exist_ok=True)
            file.write_text(_by_script() if name == PEER else ALONE.format(name=name))
            (cells[name],) = expand(file, "complete")
    return cells


def _by_script() -> str:
    """A scenario of the scripted peer, which needs a script and another implementation."""
    cases, scripts = load.read(CASES).data, read_scripts([SCRIPTS / "slow-reader.utp"])
    [(_, text)] = scripted(cases, scripts, order_of(["libutp"], {"cases": {}}, scripts, implementations.known()))
    return text


@functools.cache
def of_experiments() -> dict[str, Cell]:
    """The shortest cell of each experiment of each study, at the size at which its claims still tell something."""
    cells = {}
    for study in sorted(STUDIES.iterdir()):
        for file in scenario_files(study):
            shortest = min(expand(file, "quick"), key=lambda cell: cell.virtual_s)
            cells[shortest.experiment] = shortest
    return cells


def programs_of(cell: Cell) -> list[str]:
    """Name the programs that `cell` needs."""
    return sorted(implementations.used_by(cell.settings["flows"]).intersection(programs.names()))


@contextmanager
def on_cpus(cpus: set[int]) -> Iterator[None]:
    """Let this process and what it starts run on these only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def busy_host(processes: int) -> Iterator[None]:
    """Keep cores busy with this many processes."""
    stop = multiprocessing.Event()
    hogs = [multiprocessing.Process(target=_compute, args=(stop, os.getpid())) for _ in range(processes)]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        stop.set()
        for hog in hogs:
            hog.join()


def _compute(stop: "multiprocessing.synchronize.Event", parent: int) -> None:
    while not stop.is_set() and os.getppid() == parent:
        sum(range(10_000))


def differing(cell: Cell, folder: Path) -> tuple[Mapping[str, str], list[str]]:
    """Carry out `cell` twice; digests of the first run's files, and the names of the files that differ in the second.

    Raises EngineError when a run fails.
    """
    with on_cpus({min(os.sched_getaffinity(0))}):
        alone = execute(resolve(cell, SEED), folder / "alone")["digests"]
    with busy_host(os.cpu_count() or 1):
        beside = execute(resolve(cell, SEED), folder / "a folder with a longer name" / "and another level")["digests"]
    return alone, sorted(name for name in {*alone, *beside} if alone.get(name) != beside.get(name))


def outcome(name: str, cell: Cell) -> Outcome:
    """Carry out `cell` under both conditions and say what was found."""
    digests: Mapping[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="testbed-identity-") as folder:
        try:
            for program in programs_of(cell):
                programs.build(Store(default_root()), lambda _: None, program)
            images.program.cache_clear()
            digests, different = differing(cell, Path(folder))
            result = f"DIFFERENT: {', '.join(different)}" if different else "identical"
        except (EngineError, ImageError) as error:
            result = f"NOT COMPARED: {error}"
    return Outcome(name, cell.name, cell.virtual_s, len(digests), result)


def main() -> int:
    """Print the table of those named (all), and what it comes to; 1 where something is not identical."""
    with tempfile.TemporaryDirectory(prefix="testbed-identity-") as folder:
        groups = {"implementations": of_implementations(Path(folder)), "experiments": of_experiments()}
        wanted = set(sys.argv[1:])
        outcomes: dict[str, list[Outcome]] = {}
        print("| what | cell | virtual | captures and traces | found |\n|---|---|---|---|---|")
        for group, cells in groups.items():
            outcomes[group] = []
            for name, cell in cells.items():
                if not wanted or name in wanted:
                    outcomes[group].append(outcome(name, cell))
                    print(outcomes[group][-1], flush=True)
    print()
    for group, ends in outcomes.items():
        files, virtual_s = sum(outcome.files for outcome in ends), sum(outcome.virtual_s for outcome in ends)
        same = f"{sum(outcome.identical for outcome in ends)} of {len(ends)} {group} identical"
        print(f"{same}: {files} captures and traces of {virtual_s:.0f} virtual seconds")
    return 0 if all(outcome.identical for ends in outcomes.values() for outcome in ends) else 1


if __name__ == "__main__":
    sys.exit(main())
