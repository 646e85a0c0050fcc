"""Reads JSON and YAML files field by field, with errors that a person can act on."""

import json
import re
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import yaml

from analysis.errors import BadInputError
from common import sums
from common.json_numbers import finite

T = TypeVar("T")

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")

_WORDS: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


class Fields:
    """A mapping that knows its file and its place there, so that errors name both."""

    def __init__(self, path: Path, data: object, place: str = "") -> None:
        self.path = path
        self.place = place
        if not isinstance(data, dict):
            raise self.error(place or "the file", data, "a mapping")
        self.data: dict[str, Any] = data

    def error(self, field: str, found: object, allowed: str) -> BadInputError:
        """Make an error that says file, field, what was found and what is allowed."""
        shown = "nothing" if found is None else repr(found)
        if len(shown) > 60:
            shown = shown[:57] + "..."
        return BadInputError(f"{self.path}: {field}: found {shown}, allowed is {allowed}")

    def name(self, field: str) -> str:
        """Where a field stands in the file."""
        return f"{self.place}.{field}" if self.place else field

    def get(self, field: str, kind: type[T]) -> T:
        """Get a field that must be there and of that kind; a float may be written as a whole number."""
        value = self.data.get(field)
        # bool is a subclass of int, but true is not a number
        good = isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)
        if not good and kind is float and isinstance(value, int) and not isinstance(value, bool):
            return cast(T, float(value))
        if not good:
            raise self.error(self.name(field), value, _WORDS[kind])
        return cast(T, value)

    def maybe(self, field: str, kind: type[T]) -> T | None:
        """Get a field that may be missing or null."""
        return None if self.data.get(field) is None else self.get(field, kind)

    def child(self, field: str) -> "Fields":
        """Get a mapping inside."""
        return Fields(self.path, self.get(field, dict), self.name(field))

    def children(self, field: str) -> "list[Fields]":
        """Get a list of mappings; a missing list is empty."""
        items = self.maybe(field, list) or []
        return [Fields(self.path, item, f"{self.name(field)}[{index}]") for index, item in enumerate(items)]


def read_json(path: Path) -> Fields:
    """Read a JSON file that holds a mapping."""
    text = _text(path)
    try:
        data = json.loads(text, parse_float=finite, parse_constant=finite)
        if _SURROGATE.search(text):
            json.dumps(data, ensure_ascii=False).encode()  # refuses half of a pair, which no file can hold
        return Fields(path, data)
    except UnicodeEncodeError:
        raise BadInputError(f"{path}: found half of a surrogate pair in a text; allowed: Unicode") from None
    except json.JSONDecodeError as error:
        raise BadInputError(f"{path}: line {error.lineno}: not JSON: {error.msg}") from error
    except ValueError as error:  # a number
        raise BadInputError(f"{path}: {error}") from None
    except RecursionError:
        raise BadInputError(f"{path}: nested too deeply") from None


def read_made(folder: Path, name: str) -> Fields:
    """Read a JSON file that an earlier step made in a folder, once its sum has been compared.

    Raises DamagedError.
    """
    return read_json(sums.checked(folder, name))


def read_if_made(folder: Path, name: str) -> Fields | None:
    """Read such a file; None where no step has made it. One that was removed is missed."""
    there = (folder / name).exists() or name in sums.known(folder)
    return read_made(folder, name) if there else None


def read_yaml(path: Path) -> Fields:
    """Read a YAML file that holds a mapping."""
    try:
        return Fields(path, yaml.load(_text(path), Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" line {where.line + 1}:" if where else ""
        raise BadInputError(f"{path}:{line} not YAML: {getattr(error, 'problem', error)}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise BadInputError(f"{path}: cannot be read: {reason}") from error
