"""Records a reference set in one go, from complete results of one commit, and refuses anything else."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.claims.plan import plan
from analysis.errors import BadInputError
from analysis.files import write_text
from analysis.provenance import MADE_FROM
from analysis.reference.files import FORMAT, SET
from analysis.reference.kept import as_table, kept_of
from analysis.report.formats import plain
from analysis.report.results import NOT_HERE, ExperimentResult, collect, state_of
from common.counts import plural
from scenarios import cells
from scenarios.errors import ScenarioError
from scenarios.resolve import COMPLETE, QUICK

DIRTY: Final = "-dirty"
_DIGITS: Final = 12  # of a digest
_VERSION: Final = "version of "
Run = tuple[str, int]  # cell and seed
Parts = dict[str, dict[str, tuple[Any, list[str]]]]  # by part and text of its build: the build, and experiments


def record(studies: Sequence[Path], results: Path, out: Path, checkout: str) -> None:
    """Write the reference set of some studies into a folder: a file for each experiment, and one of the set.

    `checkout` is the commit of the code that measured and judged them, with `-dirty` where files differ from it.

    Raises BadInputError with all that keeps the results from being one complete recording: files that differ from a
    commit, here or in the runs, runs of several commits or builds, runs that failed or are not those planned, claims
    without a measurement, and experiments of other studies in the folder.
    """
    planned = plan(studies)
    runs = _planned_runs([Path(each["scenario"]) for each in planned if each["scenario"]])
    runs_of = {each["experiment"]: each["runs_of"] for each in planned}
    measured = {each.id: each for each in collect(results) if each.folder and each.id in runs_of}
    parts = _parts(measured.values())
    wrong = [
        *_dirty(checkout, parts),
        *(f"{part}: found {_builds(some)}; allowed: one build" for part, some in parts.items() if len(some) > 1),
        *(f"{name}: found no measurement; allowed: all of its study" for name in runs_of if name not in measured),
        *(text for name, each in measured.items() for text in _of_runs(each, runs[runs_of[name]])),
        *(f"{out / file}: found beside this set; allowed: its experiments alone" for file in _others(out, runs_of)),
    ]
    if wrong:
        raise BadInputError("\n".join([f"{results}: found no complete recording from one commit:", *wrong]))
    about = _about({each["study"] for each in planned}, measured.values(), parts)
    for name, experiment in measured.items():
        write_text(out / f"{name}.json", as_table({"commit": about["commit"], **kept_of(experiment)}))
    write_text(out / SET, as_table({**about, "format": FORMAT, "measured_by": checkout}))


def _planned_runs(scenarios: Sequence[Path]) -> dict[str, set[Run]]:
    """Give the runs that scenarios ask for at complete size, by experiment."""
    runs: dict[str, set[Run]] = {}
    try:
        for cell in cells.plan(scenarios, COMPLETE):
            runs.setdefault(cell["experiment"], set()).update((cell["cell"], seed) for seed in cell["seeds"])
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return runs


def _parts(measured: Iterable[ExperimentResult]) -> Parts:
    """Give the commits and builds of each part that made the runs, and the versions that programs told."""
    parts: Parts = {"commit": {}}
    for experiment in measured:
        made, told = experiment.data["provenance"], experiment.data["versions"]
        named = {name: builds for name, builds in made.items() if name == "commit" or MADE_FROM.fullmatch(name)}
        named |= {f"{_VERSION}{name}": versions for name, versions in told.items()}
        for name, builds in named.items():
            for build in builds:
                parts.setdefault(name, {}).setdefault(plain(build), (build, []))[1].append(experiment.id)
    return parts


def _dirty(checkout: str, parts: Parts) -> Iterator[str]:
    if checkout.endswith(DIRTY):
        yield f"the checkout: found files that differ from commit {checkout.removesuffix(DIRTY)}; allowed: none"
    for commit, (_, experiments) in parts["commit"].items():
        if commit.endswith(DIRTY):
            yield f"commit: found {commit} ({_listed(experiments)}); allowed: runs of a clean checkout"


def _builds(some: dict[str, tuple[Any, list[str]]]) -> str:
    """Tell builds apart, each with the experiments that it made."""
    return " and ".join(f"{short(build)} ({_listed(experiments)})" for build, experiments in some.values())


def short(build: Any) -> str:
    """Give a build by the first digits of its digest, or a version as it is."""
    return str(build["digest"])[:_DIGITS] if isinstance(build, dict) and "digest" in build else plain(build)


def _listed(experiments: Sequence[str]) -> str:
    more = len(experiments) - 1
    return f"{experiments[0]} and {plural(more, 'more experiment')}" if more else experiments[0]


def _of_runs(experiment: ExperimentResult, wanted: set[Run]) -> Iterator[str]:
    """Say what runs and claims of an experiment are not as they were planned."""
    there = {(run["cell"], run["seed"]) for run in experiment.data["runs"] if run["size"] != QUICK}
    failed = {(run["cell"], run["seed"]): run["why"] for run in experiment.data["failed"]}
    lacking, more = wanted - there - failed.keys(), there - wanted
    for (cell, seed), why in failed.items():
        yield f"{experiment.id}: found that cell {cell}, seed {seed} failed: {why}"
    for some, text in ((lacking, f"no run of size {COMPLETE}"), (more, "a run that its scenario does not ask for")):
        if some:
            cell, seed = min(some)
            others = f", and {len(some) - 1:,} more" if len(some) > 1 else ""
            yield f"{experiment.id}: found {text}: cell {cell}, seed {seed}{others}"
    if not lacking and not failed:
        unmeasured = [claim for claim in experiment.claims if state_of(claim) == NOT_HERE]
        yield from (f"{claim['id']}: found no measurement: {claim['why']}" for claim in unmeasured)


def _others(out: Path, experiments: Iterable[str]) -> list[str]:
    return sorted({file.name for file in out.glob("*.json")} - {f"{name}.json" for name in experiments} - {SET})


def _about(studies: Iterable[str], measured: Iterable[ExperimentResult], parts: Parts) -> dict[str, Any]:
    """Say what a set was made from."""
    build = {name: value for name, some in parts.items() for value, _ in some.values()}
    runs = {
        (experiment.data["experiment"]["runs_of"], run["cell"], run["seed"]): run["ended"]
        for experiment in measured
        for run in experiment.data["runs"]
    }
    return {
        "commit": build["commit"],
        "date": max(runs.values())[:10],
        "made_from": {name: value for name, value in build.items() if MADE_FROM.fullmatch(name)},
        "runs": len(runs),
        "studies": sorted(studies),
        "versions": {name.removeprefix(_VERSION): value for name, value in build.items() if name.startswith(_VERSION)},
    }
