"""Whether scenarios break a property: not by one seed, and not by a fault of the path."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from testbed.hunt.measure import MeasuredRuns
from testbed.hunt.read_properties import Property
from testbed.hunt.scenario import Data, of_client

SEEDS: Final = (1, 2, 3, 4)
ENOUGH: Final = 3
"""Seeds, the first among them, with which a scenario has to break the property."""
CLEARLY: Final = 0.7
"""The baseline keeps the property clearly where its badness is at most this."""


@dataclass(frozen=True)
class HuntQuestion:
    """The question whether the client breaks a property that the baseline keeps."""

    prop: Property
    client: str
    baseline: str
    runs: MeasuredRuns

    def badness(self, scenario: Data, seed: int, seeds: Sequence[int] = ()) -> float | None:
        """Return how near a client's run, which has been asked for, is to breaking the property; None if unknown.

        What the baseline does with any of `seeds` is no fault of the client: the mildest bound of these counts.
        """
        own, other = self.runs.of(scenario, seed), self._other(scenario)
        if own.failed:
            return None
        measured = own.numbers[self.prop.measured]
        among = {seed, *seeds} if self.prop.is_against_another else {seed}
        others = [self.runs.of(other, each).numbers.get(self.prop.measured) if other else None for each in among]
        near = [self.prop.badness(measured, self.prop.bound_of(own.numbers, each)) for each in others]
        known = [each for each in near if each is not None]
        return min(known) if len(known) == len(near) else None

    def is_broken(self, scenario: Data, seed: int, seeds: Sequence[int] = ()) -> bool:
        """Whether a run breaks the property; one that does not tell does not."""
        return (self.badness(scenario, seed, seeds) or 0.0) > 1

    def why_unknown(self, scenario: Data, seed: int) -> str | None:
        """Say why a run that took place does not tell whether it keeps the property; None where it tells."""
        runs = [self.runs.of(*run) for run in self.needed(scenario, (seed,))]
        if any(run.failed for run in runs) or self.badness(scenario, seed) is not None:
            return None
        reasons = (run.unknown[text] for run in runs for text in self.prop.expressions if text in run.unknown)
        return f"seed {seed}: {next(reasons, f'{self.prop.holds}: both sides cannot be compared')}"

    def needed(self, scenario: Data, seeds: Iterable[int]) -> list[tuple[Data, int]]:
        """List the runs of which `badness` is made."""
        other = self._other(scenario)
        return [(data, seed) for seed in seeds for data in (scenario, other) if data]

    def breaking(self, scenarios: Sequence[Data]) -> list[bool]:
        """Tell which scenarios break the property. Those that the first seed clears need no more runs."""
        broken = self._broken(scenarios, SEEDS[:1], 1)
        suspects = [scenario for scenario, is_broken in zip(scenarios, broken, strict=True) if is_broken]
        for_sure = self._broken(suspects, SEEDS, ENOUGH)
        suspects = [scenario for scenario, is_broken in zip(suspects, for_sure, strict=True) if is_broken]
        if self.prop.of_path:
            kept = self._kept_by_baseline(suspects)
            suspects = [scenario for scenario, is_kept in zip(suspects, kept, strict=True) if is_kept]
        return [scenario in suspects for scenario in scenarios]

    def _broken(self, scenarios: Sequence[Data], seeds: Sequence[int], enough: int) -> list[bool]:
        self.runs.request([run for scenario in scenarios for run in self.needed(scenario, seeds)])
        return [sum(self.is_broken(scenario, seed, seeds) for seed in seeds) >= enough for scenario in scenarios]

    def _kept_by_baseline(self, scenarios: Sequence[Data]) -> list[bool]:
        beside = [of_client(scenario, self.baseline) for scenario in scenarios]
        self.runs.request([run for scenario in beside for run in self.needed(scenario, SEEDS)])
        return [self._is_kept(scenario) for scenario in beside]

    def _is_kept(self, scenario: Data) -> bool:
        """Whether the baseline's runs all took place, and most keep the property clearly."""
        if any(self.runs.of(*run).failed for run in self.needed(scenario, SEEDS)):
            return False
        near = [self.badness(scenario, seed) for seed in SEEDS]
        return sum(each is not None and each <= CLEARLY for each in near) >= ENOUGH

    def _other(self, scenario: Data) -> Data | None:
        return self.prop.other(scenario, self.baseline)
