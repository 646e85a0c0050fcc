"""What a rule's job works on: inputs, parameters and resources, by what the rule's wildcards stand for in it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from scenarios.resolve import QUICK
from testbed.batches import Cell, JobBatch, speeds, weight
from testbed.pipeline.plan import REPRODUCE, SCHEMAS, Plan
from testbed.pipeline.sources import Sources

FIRST: Final = 10**8
"""The priority of what comes first: no job's runs weigh so much."""
DUE: Final = ".due"
"""The note in an experiment's folder whose age says since when it has to be measured."""


class Wildcards(Protocol):
    """Those of a rule have names that stand in its outputs."""

    results: str
    study: str
    experiment: str
    number: str
    target: str
    program: str


class Jobs:
    """The jobs of the plans of all sizes. Functions that take wildcards are for rules."""

    def __init__(
        self,
        plans: Iterable[Plan],
        sources: Sources,
        cache: str,
        cores: int,
        first: str = "",
        keep_packets: bool = False,
    ) -> None:
        """Make the jobs; `first` is the experiment that comes first, with its report, while the others run.

        Packets stay at size quick, and with `keep_packets` always.
        """
        self._keep_packets = keep_packets
        self.plans = {plan.results: plan for plan in plans}
        self._first = first
        self._sources = sources
        self._cache = cache
        self._cores = cores

    def _plan(self, wildcards: Wildcards) -> Plan:
        return self.plans[wildcards.results]

    def batch(self, wildcards: Wildcards) -> JobBatch:
        """Return what a job runs."""
        return self._plan(wildcards).batches[wildcards.experiment][int(wildcards.number) - 1]

    def size(self, wildcards: Wildcards) -> str:
        """Return the size whose results a job writes."""
        return self._plan(wildcards).size

    def packets(self, wildcards: Wildcards) -> list[str]:
        """Return the options of `testbed run` that say whether packets stay."""
        return [] if self.size(wildcards) == QUICK or self._keep_packets else ["--temporary-packets"]

    def scenario(self, wildcards: Wildcards) -> str:
        """Return the scenario file of an experiment."""
        file: str = next(iter(self._plan(wildcards).experiments[wildcards.experiment].values()))["scenario"]
        return file

    def meanings(self, wildcards: Wildcards) -> list[str]:
        """Return what determines how a scenario is read: schemas, and the implementations and traces that it names."""
        cells = self.batch(wildcards).cells
        descriptions = {os.path.relpath(file) for cell in cells for file in cell["descriptions"]}
        traces = {trace for cell in cells for trace in cell["traces"]}
        return sorted({*map(str, SCHEMAS), *traces, *descriptions})

    def programs(self, wildcards: Wildcards) -> list[str]:
        """Return the markers of the programs that a job's runs need."""
        return [self._sources.image(name) for name in sorted(self.batch(wildcards).programs())]

    def index_of_program(self, wildcards: Wildcards) -> str:
        """Return where the cache lists the program that a job builds."""
        return self._sources.index(wildcards.program)

    def claims(self, wildcards: Wildcards) -> list[str]:
        """Return the claims of an experiment, then what else its measurement reads of the registry."""
        return self._plan(wildcards).studies.claims[wildcards.experiment]["reads"]

    def runs_to_measure(self, wildcards: Wildcards) -> list[str]:
        """Return the markers of all runs that the claims of an experiment use."""
        plan = self._plan(wildcards)
        return [marker for needed in plan.studies.claims[wildcards.experiment]["needs"] for marker in plan.jobs(needed)]

    def module_tests(self, wildcards: Wildcards) -> list[str]:
        """Return the outcomes of the module's tests, if an experiment's claims need them.

        A quick look does without the minutes that the debug kernel takes to build, and a container cannot build it:
        what boots is part of its image.
        """
        plan = self._plan(wildcards)
        wanted = plan.studies.claims[wildcards.experiment]["kunit"]
        built = plan.size == "complete" or Path(self._sources.image("debug")).exists()
        can_build = os.access(self._cache, os.W_OK) or not Path(self._cache).exists()
        return [f"{plan.results}/kunit.json"] if wanted and built and can_build else []

    def threads_of_tests(self, _: Wildcards) -> int:
        """Return one for the tests, beside which guests run; all for the kernel, if that has to be built first."""
        return 1 if Path(self._sources.index("debug")).exists() else self._cores

    def run_options(self, wildcards: Wildcards) -> list[str]:
        """Return the cells and seeds of a job as options of `testbed run`."""
        batch = self.batch(wildcards)
        cells = [word for cell in batch.cells for word in ("--cell", cell["cell"])]
        return cells + [word for seed in batch.seeds for word in ("--seed", str(seed))]

    def weights(self, wildcards: Wildcards) -> dict[str, float]:
        """Return the run folders that a job makes, and the weight of each run."""
        return {folder: weight(cell) for folder, cell in self.runs(wildcards).items()}

    def runs(self, wildcards: Wildcards) -> dict[str, Cell]:
        """Return the run folders that a job makes, and the cell of each run."""
        place = self._plan(wildcards).folder(wildcards.experiment)
        return {f"{place}/{run}": cell for run, cell in self.batch(wildcards).runs().items()}

    def is_kept(self, folder: str) -> bool:
        """Tell whether a run has ended since the code of its columns is as it is, so that its job may keep it."""
        summary, since = Path(folder, "summary.json"), Path(self._sources.code("columns"))
        return summary.exists() and summary.stat().st_mtime_ns > since.stat().st_mtime_ns

    def reports(self, size: str) -> list[str]:
        """Return the markers that the report holds the first experiment, if the studies have it, and all."""
        plan = next(plan for plan in self.plans.values() if plan.size == size)
        first = [self._first] if self._first in plan.studies.claims else []
        return [plan.report(target) for target in (*first, REPRODUCE)]

    def first_page(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the page of the first experiment, by the marker that the report holds it, if a job writes that."""
        if wildcards.target != self._first:
            return {}
        plan = self._plan(wildcards)
        return {plan.report(self._first): f"{plan.results}/report/{self._first}.html"}

    def priority(self, wildcards: Wildcards) -> int:
        """Return the weight of all runs of a job: the longest come first, after the first experiment."""
        return self.priority_of_experiment(wildcards) + int(sum(self.weights(wildcards).values()))

    def priority_of_experiment(self, wildcards: Wildcards) -> int:
        """Return what lets all that the claims of the first experiment read begin before others' runs."""
        plan = self._plan(wildcards)
        if self._first not in plan.experiments:  # of a product, whose studies have no claims
            return 0
        return FIRST if wildcards.experiment in plan.studies.claims[self._first]["needs"] else 0

    def priority_of_target(self, wildcards: Wildcards) -> int:
        """Return what lets measurements and report of the first experiment begin before further runs."""
        return FIRST if wildcards.target == self._first else 0

    def threads_of_target(self, wildcards: Wildcards) -> int:
        """Return two for measurements and report; one for the first experiment's, since runs leave two at the end."""
        return 1 if wildcards.target == self._first else 2

    def tables(self, wildcards: Wildcards) -> list[str]:
        """Return the marker of the tables over runs; the first experiment's report does not wait for them."""
        first = wildcards.target == self._first
        return [] if first else [f"{wildcards.results}/tables/.made-for-{wildcards.target}"]

    def minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """Return how long a job may take on a cluster: ten times the expected time, and more with each attempt."""
        expected_s = sum(self.weights(wildcards).values()) / speeds()["kernel"]
        return attempt * (10 + int(10 * expected_s / 60))

    def experiments(self, wildcards: Wildcards) -> list[str]:
        """Return the experiments of a target."""
        return self._plan(wildcards).targets[wildcards.target]

    def claims_of_target(self, wildcards: Wildcards) -> list[str]:
        """Return the claims of each experiment of a target."""
        claims = self._plan(wildcards).studies.claims
        return [claims[experiment]["reads"][0] for experiment in self.experiments(wildcards)]

    def notes_of_target(self, wildcards: Wildcards) -> list[str]:
        """Return what says, for each experiment of a target, since when it has to be measured."""
        return [f"{wildcards.results}/experiments/{name}/{DUE}" for name in self.experiments(wildcards)]

    def lost_runs(self, wildcards: Wildcards) -> str:
        """Return the note for a job's runs."""
        return self._sources.lost(self.size(wildcards), f"runs/{wildcards.experiment}")

    def lost_measurements(self, wildcards: Wildcards) -> str:
        """Return the note for the measurements of an experiment."""
        return self._sources.lost(self.size(wildcards), f"experiments/{wildcards.experiment}")

    def lost_report(self, wildcards: Wildcards) -> str:
        """Return the note for a report."""
        return self._sources.lost(self.size(wildcards), "report")

    def lost_tests(self, wildcards: Wildcards) -> str:
        """Return the note for the outcomes of the module's tests."""
        return self._sources.lost(self.size(wildcards), "kunit")
