"""Computes metrics and verdicts of an archived experiment anew and compares them with the archived ones.

The code that measures is this checkout's; scenarios, claims and studies are the archive's. Numbers are compared to nine
digits, since processors with other vector units add in another order.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analysis.capture.columns import write_columns
from analysis.claims import registry
from analysis.claims.syntax import is_about_means
from analysis.digits import nine_digits
from analysis.errors import BadInputError
from analysis.experiment_files import METRICS, VERDICTS
from analysis.measure import measure
from analysis.provenance import distinct
from analysis.tables import of_results
from analysis.watchdog import ended_after
from common import sums
from common.counts import plural
from common.sums import DamagedError
from engine.errors import EngineError
from engine.repetition import differences
from testbed.archive.contents import Contents
from testbed.archive.crate import EXPERIMENTS, KUNIT, RUNS, listed

_LIMIT_S = 3600.0
_OF_THE_HOST = ("host", "provenance")
_OF_A_REPETITION = ("wall_s", "ended")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?")  # as metrics.csv has them; Python reads others, too

Row = tuple[str, ...]


@dataclass(frozen=True)
class Recomputation:
    """An experiment of which `repeated` and `read` runs (of archived captures), out of `runs`, were measured again.

    `metrics` and `verdicts` are how many were computed, and how many there are; `kunit` verdicts are those that came
    from archived outcomes of KUnit cases which were not repeated.
    """

    experiment: str
    runs: int
    repeated: int
    read: int
    metrics: tuple[int, int]
    verdicts: tuple[int, int]
    kunit: int
    different: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether all metrics and verdicts were computed, from whatever outcomes of KUnit cases."""
        return self.metrics[0] == self.metrics[1] and self.verdicts[0] + self.kunit == self.verdicts[1]

    def __str__(self) -> str:
        """Describe it in a line."""
        captures = f", {self.read} read from archived captures" if self.read else ""
        runs = f"{self.experiment}: {self.repeated} of {plural(self.runs, 'run')} repeated{captures}"
        if self.different:
            return f"{runs}: DIFFERS in {listed(self.different)}"
        (some, metrics), (judged, verdicts) = self.metrics, self.verdicts
        computed, others = _counted(some, judged), _counted(metrics - some, verdicts - judged)
        suffix = f"; computed again and identical: {computed}" if computed else ""
        unsure = f", of which KUnit cases that were not repeated decide {self.kunit}" if self.kunit else ""
        return f"{runs}{suffix}" + (f"; not checked: {others}{unsure}" if others else "")


def _counted(metrics: int, verdicts: int) -> str:
    numbers = {"metric": metrics, "verdict": verdicts}
    return ", ".join(plural(number, what) for what, number in numbers.items() if number)


def write_tables(run: Path, archived: Contents) -> None:
    """Turn the captures and traces of a run folder into tables.

    Raises:
        EngineError: a capture or a trace cannot be read.
    """
    try:
        with ended_after(_LIMIT_S, f"{run}: reading its captures"):
            write_columns(run)
    except (BadInputError, DamagedError) as error:
        raise EngineError(f"{archived.crate.name}: {archived.message_of(error)}") from None


def recompute(
    archived: Contents, experiment: str, runs: Path, repeated: set[str], read: set[str], tested: bool = False
) -> Recomputation:
    """Measure an experiment from the run folders below `runs`, with their tables, and compare.

    Runs that failed again are among the repeated ones. With some of its runs only, the metrics of their cells and seeds
    are compared, but no verdict. `tested` says that the archived outcomes of KUnit cases came out again.

    Raises:
        EngineError: the archived results are damaged, or its claims cannot be evaluated.
    """
    needed = {*archived.runs_of(experiment), *archived.failed_of(experiment)}
    complete = needed <= repeated | read
    folder = _measured(archived, experiment, runs)
    before, after = read_metrics(archived, experiment), _rows(folder / METRICS, experiment)
    unsure = set() if complete else _about_all_seeds(registry.load(archived.claims(experiment)))
    kept = [row for row in after if (row[3] or row[4]) not in unsure]
    different = [f"{METRICS}: {row}" for row in _other_rows(before, kept, complete)]
    verdicts = read_verdicts(archived, experiment)
    judged = kunit = 0
    if complete:
        text = (folder / VERDICTS).read_text().replace(f"{archived.crate.folder}/", "")
        computed = _comparable(json.loads(text), experiment)
        different += [f"{VERDICTS}: {name}" for name in differences(verdicts, computed)]
        different += [f"{VERDICTS}: {name}" for name in _not_of_its_runs(archived, experiment)]
        kunit = 0 if tested else sum(bool(computed[name].get("kunit")) for name in computed["claims"])
        judged = len(computed["claims"]) - kunit
    return Recomputation(
        experiment=experiment,
        runs=len(needed),
        repeated=len(needed & repeated),
        read=len(needed & read - repeated),
        metrics=(len(kept), len(before)),
        verdicts=(judged, len(verdicts["claims"])),
        kunit=kunit,
        different=different,
    )


def read_metrics(archived: Contents, experiment: str) -> list[Row]:
    """Return the rows of the archived metrics.csv, numbers to nine digits.

    Raises:
        EngineError: it is no such table.
    """
    file = archived.crate.folder / EXPERIMENTS / experiment / METRICS
    return _rows(file, f"{archived.crate.name}: {experiment}")


def read_verdicts(archived: Contents, experiment: str) -> dict[str, Any]:
    """Return what of the archived verdicts.json a repetition must give: its parts, and each claim by its id.

    Raises:
        EngineError: it is damaged.
    """
    verdicts = archived.crate.read(EXPERIMENTS / experiment / VERDICTS)
    return _comparable(verdicts, f"{archived.crate.name}: {experiment}")


def _measured(archived: Contents, experiment: str, runs: Path) -> Path:
    """Measure an experiment as `python -m analysis measure` does; return the folder with metrics and verdicts."""
    kunit = archived.crate.folder / KUNIT
    if kunit.exists():
        archived.crate.read(KUNIT)  # it is what reading it here allows
        sums.write(kunit.parent, {kunit.name: sums.digest(kunit)})
    try:
        with ended_after(_LIMIT_S, f"{experiment}: its claims"):
            return measure(archived.claims(experiment), runs, runs.parent / EXPERIMENTS, kunit)
    except (BadInputError, DamagedError) as error:
        raise EngineError(f"{archived.crate.name}: {archived.message_of(error)}") from None


def _about_all_seeds(experiment: registry.Experiment) -> set[str]:
    """Return the claims, and the metrics without one, that some of the seeds do not decide."""

    def about_means(*texts: str | None) -> bool:
        return any(is_about_means(text, experiment.words) for text in texts if text)

    claims = {claim.id for claim in experiment.claims if claim.same_as or about_means(claim.measure, claim.holds)}
    return claims | {extra.metric for extra in experiment.also_measured if about_means(extra.measure)}


def _rows(file: Path, name: str) -> list[Row]:
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
    except (OSError, ValueError, csv.Error) as error:
        raise EngineError(f"{name}/{METRICS}: cannot be read ({error})") from None
    columns = of_results.METRICS.schema.names()
    if header != columns or any(len(row) != len(columns) for row in rows):
        raise EngineError(f"{name}/{METRICS}: found other columns; allowed: {', '.join(columns)}")
    return [(*row[:5], _rounded_text(row[5]), row[6]) for row in rows]


def _rounded_text(value: str) -> str:
    return f"{float(value):.9g}" if _NUMBER.fullmatch(value) else value  # never, true or false


def _other_rows(before: list[Row], after: list[Row], complete: bool) -> Iterator[str]:
    """Name the rows that are not in both; with some runs only, those that the archive lacks."""
    here, there = Counter(after), Counter(before)
    wrong = (here - there) + ((there - here) if complete else Counter())
    yield from sorted({", ".join(word for word in (row[1], f"seed {row[2]}", *row[3:5]) if word) for row in wrong})


def _not_of_its_runs(archived: Contents, experiment: str) -> Iterator[str]:
    """Name what archived verdicts say of how their runs were made, if the archived runs say something else."""
    verdicts = archived.crate.read(EXPERIMENTS / experiment / VERDICTS)
    planned = archived.planned[experiment]
    folders = [
        RUNS / planned["study"] / planned["runs_of"] / run["cell"] / f"seed-{run['seed']}" for run in verdicts["runs"]
    ]
    made_with = distinct(archived.crate.read(folder / "run.json")["provenance"] for folder in folders)
    if verdicts.get("provenance") != made_with:
        yield "provenance"
    took = [archived.crate.read(folder / "summary.json")["wall_s"] for folder in folders]
    if [run.get("wall_s") for run in verdicts["runs"]] != took:
        yield "wall_s"


def _comparable(verdicts: dict[str, Any], name: str) -> dict[str, Any]:
    """Leave out what differs by design; give each claim under its id."""
    parts = {part: value for part, value in verdicts.items() if part not in _OF_THE_HOST}
    try:
        parts["runs"] = [_without_times(run) for run in verdicts["runs"]]
        parts["claims"] = [str(claim["id"]) for claim in verdicts["claims"]]
        parts |= {str(claim["id"]): claim for claim in verdicts["claims"]}
    except (KeyError, TypeError, AttributeError):
        raise EngineError(f"{name}/{VERDICTS}: found no list of runs and claims; allowed: both") from None
    rounded: dict[str, Any] = nine_digits(parts)
    return rounded


def _without_times(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in _OF_A_REPETITION}
