"""Lists what there is to measure, one line per experiment. `workflows` asks before anything runs."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypedDict

from analysis.claims import named, registry, syntax
from analysis.claims.registry import Experiment, Study
from analysis.errors import BadInputError
from scenarios import CLAIMS, scenario_files
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.load import read


class Planned(TypedDict):
    """One experiment.

    A change in one of the files `reads` means measuring it again. `runs_of` is the experiment that simulates for it,
    `needs` are all experiments whose runs it uses, and `kunit` says whether a KUnit case decides one of its claims.
    `decides`: whether one of its claims decides a finding; where a study has none, each experiment is what it shows.
    """

    experiment: str
    study: str
    reads: list[str]
    scenario: str | None
    runs_of: str
    needs: list[str]
    kunit: bool
    decides: bool


def plan(folders: Iterable[Path]) -> list[Planned]:
    """List the experiments of the studies in these folders.

    Raises BadInputError with all problems, one per line.
    """
    wrong: list[str] = []
    studies: list[tuple[Study, list[Experiment]]] = []
    for folder in folders:
        try:
            study = registry.load_study(folder)
        except BadInputError as error:
            wrong.append(str(error))
            continue
        experiments = []
        for file in registry.claims_files(folder):
            try:
                experiments.append(registry.load(file))
            except BadInputError as error:
                wrong.append(str(error))
        studies.append((study, experiments))
        lonely = [file for file in scenario_files(folder) if not file.with_suffix(CLAIMS).exists()]
        wrong += [f"{file}: no claims; {file.with_suffix(CLAIMS)} says what it must show" for file in lonely]
    if not wrong:
        known = {experiment.id: experiment for _, experiments in studies for experiment in experiments}
        cells_of = _cells_of(known)
        for study, experiments in studies:
            wrong += map(str, _problems(study, experiments, known, cells_of))
    if wrong:
        raise BadInputError("\n".join(wrong))
    return [_planned(study, experiment, known) for study, experiments in studies for experiment in experiments]


def _planned(study: Study, experiment: Experiment, known: dict[str, Experiment]) -> Planned:
    originals = [known[claim.same_as.partition("/")[0]] for claim in experiment.claims if claim.same_as]
    looked_at = {experiment.id: experiment} | {original.id: original for original in originals}
    needs = {name for seen in looked_at.values() for text in seen.expressions() for name in syntax.experiments(text)}
    return {
        "experiment": experiment.id,
        "study": study.name,
        "reads": [str(file) for file in (*(seen.file for seen in looked_at.values()), study.file)],
        "scenario": str(experiment.scenario) if experiment.scenario else None,
        "runs_of": experiment.runs_of,
        "needs": sorted(
            {known[name].runs_of for name in needs}
            | {seen.runs_of for seen in looked_at.values()}
            | {reading.runs_of for seen in looked_at.values() for reading in seen.readings}
            | {name for _, name, _ in experiment.drawn_beside()}
        ),
        "kunit": any(claim.kunit for seen in looked_at.values() for claim in seen.claims),
        "decides": study.is_decided_by(experiment),
    }


def _cells_of(known: dict[str, Experiment]) -> named.FindCells:
    """Look up the cells of an experiment, those of a scenario once."""

    @cache
    def cells_of(name: str) -> named.Cells | None:
        return named.cells_in(known[name].scenario) if name in known else None

    return cells_of


def _problems(
    study: Study, experiments: list[Experiment], known: dict[str, Experiment], cells_of: named.FindCells
) -> Iterator[Problem]:
    """Find problems between files."""
    simulated = [experiment.id for experiment in known.values() if experiment.scenario]
    for experiment in experiments:
        document = experiment.document
        yield from wrong_scenario(experiment, simulated)
        if known[experiment.id] is not experiment:
            other = known[experiment.id].file
            yield document.problem(("experiment",), f"{experiment.id!r} is also that of {other}", "an id of its own")
        for text in experiment.expressions():
            for name in syntax.experiments(text):
                if name not in known:
                    yield document.problem((), f'run("{name}")', choices(list(known), name))
        for index, reading in enumerate(experiment.readings):
            if reading.runs_of not in simulated:
                path = ("readings", index, "runs_of")
                yield document.problem(path, f"found {reading.runs_of!r}", choices(simulated, reading.runs_of))
        for entry, name, cell in experiment.drawn_beside():
            if name not in simulated:
                yield document.problem((*entry, "runs_of"), f"found {name!r}", choices(simulated, name))
            elif (there := cells_of(name)) is not None and cell not in there:
                yield document.problem((*entry, "cell"), f"found {cell!r}", choices(list(there), cell))
        for index, claim in enumerate(experiment.claims):
            if claim.same_as:
                other_claim = known.get(claim.same_as.partition("/")[0])
                original = other_claim.claim(claim.same_as) if other_claim else None
                if original is None or original.same_as:
                    path = ("claims", index, "same_as")
                    yield document.problem(path, f"found {claim.same_as!r}", "a claim of another experiment")
        yield from named.problems(experiment, study, cells_of)
    used = {claim.finding for experiment in experiments for claim in experiment.claims}
    for name in study.findings.keys() - used:
        yield study.document.problem(("findings", name), "no claim stands for it", "findings that claims name")


def wrong_scenario(experiment: Experiment, simulated: list[str]) -> Iterator[Problem]:
    """Find why a claims file has no runs: its experiment is not that of the scenario beside it, or of none at all."""
    document = experiment.document
    beside = experiment.file.with_name(experiment.file.name.removesuffix(CLAIMS) + ".yaml")
    if experiment.scenario is None:
        if beside.exists():
            yield document.problem(("runs_of",), f"found beside a scenario, {beside}", "one of them")
        if experiment.runs_of not in simulated:
            mistake = f"no scenario has experiment {experiment.runs_of!r}"
            yield document.problem(("runs_of",), mistake, choices(simulated, experiment.runs_of))
    elif not beside.exists():
        yield document.problem((), f"no scenario {beside}", "that file, or runs_of")
    else:
        try:
            named = read(beside).data.get("experiment")
        except ScenarioError as error:
            yield from error.problems
            return
        if named != experiment.id:
            yield document.problem(("experiment",), f"found {experiment.id!r}", f"{named!r}, as in {beside}")
