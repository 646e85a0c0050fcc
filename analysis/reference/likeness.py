"""Compares results with a reference set: first what is the same, then what one of them has more, then what differs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from analysis.documents import read_json
from analysis.experiment_files import NOT_RUN
from analysis.files import reference_files
from analysis.reference import kept_of
from analysis.report.formats import number
from analysis.report.outside import Outside, compared
from analysis.report.results import Result, collect
from common.counts import plural

NUMBERS: Final = ("also_measured", "figure")  # fields of a reference set that sum up all seeds


@dataclass
class Likeness:
    """What comparing gave; values are numbers and truths of one claim and seed."""

    same_values: int = 0
    same_numbers: int = 0  # of NUMBERS
    within: int = 0  # numbers beside claims, of fewer seeds than the reference has, in the range of its seeds
    same_verdicts: int = 0
    runs: int = 0
    runs_of_reference: int = 0
    more_there: dict[str, int] = field(default_factory=dict)  # values of seeds that only the reference has
    more_here: dict[str, int] = field(default_factory=dict)
    decided_by_seeds: list[str] = field(default_factory=list)  # other verdicts, from the same values and others
    not_measured: list[str] = field(default_factory=list)
    not_compared: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in NUMBERS})
    sizes: set[str] = field(default_factory=set)  # of these runs, where the reference has others
    not_judged: int = 0  # claims that those runs cannot answer
    images: set[str] = field(default_factory=set)  # what booted was made of other files
    images_of_differing: set[str] = field(default_factory=set)
    differing: list[str] = field(default_factory=list)  # a line each


def compare(results: Path, reference: Path, console: Console | None = None) -> int:
    """Print how results compare with the reference set; return the number of differences in fact.

    A value that only one side has, since it has more seeds, is no difference, nor is another build of what booted.
    """
    files = reference_files(reference)
    measured = {experiment.id: experiment for experiment in collect(results) if experiment.folder}
    likeness = Likeness()
    for file in files:
        if file.stem in measured:
            _compare(likeness, measured[file.stem], read_json(file).data)
        else:
            likeness.not_measured.append(file.stem)
    likeness.differing += [
        f"{name}: not in the reference set" for name in sorted(measured.keys() - {file.stem for file in files})
    ]
    console = console or Console()
    for line in _lines(likeness, results, reference):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    return len(likeness.differing)


def _compare(likeness: Likeness, measured: Result, there: Mapping[str, Any]) -> None:
    here: Mapping[str, Any] = json.loads(json.dumps(kept_of(measured)))
    likeness.runs += here["runs"]
    likeness.runs_of_reference += there["runs"]
    before = len(likeness.differing)
    not_judged = set()
    if there["size"] != here["size"]:
        likeness.sizes |= {*here["size"]}
        shorter = any(cell["duration_s"] < cell.get("full_s", 0) for cell in measured.data["settings"])
        not_judged = {
            claim["id"]
            for claim in measured.data["claims"]
            if (reason := claim.get("not_testable"))
            and (reason["reason"] == NOT_RUN or (shorter and claim["measured"]))  # numbers that no verdict needs
        }
    gone, new = there["claims"].keys() - here["claims"].keys(), here["claims"].keys() - there["claims"].keys()
    for claims, where in ((gone, "in the reference"), (new, "here")):
        likeness.differing += [f"{claim}: only {where}" for claim in sorted(claims)]
    both = there["claims"].keys() & here["claims"].keys()
    likeness.not_judged += len(both & not_judged)
    for claim in sorted(both - not_judged):
        _compare_claim(likeness, measured.id, claim, there["claims"][claim], here["claims"][claim])
    same_runs = there["size"] == here["size"] and there["runs"] == here["runs"]
    for name in NUMBERS:
        of_fewer_seeds = name == "figure" and "figure_seeds" in there
        if same_runs and name in there and not of_fewer_seeds:
            _compare_numbers(likeness, f"{measured.id}, {name}", there[name], here[name])
        elif name == "also_measured" and (both := list(compared(measured, there))):
            _compare_ranges(likeness, measured.id, both)
        elif here[name] or there.get(name):
            likeness.not_compared[name].append(measured.id)
    made = there["made_from"].keys() | here["made_from"].keys()
    images = {image for image in made if there["made_from"].get(image) != here["made_from"].get(image)}
    likeness.images |= images
    if len(likeness.differing) > before:
        likeness.images_of_differing |= images


def _compare_claim(
    likeness: Likeness, experiment: str, claim: str, there: Mapping[str, Any], here: Mapping[str, Any]
) -> None:
    values, seeds_differ = 0, False
    wrong: list[str] = []
    for kind in ("by_seed", "held"):
        kept, measured = there[kind] or {}, here[kind] or {}
        both = kept.keys() & measured.keys()
        wrong += [seed for seed in both if kept[seed] != measured[seed]]
        values += len(both)
        for more, others in (
            (likeness.more_there, kept.keys() - both),
            (likeness.more_here, measured.keys() - both),
        ):
            if others:
                more[experiment] = more.get(experiment, 0) + len(others)
                seeds_differ = True
    likeness.same_values += values - len(wrong)
    rewritten = " (checked in another way)" if there["check"] != here["check"] else ""
    verdicts = f"{there['verdict']} in the reference, {here['verdict']} here"
    if wrong:
        first = min(wrong, key=int)
        seeds = f"other values in {plural(len(wrong), 'seed')} (the first is {first})"
        likeness.differing.append(f"{claim}{rewritten}: {seeds}; {verdicts}")
    elif there["verdict"] == here["verdict"]:
        likeness.same_verdicts += 1
    elif seeds_differ and not rewritten:
        likeness.decided_by_seeds.append(f"{claim}: {verdicts}")
    else:
        likeness.differing.append(f"{claim}{rewritten}: {verdicts}")


def _compare_numbers(likeness: Likeness, called: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    both = there.keys() & here.keys()
    wrong = {name for name in both if there[name] != here[name]}
    likeness.same_numbers += len(both) - len(wrong)
    for names, says in (
        (wrong, "with other values"),
        (there.keys() - both, "only in the reference"),
        (here.keys() - both, "only here"),
    ):
        if names:
            likeness.differing.append(f"{called}: {plural(len(names), 'number')} {says} (the first is {min(names)})")


def _compare_ranges(likeness: Likeness, experiment: str, both: list[tuple[Outside, bool]]) -> None:
    for one, is_outside in both:
        if is_outside:
            span = f"{number(one.low)} to {number(one.high)} over the seeds of the reference"
            likeness.differing.append(f"{experiment}, {one.name}: {number(one.here)} here, {span}")
        else:
            likeness.within += 1


def _lines(likeness: Likeness, results: Path, reference: Path) -> Iterator[str]:
    yield (
        f"The same: {plural(likeness.same_values, 'value')} of claims and seeds, to nine digits, the verdicts of "
        f"{plural(likeness.same_verdicts, 'claim')}, and {plural(likeness.same_numbers, 'number')} beside claims, from "
        f"{plural(likeness.runs, 'run')} here and {likeness.runs_of_reference:,} there."
    )
    if likeness.within:
        yield f"Within the range of the reference's seeds: {plural(likeness.within, 'number')} beside claims."
    if likeness.images - likeness.images_of_differing:
        yield "Made from other builds, without effect on these: " + _list(
            sorted(likeness.images - likeness.images_of_differing)
        )
    if likeness.not_judged:
        claims = plural(likeness.not_judged, "claim")
        yield f"Runs of size {_list(sorted(likeness.sizes))} do not answer {claims}; only the others are compared."
    if likeness.more_there or likeness.not_measured:
        yield from _additional(likeness, results, reference)
    if likeness.more_here:
        more = f"{sum(likeness.more_here.values()):,} values in {_list(sorted(likeness.more_here))}"
        yield f"Here are more seeds: {more}."
    for name, experiments in likeness.not_compared.items():
        if experiments:
            why = "where sizes or seeds differ or the reference lacks it"
            yield f"Not compared in {name}, {why}: {_list(experiments)}."
    if not likeness.differing:
        yield "Nothing differs in fact."
        return
    yield f"Different in fact: {len(likeness.differing):,}."
    yield from (f"  {line}" for line in likeness.differing)
    if likeness.images_of_differing:
        yield "  Their runs were made from other builds: " + _list(sorted(likeness.images_of_differing))
    if likeness.sizes:
        return
    yield "To make these results the reference:"
    yield f"  python -m analysis reference --results {results} --out {reference}"


def _additional(likeness: Likeness, results: Path, reference: Path) -> Iterator[str]:
    if likeness.not_measured:
        yield f"Not measured here: {_list(likeness.not_measured)}."
    if likeness.more_there:
        yield (
            f"The reference has more seeds: {sum(likeness.more_there.values()):,} values in "
            f"{plural(len(likeness.more_there), 'experiment')}. {plural(len(likeness.decided_by_seeds), 'claim')} "
            "with another verdict for that reason alone."
        )
    yield from (f"  {line}" for line in likeness.decided_by_seeds)
    if likeness.sizes:
        return
    yield "These commands run the seeds that only the reference has:"
    yield f"  python -m analysis like --studies workflows/studies --reference {reference} --out {results}/seeds.json"
    yield "  snakemake --cores all"


def _list(names: Any) -> str:
    return ", ".join(map(str, names))
