"""Compares results with a reference set, or with other results: each verdict, and each number seed by seed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from analysis.figures.in_reference import BySeed
from analysis.provenance import MADE_FROM
from analysis.reference import files
from analysis.reference.kept import kept_of
from analysis.reference.record import short
from analysis.report.results import NOT_HERE, ExperimentResult, collect, is_quick, state_of
from common.counts import plural
from scenarios.resolve import QUICK

_KINDS: Final = ("figure", "also_measured")
_LISTED: Final = 3  # names of many
_DIGITS: Final = 12  # of a commit


@dataclass
class SetDifferences:
    """How many verdicts and values were compared and are the same, and a line for each that is not."""

    verdicts: int = 0
    same_verdicts: int = 0
    values: int = 0
    same_values: int = 0
    differing: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)  # experiments
    not_judged: list[str] = field(default_factory=list)  # claims that need runs, or tests, that this size omits
    builds: dict[str, str] = field(default_factory=dict)  # by part: the build here, and the set's

    @property
    def agrees(self) -> bool:
        """Whether all that was compared is the same, and anything was."""
        is_same = (self.verdicts, self.values) == (self.same_verdicts, self.same_values)
        return is_same and not self.differing and self.values > 0


def compare(results: Path, reference: Path, console: Console | None = None) -> bool:
    """Print how results compare with a reference set, or with other results; tell whether all is the same.

    Of a quick look, the values of its seed are compared. What it does not run is named, and is no difference; nor are
    experiments that decide no finding, which `reproduce` does not run.
    """
    about, there = _read(reference)
    here = {each.id: each for each in collect(results)}
    is_look = is_quick(here.values())
    made = SetDifferences()
    for name, kept in there.items():
        experiment = here.get(name)
        if experiment and experiment.folder:
            _compare(made, experiment, kept, is_look)
        elif experiment and experiment.decides and not is_look:
            made.verdicts += len(kept["claims"])
            made.differing.append(f"{name}: not measured here")
        else:
            made.not_run.append(name)
    measured = {name for name, each in here.items() if each.folder}
    made.differing += [f"{name}: not in the reference set" for name in sorted(measured - there.keys())]
    for part, builds in about.get("made_from", {}).items():
        found = {short(one) for each in here.values() for one in each.data.get("provenance", {}).get(part, [])}
        if found and found != {short(builds)}:
            made.builds[part] = f"{' and '.join(sorted(found))} here, {short(builds)} there"
    console = console or Console()
    for line in _lines(made, about, is_look):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    return made.agrees


def _read(reference: Path) -> tuple[Mapping[str, Any], dict[str, dict[str, Any]]]:
    """Read a reference set, or give other results as one."""
    if (reference / files.SET).exists():
        return files.read(reference)
    measured = [each for each in collect(reference) if each.folder]
    made = {
        part: builds[0]
        for each in measured
        for part, builds in each.data["provenance"].items()
        if MADE_FROM.fullmatch(part)
    }
    return {"made_from": made}, {each.id: kept_of(each) for each in measured}


def _compare(made: SetDifferences, experiment: ExperimentResult, there: Mapping[str, Any], is_look: bool) -> None:
    here = json.loads(json.dumps(kept_of(experiment)))
    made.not_judged += [claim["id"] for claim in experiment.claims if is_look and state_of(claim) == NOT_HERE]
    # what the paper repeats counts once
    left_out = {
        claim["id"] for claim in experiment.claims if "same_as" in claim or (is_look and _is_beyond(claim, experiment))
    }
    ours, theirs = here["claims"], there["claims"]
    for name in sorted((ours.keys() | theirs.keys()) - left_out):
        _compare_claim(made, name, ours.get(name), theirs.get(name), is_look)
    over_seeds = _over_seeds(experiment) if is_look else ()
    for kind in _KINDS:
        for name in sorted(here[kind].keys() | there.get(kind, here[kind]).keys()):
            if kind in there and not name.startswith(tuple(over_seeds)):
                _compare_numbers(made, f"{experiment.id}, {name}", here[kind].get(name), there[kind].get(name), is_look)


def _is_beyond(claim: Mapping[str, Any], experiment: ExperimentResult) -> bool:
    """Tell whether a look at one seed cannot have the numbers of a claim."""
    return state_of(claim) == NOT_HERE or experiment.is_of_means(claim)


def _over_seeds(experiment: ExperimentResult) -> Iterator[str]:
    """Yield the beginnings of the names of a figure's numbers that are about means over the seeds."""
    figure = experiment.data["figure"]
    yield from (value["label"] for value in figure.get("values", []) if experiment.is_of_means(value))
    for plot in figure.get("plots", []):
        texts = [plot["measure"]] if isinstance(plot["measure"], str) else plot["measure"].values()
        if any(experiment.is_of_means({"measure": text}) for text in texts):
            yield plot["axis"]


def _compare_claim(
    made: SetDifferences, name: str, here: Mapping[str, Any] | None, there: Mapping[str, Any] | None, is_look: bool
) -> None:
    if here is None or there is None:
        made.verdicts += 1
        made.differing.append(f"{name}: only {'here' if here else 'in the reference set'}")
        return
    if not (is_look and (here["by_seed"] or here["held"])):  # one seed has no verdict
        made.verdicts += 1
        made.same_verdicts += here["verdict"] == there["verdict"]
        if here["verdict"] != there["verdict"]:
            how = "" if here["check"] == there["check"] else ", where it is checked in another way"
            made.differing.append(f"{name}: {here['verdict']} here, {there['verdict']} in the reference set{how}")
    for kind in ("by_seed", "held"):
        _compare_numbers(made, name, here[kind], there[kind], is_look)


def _compare_numbers(made: SetDifferences, name: str, here: BySeed | None, there: BySeed | None, is_look: bool) -> None:
    ours, theirs = here or {}, there or {}
    seeds = sorted(ours if is_look else ours.keys() | theirs.keys(), key=int)
    wrong = [seed for seed in seeds if ours.get(seed) != theirs.get(seed)]
    made.values += len(seeds)
    made.same_values += len(seeds) - len(wrong)
    if wrong:
        more = f", and in {plural(len(wrong) - 1, 'more seed')}" if len(wrong) > 1 else ""
        values = (side.get(wrong[0], "nothing") for side in (ours, theirs))
        made.differing.append("{}: {} here, {} in the reference set in seed {}{}".format(name, *values, wrong[0], more))


def _lines(made: SetDifferences, about: Mapping[str, Any], is_look: bool) -> Iterator[str]:
    yield from made.differing
    if made.builds:
        builds = "; ".join(f"{part}: {text}" for part, text in made.builds.items())
        yield f"Other builds than the reference set's: {builds}."
    if made.not_judged:
        need = "needs" if len(made.not_judged) == 1 else "need"
        yield f"Not run at size {QUICK}: what {plural(len(made.not_judged), 'claim')} of these experiments {need}."
    if made.not_run:
        yield f"Not run here: {plural(len(made.not_run), 'experiment')} of the reference set ({_listed(made.not_run)})."
    whose = f", recorded on {about['date']} from commit {about['commit'][:_DIGITS]}" if "commit" in about else ""
    verdicts = f"{made.same_verdicts:,} of {plural(made.verdicts, 'verdict')}"
    seeds = " of the seed that ran" if is_look else ""
    values = f"{made.same_values:,} of {plural(made.values, 'value')}{seeds}, to nine digits"
    yield f"As in the reference set{whose}: {verdicts}, {values}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
