"""What of results is missing, so that an archive never drops an experiment silently."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from analysis.claims.plan import Planned, plan
from analysis.damage import damage
from analysis.documents import read_made
from analysis.errors import BadInputError
from analysis.experiment_files import CAPTION, METRICS, PICTURE, VERDICTS
from analysis.figures import style
from common.sums import WITHOUT, DamagedError
from engine.errors import EngineError
from engine.images import PROJECT
from scenarios.run_files import OF_RUN
from testbed.archive.crate import EXPERIMENTS, RUNS, STUDIES, listed

FILES = (METRICS, VERDICTS, *(f"{PICTURE}{suffix}.svg" for suffix in style.WIDTHS), CAPTION)
"""Of an experiment."""
_MARKER = ".made-for-"  # the report names what it was made for: everything, a study or an experiment
_EVERYTHING = "all"


@dataclass(frozen=True)
class MeasuredExperiment:
    """A measured experiment: its claims and its scenario below the project's root.

    `needs` are the experiments whose runs it uses, `runs` its own runs as it names them, STUDY/EXPERIMENT/CELL/seed-N.
    """

    claims: Path
    scenario: Path
    needs: list[str]
    runs: list[str]


def read(folder: Path) -> MeasuredExperiment:
    """Read what an experiment was measured from.

    Raises:
        EngineError: its verdicts are damaged, or the project no longer has its claims.
    """
    try:
        verdicts = read_made(folder, VERDICTS)
        experiment = verdicts.child("experiment")
        claims = Path(experiment.get("claims_file", str))
        study, runs_of = verdicts.get("study", str), experiment.get("runs_of", str)
        runs = [
            f"{study}/{runs_of}/{run.get('cell', str)}/seed-{run.get('seed', int)}" for run in verdicts.children("runs")
        ]
        planned = _plan(claims.parent).get(folder.name)
    except (BadInputError, DamagedError) as error:
        raise EngineError(str(error)) from None
    if planned is None:
        raise EngineError(f"{folder}: {claims.parent} has no such experiment any more; remove the folder")
    return MeasuredExperiment(claims, Path(experiment.get("scenario", str)), planned["needs"], runs)


def runs(results: Path, experiment: str) -> list[Path]:
    """List the finished runs of an experiment."""
    folders = sorted(results.glob(f"{RUNS}/*/{experiment}/*/seed-*"))
    return [run for run in folders if (run / "summary.json").exists()]


def check(results: Path) -> None:
    """Refuse results that lack something.

    Raises:
        EngineError: nothing has been measured, a file is damaged or missing, or what was run or reported lacks results;
            the sentence names it.
    """
    folders = {folder.name: folder for folder in (results / EXPERIMENTS).glob("*") if folder.is_dir()}
    if not folders:
        raise EngineError(f"{results}: nothing has been measured there yet (no experiments/*/{VERDICTS})")
    whole = {name: folder for name, folder in folders.items() if (folder / VERDICTS).exists()}
    experiments = {name: read(folder) for name, folder in whole.items()}
    used = {needed for experiment in experiments.values() for needed in experiment.needs}
    ran = {run.parts[-3] for run in results.glob(f"{RUNS}/*/*/*/seed-*")}
    lacking = {name: [VERDICTS] for name in {*_reported(results), *folders, *(ran - used)} - whole.keys()}
    lacking |= {
        name: gone
        for name, experiment in experiments.items()
        if (gone := list(_gone(results, folders[name], experiment)))
    }
    if lacking:
        gaps = "; ".join(f"{name} lacks {listed(lacking[name])}" for name in sorted(lacking))
        raise EngineError(f"{results}: {gaps}; `snakemake --cores all {' '.join(sorted(lacking))}` makes it")
    wrong = damage(results)
    if damaged := [f"{file}: {what}" for file, what in wrong.items() if what != WITHOUT]:
        raise EngineError(f"{results}: {listed(damaged)}; snakemake makes these again")
    if wrong:
        raise EngineError(f"{results}: {WITHOUT}: {listed(list(wrong))}; remove these, and snakemake makes what is due")


def _gone(results: Path, folder: Path, experiment: MeasuredExperiment) -> Iterator[str]:
    """Name the files that are missing of a measured experiment and its runs."""
    yield from (file for file in FILES if not (folder / file).exists())
    files = (RUNS / run / file for run in experiment.runs for file in OF_RUN)
    yield from (str(file) for file in files if not (results / file).exists())


def _reported(results: Path) -> Iterator[str]:
    """Yield the experiments that the report was made for."""
    config: dict[str, Any] = yaml.safe_load((PROJECT / "workflows/config.yaml").read_text())
    for marker in (results / "report").glob(f"{_MARKER}*"):
        target = marker.name.removeprefix(_MARKER)
        for name, planned in _plan(*(STUDIES / study for study in config["studies"])).items():
            if target in (_EVERYTHING, planned["study"], name):
                yield name


@cache
def _plan(*studies: Path) -> dict[str, Planned]:
    return {experiment["experiment"]: experiment for experiment in plan([PROJECT / study for study in studies])}
