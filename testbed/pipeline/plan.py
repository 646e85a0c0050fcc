"""The plan: which experiments and cells there are, and which of their runs share a job."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from snakemake.exceptions import WorkflowError

from scenarios import STUDY
from scenarios.errors import choices
from testbed.batches import Cell, JobBatch, batches

if TYPE_CHECKING:  # takes long to load
    from analysis.claims.plan import Planned

SCHEMAS: Final = sorted(Path("scenarios/schemas").glob("*.yaml"))
"""Files that determine how scenarios are read."""
REPRODUCE: Final = "reproduce"
"""The target of the experiments that decide findings, and of all that these read."""
EVERYTHING: Final = "everything"
_SCHEMAS_OF_CLAIMS: Final = sorted(Path("analysis/claims/schemas").glob("*.yaml"))


class Studies:
    """The studies of these names in a folder: those that `reproduce` runs (`deciding`), and further ones.

    Commands list what they hold. Their answers are kept until the code of a stage (`digests`) or a file that they read
    changes.
    """

    def __init__(
        self, folder: Path, deciding: Sequence[str], further: Sequence[str], digests: Mapping[str, str]
    ) -> None:
        self.deciding = deciding
        self._folders = [folder / name for name in (*deciding, *further)]
        self._digests = digests

    @cached_property
    def scenarios(self) -> list[Path]:
        """All scenarios."""
        files = []
        for folder in self._folders:
            found = sorted(set(folder.glob("*.yaml")) - {folder / "study.yaml", *folder.glob("*.claims.yaml")})
            if not found:
                there = sorted(file.parent.name for file in folder.parent.glob(f"*/{STUDY}"))
                allowed = choices(there, folder.name)
                key = "studies" if folder.name in self.deciding else "further_studies"
                raise WorkflowError(f"workflows/config.yaml: {key}: found {folder.name!r}; allowed: {allowed}")
            files += found
        return files

    def cells(self, size: str) -> list[Cell]:
        """Return the cells, as `testbed plan --json` lists them."""
        elsewhere = [folder for folder in os.environ.get("TESTBED_IMPLEMENTATIONS", "").split(os.pathsep) if folder]
        folders = [*Path("images/implementations").glob("*"), *map(Path, elsewhere)]
        described = [file for folder in folders if (file := folder / "implementation.yaml").exists()]
        words = ["testbed", "plan", "--json", *map(str, self.scenarios), "--size", size]
        return self._answer("plan", words, [*self.scenarios, *SCHEMAS, *sorted(described)])

    @cached_property
    def claims(self) -> dict[str, Planned]:
        """What there is to measure, by experiment, as `python -m analysis plan` lists it."""
        read = [*self.scenarios, *(file for folder in self._folders for file in sorted(folder.glob("*.claims.yaml")))]
        read += [file for folder in self._folders if (file := folder / "study.yaml").exists()]
        words = ["analysis", "plan", *map(str, self._folders)]
        listed: list[Planned] = self._answer("claims", words, [*read, *_SCHEMAS_OF_CLAIMS])
        return {entry["experiment"]: entry for entry in listed}

    @property
    def targets(self) -> list[str]:
        """What can be asked for beside `reproduce`: everything, each study, each experiment."""
        studies = dict.fromkeys(planned["study"] for planned in self.claims.values())
        return [EVERYTHING, *studies, *self.claims]

    def _answer(self, stage: str, words: list[str], read: Iterable[Path]) -> list[Any]:
        """Return the lines that `python -m` prints with these words, as data."""
        key = hashlib.sha256("\0".join([*words, self._digests[stage]]).encode())
        for file in read:
            key.update(f"\0{file}\0".encode() + file.read_bytes())
        cache = Path(".snakemake/plans") / f"{key.hexdigest()}.jsonl"
        text = _sound_text(cache)
        if text is None:
            command = [sys.executable, "-P", "-m", *words]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise WorkflowError(f"`{' '.join(words[:2])}` refused a file; its message stands above.")
            text = done.stdout
            cache.parent.mkdir(parents=True, exist_ok=True)
            partial = cache.with_suffix(f".{os.getpid()}")
            partial.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
            partial.rename(cache)
        return [json.loads(line) for line in text.splitlines()]


def _sound_text(file: Path) -> str | None:
    """Return what follows the first line of a file, which is its SHA-256; None if it is missing or damaged."""
    its_sum, _, text = file.read_bytes().partition(b"\n") if file.exists() else (b"", b"", b"")
    return text.decode() if its_sum.decode(errors="replace") == hashlib.sha256(text).hexdigest() else None


class Plan:
    """The runs of a size, whose results go into a folder; `limits` are those of a job (`testbed.batches`)."""

    def __init__(self, studies: Studies, size: str, results: str, limits: Mapping[str, int]) -> None:
        self.studies = studies
        self.size = size
        self.results = results
        self._limits = limits

    def report(self, target: str) -> str:
        """Return the marker that the report holds the results of a target."""
        return f"{self.results}/report/.made-for-{target}"

    @cached_property
    def experiments(self) -> dict[str, dict[str, Cell]]:
        """The cells that run, by experiment and name."""
        experiments: dict[str, dict[str, Cell]] = {}
        for cell in self.studies.cells(self.size):
            if cell["seeds"]:
                experiments.setdefault(cell["experiment"], {})[cell["cell"]] = cell
        return experiments

    @cached_property
    def targets(self) -> dict[str, list[str]]:
        """The experiments of each target: those that decide findings, everything, each study, each experiment."""
        named: dict[str, list[str]] = {REPRODUCE: [], EVERYTHING: []}
        for experiment, planned in self.studies.claims.items():
            if planned["runs_of"] not in self.experiments:
                continue
            named[experiment] = [experiment]
            named.setdefault(planned["study"], []).append(experiment)
            named[EVERYTHING].append(experiment)
            if planned["decides"] and planned["study"] in self.studies.deciding:
                named[REPRODUCE].append(experiment)
        return named

    @cached_property
    def batches(self) -> dict[str, list[JobBatch]]:
        """The jobs that run each experiment."""
        return {name: batches(cells.values(), self._limits) for name, cells in self.experiments.items()}

    def folder(self, experiment: str) -> str:
        """Return the folder of an experiment's runs."""
        return f"{self.results}/runs/{next(iter(self.experiments[experiment].values()))['study']}/{experiment}"

    def runs(self, experiment: str) -> set[Path]:
        """Return the run folders of an experiment."""
        folder = Path(self.folder(experiment))
        return {folder / run for batch in self.batches[experiment] for run in batch.runs()}

    def jobs(self, experiment: str) -> dict[str, JobBatch]:
        """Return the jobs that run an experiment by their markers, which say that they have ended; none of no cells."""
        if experiment not in self.experiments:
            return {}
        folder = self.folder(experiment)
        return {f"{folder}/job-{number}.done": batch for number, batch in enumerate(self.batches[experiment], 1)}
