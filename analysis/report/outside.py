"""Numbers beside claims that no seed of the full run has: the same seed gives the same number, so builds differ."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.digits import nine_digits
from analysis.report.beside import Beside
from analysis.report.results import Result


@dataclass(frozen=True)
class Outside:
    """A number, its mean over the seeds here, and its range over the seeds of the full run."""

    experiment: Result
    name: str
    unit: str
    here: float
    low: float
    high: float

    @property
    def digits(self) -> int:
        """How many digits show that it lies outside: three, or more where ends and number are the same in three."""
        ends = {self.low, self.high, self.here}
        return next((few for few in range(3, 9) if len({f"{end:.{few}g}" for end in ends}) == len(ends)), 9)


@dataclass(frozen=True)
class Numbers:
    """How many numbers beside claims were compared with their range in the full run, and those outside it."""

    compared: int
    outside: list[Outside]


def numbers_beside(experiments: Iterable[Result], reference: Beside) -> Numbers:
    """Compare all numbers beside claims; the full run's file keeps their range over its seeds."""
    found = [
        pair
        for experiment in experiments
        if (kept := reference.kept.get(experiment.id))
        for pair in compared(experiment, kept)
    ]
    return Numbers(len(found), [number for number, is_outside in found if is_outside])


def compared(experiment: Result, kept: Mapping[str, Any]) -> Iterator[tuple[Outside, bool]]:
    """Yield each number that both have, and whether it lies outside; none where a run is shorter or more have run."""
    if not experiment.folder or experiment.is_shortened or len(experiment.data["runs"]) > kept["runs"]:
        return
    for extra in experiment.data["also_measured"]:
        here, there = extra["measured"], kept["also_measured"].get(extra["metric"])
        if here and there and here["mean"] is not None:
            low, high = there["minimum"], there["maximum"]
            number = Outside(experiment, extra["metric"], extra["unit"], here["mean"], low, high)
            yield number, nine_digits(here["minimum"]) < low or high < nine_digits(here["maximum"])
