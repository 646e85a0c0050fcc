"""Several evaluations beside each other: a page whose cells open their evidence, and tables in Markdown."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.errors import BadInputError
from analysis.judge.verdict import WORST_FIRST, Verdict, counted, worst
from common.counts import plural
from common.sums import DamagedError
from testbed.evaluate.pages import FORMAT
from testbed.shared.formats import read_of_format
from testbed.shared.page import write_page

DATA: Final = "evaluation.json"
TEMPLATE: Final = Path(__file__).with_name("matrix.html")


def write(into: Path) -> Path:
    """Write index.html of a folder whose folders are evaluations, by the names of their controls; return it.

    One that is damaged, or of another format, is named on standard error and left out.
    """
    documents = dict(_evaluations(into))
    criteria = {criterion["id"]: criterion for document in documents.values() for criterion in document["criteria"]}
    rows = [criterion for criterion in criteria.values() if criterion["rows"]]
    cells = {
        (name, criterion["id"]): {
            "verdict": criterion["verdict"],
            "text": counted(verdicts([criterion])),
        }
        for name, document in documents.items()
        for criterion in document["criteria"]
    }
    values = {
        "title": _title(documents),
        "documents": documents,
        "rows": sorted(rows, key=lambda criterion: [int(part) for part in criterion["section"].split(".")]),
        "cells": cells,
        "verdicts": WORST_FIRST,
        "words": Counter(
            cells[name, row["id"]]["verdict"] for name in documents for row in rows if (name, row["id"]) in cells
        ),
        "placebos": {name: _placebo(document) for name, document in documents.items()},
        "counts": {name: Counter(verdicts(document["criteria"])) for name, document in documents.items()},
    }
    return write_page(into / "index.html", TEMPLATE, values, made=None, again="")


def _title(documents: Mapping[str, dict[str, Any]]) -> str:
    """Say what came out, for the page's head."""
    meet = [
        name
        for name, document in documents.items()
        if not any(criterion["rows"] and criterion["verdict"] == Verdict.FAILS for criterion in document["criteria"])
    ]
    controls = plural(len(documents), "congestion control")
    looks = sum(document["seeds"] == 1 for document in documents.values())
    hedge = f" ({f'{looks} of them' if looks < len(documents) else 'each'} in one seed)" if looks else ""
    return f"{len(meet) or 'None'} of {controls}{hedge} met all that was measured of RFC 9743's criteria"


def _evaluations(into: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in sorted(file.parent for file in into.glob(f"*/{DATA}")):
        try:
            yield folder.name, read_of_format(folder, DATA, FORMAT).data
        except (BadInputError, DamagedError) as error:
            print(f"left out of {into / 'index.html'}: {error}", file=sys.stderr)


def verdicts(criteria: Sequence[dict[str, Any]]) -> list[Verdict]:
    """List the verdicts of all cells of criteria."""
    return [Verdict(cell["verdict"]) for criterion in criteria for cell in criterion["cells"]]


def placebo_verdicts(criteria: Sequence[dict[str, Any]]) -> list[Verdict]:
    """List the placebo's verdicts in the same cells; none where a baseline has no placebo."""
    return [Verdict(cell["placebo"]) for criterion in criteria for cell in criterion["cells"] if cell.get("placebo")]


def _placebo(document: dict[str, Any]) -> dict[str, str] | None:
    """Give the worst verdict of the placebo beside a control, and how often it has which; None without one."""
    told = placebo_verdicts(document["criteria"])
    return {"verdict": worst(told), "text": counted(told)} if told else None
