"""Writes what docs/ARTIFACT.md computes: what the papers' findings take; and says it of a claim."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from analysis.files import replace_between
from analysis.judge.findings import decides
from analysis.reference.papers import of_papers, row
from analysis.report.formats import duration
from analysis.report.overview import StudyView
from common.arguments import path
from common.counts import plural
from testbed.claim import Named, claims, wall_s, what_it_reads
from testbed.folders import REFERENCE, STUDIES
from testbed.need import Wanted

COSTS: Final = "<!-- costs: written by python -m testbed.tables artifact -->", "<!-- end of costs -->"
PROCESSORS: Final = 2
"""Of the machine for which times are given."""


def main(words: list[str]) -> int:
    """Write into the page that is named; return 0. Raises BadInputError as `write` does."""
    parser = argparse.ArgumentParser(prog="python -m testbed.tables artifact", description=__doc__)
    parser.add_argument("--page", type=path, required=True, help="page with marks for the costs")
    options = parser.parse_args(words)
    write(options.page)
    return 0


def write(page: Path) -> None:
    """Write the costs between the marks of a page. Raises BadInputError where a mark is missing."""
    known, views = claims(), of_papers(STUDIES, REFERENCE)
    replace_between(page, *COSTS, "\n" + "".join(f"{line}\n" for line in _costs(views, known)) + "\n")


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


def takes(claim: str, known: Mapping[str, Named]) -> str:
    """Say how long the runs of a claim take, with one seed and with all; nothing of one that no run decides."""
    if known[claim].claim.kunit:
        return "unit test"
    if known[claim].claim.not_testable:
        return ""
    one, every = (wall_s(what_it_reads(known[claim], known, seeds), PROCESSORS) for seeds in (1, None))
    return f"{duration(one)}; {duration(every)}"
