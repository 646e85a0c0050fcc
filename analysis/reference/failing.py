"""What does not hold, of all studies: each finding once, with what decides it and what is known of the cause."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from analysis.files import replace_between
from analysis.judge.verdict import Verdict
from analysis.reference import files
from analysis.reference.papers import SHOWN, in_order, of_studies, recorded, row
from analysis.report.cards import how_known
from analysis.report.causes import WORDS
from analysis.report.formats import NARROW, head, sentence
from analysis.report.overview import PaperFinding, StudyView
from common.counts import plural

START, END = "<!-- failing: written by python -m testbed.tables papers -->", "<!-- end of failing -->"
_CAUSED: Final = (SHOWN[Verdict.FAILS], SHOWN[Verdict.NEARLY])


def write(folder: Path, reference: Path, page: Path) -> None:
    """Write the findings of the studies in `folder` that do not hold, as a reference set has them, into a page.

    Raises BadInputError where its marks are missing, or there are no studies.
    """
    views = of_studies(folder, reference)
    lines: list[str] = []
    sets = files.sets(reference)
    for view in views:
        of_set = recorded(sets[view.experiments[0].id])
        lines += _of_study(view, "" if f"{of_set}\n" in lines else of_set)
    replace_between(page, START, END, "\n" + "\n".join(lines))


def _of_study(view: StudyView, of_set: str) -> Iterator[str]:
    failing = [finding for finding in view.findings if finding.state != Verdict.HOLDS]
    if not failing:
        return
    claims = {claim["id"]: claim for experiment in view.experiments for claim in experiment.claims}
    yield f"## {view.label}\n"
    if of_set:
        yield f"{of_set}\n"
    yield f"{_how_many(view.findings)}\n"
    yield from _table(failing, claims)
    yield ""


def _how_many(findings: Iterable[PaperFinding]) -> str:
    """Say how many findings do not hold, and how many of those that count apart on the pages of studies."""
    states: dict[bool, list[str]] = {False: [], True: []}
    for finding in findings:
        states[bool(finding.apart)].append(finding.state)
    failing, apart = (sum(state != Verdict.HOLDS for state in some) for some in states.values())
    more = f", and {apart} of {len(states[True])} that count apart" if apart else ""
    return f"{failing} of {plural(len(states[False]), 'finding')}{more}."


def _table(findings: Iterable[PaperFinding], claims: dict[str, Any]) -> Iterator[str]:
    yield "| finding | outcome | what decides | why | claim |"
    yield "|---|---|---|---|---|"
    for finding in in_order(findings):
        state = SHOWN[finding.state]
        cause = claims[finding.claim].get("cause") if state in _CAUSED else None
        why = f"{WORDS[how_known(cause)]}: {head(cause['text'])}" if cause else ""
        decides = sentence(finding.numbers).replace(NARROW, " ")
        yield row(finding.sentence, state, decides, why, f"`{finding.claim}`")
