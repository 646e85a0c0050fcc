"""Runs one cell in ns-2 and reads its counters."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.ns2 import SimulatedCell
from images import walls
from images.ns2.build import HERE, Simulator

SCRIPT: Final = HERE / "pair.tcl"
LIMIT_S: Final = 600


class SimulatorError(Exception):
    """ns-2 did not end as it should."""


@dataclass(frozen=True)
class Counters:
    """What the bottleneck had counted at an instant, s; bytes and packets of both flows."""

    at_s: float
    left_bytes: tuple[float, float]
    came: float
    dropped: float


def numbers(simulator: Simulator, cell: SimulatedCell) -> dict[str, list[float]]:
    """Return the numbers of all seeds of a cell: utilization and losses are fractions."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        by_seed = list(pool.map(lambda seed: _of_seed(simulator, cell, seed), range(1, cell.seeds + 1)))
    return {name: [of_seed[name] for of_seed in by_seed] for name in by_seed[0]}


def _of_seed(simulator: Simulator, cell: SimulatedCell, seed: int) -> dict[str, float]:
    """Give utilization, fairness and losses while both flows run, and those of the whole run."""
    both, end = simulate(simulator, {**cell.options, "seed": seed})
    first, second = (last - start for start, last in zip(both.left_bytes, end.left_bytes, strict=True))
    rate_bps = float(cell.options["rate_mbps"]) * 1e6
    return {
        "utilization": 8 * (first + second) / rate_bps / (end.at_s - both.at_s),
        "jain": (first + second) ** 2 / (2 * (first**2 + second**2)),
        "loss": (end.dropped - both.dropped) / (end.came - both.came),
        "utilization_of_whole_run": 8 * (first + second) / rate_bps / end.at_s,
        "loss_of_whole_run": end.dropped / end.came,
    }


def simulate(simulator: Simulator, options: Mapping[str, object]) -> list[Counters]:
    """Return the counters that a run of pair.tcl prints. Raises SimulatorError where it does not end well."""
    with tempfile.TemporaryDirectory() as work:
        words = ["/seen/ns", "/seen/pair.tcl", *(f"{name}={value}" for name, value in options.items())]
        see = {"/seen/ns": simulator.program, "/seen/pair.tcl": SCRIPT}
        command = walls.command(simulator.root, words, Path(work), see, {"PATH": "/usr/bin"})
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode:
        raise SimulatorError(f"ns-2 ended with {done.returncode}: {words[2:]}; it said {done.stderr[-500:]!r}")
    return list(_read(done.stdout))


def _read(text: str) -> Iterator[Counters]:
    for line in text.splitlines():
        word, *fields = line.split()
        if word == "at":
            at_s, left1, left2, came1, came2, dropped1, dropped2 = map(float, fields)
            yield Counters(at_s, (left1, left2), came1 + came2, dropped1 + dropped2)
