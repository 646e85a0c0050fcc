"""What a hunt writes: a page, the same as data, and a summary to print."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from analysis.files import write_made, write_text
from analysis.report.evidence import of_run
from common.counts import plural
from testbed.hunt.evidence import FindingEvidence
from testbed.hunt.hunt import Hunt
from testbed.shared.made import made_of
from testbed.shared.page import write_page

FORMAT: Final = 1
FILE: Final = "hunt.json"
TEMPLATE: Final = Path(__file__).with_name("hunt.html")


def write(folder: Path, hunt: Hunt, findings: Sequence[FindingEvidence], again: str) -> Path:
    """Write hunt.json, gate.yaml and index.html into the folder of a hunt, which `again` repeats; return the page."""
    document = {
        "format": FORMAT,
        "client": hunt.client,
        "baseline": hunt.baseline,
        "arena": ", ".join(each.document.file.name for each in (hunt.arena, *hunt.further)),
        "seed": hunt.seed,
        "search": hunt.search,
        "scenarios": len(hunt.trials),
        "of_corpus": sum(trial.point is None for trial in hunt.trials),
        "search_runs": hunt.search_runs,
        "all_runs": len(hunt.runs.requested),
        "failed": hunt.runs.failures(),
        "refuted": len(hunt.refuted),
        "unsure": hunt.unsure,
        "unknown": {name: {"scenarios": len(why), "first": why[0]} for name, why in hunt.unknown().items()},
        "properties": [{"name": prop.name, "says": prop.says, "because": prop.because} for prop in hunt.properties],
        "findings": [asdict(evidence) for evidence in findings],
    }
    write_made(folder / FILE, json.dumps(document, indent=1, allow_nan=False) + "\n")
    if findings:
        write_text(folder / "gate.yaml", _budgets(findings, hunt.client))
    values: dict[str, Any] = document | {"findings": findings}
    values["evidence_of"] = lambda finding: of_run(folder / finding.run, folder)
    kept = made_of([folder / finding.run for finding in findings])
    made = replace(kept, runs=len(hunt.runs.requested), failed=len(hunt.runs.failures()))
    return write_page(folder / "index.html", TEMPLATE, values, made, again, [FILE])


def _budgets(findings: Sequence[FindingEvidence], client: str) -> str:
    """Write a gate's file of all findings: it stays broken until they are mended."""
    lines = [f"client: {client}", "statements:"]
    for evidence in findings:
        lines.append(f"  - {evidence.budget.replace('scenario.yaml', f'findings/{evidence.id}/scenario.yaml', 1)}")
    return "\n".join(lines) + "\n"


def summary(hunt: Hunt, findings: Sequence[FindingEvidence], page: Path) -> str:
    """Say what was found."""
    lines = [
        f"{hunt.client}: {plural(len(hunt.trials), 'scenario')}, {plural(hunt.search_runs, 'run')} to search and "
        f"{len(hunt.runs.requested) - hunt.search_runs} to confirm and shrink, {hunt.runs.cpu_s:.0f} s of CPU time"
    ]
    lines += [f"  - it {evidence.otherwise}: {evidence.survival} ({evidence.id})" for evidence in findings]
    if not findings:
        lines.append("  no property was broken")
    lines += [
        f"  not known of {name} in {plural(len(why), 'scenario')}: {why[0]}" for name, why in hunt.unknown().items()
    ]
    if hunt.unsure:
        lines.append(f"  not asked again with other seeds, as the budget was over: {plural(hunt.unsure, 'suspect')}")
    return "\n".join([*lines, f"Page: {page}"])
