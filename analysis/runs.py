"""A folder of runs: STUDY/EXPERIMENT/CELL/seed-N/, and failed-seed-N/ in place of those that failed."""

from dataclasses import dataclass
from pathlib import Path

from analysis.documents import read_json
from analysis.errors import BadInputError
from analysis.kept import Kept
from analysis.run import Run
from analysis.series import NotMeasuredError

FAILED = "failed-seed-"


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why."""

    cell: str
    seed: int
    why: str


class Runs:
    """The runs under a folder. What is made of the tables of those that ended well shares one bounded memory."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise BadInputError(f"{folder}: there is no such folder of runs")
        self._folder = folder
        self._kept = Kept()
        self._experiments: dict[str, dict[tuple[str, int], Run]] = {}

    def by_cell_and_seed(self, experiment: str) -> dict[tuple[str, int], Run]:
        """List the runs of an experiment that ended well; a folder without summary.json is no run."""
        if experiment not in self._experiments:
            ended = sorted(self._folder.glob(f"*/{experiment}/*/seed-*/summary.json"))
            runs = [Run(summary.parent, self._kept) for summary in ended]
            runs.sort(key=lambda run: (run.settings.cell, run.settings.seed))
            self._experiments[experiment] = {(run.settings.cell, run.settings.seed): run for run in runs}
        return self._experiments[experiment]

    def failed(self, experiment: str) -> list[Failure]:
        """List the runs of an experiment that failed, by cell and seed. What was interrupted has left nothing."""
        found = [
            Failure(folder.parent.name, int(folder.name.removeprefix(FAILED)), _reason(folder))
            for folder in self._folder.glob(f"*/{experiment}/*/{FAILED}*")
        ]
        return sorted(found, key=lambda failure: (failure.cell, failure.seed))

    def get(self, experiment: str, cell: str, seed: int) -> Run:
        """Give a run that ended well; NotMeasuredError says why there is none."""
        run = self.by_cell_and_seed(experiment).get((cell, seed))
        if run is not None:
            return run
        for failure in self.failed(experiment):
            if (failure.cell, failure.seed) == (cell, seed):
                raise NotMeasuredError(f"the run of {experiment}, cell {cell}, seed {seed} failed: {failure.why}")
        raise NotMeasuredError(f"there is no run of {experiment}, cell {cell}, seed {seed}")


def _reason(folder: Path) -> str:
    summary = folder / "summary.json"
    return read_json(summary).get("error", str) if summary.exists() else "it left no reason"
