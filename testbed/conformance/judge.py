"""Runs of an implementation against the requirements: conformance.json and a page, and a page for many of them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from analysis.claims.of_run import number
from analysis.files import write_made
from analysis.judge import every_seed
from analysis.judge.every_seed import Decision
from analysis.judge.statement import Form, Statement, load
from analysis.judge.verdict import Verdict, told
from analysis.report.evidence import Evidence, of_run
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from common.counts import plural
from testbed.conformance.measures import MEASURES, PACKETS
from testbed.conformance.receiver import FOLLOWS, window_limited
from testbed.shared.made import made_below
from testbed.shared.page import write_page
from testbed.shared.panel import CLIENT
from testbed.shared.rulebooks import FOLDER, STATEMENTS
from testbed.shared.units import unit

FORMAT: Final = 2
FILE: Final = "conformance.json"
STUDY: Final = "conformance"
RULES: Final = FOLDER / STUDY / STATEMENTS
FORM: Final = Form(
    head=("documents",),
    fields=("id", "document", "section", "level", "says", "in", "measure", "at_least", "at_most", "untestable"),
    required=("id", "document", "section", "level", "says"),
    one_of=("measure", "untestable"),
    words=MEASURES,
    pages="docs/reference/claims.md and docs/howto/conformance.md",
)
TEMPLATE: Final = Path(__file__).with_name("conformance.html")
CASES: Final = f"studies/{STUDY}/cases.yaml"  # from the folder of an implementation


@dataclass(frozen=True)
class Row:
    """A requirement, its verdict, and why: what was measured in which run, or why nothing was."""

    id: str
    document: str
    section: str
    level: str
    says: str
    verdict: Verdict
    why: str
    run: str


def write(folder: Path, again: str) -> list[Row]:
    """Judge the runs of an implementation below `folder`, and write its files there.

    Its page names the command that does it `again`.
    """
    head, statements = load(RULES, FORM)
    documents: dict[str, dict[str, str]] = head["documents"]
    runs = Runs(folder / "runs")
    rows = [_row(statement, documents[statement.document], runs, folder) for statement in statements]
    versions: dict[str, str] = {}
    for run in runs.by_cell_and_seed(STUDY).values():
        versions |= run.summary.maybe("versions", dict) or {}
    titles = {name: about["title"] for name, about in documents.items()}
    document = {
        "format": FORMAT,
        "client": folder.name,
        "version": versions.get(folder.name),
        "documents": titles,
        "rows": [asdict(row) for row in rows],
    }
    write_made(folder / FILE, json.dumps(document, indent=1) + "\n")
    values = document | {
        "title": _title(rows, titles),
        "counts": Counter((row.document, row.verdict) for row in rows),
        "verdicts": list(Verdict),
    }
    values["evidence_of"] = lambda row: of_run(folder / row["run"], folder, CASES) if row["run"] else Evidence()
    write_page(folder / "index.html", TEMPLATE, values, made_below(folder / "runs"), again, [FILE])
    return rows


def _title(rows: Sequence[Row], documents: Mapping[str, str]) -> str:
    """Say what came out, for the page's head, by document: an implementation of one need not meet the others."""
    counts = Counter((row.document, row.verdict) for row in rows)
    failed = [
        f"{counts[name, Verdict.FAILS]} of {counts[name, Verdict.FAILS] + counts[name, Verdict.HOLDS]} "
        f"of {title.partition(',')[0]}"
        for name, title in documents.items()
        if counts[name, Verdict.FAILS]
    ]
    if failed:
        return f"does not meet, of the requirements that its packets show, {', '.join(failed)}"
    held = sum(row.verdict == Verdict.HOLDS for row in rows)
    return (
        f"meets {plural(held, 'requirement')}, all that its packets show" if held else "cannot be judged by its packets"
    )


def _row(statement: Statement, about: Mapping[str, str], runs: Runs, folder: Path) -> Row:
    decision = _decided(statement, about, runs)
    names = {name: getattr(statement, name) for name in ("id", "document", "section", "level", "says")}
    run = "" if decision.run is None else str(decision.run.folder.relative_to(folder))
    return Row(**names, verdict=decision.verdict, why=decision.why, run=run)


def _decided(statement: Statement, about: Mapping[str, str], runs: Runs) -> Decision:
    if statement.untestable:
        return Decision(Verdict.UNTESTABLE, statement.untestable)
    there = [run for (cell, _), run in runs.by_cell_and_seed(STUDY).items() if statement.is_about(cell)]
    failures = [failure for failure in runs.failed(STUDY) if statement.is_about(failure.cell)]
    if failures or not there:
        named = ", ".join(f"{name} {' or '.join(values)}" for name, values in statement.cells.items())
        why = f"the run of {named} failed: {failures[0].why}" if failures else f"there is no run of {named}"
        return Decision(Verdict.OPEN, why)
    try:
        for run in there:
            _check_about(run, about)
    except NotMeasuredError as error:
        return Decision(Verdict.UNTESTABLE, str(error), run)
    of_word = "packets" if statement.measure.partition("(")[0] in PACKETS else unit(statement.measure)
    return every_seed.decide(statement, there, _number, of_word)


def _number(expression: str, run: Run) -> float:
    return number(expression, run, {name: partial(measure, run) for name, measure in MEASURES.items()})


def _check_about(run: Run, document: Mapping[str, str]) -> None:
    """Refuse a run of which a document does not speak. Raises NotMeasuredError."""
    spoken = run.flight(CLIENT).conversation.protocol
    if document.get("transport") not in (None, spoken):
        raise NotMeasuredError(f"the client speaks {spoken}")
    if document.get("governs") and (share := window_limited(run, 0)) < FOLLOWS:
        raise NotMeasuredError(f"the receiver's window limited the sender for {share:.0%} of the time")


def summary(client: str, rows: Sequence[Row]) -> str:
    """Say how often each verdict came, and what of a MUST does not hold."""
    wrong = [row.id for row in rows if row.verdict == Verdict.FAILS and row.level == "MUST"]
    return f"{client}: {told(Counter(row.verdict for row in rows))}" + (f"; MUST: {', '.join(wrong)}" if wrong else "")
