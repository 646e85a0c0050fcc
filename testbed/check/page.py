"""Whether an implementation keeps its contract: what `testbed check` found, as a page."""

import re
from pathlib import Path
from typing import Any, Final

from analysis.documents import Fields, read_if_made, read_json
from analysis.report.evidence import of_run
from analysis.report.rendering import write_page

FILE: Final = "check.json"
FORMAT: Final = 1
FLOW: Final = "checked"
TEMPLATE: Final = Path(__file__).with_name("check.html")
# links stand beside the sentence, and stay right where the folder is moved
_PLACE: Final = re.compile(r" \(logs in .*\)$")


def write(results: Path) -> Path:
    """Write the page of a `testbed check` into its folder; returns it.

    Raises:
        BadInputError: the folder has no check.json, or one of another format.
    """
    document = read_json(results / FILE)
    if document.get("format", int) != FORMAT:
        raise document.error("format", document.data["format"], str(FORMAT))
    demands = [_demand(demand, results) for demand in document.children("findings")]
    versions = {name: version for demand in demands for name, version in demand["versions"].items()}
    values = {
        "implementation": document.get("implementation", str),
        "demands": demands,
        "wrong": sum(demand["wrong"] is not None for demand in demands),
        "complete": document.get("complete", bool),
        "versions": versions,
        "provenance": next((demand["provenance"] for demand in demands if demand["provenance"]), {}),
    }
    return write_page(results / "index.html", TEMPLATE, values)


def _demand(finding: Fields, results: Path) -> dict[str, Any]:
    """Give what the page says of a demand: how it was met, and what its run left, relative to the results."""
    wrong = finding.maybe("wrong", str)
    folder = next((results / finding.get("runs", str)).glob("*/*/*/*seed-*"), None)
    summary = _read(folder, "summary.json")
    ends = (summary.get("flows") or {}).get(FLOW, {})
    return {
        "demand": finding.get("demand", str),
        "wrong": wrong and _PLACE.sub("", wrong),
        "received_bytes": ends.get("received_bytes"),
        "completed_ns": ends.get("completed_ns"),
        "exits": {side: ends.get(f"{side}_exit") for side in ("sender", "receiver")},
        "versions": summary.get("versions") or {},
        "provenance": _read(folder, "run.json").get("provenance", {}),
        "evidence": of_run(folder, results),
        "captures": [str(file.relative_to(results)) for file in sorted(folder.glob("pcap/*.pcap"))] if folder else [],
    }


def _read(folder: Path | None, name: str) -> dict[str, Any]:
    """Give what a run left in a file; nothing where it failed before it wrote it."""
    left = read_if_made(folder, name) if folder else None
    return left.data if left else {}
