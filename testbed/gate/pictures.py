"""The page of a gate's budgets over the versions of an implementation: a picture for each."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from analysis.figures import alternative_text, style, svg
from analysis.files import write_text
from analysis.report.rendering import write_page
from testbed.gate.judge import Judgement

FORMAT: Final = 1
HEIGHT: Final = 130
TEMPLATE: Final = Path(__file__).with_name("versions.html")

Measured = dict[str, Any]  # an outcome as versions.json has it


def write(results: Path, name: str, judgements: Mapping[str, Judgement | None]) -> Path:
    """Write versions.json and index.html of what each version measured, None if its runs failed; return the page."""
    versions = list(judgements)
    rows: dict[tuple[str, str, str], dict[str, Measured]] = {}
    for version, judgement in judgements.items():
        for outcome in judgement.outcomes if judgement else ():
            rows.setdefault((outcome.name, outcome.scenario, outcome.cell), {})[version] = asdict(outcome)
    measured: list[dict[str, Any]] = [
        {"name": budget, "scenario": scenario, "cell": cell, "by_version": by_version}
        for (budget, scenario, cell), by_version in rows.items()
    ]
    document = {"format": FORMAT, "implementation": name, "versions": versions, "budgets": measured}
    write_text(results / "versions.json", json.dumps(document, indent=1) + "\n")
    pictures = [Markup(picture(row["name"], versions, row["by_version"])) for row in measured]  # noqa: S704 (drawn here)
    return write_page(results / "index.html", TEMPLATE, document | {"pictures": pictures})


def picture(name: str, versions: list[str], by_version: dict[str, Measured]) -> str:
    """Draw one budget over all versions, with its bound; what was never reached has no point."""
    points = [
        {"version": version, "measured": outcome["measured"], "result": outcome["result"]}
        for version in versions
        if (outcome := by_version.get(version)) and outcome["measured"] is not None
    ]
    bounds = {outcome["bound"] for outcome in by_version.values() if outcome["bound"] is not None}
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
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": style.VERDICTS["not reproduced"]},
        "encoding": {"y": up},
    }
    body = {"width": style.WIDE - style.AXIS, "height": HEIGHT, "layer": [line, rule]}
    says = [(point["version"], f"{style.number(point['measured'])}, {point['result']}") for point in points]
    limit = " and ".join(map(style.number, sorted(bounds))) or "none"
    return svg.draw(style.specification(body), alternative_text.picture(name, f"The budget: {limit}", [("", says)]))
