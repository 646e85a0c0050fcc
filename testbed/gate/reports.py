"""What a gate leaves: gate.json, a page, gate.md for a pull request, junit.xml, and a line of history."""

import json
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from analysis.files import write_text
from analysis.judge.verdict import SIGNS, WORST_FIRST, Verdict, told
from testbed.gate import page
from testbed.gate.judge import BudgetResult, JudgedBudgets

FORMAT: Final = 2
_KINDS: Final = {Verdict.FAILS: "failure", Verdict.OPEN: "error", Verdict.UNTESTABLE: "error"}
"""What JUnit calls a verdict."""


def write(judgement: JudgedBudgets, results: Path, again: str) -> None:
    """Print the outcomes and where the page is; write gate.json, index.html, gate.md and junit.xml.

    `again` is the command that makes them again.
    """
    document = {"format": FORMAT, **asdict(judgement)}
    write_text(results / "gate.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_text(results / "gate.md", _markdown(judgement))
    write_text(results / "junit.xml", _junit(judgement))
    for outcome in judgement.outcomes:
        print(f"{outcome.verdict}: {outcome.id} ({_where(outcome)}): {outcome.why}")
    print(f"page: {page.write(judgement, results, again)}")


def remember(judgement: JudgedBudgets, history: Path) -> None:
    """Append a line to a file: when, which version, and each number."""
    line = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "client": judgement.client,
        "version": judgement.version,
        "failing": [outcome.id for outcome in judgement.outcomes if outcome.verdict == Verdict.FAILS],
        "measured": {f"{outcome.id}, {_where(outcome)}": outcome.measured for outcome in judgement.outcomes},
    }
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _where(outcome: BudgetResult) -> str:
    return outcome.scenario if outcome.cell == "single" else f"{outcome.scenario}, {outcome.cell}"


def _markdown(judgement: JudgedBudgets) -> str:
    """A table for a pull request: what does not hold comes first."""
    outcomes = judgement.outcomes
    version = f" ({judgement.version})" if judgement.version else ""
    counts = told(Counter(outcome.verdict for outcome in outcomes))
    lines = [
        f"### Gate of {judgement.client}{version}: {counts}",
        "",
        "| | budget | where | measured |",
        "|---|---|---|---|",
    ]
    for outcome in sorted(outcomes, key=lambda outcome: WORST_FIRST.index(outcome.verdict)):
        cells = (SIGNS[outcome.verdict], outcome.id, _where(outcome), outcome.why)
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    lines += ["", "Runs in virtual time repeat byte for byte: the same client gives the same numbers again."]
    return "\n".join(lines) + "\n"


def _junit(judgement: JudgedBudgets) -> str:
    counts = {"tests": len(judgement.outcomes), "failures": 0, "errors": 0}
    suite = ElementTree.Element("testsuite", name=f"testbed gate {judgement.client}")
    for outcome in judgement.outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", name=outcome.id, classname=_where(outcome), time=f"{outcome.wall_s:.3f}"
        )
        if kind := _KINDS.get(outcome.verdict):
            counts[f"{kind}s"] += 1
            told = ElementTree.SubElement(case, kind, message=outcome.why, type=outcome.ending or outcome.verdict)
            told.text = outcome.run
    suite.attrib |= {name: str(count) for name, count in counts.items()}
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
