"""Whether an implementation keeps its contract: what `testbed check` found, as a page."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from analysis.documents import Fields, read_if_made, read_json
from analysis.report.evidence import of_run
from scenarios.run_files import FAILED
from testbed.shared.formats import check
from testbed.shared.made import made_of
from testbed.shared.page import write_page

FILE: Final = "check.json"
FORMAT: Final = 1
FLOW: Final = "checked"
TEMPLATE: Final = Path(__file__).with_name("check.html")
# links stand beside the sentence, and stay right where the folder is moved
_PLACE: Final = re.compile(r" \(logs in .*\)$")


def write(results: Path, again: str) -> Path:
    """Write the page of a `testbed check`, which `again` repeats, into its folder; returns it.

    Raises:
        BadInputError: the folder has no check.json, or one of another format.
    """
    document = read_json(results / FILE)
    check(document, FORMAT)
    folders = [_folder(demand, results) for demand in document.children("findings")]
    demands = [
        _demand(demand, folder, results) for demand, folder in zip(document.children("findings"), folders, strict=True)
    ]
    values = {
        "implementation": document.get("implementation", str),
        "demands": demands,
        "wrong": sum(demand["wrong"] is not None for demand in demands),
        "complete": document.get("complete", bool),
    }
    left = [(folder, demand["wrong"]) for folder, demand in zip(folders, demands, strict=True) if folder]
    # where a demand wants a refusal, its run ends with one, and its folder is that of a failed run
    failed = sum(folder.name.startswith(FAILED) and wrong is not None for folder, wrong in left)
    made = replace(made_of([folder for folder, _ in left]), failed=failed)
    return write_page(results / "index.html", TEMPLATE, values, made, again, [FILE])


def _folder(finding: Fields, results: Path) -> Path | None:
    return next((results / finding.get("runs", str)).glob("*/*/*/*seed-*"), None)


def _demand(finding: Fields, folder: Path | None, results: Path) -> dict[str, Any]:
    """Give what the page says of a demand: how it was met, and what its run left, relative to the results."""
    wrong = finding.maybe("wrong", str)
    left = read_if_made(folder, "summary.json") if folder else None
    ends = ((left.maybe("flows", dict) if left else None) or {}).get(FLOW, {})
    return {
        "demand": finding.get("demand", str),
        "wastes": finding.maybe("wastes", str),
        "wrong": wrong and _PLACE.sub("", wrong),
        "received_bytes": ends.get("received_bytes"),
        "completed_ns": ends.get("completed_ns"),
        "exits": {side: ends.get(f"{side}_exit") for side in ("sender", "receiver")},
        "evidence": of_run(folder, results),
        "captures": [str(file.relative_to(results)) for file in sorted(folder.glob("pcap/*.pcap"))] if folder else [],
    }
