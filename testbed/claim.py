"""Carries out `testbed claim`: runs what one claim of a paper reads, measures it, and shows it beside the reference."""

import argparse
import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from analysis.capture import packed
from analysis.claims import registry
from analysis.claims.reads import Cell, cells_of, runs_named
from analysis.claims.registry import Claim, Experiment, Study
from analysis.claims.syntax import is_about_means
from analysis.digits import nine_digits
from analysis.measure import measure
from analysis.reference.kept import check
from analysis.reference.rejudge import NEVER
from analysis.report.beside import Beside, reference_set
from analysis.report.cards import how_known, not_judged, rule
from analysis.report.evidence import command_of
from analysis.report.formats import NARROW, duration, head, paper_value, result_text, sentence, with_unit
from analysis.report.named_numbers import bare_name, named, quantity
from analysis.report.results import collect, state_of
from analysis.watchdog import LIMIT_S, ended_after
from common.counts import plural
from engine.errors import EngineError
from engine.run import run_folder
from scenarios.errors import choices
from scenarios.resolve import COMPLETE
from scenarios.run_files import FAILED
from testbed import arguments, own_study
from testbed.batches import seconds, weight
from testbed.folders import REFERENCE, STUDIES
from testbed.need import Wanted, need, planned, unbuilt

_ALL: Final = "all"
_LABEL: Final = 11  # characters before a text
_COPIED: Final = ("run", "runs", "capture", "again")
_MOST: Final = 4  # cells that are named one by one
_DIGITS: Final = 6


@dataclass(frozen=True)
class Named:
    """A claim, with the experiment and the study that it is from."""

    claim: Claim
    experiment: Experiment
    study: Study


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("claim", metavar="ID", help="EXPERIMENT/CLAIM, as docs/results/papers.md names it")
    parser.add_argument(
        "--seeds",
        metavar="N",
        default="1",
        help=f"runs of each cell, or {_ALL}: as many as decide; default: %(default)s",
    )
    arguments.add_into(parser, "results/claims")


def main(options: argparse.Namespace) -> int:
    """Check one claim; return 0, or 1 when a run failed or a number is not the reference's.

    Everything is kept in the folder --into/<experiment>/<claim>. What another claim there, or the pipeline, has run is
    copied.

    Raises:
        BadInputError, EngineError, ScenarioError: something is wrong with the order, before anything runs; or no run
            succeeded.
    """
    seeds = _seeds(options.seeds)
    known = claims()
    asked = _find(options.claim, known)
    shown = known[asked.claim.same_as] if asked.claim.same_as else asked
    reference = reference_set(REFERENCE)
    _tell(_about(asked, shown))
    if shown.claim.not_testable or shown.claim.kunit:
        _tell(_without_runs(shown, reference))
        return 0
    wanted = what_it_reads(shown, known, seeds)
    folder = own_study.folder_of(options.into, shown.claim.id)
    _tell(_before(wanted))
    with own_study.alone(folder):
        if status := need(folder, wanted):
            return status
        with ended_after(LIMIT_S, "testbed claim: the measurement"):
            measure(shown.experiment.file, folder / "runs", folder / "experiments")
        [result] = (one for one in collect(folder) if one.id == shown.experiment.id)
    [entry] = (one for one in result.claims if one["id"] == shown.claim.id)
    compared = _Compared(shown, entry, reference)
    _tell(compared.lines())
    _tell(_evidence(entry["reads"], wanted, folder))
    return int(compared.differs or any((folder / "runs").glob(f"*/*/*/{FAILED}*")))


def claims() -> dict[str, Named]:
    """Return all claims of the studies by their ids."""
    known: dict[str, Named] = {}
    for folder in registry.folders_of_studies(STUDIES):
        study = registry.load_study(folder)
        for experiment in map(registry.load, registry.claims_files(folder)):
            known |= {claim.id: Named(claim, experiment, study) for claim in experiment.claims}
    return known


def what_it_reads(named: Named, known: Mapping[str, Named], seeds: int | None = None) -> list[Wanted]:
    """Return the cells that a claim reads, with the first so many seeds, or those that the scenarios have."""
    own = named.experiment
    about = {"experiment": {"runs_of": own.runs_of, "words": own.words}}
    texts = [text for text in (named.claim.measure, named.claim.holds) if text]
    experiments = {own.runs_of, *(name for text in texts for name, _ in runs_named(text, own.runs_of, own.words))}
    scenarios = {one.experiment.scenario for one in known.values() if one.experiment.id in experiments}
    planned = (one for scenario in sorted(filter(None, scenarios)) for one in _planned(scenario))
    by_cell: dict[Cell, Wanted] = {(one.cell.experiment, one.cell.name): one for one in planned}
    read = cells_of(named.claim.data, about, by_cell)
    its_own = {cell for cell in by_cell if cell[0] == own.runs_of}
    if not its_own & read:  # a claim has the seeds of its own experiment
        read.add(min(its_own, key=lambda cell: (weight(by_cell[cell].planned), cell)))
    return [
        Wanted(one.planned, one.cell, range(1, seeds + 1) if seeds else one.seeds)
        for cell, one in by_cell.items()
        if cell in read
    ]


@cache
def _planned(scenario: Path) -> tuple[Wanted, ...]:
    """Read a scenario once for all claims."""
    return tuple(planned([scenario]))


def wall_s(wanted: Sequence[Wanted], processors: int) -> float:
    """Return about how long runs take on so many processors, s."""
    weights = [weight(one.planned) for one in wanted]
    all_of_them = sum(each * len(one.seeds) for each, one in zip(weights, wanted, strict=True))
    return seconds(max(all_of_them / processors, *weights))


def _seeds(text: str) -> int | None:
    """Return how many seeds are asked for; None for all."""
    if text == _ALL:
        return None
    if not text.isascii() or not text.isdecimal():
        raise EngineError(f"--seeds: found {text!r}; allowed: a whole number, or {_ALL}")
    arguments.check_seeds(int(text))
    return int(text)


def _find(name: str, known: Mapping[str, Named]) -> Named:
    if name not in known:
        raise EngineError(f"unknown claim {name!r}; allowed: {choices(list(known), name)}")
    return known[name]


def _tell(lines: Iterable[tuple[str, str]]) -> None:
    """Print texts behind their labels; paths and commands stay whole, since they are copied."""
    width = min(120, shutil.get_terminal_size((120, 24)).columns)
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False, subsequent_indent=" " * _LABEL)
    for label, text in lines:
        line = label.ljust(_LABEL) + text
        print((line if label in _COPIED else fill.fill(line)).replace(NARROW, " "), flush=True)


def _about(asked: Named, shown: Named) -> Iterator[tuple[str, str]]:
    claim, study = shown.claim, shown.study
    if asked is not shown:
        yield "", f"{asked.claim.id} repeats {claim.id}, which is checked here."
    yield "claim", sentence(claim.data["title"])
    yield "finding", sentence(study.findings.get(claim.finding, claim.finding))
    where = f"{study.name.upper()} {study.paper['year']}" if "year" in study.paper else study.paper["title"]
    value = paper_value(claim.data)
    yield "paper", f"{where}, {claim.data['source']}" + (f": {value}" if value else "")
    if claim.measure or claim.holds:
        yield "formula", "; ".join(dict.fromkeys(check(claim.data, shown.experiment.words).split("; ")))
    if reading := claim.data.get("reading"):
        yield "reading", reading


def _without_runs(shown: Named, reference: Beside) -> Iterator[tuple[str, str]]:
    claim = shown.claim
    if claim.not_testable:
        why = claim.not_testable.get("why") or claim.not_testable["reason"]
        yield "verdict", f"cannot be tested: {not_judged({**claim.data, 'why': why})}"
        return
    tested = reference.claims.get(claim.id, {}).get("tested", "")
    yield "verdict", "No run decides it, but the module's KUnit case of this name, in a debug kernel:"
    yield "again", "make images DEBUG=1 && testbed kunit"
    if tested:
        yield "reference", sentence(tested)


def _before(wanted: Sequence[Wanted]) -> Iterator[tuple[str, str]]:
    """Say what is going to run, and how long that takes."""
    cells: dict[str, list[str]] = {}
    for one in wanted:
        cells.setdefault(one.cell.experiment, []).append(one.cell.name)
    for experiment, names in cells.items():
        listed = ", ".join(names) if len(names) <= _MOST else f"{len(names)} cells"
        yield "cells", f"{experiment}: {listed}"
    runs = sum(len(one.seeds) for one in wanted)
    virtual = duration(sum(one.cell.virtual_s * len(one.seeds) for one in wanted))
    processors = len(os.sched_getaffinity(0))
    took = duration(wall_s(wanted, processors))
    yield (
        "time",
        f"{plural(runs, 'run')}, {virtual} of virtual time: about {took} on {plural(processors, 'processor')}, "
        "less what has run before",
    )
    if missing := unbuilt(wanted):
        yield "", f"Before that, images are built, which takes minutes: {', '.join(missing)}."


class _Compared:
    """A claim as it was measured, beside what the reference set has of it."""

    def __init__(self, shown: Named, entry: Mapping[str, Any], reference: Beside) -> None:
        self._entry = entry
        self._there = reference.claims.get(shown.claim.id, {})
        self._beside = reference.entry(entry)
        words = shown.experiment.words
        kept = reference.kept.get(shown.experiment.id, {}).get("claims", {}).get(shown.claim.id, {})
        self._is_same_check = kept.get("check") == check(shown.claim.data, words)
        self._of_means = is_about_means(shown.claim.holds or shown.claim.measure or "None", words)
        self._values = {kind: _by_seed(entry, kind) for kind in ("measured", "held")}
        theirs = {kind: _by_seed(self._there, kind) for kind in ("measured", "held")}
        self._same: dict[str, bool] = {}
        for kind, values in self._values.items():
            for seed in values.keys() & theirs[kind].keys() if self._is_comparable(theirs) else ():
                self._same[seed] = self._same.get(seed, True) and values[seed] == theirs[kind][seed]

    def _is_comparable(self, theirs: Mapping[str, Mapping[str, Any]]) -> bool:
        is_over_other_seeds = self._of_means and any(
            values.keys() != theirs[kind].keys() for kind, values in self._values.items()
        )
        return self._is_same_check and not is_over_other_seeds

    @property
    def differs(self) -> bool:
        """Whether a seed has another value than in the reference set."""
        return not all(self._same.values())

    def lines(self) -> Iterator[tuple[str, str]]:
        """Say what each seed gave, the verdict, and what the reference set has."""
        entry = self._entry
        seeds = sorted(set().union(*self._values.values()), key=int)
        for seed in seeds:
            yield f"seed {seed}", self._of_seed(seed)
        for seed, why in entry["unknown"].items():
            yield f"seed {seed}", why
        if len(seeds) > 1 and (together := result_text(entry)):
            yield "together", "; ".join(filter(None, (together, named(entry) if entry.get("held") else "")))
        why_not = not_judged(entry)
        yield "verdict", why_not or state_of(entry)
        if text := rule(entry):
            yield "rule", text
        yield "reference", self._reference()
        if cause := entry.get("cause"):
            yield "cause", f"{head(cause['text'])} ({how_known(cause)})"

    def _of_seed(self, seed: str) -> str:
        held, value = self._values["held"].get(seed), self._values["measured"].get(seed)
        parts = [] if held is None else ["it holds" if held else "it does not hold"]
        if value is not None:
            of = quantity(self._entry)
            text = of.never if value == NEVER else with_unit(value * of.factor, of.unit, _DIGITS)
            name = bare_name(self._entry) if held is None else of.name
            parts.append(f"{name}: {text}" if name else text)
        if seed in self._same:
            parts.append("the same as in the reference" if self._same[seed] else "NOT the same as in the reference")
        return "; ".join(parts)

    def _reference(self) -> str:
        if self._beside is None:
            return "has not measured it"
        seeds = plural(self._beside["seeds"], "seed")
        if not self._is_same_check:
            seeds += "; it was checked in another way then, so no numbers are compared"
        elif self._of_means and not self._same:
            seeds += "; the number is made of means over the seeds, so those of fewer are not compared"
        return f"{self._beside['verdict']}, {self._beside['text']} ({seeds})"


def _by_seed(entry: Mapping[str, Any], kind: str) -> dict[str, Any]:
    values = (entry.get("measured") or {}).get("by_seed") if kind == "measured" else entry.get("held")
    by_seed: dict[str, Any] = nine_digits({str(seed): value for seed, value in (values or {}).items()})
    return by_seed


def _evidence(read: Sequence[Sequence[str]], wanted: Sequence[Wanted], folder: Path) -> Iterator[tuple[str, str]]:
    """Say where the runs of the cells are that were read, and their captures, or how to make these."""
    shown = [one for one in wanted if [one.cell.experiment, one.cell.name] in read]
    if len(shown) > _MOST:
        yield "runs", str(folder / "runs")
        return
    for one in shown:
        run = run_folder(folder / "runs", one.cell, one.seeds[0])
        yield "run", str(run)
        captures = packed.kept(run)
        yield from (("capture", str(capture)) for capture in captures)
        if not captures:
            about = {"cell": one.cell.name, "seed": one.seeds[0], "size": COMPLETE}
            command = command_of(about, os.path.relpath(one.cell.scenario), str(folder / "captured"))
            yield "again", f"{command}  # keeps the captures"
