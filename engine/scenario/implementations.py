"""The implementations that scenarios may name: folders of images/implementations, each with an implementation.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.scenario import load, schema
from engine.scenario.errors import FieldPath, Problem, ScenarioError, choices
from engine.scenario.load import Document
from engine.scenario.units import QUANTITIES, UnitError

IMPLEMENTATIONS = Path(__file__).parents[2] / "images" / "implementations"

Implementation = dict[str, Any]


def known(folder: Path = IMPLEMENTATIONS) -> dict[str, Implementation]:
    """Every implementation by its name, as its file describes it, defaults filled in.

    Raises ScenarioError for a file that departs from the schema.
    """
    found: dict[str, Implementation] = {}
    for file in sorted(folder.glob("*/implementation.yaml")):
        document = load.read(file)
        rules = schema.load_schema("implementation")
        wrong = schema.problems(document, rules)
        if wrong:
            raise ScenarioError(wrong)
        found[file.parent.name] = schema.with_defaults(document.data, rules, rules)
    return found


def parameter_problems(document: Document, path: FieldPath, declared: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the `params` of the flow at `path` against the parameters its implementation declares."""
    params: dict[str, object] = _at(document.data, (*path, "params")) or {}
    for name, value in params.items():
        field = (*path, "params", name)
        if name not in declared:
            yield document.problem(field, "unknown parameter", choices(list(declared), name))
            continue
        allowed = _allowed(declared[name])
        try:
            number = _read(declared[name]["type"], value)
        except UnitError as error:
            yield document.problem(field, str(error), allowed)
            continue
        low, high = _range(declared[name])
        if not low <= number <= high:
            yield document.problem(field, f"found {value!r}, out of range", allowed)


def resolved_parameters(given: Mapping[str, object], declared: Mapping[str, Any]) -> dict[str, int | bool]:
    """Each declared parameter with its value or default; quantities as integers, named like `target_ns`."""
    values = {}
    for name, parameter in declared.items():
        kind = parameter["type"]
        suffix = f"_{QUANTITIES[kind].suffix}" if kind in QUANTITIES else ""
        values[name + suffix] = _read(kind, given.get(name, parameter["default"]))
    return values


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnitError(f"found {value!r}")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnitError(f"found {value!r}")
    return value


_READERS: dict[str, Callable[[object], int | bool]] = {"bool": _bool, "int": _int}
_WORDS = {"bool": "true or false", "int": "a whole number"}


def _read(kind: str, value: object) -> int | bool:
    return _READERS[kind](value) if kind in _READERS else QUANTITIES[kind].parse(value)


def _range(parameter: Mapping[str, Any]) -> tuple[float, float]:
    if "range" not in parameter:
        return float("-inf"), float("inf")
    low, high = (_read(parameter["type"], bound) for bound in parameter["range"])
    return low, high


def _allowed(parameter: Mapping[str, Any]) -> str:
    kind = parameter["type"]
    words = _WORDS.get(kind) or str(QUANTITIES[kind])
    return f"{words}, {parameter['range'][0]} to {parameter['range'][1]}" if "range" in parameter else words


def _at(data: Any, path: FieldPath) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data.get(path[-1])
