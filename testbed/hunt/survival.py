"""How much of a finding is left with other seeds, and when its numbers are a little different."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from common.counts import plural
from scenarios.units import QUANTITIES
from testbed.hunt.arena import is_valid, written
from testbed.hunt.question import HuntQuestion
from testbed.hunt.scenario import Data
from testbed.hunt.shrink import quantities, replaced

SEEDS: Final = range(1, 21)
PERCENT: Final = 5
FRAGILE: Final = 0.8
"""A finding of which less survives is called fragile."""
_SEED: Final = 1


@dataclass(frozen=True)
class Survival:
    """Runs that break the property: `seeds` of `of_seeds` with the scenario, `changed` of `of_changed` beside it."""

    seeds: int
    of_seeds: int
    changed: int
    of_changed: int

    @property
    def is_fragile(self) -> bool:
        """Whether too little is left of the finding."""
        return min(self.seeds / self.of_seeds, self.changed / max(1, self.of_changed)) < FRAGILE

    def __str__(self) -> str:
        word = "fragile: " if self.is_fragile else ""
        return (
            f"{word}{self.seeds} of {plural(self.of_seeds, 'seed')} break it, and {self.changed} of "
            f"{plural(self.of_changed, 'scenario')} "
            f"in which one number is {PERCENT} % more or less"
        )


def survival(scenario: Data, question: HuntQuestion, seeds: Sequence[int] = SEEDS) -> Survival:
    """Count what is left of a finding; runs beside it that failed do not count."""
    beside = list(filter(is_valid, _beside(scenario)))
    runs = question.needed(scenario, seeds)
    question.runs.request([*runs, *(run for other in beside for run in question.needed(other, (_SEED,)))])
    carried_out = [
        other for other in beside if not any(question.runs.of(*run).failed for run in question.needed(other, (_SEED,)))
    ]
    return Survival(
        sum(question.is_broken(scenario, seed, seeds) for seed in seeds),
        len(seeds),
        sum(question.is_broken(other, _SEED) for other in carried_out),
        len(carried_out),
    )


def _beside(scenario: Data) -> list[Data]:
    """List the scenarios in which one number is a little smaller, or larger, by one unit at least."""
    changed = []
    for path, number, unit in quantities(scenario):
        if number:
            step = max(1, round(abs(number) * PERCENT / 100))
            for other in (number - step, number + step):
                changed.append(replaced(scenario, path, written(_tidy(other), QUANTITIES[unit])))
    return changed


def _tidy(number: int) -> int:
    """Return a rate of 8 bit/s at least, and what its limiter can keep: three digits are enough."""
    digits = len(str(abs(number))) - 4
    return round(number, -digits) if digits > 0 else number
