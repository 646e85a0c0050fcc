"""Runs of an implementation against the requirements: conformance.json and a page, and a page for many of them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from analysis.claims.comparisons import compare
from analysis.claims.of_run import number
from analysis.files import write_made
from analysis.report.evidence import Evidence, of_run
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from common.counts import plural
from testbed.conformance.measures import MEASURES, PACKETS
from testbed.conformance.receiver import FOLLOWS, window_limited
from testbed.conformance.requirements import Observation, Paper, Requirement, Requirements, load
from testbed.shared.made import made_below
from testbed.shared.page import write_page
from testbed.shared.panel import CLIENT
from testbed.shared.units import texts_with_unit, unit

FORMAT: Final = 1
FILE: Final = "conformance.json"
STUDY: Final = "conformance"
PASS, FAIL, HIDDEN = "pass", "fail", "not observable"
SIGNS: Final = {PASS: "✓", FAIL: "✗", HIDDEN: "?"}
TEMPLATE: Final = Path(__file__).with_name("conformance.html")
CASES: Final = f"studies/{STUDY}/cases.yaml"  # from the folder of an implementation
SEED: Final = 1


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


def write(folder: Path, again: str) -> str:
    """Judge the runs of an implementation below `folder`, write its files there; returns what there is to say.

    Its page names the command that does it `again`.
    """
    requirements = load()
    runs = Runs(folder / "runs")
    rows = [_row(requirement, requirements, runs, folder) for requirement in requirements.requirements]
    versions: dict[str, str] = {}
    for run in runs.by_cell_and_seed(STUDY).values():
        versions |= run.summary.maybe("versions", dict) or {}
    documents = {name: paper.title for name, paper in requirements.documents.items()}
    document = {
        "format": FORMAT,
        "client": folder.name,
        "version": versions.get(folder.name),
        "documents": documents,
        "rows": [asdict(row) for row in rows],
    }
    write_made(folder / FILE, json.dumps(document, indent=1) + "\n")
    values = document | {
        "title": _title(rows, documents),
        "counts": Counter((row.document, row.result) for row in rows),
        "results": list(SIGNS),
    }
    values["evidence_of"] = lambda row: of_run(folder / row["run"], folder, CASES) if row["run"] else Evidence()
    write_page(folder / "index.html", TEMPLATE, values, made_below(folder / "runs"), again, [FILE])
    return f"{folder.name}: {_counted(rows)}"


def _title(rows: Sequence[Row], documents: Mapping[str, str]) -> str:
    """Say what came out, for the page's head, by document: an implementation of one need not meet the others."""
    counts = Counter((row.document, row.result) for row in rows)
    failed = [
        f"{counts[name, FAIL]} of {counts[name, FAIL] + counts[name, PASS]} of {title.partition(',')[0]}"
        for name, title in documents.items()
        if counts[name, FAIL]
    ]
    if failed:
        return f"fails, of the requirements that its packets show, {', '.join(failed)}"
    passed = sum(row.result == PASS for row in rows)
    seen = plural(passed, "requirement")
    return f"meets {seen}, all that its packets show" if passed else "shows no requirement by its packets"


def failures(folder: Path) -> list[str]:
    """Say of each run below `folder` that failed why it did."""
    return [f"{failure.cell}: the run failed: {failure.why}" for failure in Runs(folder / "runs").failed(STUDY)]


def _row(requirement: Requirement, requirements: Requirements, runs: Runs, folder: Path) -> Row:
    row = partial(Row, requirement.id, requirement.document, requirement.section, requirement.level, requirement.says)
    if isinstance(requirement.shown, str):
        return row(HIDDEN, requirement.shown, "", "")
    try:
        run = _run(runs, requirement.shown.case)
        run_name = str(run.folder.relative_to(folder))
        _check_about(run, requirements.documents[requirement.document])
        result, evidence = _judged(requirement.shown, run)
    except NotMeasuredError as error:
        return row(HIDDEN, str(error), requirement.shown.case, "")
    return row(result, evidence, requirement.shown.case, run_name)


def _run(runs: Runs, case: str) -> Run:
    """Find the run of a case, whatever the client in the cell's name."""
    for (_, seed), run in runs.by_cell_and_seed(STUDY).items():
        if seed == SEED and run.settings.cell_values.get("case") == case:
            return run
    for failure in runs.failed(STUDY):
        if f"case={case}" in failure.cell.split(","):
            raise NotMeasuredError(f"the run of case {case} failed: {failure.why}")
    raise NotMeasuredError(f"there is no run of case {case}")


def _check_about(run: Run, paper: Paper) -> None:
    """Refuse a run of which a document does not speak. Raises NotMeasuredError."""
    spoken = run.flight(CLIENT).conversation.protocol
    if paper.transport not in (None, spoken):
        raise NotMeasuredError(f"the client speaks {spoken}")
    if paper.governs and (share := window_limited(run, 0)) < FOLLOWS:
        raise NotMeasuredError(f"the receiver's window limited the sender for {share:.0%} of the time")


def _judged(shown: Observation, run: Run) -> tuple[str, str]:
    """Whether a number is within its bounds, and the sentence that says so."""
    functions = {name: partial(measure, run) for name, measure in MEASURES.items()}
    value = number(shown.measure, run, functions)
    least, most = (None if text is None else number(text, run, functions) for text in (shown.at_least, shown.at_most))
    try:
        inside = all(compare(value, sign, end) for sign, end in ((">=", least), ("<=", most)) if end is not None)
    except NotMeasuredError as error:
        raise NotMeasuredError(f"seed {SEED}: {shown.measure}: {error}") from None
    named = (("", least),) if least == most else (("at least ", least), ("at most ", most))
    bounds = {name: bound for name, bound in named if bound is not None}
    shown_value, *limits = texts_with_unit((value, *bounds.values()), _unit(shown.measure))
    allowed = ", ".join(f"{name}{limit}" for name, limit in zip(bounds, limits, strict=True))
    return PASS if inside else FAIL, f"{shown.measure} = {shown_value}, allowed {allowed}"


def _unit(expression: str) -> str:
    return "packets" if expression.partition("(")[0] in PACKETS else unit(expression)


def _counted(rows: Sequence[Row]) -> str:
    counts = Counter(row.result for row in rows)
    wrong: list[Any] = [row.id for row in rows if row.result == FAIL and row.level == "MUST"]
    return ", ".join(f"{counts[result]} {result}" for result in SIGNS) + (
        f"; MUST: {', '.join(wrong)}" if wrong else ""
    )
