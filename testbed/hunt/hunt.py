"""The search: batch after batch, one property after the other, and what becomes of each scenario that breaks one."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from testbed.hunt import search
from testbed.hunt.arena import Arena, Point
from testbed.hunt.measure import Runs
from testbed.hunt.oracles import Oracle
from testbed.hunt.question import Question
from testbed.hunt.scenario import Data, name
from testbed.hunt.search import Tried
from testbed.hunt.shrink import shrink
from testbed.hunt.survival import Survival, survival

SUSPECTS: Final = 3
"""Scenarios of a batch that are looked at again for a property, the worst first."""
SEED: Final = 1
"""With which scenarios are tried; more seeds ask only about those that break something."""


@dataclass(frozen=True)
class Finding:
    """A property that a scenario breaks, as small as it became; `runs` were asked for until it was met first."""

    oracle: Oracle
    first: Data
    scenario: Data
    survival: Survival
    runs: int

    def explains(self, oracle: Oracle, scenario: Data) -> bool:
        """Whether another scenario that breaks a property has all that this one needs, and so tells nothing new."""
        return oracle == self.oracle and parts(self.scenario) <= parts(scenario)


@dataclass
class Trial:
    """A point that was tried, its scenario, and how near it was to breaking each property that was measured."""

    point: Point
    scenario: Data
    badness: dict[str, float]


@dataclass
class Hunt:
    """A search for scenarios in which a client breaks a property; it goes on as long as `goes_on` allows."""

    arena: Arena
    oracles: list[Oracle]
    client: str
    baseline: str
    runs: Runs
    seed: int
    search: str
    goes_on: Callable[[], bool]
    trials: list[Trial] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    refuted: set[tuple[str, str]] = field(default_factory=set)
    search_runs: int = 0

    def question(self, oracle: Oracle) -> Question:
        """Return what asks whether a scenario breaks a property."""
        return Question(oracle, self.client, self.baseline, self.runs)

    def new_findings(self) -> Iterator[Finding]:
        """Yield each finding as soon as it is as small as it gets, so that an interruption loses none."""
        for number in itertools.count():
            if not self.goes_on():
                return
            focus = self.oracles[number % len(self.oracles)]
            tried = [Tried(trial.point, self._worth(trial, focus)) for trial in self.trials]
            points = search.batch(self.arena, tried, self.seed, self.search)
            batch = [Trial(point, self.arena.scenario(point, self.client), {}) for point in points]
            self._measure(batch)
            self.trials += batch
            yield from self._findings(batch)

    def _worth(self, trial: Trial, focus: Oracle) -> float:
        """Say how near a trial is to a new finding of the property that a batch aims at."""
        if (name(trial.scenario), focus.name) in self.refuted or self._is_known(focus, trial.scenario):
            return 0.0
        return trial.badness.get(focus.name, 0.0)

    def _is_known(self, oracle: Oracle, scenario: Data) -> bool:
        return any(finding.explains(oracle, scenario) for finding in self.findings)

    def _measure(self, batch: list[Trial]) -> None:
        """Run each scenario as it is, and beside it what one property in turn compares it with."""
        asked: list[list[Oracle]] = []
        for place, trial in enumerate(batch, len(self.trials)):
            fitting = [oracle for oracle in self.oracles if oracle.speaks_of(trial.scenario)]
            compared = [oracle for oracle in fitting if oracle.beside]
            in_turn = compared[place % len(compared) :][:1] if compared else []
            asked.append([oracle for oracle in fitting if not oracle.beside or oracle in in_turn])
        needed = [
            run
            for trial, oracles in zip(batch, asked, strict=True)
            for oracle in oracles
            for run in self.question(oracle).needed(trial.scenario, (SEED,))
        ]
        before = len(self.runs.asked_for)
        self.runs.ask(needed)
        self.search_runs += len(self.runs.asked_for) - before
        for trial, oracles in zip(batch, asked, strict=True):
            trial.badness = {oracle.name: self.question(oracle).badness(trial.scenario, SEED) for oracle in oracles}

    def _findings(self, batch: list[Trial]) -> Iterator[Finding]:
        for oracle in self.oracles:
            suspects = [trial for trial in batch if trial.badness.get(oracle.name, 0.0) > 1]
            suspects.sort(key=lambda trial: (-trial.badness[oracle.name], len(parts(trial.scenario))))
            for trial in suspects[:SUSPECTS]:
                if self._is_known(oracle, trial.scenario):
                    continue
                question = self.question(oracle)
                if not question.breaking([trial.scenario])[0]:
                    self.refuted.add((name(trial.scenario), oracle.name))
                    continue
                runs = self.search_runs
                smallest = shrink(trial.scenario, question.breaking)
                finding = Finding(oracle, trial.scenario, smallest, survival(smallest, question), runs)
                self.findings.append(finding)
                yield finding


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
