"""A folder of runs: STUDY/EXPERIMENT/CELL/seed-N/, or failed-seed-N/ for a run that failed."""

from dataclasses import dataclass
from pathlib import Path

from analysis.documents import read_made
from analysis.files import check_folder
from analysis.run import Run
from analysis.run.outcomes import failed_flow, with_kind
from analysis.series import NotMeasuredError
from analysis.table_cache import TableCache
from scenarios.errors import choices
from scenarios.run_files import FAILED

_FAILED = f"{FAILED}seed-"
_SETTINGS, _SUMMARY = "run.json", "summary.json"


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why; where a flow failed it, the kind of its end, and the implementation that it ran."""

    cell: str
    seed: int
    why: str
    kind: str = ""
    implementation: str = ""


class Runs:
    """The runs under a folder. They share one bounded cache for what is made of their tables."""

    def __init__(self, folder: Path) -> None:
        check_folder(folder, "runs")
        self._folder = folder
        self._cache = TableCache()
        self._experiments: dict[str, dict[tuple[str, int], Run]] = {}

    def by_cell_and_seed(self, experiment: str) -> dict[tuple[str, int], Run]:
        """List the runs of an experiment that succeeded: only these have such a folder."""
        if experiment not in self._experiments:
            runs = [Run(folder, self._cache) for folder in sorted(self._folder.glob(f"*/{experiment}/*/seed-*"))]
            runs.sort(key=lambda run: (run.settings.cell, run.settings.seed))
            self._experiments[experiment] = {(run.settings.cell, run.settings.seed): run for run in runs}
        return self._experiments[experiment]

    def with_others(self, others: dict[str, dict[tuple[str, int], Run]]) -> "Runs":
        """Return the same runs, but of these experiments those that are given, by cell and seed."""
        runs = Runs(self._folder)
        runs._cache = self._cache
        runs._experiments = self._experiments | others
        return runs

    def failed(self, experiment: str) -> list[Failure]:
        """List the runs of an experiment that failed, by cell and seed. An interrupted run leaves nothing."""
        failures = [failure_of(folder) for folder in self._folder.glob(f"*/{experiment}/*/{_FAILED}*")]
        return sorted(failures, key=lambda failure: (failure.cell, failure.seed))

    def elsewhere(self, experiment: str) -> str:
        """Say where the runs of an experiment lie, if not two folders below this one, and which lie there."""
        for place, pattern in ((self._folder.parent, "*/{}/*/seed-*"), (self._folder, "*/*/{}/*/seed-*")):
            if found := next(place.glob(pattern.format(experiment)), None):
                return f"; one is {found}, so the folder of runs is {found.parents[3]}"
        there = sorted({folder.parents[1].name for folder in self._folder.glob("*/*/*/seed-*")})
        return f"; there are runs of {choices(there, experiment)}" if there else ", nor of any other experiment"

    def get(self, experiment: str, cell: str, seed: int) -> Run:
        """Return a run that succeeded; NotMeasuredError says why there is none."""
        run = self.by_cell_and_seed(experiment).get((cell, seed))
        if run is not None:
            return run
        for failure in self.failed(experiment):
            if (failure.cell, failure.seed) == (cell, seed):
                raise NotMeasuredError(f"the run of {experiment}, cell {cell}, seed {seed} failed: {failure.why}")
        raise NotMeasuredError(f"there is no run of {experiment}, cell {cell}, seed {seed}")


def failure_of(folder: Path) -> Failure:
    """Return what the folder of a failed run says."""
    cell, seed = folder.parent.name, int(folder.name.removeprefix(_FAILED))
    if not (folder / _SUMMARY).exists():
        return Failure(cell, seed, "it left no reason")
    summary = read_made(folder, _SUMMARY)
    why, ends = summary.get("error", str), summary.maybe("flows", dict) or {}
    name, kind = failed_flow(why, ends)
    if not kind:
        return Failure(cell, seed, why)
    flows = read_made(folder, _SETTINGS).children("flows") if (folder / _SETTINGS).exists() else []
    ran = next((flow.get("implementation", str) for flow in flows if flow.get("name", str) == name), "")
    return Failure(cell, seed, with_kind(why, ends), kind, ran)
