"""A folder of runs: STUDY/EXPERIMENT/CELL/seed-N/."""

from pathlib import Path

from analysis.errors import BadInputError
from analysis.run import Run
from analysis.series import NotMeasuredError


class Runs:
    """The finished runs under a folder, each loaded at most once."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise BadInputError(f"{folder}: there is no such folder of runs")
        self._folder = folder
        self._experiments: dict[str, dict[tuple[str, int], Run]] = {}

    def by_cell_and_seed(self, experiment: str) -> dict[tuple[str, int], Run]:
        """List the runs of an experiment that came to an end, well or not; a folder without summary.json is no run."""
        if experiment not in self._experiments:
            ended = sorted(self._folder.glob(f"*/{experiment}/*/seed-*/summary.json"))
            runs = [Run(summary.parent) for summary in ended]
            runs.sort(key=lambda run: (run.settings.cell, run.settings.seed))
            self._experiments[experiment] = {(run.settings.cell, run.settings.seed): run for run in runs}
        return self._experiments[experiment]

    def get(self, experiment: str, cell: str, seed: int) -> Run:
        """Give a run that ended well; NotMeasuredError says why there is none."""
        run = self.by_cell_and_seed(experiment).get((cell, seed))
        if run is None:
            raise NotMeasuredError(f"there is no run of {experiment}, cell {cell}, seed {seed}")
        if run.status != "ok":
            raise NotMeasuredError(f"the run of {experiment}, cell {cell}, seed {seed} failed")
        return run
