"""Writes what docs/ARTIFACT.md computes: what each size takes, and a claim to check for each finding of the papers."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.files import replace_between
from analysis.judge.findings import decides
from analysis.judge.verdict import Verdict
from analysis.reference.papers import SHOWN, in_order, of_papers, row
from analysis.report.formats import NARROW, duration, paper_value, result_text
from analysis.report.named_numbers import named
from analysis.report.overview import Standing, StudyView
from common.arguments import path
from common.counts import plural
from testbed.claim import Named, claims, wall_s, what_it_reads
from testbed.folders import REFERENCE, STUDIES
from testbed.need import Wanted

_BY: Final = "written by python -m testbed.tables artifact -->"
COSTS: Final = f"<!-- costs: {_BY}", "<!-- end of costs -->"
FINDINGS: Final = f"<!-- findings: {_BY}", "<!-- end of findings -->"
PROCESSORS: Final = 2
"""Of the machine for which times are given."""


def main(words: list[str]) -> int:
    """Write into the page that is named; return 0. Raises BadInputError as `write` does."""
    parser = argparse.ArgumentParser(prog="python -m testbed.tables artifact", description=__doc__)
    parser.add_argument("--page", type=path, required=True, help="page with marks for the findings")
    options = parser.parse_args(words)
    write(options.page)
    return 0


def write(page: Path) -> None:
    """Write costs and findings between the marks of a page. Raises BadInputError where a mark is missing."""
    known, views = claims(), of_papers(STUDIES, REFERENCE)
    replace_between(page, *COSTS, "\n" + "".join(f"{line}\n" for line in _costs(views, known)) + "\n")
    parts = ["\n".join(_of_paper(view, known)) for view in views]
    replace_between(page, *FINDINGS, "\n" + "\n\n".join(parts) + "\n\n")


def _costs(views: Iterable[StudyView], known: Mapping[str, Named]) -> Iterator[str]:
    """Yield a table of the runs that the findings of each paper read, with one seed and with all."""
    yield "| paper | with one seed | time | with the seeds that decide | time |"
    yield "|---|---|---|---|---|"
    every: tuple[list[Wanted], list[Wanted]] = ([], [])
    for view in views:
        entries = (claim for experiment in view.experiments for claim in experiment.claims)
        deciding = [known[entry["id"]] for entry in entries if decides(entry)]
        read = [_read(deciding, known, seeds) for seeds in (1, None)]
        for of_all, wanted in zip(every, read, strict=True):
            of_all += wanted
        yield row(view.label, *(cell for wanted in read for cell in _amount(wanted)))
    yield row("all four", *(cell for wanted in every for cell in _amount(wanted)))


def _read(named: Iterable[Named], known: Mapping[str, Named], seeds: int | None) -> list[Wanted]:
    """Return the cells that claims read together; none of those that no run decides."""
    by_cell = {
        (one.cell.experiment, one.cell.name): one
        for each in named
        if not (each.claim.kunit or each.claim.not_testable)
        for one in what_it_reads(each, known, seeds)
    }
    return list(by_cell.values())


def _amount(wanted: Sequence[Wanted]) -> tuple[str, str]:
    """Say how many runs there are and how long they last, and about how long they take."""
    runs = sum(len(one.seeds) for one in wanted)
    virtual = duration(sum(one.cell.virtual_s * len(one.seeds) for one in wanted))
    return f"{plural(runs, 'run')}, {virtual} of virtual time", duration(wall_s(wanted, PROCESSORS))


def _of_paper(view: StudyView, known: Mapping[str, Named]) -> Iterator[str]:
    """Yield the lines of a paper: a row a finding, with the claim that decides it."""
    entries = {claim["id"]: claim for experiment in view.experiments for claim in experiment.claims}
    yield f"### {view.label}\n"
    yield f"{plural(len(view.findings), 'finding')}: {Standing.of(view.counts)}.\n"
    yield "| finding | claim | one seed | all | the paper | ours | outcome |"
    yield "|---|---|---|---|---|---|---|"
    for finding in in_order(view.findings):
        entry = entries[finding.claim]
        cells = (finding.sentence, f"`{finding.claim}`", *_times(finding.claim, known), *_values(entry))
        yield row(*(cell.replace(NARROW, " ") for cell in cells), SHOWN[finding.state])


def _times(claim: str, known: Mapping[str, Named]) -> tuple[str, str]:
    """Say how long the runs of a claim take, with one seed and with all."""
    if known[claim].claim.kunit:
        return "unit test", "unit test"
    if known[claim].claim.not_testable:
        return "", ""
    one, every = (what_it_reads(known[claim], known, seeds) for seeds in (1, None))
    return duration(wall_s(one, PROCESSORS)), duration(wall_s(every, PROCESSORS))


def _values(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Give the paper's value and the reference set's; of a statement, in how many seeds it holds, and its number."""
    paper = paper_value(entry) or ("" if entry["verdict"] == Verdict.UNTESTABLE else "a statement")
    if entry.get("kunit"):
        return paper, "passed" if entry["verdict"] == Verdict.HOLDS else "failed"
    held = named(entry) if entry.get("held") else ""
    return paper, "; ".join(filter(None, (result_text(entry), held)))
