"""The search: batch after batch, and what becomes of each scenario that breaks a property."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from testbed.hunt import search
from testbed.hunt.arena import Arena, Point
from testbed.hunt.measure import MeasuredRuns, OverBudgetError
from testbed.hunt.question import HuntQuestion
from testbed.hunt.read_properties import Property
from testbed.hunt.scenario import Data, name
from testbed.hunt.shrink import shrink
from testbed.hunt.survival import Survival, survival

SUSPECTS: Final = 3
"""Scenarios of a batch that are looked at again for a property, the worst first."""
SEED: Final = 1
"""With which scenarios are tried; more seeds ask only about those that break something."""
OTHERS: Final = 4
"""Beside an earlier version, each scenario of so many is compared with another run, too."""
FURTHER_ONE_IN: Final = 4
IDLE: Final = 8
"""Batches in a row that needed no new run, after which the arena has nothing new to try."""


@dataclass(frozen=True)
class Finding:
    """A property and the shrunk scenario that breaks it; `runs` counts the search up to its first scenario.

    There is no `survival` if the budget was over before the scenario was minimal and its survival known.
    """

    prop: Property
    first: Data
    scenario: Data
    survival: Survival | None
    runs: int

    def explains(self, prop: Property, scenario: Data) -> bool:
        """Whether another scenario that breaks a property has all that this one needs, and so tells nothing new."""
        return prop == self.prop and parts(self.scenario) <= parts(scenario)


@dataclass
class Trial:
    """A point that was tried, its scenario, and how near it was to breaking each property that was measured.

    What a corpus gave has no point. `arena` is 0 for the hunt's first arena, then the place among its further ones.
    """

    point: Point | None
    scenario: Data
    badness: dict[str, float | None]
    arena: int = 0


@dataclass
class Hunt:
    """A search for scenarios in which a client breaks a property; it goes on while `runs_left` is above zero.

    It begins with those of `corpus`. Tours and random points that follow are the same without them. Beside each
    `FURTHER_ONE_IN` scenarios of the arena, one of each of `further` is drawn.
    `unsure` counts the scenarios that broke a property with one seed when the budget was over.
    """

    arena: Arena
    properties: list[Property]
    client: str
    baseline: str
    runs: MeasuredRuns
    seed: int
    search: str
    runs_left: Callable[[], float]
    corpus: Sequence[Data] = ()
    further: Sequence[Arena] = ()
    trials: list[Trial] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    refuted: set[tuple[str, str]] = field(default_factory=set)
    search_runs: int = 0
    unsure: int = 0
    _is_over: bool = False

    def question(self, prop: Property) -> HuntQuestion:
        """Return what asks whether a scenario breaks a property."""
        return HuntQuestion(prop, self.client, self.baseline, self.runs)

    def unknown(self) -> dict[str, list[str]]:
        """Say, by the names of properties, of each scenario that was run and does not tell of one why it does not."""
        reasons = {
            prop.name: [
                why
                for trial in self.trials
                if prop.name in trial.badness and (why := self.question(prop).why_unknown(trial.scenario, SEED))
            ]
            for prop in self.properties
        }
        return {name: of_property for name, of_property in reasons.items() if of_property}

    def new_findings(self) -> Iterator[Finding]:
        """Yield each finding as soon as it is as small as it gets, so that an interruption loses none."""
        for prop, trial in self.broken():
            question, runs = self.question(prop), self.search_runs
            smallest, left = trial.scenario, None
            try:
                for smaller in shrink(trial.scenario, question.breaking):
                    smallest = smaller
                left = survival(smallest, question)
            except OverBudgetError:
                self._is_over = True
            finding = Finding(prop, trial.scenario, smallest, left, runs)
            self.findings.append(finding)
            yield finding

    def broken(self) -> Iterator[tuple[Property, Trial]]:
        """Yield what breaks a property for sure and which no finding explains; it is not made small."""
        first = self._measured([Trial(None, scenario, {}) for scenario in self.corpus])
        self.trials += first
        yield from self._broken(first, len(first))
        idle = 0
        while not self._is_over:
            before = self.search_runs
            batch = self._measured(self._drawn() if self.runs_left() > 0 else [])
            idle = idle + 1 if self.search_runs == before else 0
            if not batch or idle == IDLE:
                return
            self.trials += batch
            yield from self._broken(batch, SUSPECTS)

    def _drawn(self) -> list[Trial]:
        """Draw the next scenarios of the arena, and then those of the further ones."""
        count = sum(trial.point is not None and trial.arena == 0 for trial in self.trials)
        points = search.batch(self.arena, count, self.seed, self.search)
        batch = [Trial(point, self.arena.scenario(point, self.client), {}) for point in points]
        for number in range(count // FURTHER_ONE_IN, (count + len(points)) // FURTHER_ONE_IN):
            for place, arena in enumerate(self.further, 1):
                point = search.single(arena, number, self.seed)
                batch.append(Trial(point, arena.scenario(point, self.client), {}, place))
        return batch

    def _is_known(self, prop: Property, scenario: Data) -> bool:
        return any(finding.explains(prop, scenario) for finding in self.findings)

    def _measured(self, batch: list[Trial]) -> list[Trial]:
        """Run the scenarios of a batch for which there are runs left; return their trials, in the same order."""
        begun: list[tuple[Trial, list[Property]]] = []
        needed: dict[tuple[str, int], tuple[Data, int]] = {}
        left = self.runs_left()
        for place, trial in enumerate(batch, len(self.trials)):
            due = self._due(place, trial.scenario)
            own = [run for prop in due for run in self.question(prop).needed(trial.scenario, (SEED,))]
            more = needed | {(name(scenario), seed): (scenario, seed) for scenario, seed in own}
            if len(more.keys() - self.runs.requested) > left:
                break
            needed = more
            begun.append((trial, due))
        before = len(self.runs.requested)
        with suppress(OverBudgetError):
            self.runs.request(list(needed.values()))
        self.search_runs += len(self.runs.requested) - before
        begun = [(trial, due) for trial, due in begun if self._was_run(trial.scenario, due)]
        for trial, due in begun:
            trial.badness = {prop.name: self.question(prop).badness(trial.scenario, SEED) for prop in due}
        return [trial for trial, _ in begun]

    def _was_run(self, scenario: Data, due: list[Property]) -> bool:
        needed = [run for prop in due for run in self.question(prop).needed(scenario, (SEED,))]
        return {(name(each), seed) for each, seed in needed} <= self.runs.requested

    def _due(self, place: int, scenario: Data) -> list[Property]:
        """Return the properties that are looked at in the scenario of a place.

        Beside each scenario runs one in turn of those that properties compare it with, and Reno's. If there is an
        earlier version, its run is always there, and another one in each scenario of `OTHERS`.
        """
        fitting = [prop for prop in self.properties if prop.covers(scenario)]
        version = next((prop.comparison for prop in fitting if prop.of_version), None)
        always = [
            prop for prop in fitting if prop.comparison in (None, version) or (prop.is_always_compared and not version)
        ]
        compared = [prop.comparison for prop in fitting if prop.comparison and prop not in always]
        others = [each for index, each in enumerate(compared) if each not in compared[:index]]
        turn, later = divmod(place, OTHERS if version else 1)
        in_turn = [others[turn % len(others)]] if others and not later else []
        return [prop for prop in fitting if prop in always or prop.comparison in in_turn]

    def _broken(self, batch: list[Trial], most: int) -> Iterator[tuple[Property, Trial]]:
        """Yield what of a batch breaks a property for sure; look again at `most` scenarios for each of them."""
        for prop in self.properties:
            near = [(trial, trial.badness.get(prop.name) or 0.0) for trial in batch]
            suspects = [(trial, badness) for trial, badness in near if badness > 1]
            suspects.sort(key=lambda suspect: (-suspect[1], len(parts(suspect[0].scenario))))
            for trial, _ in suspects[:most]:
                if self._is_known(prop, trial.scenario):
                    continue
                try:
                    is_broken = not self._is_over and self.question(prop).breaking([trial.scenario])[0]
                except OverBudgetError:
                    self._is_over = True
                if self._is_over:
                    self.unsure += 1
                elif is_broken:
                    yield prop, trial
                else:
                    self.refuted.add((name(trial.scenario), prop.name))


def expressions(properties: list[Property]) -> tuple[str, ...]:
    """Name what has to be measured in each run."""
    return tuple(dict.fromkeys(text for prop in properties for text in prop.expressions))


def parts(scenario: Data) -> frozenset[str]:
    """Name what a scenario has besides a link, a delay and the client."""
    named = {f"flow {flow['name']}" for flow in scenario["flows"][1:]}
    named |= {f"queue {queue}" for queue in [scenario["bottleneck"].get("queue", "fifo")] if queue != "fifo"}
    named |= {f"clock {what}" for clock in scenario.get("clocks", ()) for what in clock if what != "host"}
    for event in scenario.get("events", ()):
        for what, value in event.items():
            if what not in ("at", "on"):
                named |= {f"{what} {way}" for way in value} if isinstance(value, dict) else {what}
    return frozenset(named)
