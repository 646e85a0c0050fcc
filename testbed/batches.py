"""What a run takes beside others, and how the pipeline divides runs into jobs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

SPEEDS: Final = Path(__file__).parents[1] / "workflows/speeds.yaml"

Cell = Mapping[str, Any]
"""As `testbed plan --json` lists it."""


@cache
def speeds() -> dict[str, float]:
    """Return how fast guests are: what workflows/speeds.yaml says."""
    by_kind: dict[str, float] = yaml.load(SPEEDS.read_text(), Loader=yaml.CSafeLoader)
    return by_kind


def weight(cell: Cell) -> float:
    """Return the virtual seconds of one kernel flow at 10 Mbit/s that take as long to simulate as a run of a cell.

    Its start, packets, those of programs more, and looks at the flows are what takes time.
    """
    return speeds()["start"] + virtual_s(cell)


def seconds(weights: float) -> float:
    """Return about how long one processor takes for runs of so much weight, s."""
    return weights / speeds()["pace"]


def virtual_s(cell: Cell) -> float:
    """Return the same without what the start of a run takes."""
    programs = sum(speeds()["kernel"] / speed for speed in cell["speeds"].values())
    packets = cell["capacity_bps"] / 10e6 * (1 + programs)
    looks = (cell["flows"] - 1) / cell["sample_s"]
    return float(cell["virtual_s"] * (packets + speeds()["look"] * looks))


@dataclass
class JobBatch:
    """What one job runs: the same seeds of some cells."""

    cells: list[Cell]
    seeds: list[int]

    def runs(self) -> dict[str, Cell]:
        """Return the cell of each run, by the run's path below the folder of its experiment."""
        return {f"{cell['cell']}/seed-{seed}": cell for cell in self.cells for seed in self.seeds}

    def programs(self) -> set[str]:
        """Return the programs that the runs need."""
        return {name for cell in self.cells for name in cell["programs"]}

    def takes(self, cell: Cell, seeds: list[int], limits: Mapping[str, float]) -> bool:
        """Tell whether the job stays within limits with these seeds of another cell."""
        count = len(seeds) * (len(self.cells) + 1)
        together_s = len(seeds) * sum(map(virtual_s, [*self.cells, cell]))
        return self.seeds == seeds and count <= limits["runs"] and together_s <= limits["virtual_seconds"]

    @property
    def weight(self) -> float:
        """The weight of all its runs."""
        return len(self.seeds) * sum(map(weight, self.cells))


def batches(cells: Iterable[Cell], limits: Mapping[str, float]) -> list[JobBatch]:
    """Return the jobs that run an experiment, each of at most so many `runs` and `virtual_seconds`.

    Long cells are split by seeds; short ones share a job.
    """
    jobs: list[JobBatch] = []
    for cell in cells:
        most = int(min(limits["runs"], max(1, limits["virtual_seconds"] // virtual_s(cell))))
        for start in range(0, len(cell["seeds"]), most):
            seeds = cell["seeds"][start : start + most]
            if jobs and jobs[-1].takes(cell, seeds, limits):
                jobs[-1].cells.append(cell)
            else:
                jobs.append(JobBatch([cell], seeds))
    return jobs
