"""Reads YAML files into plain data that still knows the line of every value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer, ComposerError

from scenarios.errors import FieldPath, Problem, ScenarioError, field_name


class _TooManyNodesError(ComposerError):
    """More names and values than can be checked while somebody waits."""


class _Loader(Composer, yaml.CBaseLoader):
    """Loads YAML 1.2 scalars: `on`, `off`, `yes`, `no`, `1:30` and `010` are text, as an event's `on:` requires.

    Refuses aliases: a few lines of them can stand for more data than any memory holds, or for themselves. libyaml reads
    the text; this class composes the nodes, so that it can refuse aliases, and more nodes than can be checked at once.
    """

    def __init__(self, text: str) -> None:
        """Start at the beginning of `text`."""
        yaml.CBaseLoader.__init__(self, text)
        Composer.__init__(self)
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose the next node, unless it is an alias or one too many."""
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            mark: Any = self.peek_event().start_mark  # type: ignore[union-attr]  # which libyaml has made
            raise _TooManyNodesError(None, None, None, mark)
        if self.check_event(yaml.AliasEvent):
            mark = self.get_event().start_mark  # type: ignore[union-attr]  # which libyaml has made
            raise ComposerError(None, None, "aliases are not allowed here", mark)
        return super().compose_node(parent, index)


_LARGEST_BYTES = 1 << 20
_MOST_NODES = 20_000
_Loader.yaml_implicit_resolvers = {}

for _tag, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


_RESOLVER = _Loader("")


@dataclass(frozen=True)
class Document:
    """Plain data of a file, with the line (from 1) of each field."""

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

    Raises ScenarioError for a file that cannot be read, is not YAML or not a mapping, or names a field twice.
    """
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            raise ScenarioError([Problem(file, 1, "(whole file)", "too large", f"{_LARGEST_BYTES} bytes at most")])
        text = file.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=_Loader)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ScenarioError([Problem(file, 1, "(whole file)", f"cannot be read: {reason}", "a YAML file")]) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        if isinstance(error, _TooManyNodesError):
            allowed = f"{_MOST_NODES} names and values"
            raise ScenarioError([Problem(file, line, "(whole file)", "too many of them", allowed)]) from None
        raise ScenarioError([_no_yaml(file, text, line, error)]) from None
    except yaml.YAMLError:
        raise ScenarioError([Problem(file, 1, "(whole file)", "no YAML: an unprintable character", "YAML")]) from None
    except RecursionError:
        raise ScenarioError([Problem(file, 1, "(whole file)", "nested too deeply", "a scenario's fields")]) from None
    if not isinstance(node, yaml.MappingNode):
        raise ScenarioError([Problem(file, 1, "(whole file)", "no mapping of fields", "field: value")])
    foreign = [Problem(file, line, field_name(path), what, allowed) for path, line, what, allowed in _foreign(node, ())]
    if foreign:
        raise ScenarioError(foreign)
    duplicates = [
        Problem(file, line, field_name(path), f"named again (first on line {first})", "each field once")
        for path, first, line in _duplicates(node, ())
    ]
    if duplicates:
        raise ScenarioError(duplicates)
    return node


def _no_yaml(file: Path, text: str, line: int, error: yaml.MarkedYAMLError) -> Problem:
    """Name what libyaml cannot read: a tab where a line is indented, or the line with what the library says of it."""
    shown = "".join(text.splitlines()[line - 1 : line])  # nothing where the end comes too early
    if "\t" in shown[: len(shown) - len(shown.lstrip())]:
        return Problem(file, line, "(whole file)", "found a tab before the line's text", "spaces")
    around = f" of line {error.context_mark.line + 1}" if error.context and error.context_mark else ""
    said = "; ".join(part for part in (error.problem, f"{error.context}{around}" if error.context else "") if part)
    where = f" in {shown.strip()!r}" if shown.strip() else ""
    return Problem(file, line, "(whole file)", f"no YAML{where}: {said}", "YAML")


def document(file: Path, node: yaml.MappingNode) -> Document:
    """Turn a tree of nodes, which may be merged from several places of `file`, into plain data."""
    lines: dict[FieldPath, int] = {(): node.start_mark.line + 1}
    return Document(file, _plain(node, (), lines), lines)


def read(file: Path) -> Document:
    """Read a whole file as plain data with lines; raises the errors of `read_nodes`."""
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
    return yaml.constructor.SafeConstructor().construct_object(node)


def _foreign(node: yaml.Node, path: FieldPath) -> Iterator[tuple[FieldPath, int, str, str]]:
    """Find what YAML allows and this project does not: names that are not text, explicit tags, malformed numbers."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield from _foreign(value, (*path, key.value))
            else:
                yield path, line, "a field whose name is no text", "names"
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _foreign(item, (*path, index))
    elif isinstance(node, yaml.ScalarNode) and node.tag != _implied(node):
        yield path, line, f"a value with the tag {node.tag}", "text, numbers, true, false, null"
    else:
        try:
            value = _plain(node, path, {})
        except (ValueError, LookupError):
            value = math.inf
        if isinstance(value, float) and not math.isfinite(value):
            shown = node.value if len(node.value) < 50 else f"{node.value[:50]}..."
            yield path, line, f"found {shown!r}", f"a value of {node.tag.rpartition(':')[2]}"


def _implied(node: yaml.ScalarNode) -> str:
    """Return the tag that a value has without one."""
    plain = not node.style
    return str(_RESOLVER.resolve(yaml.ScalarNode, node.value, (plain, not plain)))  # type: ignore[no-untyped-call]


def _duplicates(node: yaml.Node, path: FieldPath) -> list[tuple[FieldPath, int, int]]:
    """Return the fields named twice: path, first line, second line."""
    duplicates: list[tuple[FieldPath, int, int]] = []
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            duplicates += _duplicates(item, (*path, index))
    elif isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in first:
                duplicates.append(((*path, key.value), first[key.value], line))
            first.setdefault(key.value, line)
            duplicates += _duplicates(value, (*path, key.value))
    return duplicates
