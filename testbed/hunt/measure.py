"""What expressions are in runs of scenarios. No run is carried out twice: a file keeps the numbers of each."""

import hashlib
import json
import shutil
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError
from analysis.run import Run
from analysis.series import NotMeasuredError
from analysis.watchdog import LIMIT_S, ended_after
from engine import images, provenance
from engine.errors import EngineError
from scenarios import implementations
from scenarios.errors import ScenarioError
from scenarios.resolve import expand, resolve
from testbed.hunt.scenario import Data, name, text
from testbed.need import needed
from testbed.pool import as_they_end, pool
from testbed.shared.vocabulary import Number, number_of

FILE: Final = "numbers.jsonl"


@dataclass(frozen=True)
class Measured:
    """A run's numbers by their expressions, `unknown` by theirs; none, and why, where it failed."""

    numbers: dict[str, Number]
    failed: str = ""
    cpu_s: float = 0.0
    unknown: dict[str, str] = field(default_factory=dict)  # why there is no number


@dataclass(frozen=True)
class RunRequest:
    """A run to be carried out and measured."""

    scenario: Path
    seed: int
    into: Path
    expressions: tuple[str, ...]


Key = tuple[str, int]
"""A scenario's name, and a seed."""


class OverBudgetError(Exception):
    """Runs were asked for that the budget does not have."""


@dataclass
class MeasuredRuns:
    """Runs below a folder. `made_of` stands for images and code: numbers of other ones do not count.

    `has_room` tells whether the budget has room for so many runs in all.
    """

    folder: Path
    expressions: tuple[str, ...]
    made_of: str
    progress: Callable[[int, int], None] = lambda _done, _all: None
    has_room: Callable[[int], bool] = lambda _runs: True
    requested: set[Key] = field(default_factory=set)
    _known: dict[Key, Measured] = field(default_factory=dict)
    _processes: ProcessPoolExecutor = field(default_factory=pool)

    def __post_init__(self) -> None:
        """Read what earlier calls measured; a last line that was cut off is left out."""
        weakref.finalize(self, self._processes.shutdown)
        if not self._file.exists():
            return
        for line in self._file.read_text().splitlines():
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                measured = Measured(entry["numbers"], cpu_s=entry["cpu_s"], unknown=entry.get("unknown", {}))
                if entry["made_of"] == self.made_of and self._has_all(measured):
                    self._known[entry["scenario"], entry["seed"]] = measured

    @property
    def _file(self) -> Path:
        return self.folder / FILE

    @property
    def cpu_s(self) -> float:
        """CPU time of the runs asked for, whenever they were carried out."""
        return sum(self._known[key].cpu_s for key in self.requested if key in self._known)

    def failures(self) -> list[str]:
        """Say why runs failed, each reason once."""
        return sorted({self._known[key].failed for key in self.requested if self._known[key].failed})

    def _has_all(self, measured: Measured) -> bool:
        return all(expression in measured.numbers for expression in self.expressions)

    def of(self, scenario: Data, seed: int) -> Measured:
        """Return the numbers of a run that has been asked for."""
        return self._known[name(scenario), seed]

    def request(self, wanted: Sequence[tuple[Data, int]]) -> None:
        """Carry out those of some runs whose numbers are not known, each on a CPU of its own.

        What is no valid scenario counts as failed.

        Raises:
            OverBudgetError: they are more than the budget has, or its time was over before all were carried out.
        """
        keys: dict[Key, Data] = {(name(scenario), seed): scenario for scenario, seed in wanted}
        if not keys.keys() <= self.requested and not self.has_room(len(keys.keys() | self.requested)):
            raise OverBudgetError
        self.requested |= keys.keys()
        due = {key: self._order(scenario, key) for key, scenario in keys.items() if key not in self._known}
        if not due:
            return
        with self._file.open("a") as file:
            for done, (key, result) in enumerate(as_they_end(measured, due, self._processes), 1):
                self._known[key] = result
                if not result.failed:  # the next call tries the others again
                    entry = {"scenario": key[0], "seed": key[1], "made_of": self.made_of, "cpu_s": result.cpu_s}
                    file.write(json.dumps(entry | {"numbers": result.numbers, "unknown": result.unknown}) + "\n")
                    file.flush()
                self.progress(done, len(due))
                if done < len(due) and not self.has_room(len(self.requested)):
                    self.requested -= due.keys() - self._known.keys()
                    raise OverBudgetError

    def keep(self, scenario: Data, seed: int, into: Path) -> Path:
        """Carry out a run into a folder, where it stays; return the run's own folder.

        Raises:
            EngineError, ScenarioError: it failed.
        """
        order = self._order(scenario, (name(scenario), seed))
        [cell] = expand(order.scenario, "complete")
        return needed(resolve(cell, seed), into)

    def _order(self, scenario: Data, key: Key) -> RunRequest:
        file = self.folder / "scenarios" / f"{key[0]}.yaml"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text(scenario))
        return RunRequest(file, key[1], self.folder / "runs" / f"{key[0]}-{key[1]}", self.expressions)


def measured(order: RunRequest) -> Measured:
    """Carry out a run and measure it; its folder is removed."""
    try:
        [cell] = expand(order.scenario, "complete")
        folder = needed(resolve(cell, order.seed), order.into, keep=())
        cpu_s: float = json.loads((folder / "summary.json").read_text())["cpu_s"]
        run = Run(folder)
        numbers: dict[str, Number] = {}
        unknown = {}
        with ended_after(LIMIT_S, "testbed hunt: the numbers of a run"):
            for expression in order.expressions:
                try:
                    numbers[expression] = number_of(expression, run)
                except (NotMeasuredError, BadInputError) as error:
                    numbers[expression], unknown[expression] = None, str(error)
        return Measured(numbers, cpu_s=cpu_s, unknown=unknown)
    except (EngineError, ScenarioError, BadInputError) as error:
        return Measured({}, str(error).replace(f"{order.into}/", ""))
    finally:
        shutil.rmtree(order.into, ignore_errors=True)


def made_of(names: Iterable[str]) -> str:
    """Return the SHA-256 (hex) of what runs with these implementations are made of besides their scenarios.

    Raises:
        EngineError: something of it has not been built.
    """
    known = implementations.known()
    programs = {name: images.program(name).provenance for name in sorted(names) if known[name]["kind"] == "program"}
    parts = {"code": provenance.code("virtual"), **images.load().provenance, "programs": programs}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
