"""What an archive claims to hold: its experiments, the runs that these need, and the cells of its scenarios."""

import itertools
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis import experiment_files
from analysis.claims.plan import Planned, plan
from analysis.errors import BadInputError
from analysis.experiment_files import VERDICTS
from engine.errors import EngineError
from engine.provenance import MOST_PARTS
from scenarios import run_files
from scenarios.errors import ScenarioError
from scenarios.resolve import SIZES, Cell, expand, resolve, unlike
from testbed.archive.crate import EXPERIMENTS, RUNS, STUDIES, Crate, listed

_OF_FAILURE = {"cell": str, "seed": int, "why": str}
_TIMES = ("wall_s", "cpu_s")
"""Of summary.json, which no repetition has: they need only be times."""
_FEW = 5


def _is_time(value: object) -> bool:
    return type(value) in (int, float) and value >= 0  # type: ignore[operator]  # finite, as all numbers of the crate


@dataclass(frozen=True)
class ArchivedRun:
    """One archived run: its cell as this version reads the archived scenario, its run.json and its summary.json."""

    name: str
    folder: Path
    cell: Cell
    seed: int
    description: dict[str, Any]
    summary: dict[str, Any]

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each capture and trace, by its path in the run's folder, as the run recorded them."""
        digests: dict[str, str] = self.summary["digests"]
        return digests


class Contents:
    """An archive's experiments and runs. Whatever is read here comes from whoever made the archive."""

    def __init__(self, crate: Crate) -> None:
        self.crate = crate
        self.run_names = crate.runs()
        self._cells: dict[tuple[str, str], dict[str, Cell]] = {}

    @cached_property
    def planned(self) -> dict[str, Planned]:
        """All experiments of the archived studies, by their ids.

        Raises:
            EngineError: a study, scenario or claims file is wrong.
        """
        studies = sorted(path for path in (self.crate.folder / STUDIES).glob("*") if path.is_dir())
        try:
            return {experiment["experiment"]: experiment for experiment in plan(studies)}
        except BadInputError as error:
            raise EngineError(f"{self.crate.name}: {self.message_of(error)}") from None

    @cached_property
    def experiments(self) -> list[str]:
        """The experiments that were measured.

        Raises:
            EngineError: there is none, or one without claims.
        """
        names = sorted(folder.name for folder in (self.crate.folder / EXPERIMENTS).glob("*"))
        unknown = [name for name in names if name not in self.planned]
        if unknown or not names:
            raise EngineError(f"{self.crate.name}: {EXPERIMENTS}: no claims for {listed(unknown) or 'any'}")
        return names

    def claims(self, experiment: str) -> Path:
        """Return the claims file of an experiment."""
        return Path(self.planned[experiment]["reads"][0])

    def runs_of(self, experiment: str) -> list[str]:
        """List the archived runs that an experiment's claims use."""
        needed = self.planned[experiment]["needs"]
        return [name for name in self.run_names if name.split("/")[1] in needed]

    @cached_property
    def failed(self) -> dict[str, str]:
        """The runs that failed, as verdicts say, each with the reason.

        Raises:
            EngineError: verdicts have no such list, or one that contradicts another or the runs.
        """
        failed: dict[str, str] = {}
        for experiment in self.experiments:
            planned = self.planned[experiment]
            of_verdicts = self.crate.read(EXPERIMENTS / experiment / VERDICTS).get("failed", [])
            at = f"{self.crate.name}: {experiment}/{VERDICTS}: failed: "
            if not isinstance(of_verdicts, list):
                raise EngineError(f"{at}found no list; allowed: a list of runs")
            for run in of_verdicts:
                if not (isinstance(run, dict) and {name: type(run[name]) for name in sorted(run)} == _OF_FAILURE):
                    raise EngineError(f"{at}found {str(run)[:80]}; allowed: objects of cell, seed and why")
                if run["seed"] < 1 or "/" in run["cell"]:
                    raise EngineError(f"{at}found seed {run['seed']} of {run['cell'][:80]!r}; allowed: a run's")
                name = f"{planned['study']}/{planned['runs_of']}/{run['cell']}/seed-{run['seed']}"
                if name in self.run_names or failed.setdefault(name, run["why"]) != run["why"]:
                    raise EngineError(f"{at}found {name}, of which the archive says something else elsewhere")
        return failed

    def failed_of(self, experiment: str) -> set[str]:
        """Return the runs that failed of those that an experiment's claims use."""
        return {name for name in self.failed if name.split("/")[1] in self.planned[experiment]["needs"]}

    def failed_run(self, name: str) -> tuple[Cell, int]:
        """Return the cell and the seed of a run that failed.

        Raises:
            EngineError: no archived scenario has such a run.
        """
        _, experiment, cell_name, seed = name.split("/")
        sizes = {self.run(run).cell.size for run in self.run_names if run.split("/")[1] == experiment}
        cell = self._cells_of(experiment, sizes.pop()).get(cell_name) if len(sizes) == 1 else None
        if cell is None:
            raise EngineError(f"{self.crate.name}: {name} is said to have failed, but no archived scenario has it")
        return cell, int(seed.removeprefix("seed-"))

    def check_formats(self) -> None:
        """Refuse an archive whose files of runs or verdicts have another format than this version reads.

        Raises:
            EngineError: it has such a file.
        """
        formats = {RUNS / name / "run.json": run_files.FORMAT for name in self.run_names}
        formats |= {EXPERIMENTS / name / VERDICTS: experiment_files.FORMAT for name in self.experiments}
        for file, version in formats.items():
            if (found := self.crate.read(file).get("format")) != version:
                raise EngineError(
                    f"{self.crate.name}: {file}: format: found {str(found)[:60]}, allowed is {version}; verify it with "
                    "the version of the testbed that made it"
                )

    def check_complete(self) -> None:
        """Refuse an archive that lacks runs: a cell or a seed of a scenario, or a seed below another.

        Raises:
            EngineError: it does, or has a run that no archived scenario has.
        """
        have = self.failed.keys() | set(self.run_names)
        due = {name for experiment in self.experiments for name in self.planned[experiment]["needs"]}
        stray = [name for name in self.run_names if name.split("/")[1] not in due]
        if stray:
            raise EngineError(f"{self.crate.name}: has runs that no experiment needs: {listed(stray)}")
        for name in self.failed:
            self.failed_run(name)
        for experiment in sorted(due):
            missing = list(itertools.islice(self._missing(experiment, have), _FEW))
            if missing:
                raise EngineError(f"{self.crate.name}: lacks runs: {', '.join(missing)}")

    def _missing(self, experiment: str, have: Set[str]) -> Iterator[str]:
        """Yield runs that a scenario asks for, or whose seed is below one that is there, and that are not there."""
        runs = [self.run(name) for name in self.run_names if name.split("/")[1] == experiment]
        if len({run.cell.size for run in runs}) != 1:
            raise EngineError(f"{self.crate.name}: {experiment}: found runs of several sizes, or none; allowed: one")
        for cell in self._cells[experiment, runs[0].cell.size].values():
            place = f"{cell.study}/{experiment}/{cell.name}/seed-"
            there = [int(name.removeprefix(place)) for name in have if name.startswith(place)]
            last = max([*cell.seeds, *there])
            names = (f"{cell.study}/{experiment}/{cell.name}/seed-{seed}" for seed in range(1, last + 1))
            yield from (name for name in names if name not in have)

    def run(self, name: str) -> ArchivedRun:
        """Read an archived run.

        Raises:
            EngineError: its files are damaged, or its scenario means something else in this version.
        """
        folder = RUNS / name
        description = self.crate.read(folder / "run.json")
        summary = self.crate.read(folder / "summary.json")
        study, experiment, cell_name, _ = name.split("/")
        seed, size = description.get("seed"), description.get("size")
        digests = summary.get("digests")
        if not (isinstance(digests, dict) and all(isinstance(digest, str) for digest in digests.values())):
            raise EngineError(f"{name}: summary.json: digests: found none; allowed: a SHA-256 for each file")
        if not isinstance(seed, int) or name.rpartition("/")[2] != f"seed-{seed}" or size not in SIZES:
            raise EngineError(f"{name}: run.json: found seed {seed!r}, size {size!r}; allowed: those of its folder")
        made_with = description.get("provenance")
        if not isinstance(made_with, dict) or len(made_with) > MOST_PARTS:
            raise EngineError(
                f"{name}: run.json: provenance: found none; allowed: an object of {MOST_PARTS} parts at most"
            )
        if wrong := [each for each in _TIMES if not _is_time(summary.get(each))]:
            raise EngineError(f"{name}: summary.json: {wrong[0]}: found no time; allowed: seconds, from 0 on")
        if description.get("backend") != "virtual":
            backend = description.get("backend")
            raise EngineError(f"{name}: carried out on the backend {backend}; only virtual runs repeat to the byte")
        cell = self._cells_of(experiment, size).get(cell_name)
        if cell is None or cell.study != study:
            raise EngineError(f"{self.crate.name}: {name}: no archived scenario has this cell")
        if changed := unlike(resolve(cell, seed), description):
            raise EngineError(f"{name}: its scenario means something else in this version: {', '.join(changed)}")
        return ArchivedRun(name, self.crate.folder / folder, cell, seed, description, summary)

    def _cells_of(self, experiment: str, size: str) -> dict[str, Cell]:
        if (experiment, size) not in self._cells:
            scenario = self.planned[experiment]["scenario"] if experiment in self.planned else None
            try:
                cells = expand(Path(scenario), size) if scenario else []
            except ScenarioError as error:
                raise EngineError(f"{self.crate.name}: {self.message_of(error)}") from None
            self._cells[experiment, size] = {cell.name: cell for cell in cells}
        return self._cells[experiment, size]

    def message_of(self, error: Exception) -> str:
        """Return what an error says, without the folder to which the archive was unpacked."""
        return str(error).replace(f"{self.crate.folder}/", "")
