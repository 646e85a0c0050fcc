"""YAML files to plain data in which every value still knows the line it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from engine.scenario.errors import FieldPath, Problem, ScenarioError, field_name


class _Loader(yaml.SafeLoader):
    """YAML 1.2 scalars: `on`, `off`, `yes`, `no` and `1:30` are text, as a reader of an event's `on:` expects."""


_Loader.yaml_implicit_resolvers = {}

for _tag, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


@dataclass(frozen=True)
class Document:
    """Plain data, and the line (from 1) of each field in the file it came from."""

    file: Path
    data: dict[str, Any]
    lines: dict[FieldPath, int]

    def problem(self, path: FieldPath, found: str, allowed: str) -> Problem:
        """Report the field at `path`; a missing one has the line of the nearest field around it."""
        around = path
        while around not in self.lines:
            around = around[:-1]
        return Problem(self.file, self.lines[around], field_name(path), found, allowed)


def read_nodes(file: Path) -> yaml.MappingNode:
    """Read the file as a tree of YAML nodes.

    Raises ScenarioError for a file that cannot be read, is no YAML, is no mapping, or names a field twice.
    """
    try:
        node = yaml.compose(file.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ScenarioError([Problem(file, 1, "(whole file)", f"cannot be read: {reason}", "a YAML file")]) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ScenarioError([Problem(file, line, "(whole file)", f"no YAML: {error.problem}", "YAML")]) from None
    if not isinstance(node, yaml.MappingNode):
        raise ScenarioError([Problem(file, 1, "(whole file)", "no mapping of fields", "field: value")])
    duplicates = [
        Problem(file, line, field_name(path), f"named again (first on line {first})", "each field once")
        for path, first, line in _duplicates(node, ())
    ]
    if duplicates:
        raise ScenarioError(duplicates)
    return node


def document(file: Path, node: yaml.MappingNode) -> Document:
    """Turn a tree of nodes into plain data; it may have been merged from several places of `file`."""
    lines: dict[FieldPath, int] = {(): node.start_mark.line + 1}
    return Document(file, _plain(node, (), lines), lines)


def read(file: Path) -> Document:
    """Read the whole file as plain data with lines; errors as in `read_nodes`."""
    return document(file, read_nodes(file))


def _plain(node: yaml.Node, path: FieldPath, lines: dict[FieldPath, int]) -> Any:
    if isinstance(node, yaml.MappingNode):
        data = {}
        for key, value in node.value:
            lines[*path, key.value] = key.start_mark.line + 1
            data[key.value] = _plain(value, (*path, key.value), lines)
        return data
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[*path, index] = item.start_mark.line + 1
        return [_plain(item, (*path, index), lines) for index, item in enumerate(node.value)]
    constructor = yaml.constructor.SafeConstructor()
    return constructor.construct_object(node)


def _duplicates(node: yaml.Node, path: FieldPath) -> list[tuple[FieldPath, int, int]]:
    """Fields named twice: path, first line, second line."""
    found: list[tuple[FieldPath, int, int]] = []
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            found += _duplicates(item, (*path, index))
    elif isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in first:
                found.append(((*path, key.value), first[key.value], line))
            first.setdefault(key.value, line)
            found += _duplicates(value, (*path, key.value))
    return found
