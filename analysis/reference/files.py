"""The files of a reference set: one that says what it was made from, and one for each experiment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from analysis.documents import read_json
from analysis.errors import BadInputError

SET: Final = "set.json"
FORMAT: Final = 1
"""Of a reference set: set.json has it; one without is of the first."""


def files(folder: Path) -> dict[str, Path]:
    """Give the file of each experiment by its id, also of sets below the folder.

    Raises BadInputError where there are none.
    """
    found = {file.stem: file for file in sorted(folder.rglob("*.json")) if file.name != SET}
    if not found or not (folder / SET).exists():
        raise BadInputError(f"{folder}: there is no reference set (make one with: python -m analysis reference)")
    return found


def sets(folder: Path) -> dict[str, dict[str, Any]]:
    """Read what the set of each experiment says of itself, by its id. Raises BadInputError where there is none."""
    by_id = files(folder)
    read_once = {place: _read_set(place / SET) for place in {file.parent for file in by_id.values()}}
    return {name: read_once[file.parent] for name, file in by_id.items()}


def read(folder: Path) -> tuple[Mapping[str, Any], dict[str, dict[str, Any]]]:
    """Read a reference set: what the set says of itself, and what it has of each experiment, by its id.

    Raises BadInputError where there is none, where it has another format, or where an experiment is of another
    recording than its set.
    """
    by_id, of_set = files(folder), sets(folder)
    kept = {name: dict(read_json(file).data) for name, file in by_id.items()}
    for name, file in by_id.items():
        own, commit = kept[name].get("commit"), of_set[name].get("commit")
        if own != commit:
            raise BadInputError(f"{file}: found commit {own}; allowed: {commit}, as in its {SET}")
    return _read_set(folder / SET), kept


def _read_set(file: Path) -> dict[str, Any]:
    document = read_json(file)
    if (found := document.maybe("format", int) or 1) != FORMAT:
        raise document.error("format", found, str(FORMAT))
    return document.data
