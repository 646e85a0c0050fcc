"""What a gate measured in each version of an implementation: versions.json and a page with a picture a budget."""

import json
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from analysis.documents import read_json
from analysis.figures import style, svg
from analysis.files import write_text
from analysis.report import TEMPLATES, pages, render, write_shared

FORMAT: Final = 1
OWN: Final = Path(__file__).with_name("templates")
HEIGHT: Final = 130

Outcome = dict[str, Any]


def write(results: Path) -> Path:
    """Write versions.json and index.html into the folder of a `testbed versions`; returns the page."""
    order = read_json(results / "order.json")
    name, names = order.get("implementation", str), order.get("versions", dict)
    versions = list(names)
    by_version = {version: _outcomes(results / one / "gate.json") for version, one in names.items()}
    rows: dict[tuple[str, str, str], dict[str, Outcome]] = {}
    for version, outcomes in by_version.items():
        for one in outcomes:
            rows.setdefault((one["name"], one["scenario"], one["cell"]), {})[version] = one
    measured: list[dict[str, Any]] = [
        {"name": budget, "scenario": scenario, "cell": cell, "by_version": found}
        for (budget, scenario, cell), found in rows.items()
    ]
    document = {"format": FORMAT, "implementation": name, "versions": versions, "budgets": measured}
    write_text(results / "versions.json", json.dumps(document, indent=1) + "\n")
    write_shared(results)
    pictures = [Markup(picture(versions, one["by_version"])) for one in measured]  # noqa: S704 (drawn here)
    render(pages(OWN, TEMPLATES), "versions.html", results / "index.html", document | {"pictures": pictures})
    return results / "index.html"


def _outcomes(file: Path) -> list[Outcome]:
    """Everything that was judged of a version; nothing if its runs could not be carried out."""
    return [dict(one.data) for one in read_json(file).children("outcomes")] if file.exists() else []


def picture(versions: list[str], found: dict[str, Outcome]) -> str:
    """Draw one budget over all versions, with its bound; what was never reached has no point."""
    points = [
        {"version": version, "measured": one["measured"], "result": one["result"]}
        for version in versions
        if (one := found.get(version)) and one["measured"] is not None
    ]
    bounds = {one["bound"] for one in found.values() if one["bound"] is not None}
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
    return svg.both_grounds(svg.plain(style.specification(body)))
