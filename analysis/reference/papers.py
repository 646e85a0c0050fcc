"""What came out of each paper: `python -m testbed.tables papers` writes it into pages, from a reference set alone."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from os.path import relpath
from pathlib import Path
from typing import Any, Final

from analysis.claims import registry
from analysis.claims.registry import Claim
from analysis.files import replace_between
from analysis.judge.rules import judge_case
from analysis.judge.verdict import Verdict
from analysis.reference import files
from analysis.report.beside import Beside, reference_set
from analysis.report.cards import not_judged
from analysis.report.formats import NARROW, sentence
from analysis.report.overview import APART, PaperFinding, Standing, StudyView, studies
from analysis.report.results import LOOKS, ExperimentResult
from common.counts import plural

START, END = "<!-- papers: written by python -m testbed.tables papers -->", "<!-- end of papers -->"
DIGITS: Final = 12
"""Of a commit."""
# verdicts in the order of the tables, and what the tables call them
SHOWN: Final = {
    Verdict.HOLDS: "holds",
    Verdict.NEARLY: "nearly",
    Verdict.FAILS: "does not hold",
    Verdict.OPEN: "open",
    **dict.fromkeys(LOOKS.values(), "open"),
    Verdict.UNTESTABLE: "cannot be tested",
}


def write(folder: Path, reference: Path, page: Path, summary: Path, takes: Callable[[str], str]) -> None:
    """Write what a reference set has of the papers among the studies in `folder`, between the marks of two pages.

    The page gets all findings, the summary a row a paper; `takes` says how long a check of a claim takes. Raises
    BadInputError where a mark is missing, or there are no studies.
    """
    views = of_papers(folder, reference)
    lines = [f"{recorded(files.read(reference)[0])}\n", *(line for view in views for line in _in_full(view, takes))]
    replace_between(page, START, END, "\n" + "\n".join(lines))
    link = relpath(page, summary.parent)
    replace_between(summary, START, END, "\n" + "".join(f"{line}\n" for line in _in_short(views, link)) + "\n")


def write_of_set(reference: Path, page: Path) -> None:
    """Write where a reference set comes from between the marks of a page.

    Raises BadInputError where a mark is missing.
    """
    replace_between(page, START, END, f"\n{recorded(files.read(reference)[0])}\n\n")


def of_papers(folder: Path, reference: Path) -> list[StudyView]:
    """Give what a reference set has of the papers among the studies in a folder.

    Raises BadInputError where there are no studies.
    """
    return [view for view in of_studies(folder, reference) if "year" in view.paper]


def of_studies(folder: Path, reference: Path) -> list[StudyView]:
    """Give the same of all studies."""
    full = reference_set(reference)
    results = [result for study in registry.folders_of_studies(folder) for result in _results(study, full)]
    return studies(results, None)


def _results(folder: Path, full: Beside) -> Iterator[ExperimentResult]:
    """Give the experiments of a study as the reference set has them."""
    study = registry.load_study(folder)
    experiments = [registry.load(file) for file in registry.claims_files(folder)]
    by_id = {claim.id: claim for experiment in experiments for claim in experiment.claims}
    for experiment in experiments:
        shown = [
            registry.shown_here(claim, by_id[claim.same_as]) if claim.same_as else claim for claim in experiment.claims
        ]
        yield ExperimentResult(
            id=experiment.id,
            title=experiment.title,
            artefact=experiment.artefact,
            study=study.name,
            paper=study.paper,
            concluded=study.concluded,
            conclusions=study.conclusions,
            findings=study.findings,
            folder=None,
            data={"claims": [_entry(claim, full) for claim in shown if claim.id in full.claims]},
            quotes=study.quotes,
            apart=study.apart,
        )


def _entry(claim: Claim, full: Beside) -> dict[str, Any]:
    """Give a claim as verdicts.json has it; the reason stands alone where it cannot be tested."""
    entry = {**claim.data, "finding": claim.finding, **full.claims[claim.id], "why": ""}
    if claim.not_testable:
        why = claim.not_testable.get("why") or claim.not_testable["reason"]
        return {**entry, "measured": None, "held": None, "why": not_judged({**entry, "why": why})}
    if claim.kunit:
        outcome = "passed" if entry["verdict"] == Verdict.HOLDS else "failed"
        entry["why"] = judge_case(claim.id, outcome).why
    return entry


def recorded(about: Mapping[str, Any]) -> str:
    """Say where a reference set comes from."""
    made_by = f"commit `{about['commit'][:DIGITS]}`"
    if about["measured_by"] != about["commit"]:
        made_by += f", measured by `{about['measured_by'][:DIGITS]}`"
    images = f"Linux {about['made_from']['kernel']['release']}, and all images by their digests in `set.json`"
    return f"Recorded on {about['date']}: {about['runs']:,} runs of {made_by}; {images}."


def _outcome(view: StudyView) -> str:
    return f"of its {plural(view.counts.total(), 'finding')}, {Standing.of(view.counts)}"


def _in_short(views: Iterable[StudyView], page: str) -> Iterator[str]:
    """Yield a table with a row a paper, which leads to its part of the page."""
    yield "| paper | it asks | its findings here | what came out |"
    yield "|---|---|---|---|"
    for view in views:
        standing = f"of {view.counts.total()}: {Standing.of(view.counts)}"
        paper = f"[{view.label}]({page}#{view.label.lower().replace(' ', '-')})"
        yield row(paper, view.paper["asks"], standing, " ".join(view.conclusions["short"]))


def _in_full(view: StudyView, takes: Callable[[str], str]) -> Iterator[str]:
    paper = view.paper
    yield f"## {view.label}\n"
    yield f"{', '.join(paper['authors'])}: *{paper['title']}*. {sentence(paper['venue'])}\n"
    if view.outcome:
        said = " ".join(f"“{quote['text']}”" for quote in view.outcome)
        yield f"The {view.outcome[0]['source']} says: {said}\n"
    yield f"{sentence(_outcome(view))} {' '.join(view.conclusions['short'])}\n"
    yield from _table((finding for finding in view.findings if not finding.apart), takes)
    for kind, head in APART.items():
        if some := [finding for finding in view.findings if finding.apart == kind]:
            yield f"\n**{head}**\n"
            yield from _table(some, takes)
    for name in ("wrong", "open"):
        if view.conclusions.get(name):
            yield f"\n**{view.head(name)}**\n"
            yield from (f"- {text}" for text in view.conclusions[name])
    yield ""


def _table(findings: Iterable[PaperFinding], takes: Callable[[str], str]) -> Iterator[str]:
    yield "| finding | in the paper | outcome | what decides | claim | it takes |"
    yield "|---|---|---|---|---|---|"
    for finding in in_order(findings):
        where = "; ".join(dict.fromkeys(label for label, _ in finding.where))
        decides = sentence(finding.numbers).replace(NARROW, " ")
        yield row(finding.sentence, where, SHOWN[finding.state], decides, f"`{finding.claim}`", takes(finding.claim))


def in_order(findings: Iterable[PaperFinding]) -> list[PaperFinding]:
    """Sort findings by their outcomes, as the tables have them."""
    order = list(SHOWN)
    return sorted(findings, key=lambda finding: order.index(finding.state))


def row(*cells: str) -> str:
    """Write a row of a table; a bar inside a cell is no border."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
