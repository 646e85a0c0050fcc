"""The page of a gate's budgets over the versions of an implementation: a picture for each."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from analysis.figures import alternative_text, style, svg
from analysis.files import write_text
from testbed.gate import page
from testbed.gate.judge import JudgedBudgets
from testbed.shared.made import made_of, runs_below
from testbed.shared.page import write_page

FORMAT: Final = 2
FILE: Final = "versions.json"
HEIGHT: Final = 130
TEMPLATE: Final = Path(__file__).with_name("versions.html")

Measured = dict[str, Any]  # an outcome as versions.json has it


def write(
    results: Path, name: str, judgements: Mapping[str, JudgedBudgets | None], folders: Mapping[str, Path], again: str
) -> Path:
    """Write versions.json and index.html of what each version measured, None if its runs failed; return the page.

    `folders` are those of each version's gate; `again` is the command that makes the page again.
    """
    versions = list(judgements)
    rows: dict[tuple[str, str, str], dict[str, Measured]] = {}
    for version, judgement in judgements.items():
        for outcome in judgement.outcomes if judgement else ():
            rows.setdefault((outcome.id, outcome.scenario, outcome.cell), {})[version] = asdict(outcome)
    measured: list[dict[str, Any]] = [
        {"id": budget, "scenario": scenario, "cell": cell, "by_version": by_version}
        for (budget, scenario, cell), by_version in rows.items()
    ]
    document = {"format": FORMAT, "implementation": name, "versions": versions, "budgets": measured}
    write_text(results / FILE, json.dumps(document, indent=1) + "\n")
    for number, row in enumerate(measured, 1):
        _draw(results / f"budget-{number}", row["id"], versions, row["by_version"])
    values = document | {
        "differing": sum(_differs(row["by_version"]) for row in measured),
        "counts": {
            version: Counter(outcome.verdict for outcome in judgement.outcomes) if judgement else Counter()
            for version, judgement in judgements.items()
        },
        "homes": {version: quote(f"{folder.relative_to(results)}/index.html") for version, folder in folders.items()},
        "evidence_of": lambda version, outcome: page.evidence(
            folders[version], outcome["scenario"], outcome["run"], results
        ),
    }
    made = made_of([run for folder in folders.values() for run in runs_below(folder / "runs")])
    return write_page(results / "index.html", TEMPLATE, values, made, again, [FILE])


def _differs(by_version: Mapping[str, Measured]) -> bool:
    """Whether versions that were judged have different results."""
    return len({outcome["verdict"] for outcome in by_version.values()}) > 1


def _draw(place: Path, name: str, versions: list[str], by_version: dict[str, Measured]) -> None:
    """Draw one budget over all versions, with its bound; what was never reached has no point."""
    points = [
        {"version": version, "measured": outcome["measured"], "verdict": outcome["verdict"]}
        for version in versions
        if (outcome := by_version.get(version)) and outcome["measured"] is not None
    ]
    bounds = {outcome["bound"] for outcome in by_version.values() if outcome["bound"] is not None}
    unit = next((outcome["unit"] for outcome in by_version.values()), "")
    names: dict[str, Any] = {"sort": versions, "scale": {"domain": versions}, "axis": {"labelAngle": 0, "grid": False}}
    across = {"field": "version", "type": "nominal", "title": None} | names
    up = {"field": "measured", "type": "quantitative", "title": None, "scale": {"zero": True}}
    line = {
        "data": {"values": points},
        "mark": {"type": "line", "color": style.INK, "point": {"filled": True, "size": 50, "color": style.INK}},
        "encoding": {"x": across, "y": up},
    }
    rule = {
        "data": {"values": [{"measured": bound} for bound in sorted(bounds)]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": style.VERDICTS["does not hold"]},
        "encoding": {"y": up},
    }
    title = f"{name} [{unit}]" if unit else name

    def specify(width: int) -> style.Specification:
        size = {"width": width - style.AXIS - style.GAP, "height": HEIGHT}
        return style.specification({"title": title, **size, "layer": [line, rule]})

    says = [(point["version"], f"{style.number(point['measured'])}, {point['verdict']}") for point in points]
    limit = " and ".join(map(style.number, sorted(bounds))) or "none"
    svg.write(place, specify, alternative_text.picture(title, f"The budget: {limit}", [("", says)]))
