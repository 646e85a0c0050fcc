"""Runs of an implementation against the requirements: conformance.json and a page, and a page for many of them."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from analysis.claims.of_run import number
from analysis.documents import read_json
from analysis.files import replace_between, write_text
from analysis.report import TEMPLATES, pages, render, write_shared
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from testbed.conformance.measures import MEASURES
from testbed.conformance.requirements import Requirement, Requirements, Shown, load
from testbed.conformance.utp import CLIENT

FORMAT: Final = 1
STUDY: Final = "conformance"
PASS, FAIL, HIDDEN = "pass", "fail", "not observable"
SIGNS: Final = {PASS: "✓", FAIL: "✗", HIDDEN: "?"}
OWN: Final = Path(__file__).parent
SEED: Final = 1
START, END = "<!-- tables: written by python -m testbed.tables -->", "<!-- end of tables -->"


@dataclass(frozen=True)
class Row:
    """A requirement, what became of it, and the evidence: what was measured in which run, or why nothing was."""

    id: str
    document: str
    section: str
    level: str
    says: str
    result: str
    evidence: str
    case: str
    run: str


def write(folder: Path) -> str:
    """Judge the runs of an implementation below `folder`, write its files there; returns what there is to say."""
    asked = load()
    runs = Runs(folder / "runs")
    rows = [_row(one, asked, runs, folder) for one in asked.requirements]
    versions: dict[str, str] = {}
    for run in runs.by_cell_and_seed(STUDY).values():
        versions |= run.summary.maybe("versions", dict) or {}
    document = {
        "format": FORMAT,
        "client": folder.name,
        "version": versions.get(folder.name),
        "documents": {name: one.title for name, one in asked.documents.items()},
        "rows": [asdict(row) for row in rows],
    }
    write_text(folder / "conformance.json", json.dumps(document, indent=1) + "\n")
    write_shared(folder)
    render(pages(OWN, TEMPLATES), "conformance.html", folder / "index.html", document | {"signs": SIGNS})
    return f"{folder.name}: {_counted(rows)}"


def failures(folder: Path) -> list[str]:
    """Say of each run below `folder` that failed why it did."""
    return [f"{one.cell}: the run failed: {one.why}" for one in Runs(folder / "runs").failed(STUDY)]


def write_page(folders: Sequence[Path], page: Path) -> None:
    """Replace what stands between the page's two marks by the tables."""
    replace_between(page, START, END, tables(folders))


def tables(folders: Sequence[Path]) -> str:
    """Return for each document, in Markdown, its numbered requirements, and what became of them in `folders`."""
    asked = load()
    judged = [read_json(folder / "conformance.json") for folder in folders]
    results = {one.get("client", str): {row["id"]: row["result"] for row in one.get("rows", list)} for one in judged}
    lines: list[str] = []
    for name, paper in asked.documents.items():
        rows = [one for one in asked.requirements if one.document == name]
        clients = [one for one in results if any(results[one][row.id] != HIDDEN for row in rows)]
        lines += [f"### {paper.title}", "", "| number | | section | requirement |", "|---|---|---|---|"]
        lines += [f"| {i} | {row.level} | {row.section} | {row.says} |" for i, row in enumerate(rows, 1)]
        numbers = "".join(f" {i} |" for i in range(1, len(rows) + 1))
        lines += ["", f"| implementation |{numbers}", "|---" * (1 + len(rows)) + "|"]
        lines += [f"| `{one}` |" + "".join(f" {SIGNS[results[one][row.id]]} |" for row in rows) for one in clients]
        lines.append("")
    return "\n".join(lines)


def _row(one: Requirement, asked: Requirements, runs: Runs, folder: Path) -> Row:
    made = partial(Row, one.id, one.document, one.section, one.level, one.says)
    if isinstance(one.shown, str):
        return made(HIDDEN, one.shown, "", "")
    try:
        run = _run(runs, one.shown.case)
        named = str(run.folder.relative_to(folder))
        _check_transport(run, asked.documents[one.document].transport)
        result, evidence = _judged(one.shown, run)
    except NotMeasuredError as error:
        return made(HIDDEN, str(error), one.shown.case, "")
    return made(result, evidence, one.shown.case, named)


def _run(runs: Runs, case: str) -> Run:
    """Find the run of a case, whatever the client in the cell's name."""
    for (_, seed), run in runs.by_cell_and_seed(STUDY).items():
        if seed == SEED and run.settings.cell_values.get("case") == case:
            return run
    for failure in runs.failed(STUDY):
        if f"case={case}" in failure.cell.split(","):
            raise NotMeasuredError(f"the run of case {case} failed: {failure.why}")
    raise NotMeasuredError(f"there is no run of case {case}")


def _check_transport(run: Run, transport: str | None) -> None:
    spoken = run.flight(CLIENT).conversation.protocol
    if transport not in (None, spoken):
        raise NotMeasuredError(f"the client speaks {spoken}")


def _judged(shown: Shown, run: Run) -> tuple[str, str]:
    """Whether a number is within its bounds, and the sentence that says so."""
    functions = {name: partial(measure, run) for name, measure in MEASURES.items()}
    value = number(shown.measure, run, functions)
    least, most = (None if text is None else number(text, run, functions) for text in (shown.at_least, shown.at_most))
    inside = (least is None or value >= least) and (most is None or value <= most)
    said = [f"at least {least:.4g}"] if least is not None else []
    said += [f"at most {most:.4g}"] if most is not None else []
    shown_value = "never" if math.isinf(value) else f"{value:.4g}"
    return PASS if inside else FAIL, f"{shown.measure} = {shown_value}, allowed {', '.join(said)}"


def _counted(rows: Sequence[Row]) -> str:
    counts = Counter(row.result for row in rows)
    wrong: list[Any] = [row.id for row in rows if row.result == FAIL and row.level == "MUST"]
    return ", ".join(f"{counts[result]} {result}" for result in SIGNS) + (
        f"; MUST: {', '.join(wrong)}" if wrong else ""
    )
