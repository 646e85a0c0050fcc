"""Numbers that many cells have: a claims file names the cells once, and an entry says which of them it takes."""

from collections.abc import Iterator
from typing import Any, Final

from scenarios.errors import FieldPath, Problem, choices
from scenarios.load import Document

EACH: Final = "each"
MOST_NUMBERS: Final = 20_000


def problems(document: Document) -> Iterator[Problem]:
    """Find entries that name cells which the file does not name, or a cell and cells."""
    named = document.data.get("cells", {})
    numbers = 0
    for path, entries in _lists(document.data):
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict) or "cells" not in entry:
                continue
            if "cell" in entry:
                yield document.problem((*path, index, "cells"), "stands beside cell", "one of them")
            names, wanted = list(named), _wanted(entry, named)
            numbers += len(wanted)
            if numbers > MOST_NUMBERS:
                yield document.problem((*path, index, "cells"), f"found {numbers} numbers", f"{MOST_NUMBERS} at most")
                return
            unknown = [name for name in wanted if name not in names]
            if unknown or not wanted:
                wrong = f"found {unknown[0]!r}" if unknown else "none has a name"
                yield document.problem((*path, index, "cells"), wrong, f"{EACH}, or names of `cells`: {choices(names)}")


def one_each(data: dict[str, Any]) -> dict[str, Any]:
    """Return a checked claims file in which each number is of one cell at most.

    The name of the cell ends the name of the number, as in `mean queue, 10 flows`. In a figure it is the label, behind
    the entry's own label if it has one: `CUBIC: 10 flows`.
    """
    made = dict(data)
    for path, entries in _lists(data):
        spread = [spread_out for entry in entries for spread_out in _of_each(entry, data.get("cells", {}))]
        if path == ("figure", "values"):
            made["figure"] = {**data["figure"], "values": spread}
        else:
            made["also_measured"] = spread
    return made


def _lists(data: dict[str, Any]) -> Iterator[tuple[FieldPath, list[Any]]]:
    if "also_measured" in data:
        yield ("also_measured",), data["also_measured"]
    if isinstance(data["figure"].get("values"), list):
        yield ("figure", "values"), data["figure"]["values"]


def _of_each(entry: Any, named: dict[str, str]) -> Iterator[Any]:
    if not isinstance(entry, dict) or "cells" not in entry:
        yield entry
        return
    for name in _wanted(entry, named):
        own = {key: value for key, value in entry.items() if key != "cells"} | {"cell": named[name]}
        if "metric" in own:
            own["metric"] = f"{own['metric']}, {name}"
        else:
            own["label"] = f"{own['label']}: {name}" if "label" in own else name
        yield own


def _wanted(entry: dict[str, Any], named: dict[str, str]) -> list[Any]:
    wanted = list(named) if entry["cells"] == EACH else entry["cells"]
    return wanted if isinstance(wanted, list) else [wanted]
