"""Lists whose entries are written as a table: what a column's entries share stands once, and so does what a row's do.

An entry of a list that has `columns` and `rows` stands for one entry per field of the table. A column is an entry with
`{name}` in its texts, where `name` is a word of the row or of the field; a text that is nothing but a null word is left
out. A row is its words, and has an entry for each column. Or it has `words` and, in `fields`, for each column what only
that entry has, or null for no entry. The entries come row by row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from scenarios.errors import FieldPath, Problem, ScenarioError, choices, field_name

_WORD: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NULL: Final = "tag:yaml.org,2002:null"

Words = dict[str, yaml.Node]


def spread(file: Path, node: yaml.MappingNode) -> yaml.MappingNode:
    """Replace the tables in a tree of nodes by their entries. Each entry has the line of its field.

    Raises ScenarioError for a table that is none.
    """
    try:
        return yaml.MappingNode(node.tag, _fields(node, ()), node.start_mark, node.end_mark)
    except _TableError as error:
        line = error.node.start_mark.line + 1
        raise ScenarioError([Problem(file, line, field_name(error.path), error.found, error.allowed)]) from None


class _TableError(ValueError):
    def __init__(self, node: yaml.Node, path: FieldPath, found: str, allowed: str) -> None:
        super().__init__()
        self.node, self.path, self.found, self.allowed = node, path, found, allowed


def _spread(node: yaml.Node, path: FieldPath) -> yaml.Node:
    if isinstance(node, yaml.MappingNode):
        return yaml.MappingNode(node.tag, _fields(node, path), node.start_mark, node.end_mark)
    if isinstance(node, yaml.SequenceNode):
        entries = [entry for index, item in enumerate(node.value) for entry in _entries(item, (*path, index))]
        return yaml.SequenceNode(node.tag, entries, node.start_mark, node.end_mark)
    return node


def _fields(node: yaml.MappingNode, path: FieldPath) -> list[tuple[yaml.Node, yaml.Node]]:
    return [(key, _spread(value, (*path, key.value))) for key, value in node.value]


def _entries(item: yaml.Node, path: FieldPath) -> Iterator[yaml.Node]:
    words = _words(item) if isinstance(item, yaml.MappingNode) else {}
    if not {"columns", "rows"} <= words.keys():
        yield _spread(item, path)
        return
    for name in words.keys() - {"columns", "rows"}:
        raise _TableError(words[name], (*path, name), "stands in a table", "columns, rows")
    listed = _list(words["columns"], (*path, "columns"))
    columns = [_mapping(column, (*path, "columns", index)) for index, column in enumerate(listed)]
    for index, row in enumerate(_list(words["rows"], (*path, "rows"))):
        yield from _of_row(row, columns, (*path, "rows", index))


def _of_row(row: yaml.Node, columns: list[Words], path: FieldPath) -> Iterator[yaml.Node]:
    words = _mapping(row, path)
    fields: list[yaml.Node] = [row] * len(columns)
    if "fields" in words:
        for name in words.keys() - {"words", "fields"}:
            raise _TableError(words[name], (*path, name), "stands beside fields", "words, fields")
        fields = _list(words["fields"], (*path, "fields"))
        words = _mapping(words.get("words", row), (*path, "words"))
        if len(fields) != len(columns):
            raise _TableError(row, (*path, "fields"), f"found {len(fields)}", f"one for each of {len(columns)} columns")
    for index, (column, field) in enumerate(zip(columns, fields, strict=True)):
        if field.tag != _NULL:
            own = {} if field is row else _mapping(field, (*path, "fields", index))
            yield _entry(column, words, own, field, (*path[:-2], "columns", index))


def _entry(column: Words, words: Words, own: Words, field: yaml.Node, path: FieldPath) -> yaml.Node:
    """Merge the column at `path` and a field, which takes precedence; every key has the field's line."""
    shared = {name: _filled(value, words | own, (*path, name)) for name, value in column.items() if name not in own}
    pairs: list[tuple[yaml.Node, yaml.Node]] = [
        (yaml.ScalarNode("tag:yaml.org,2002:str", name, field.start_mark, field.end_mark), value)
        for name, value in (shared | own).items()
        if value.tag != _NULL
    ]
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, field.start_mark, field.end_mark)


def _filled(value: yaml.Node, words: Words, path: FieldPath) -> yaml.Node:
    """Put words into a text; a text that is one word only is replaced by it, so that a number stays one."""
    if not isinstance(value, yaml.ScalarNode):
        return value
    for match in _WORD.finditer(value.value):
        if not isinstance(words.get(match[1]), yaml.ScalarNode):
            raise _TableError(value, path, f"found {match[0]!r}", choices(list(words), match[1]))
    if alone := _WORD.fullmatch(value.value):
        return words[alone[1]]
    text = _WORD.sub(lambda match: str(words[match[1]].value), value.value)
    return yaml.ScalarNode(value.tag, text, value.start_mark, value.end_mark)


def _words(node: yaml.MappingNode) -> Words:
    return {key.value: value for key, value in node.value}


def _mapping(node: yaml.Node, path: FieldPath) -> Words:
    if not isinstance(node, yaml.MappingNode):
        raise _TableError(node, path, "no fields", "name: value")
    return _words(node)


def _list(node: yaml.Node, path: FieldPath) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode):
        raise _TableError(node, path, "no list", "a list")
    return list(node.value)
