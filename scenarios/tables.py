"""Lists whose entries are written as a table: what a column's entries share stands once, and so does what a row's do.

An entry of a list that has `columns` and `rows` stands for one entry per field of the table. A column is an entry with
`{name}` in its texts, where `name` is a value of the row or of the field; a text that is nothing but a name is replaced
by the value, or left out if that is null. A row is its values, and has an entry for each column. Or it has them in
`shared` and, in `fields`, for each column what only that entry has, or null for no entry. The entries come row by row.

The cases of a scenario may be such a list, too. Each entry then has its name as `case`. So may the cells of claims; an
entry has a `name` and a `cell`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from scenarios.errors import FieldPath, Problem, ScenarioError, choices, field_name
from scenarios.load import Document, document, read_nodes

_NAME: Final = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*)\}")
_NAMED: Final = {"cases": "case", "cells": "name"}  # the field that holds an entry's name
_NULL: Final = "tag:yaml.org,2002:null"
_MOST_VALUES: Final = 100_000  # of one table, before it is spread

Values = dict[str, yaml.Node]


def read(file: Path) -> Document:
    """Read a scenario or a file of claims as plain data, in which entries stand in place of tables.

    Raises ScenarioError for a file that cannot be read, and for a table that is none.
    """
    return document(file, spread(file, read_nodes(file)))


def spread(file: Path, node: yaml.MappingNode) -> yaml.MappingNode:
    """Replace the tables in a tree of nodes by their entries. Each entry has the line of its field.

    Raises ScenarioError for a table that is none.
    """
    try:
        fields = [(key, _by_name(key.value, value)) for key, value in _fields(node, ())]
        return yaml.MappingNode(node.tag, fields, node.start_mark, node.end_mark)
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


def _by_name(field: str, entries: yaml.Node) -> yaml.Node:
    """Make of a list of cases or cells the mapping that it stands for."""
    if field not in _NAMED or not isinstance(entries, yaml.SequenceNode):
        return entries
    if not entries.value:
        raise _TableError(entries, (field,), "found an empty list", f"entries with a {_NAMED[field]}, or no {field}")
    named: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for index, entry in enumerate(entries.value):
        values = _mapping(entry, (field, index))
        name = values.pop(_NAMED[field], None)
        if not isinstance(name, yaml.ScalarNode) or name.value in named:
            found = f"found {name.value!r}" if isinstance(name, yaml.ScalarNode) else "no text" if name else "missing"
            allowed = f"a name that no other of the {field} has"
            raise _TableError(entry, (field, index, _NAMED[field]), found, allowed)
        key = yaml.ScalarNode(name.tag, name.value, entry.start_mark, entry.end_mark)
        if field == "cells":
            if values.keys() != {"cell"}:
                raise _TableError(entry, (field, index), f"found {', '.join(values) or 'a name alone'}", "name, cell")
            named[name.value] = key, values["cell"]
        else:
            fields = [pair for pair in entry.value if pair[0].value in values]
            named[name.value] = key, yaml.MappingNode(entry.tag, fields, entry.start_mark, entry.end_mark)
    return yaml.MappingNode("tag:yaml.org,2002:map", list(named.values()), entries.start_mark, entries.end_mark)


def _entries(item: yaml.Node, path: FieldPath) -> Iterator[yaml.Node]:
    values = _values(item) if isinstance(item, yaml.MappingNode) else {}
    if not {"columns", "rows"} <= values.keys():
        yield _spread(item, path)
        return
    for name in values.keys() - {"columns", "rows"}:
        raise _TableError(values[name], (*path, name), "stands in a table", "columns, rows")
    listed = _list(values["columns"], (*path, "columns"))
    columns = [_mapping(column, (*path, "columns", index)) for index, column in enumerate(listed)]
    rows = _list(values["rows"], (*path, "rows"))
    if (count := len(rows) * sum(map(_count, listed))) > _MOST_VALUES:
        raise _TableError(values["rows"], (*path, "rows"), f"found {count} values", f"{_MOST_VALUES} at most")
    for index, row in enumerate(rows):
        yield from _of_row(row, columns, (*path, "rows", index))


def _of_row(row: yaml.Node, columns: list[Values], path: FieldPath) -> Iterator[yaml.Node]:
    values = _mapping(row, path)
    fields: list[yaml.Node] = [row] * len(columns)
    if "fields" in values:
        for name in values.keys() - {"shared", "fields"}:
            raise _TableError(values[name], (*path, name), "stands beside fields", "shared, fields")
        fields = _list(values["fields"], (*path, "fields"))
        values = _mapping(values.get("shared", row), (*path, "shared"))
        if len(fields) != len(columns):
            raise _TableError(row, (*path, "fields"), f"found {len(fields)}", f"one for each of {len(columns)} columns")
    for index, (column, field) in enumerate(zip(columns, fields, strict=True)):
        if field.tag != _NULL:
            own = {} if field is row else _mapping(field, (*path, "fields", index))
            yield _entry(column, values, own, field, (*path[:-2], "columns", index))


def _entry(column: Values, values: Values, own: Values, field: yaml.Node, path: FieldPath) -> yaml.Node:
    """Merge the column at `path` and a field, which takes precedence; every key has the field's line."""
    shared = {name: _filled(value, values | own, (*path, name)) for name, value in column.items() if name not in own}
    pairs: list[tuple[yaml.Node, yaml.Node]] = [
        (yaml.ScalarNode("tag:yaml.org,2002:str", name, field.start_mark, field.end_mark), value)
        for name, value in (shared | own).items()
        if value.tag != _NULL
    ]
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, field.start_mark, field.end_mark)


def _filled(value: yaml.Node, values: Values, path: FieldPath) -> yaml.Node:
    """Put values into texts; a text that is one name only is replaced by its value, so that a number stays one."""
    if isinstance(value, yaml.SequenceNode):
        items = [_filled(item, values, (*path, index)) for index, item in enumerate(value.value)]
        return yaml.SequenceNode(value.tag, items, value.start_mark, value.end_mark)
    if isinstance(value, yaml.MappingNode):
        fields = [(key, _filled(inner, values, (*path, key.value))) for key, inner in value.value]
        left = [(key, inner) for key, inner in fields if inner.tag != _NULL]
        return yaml.MappingNode(value.tag, left, value.start_mark, value.end_mark)
    if (alone := _NAME.fullmatch(value.value)) and alone[1] in values:
        return values[alone[1]]
    for match in _NAME.finditer(value.value):
        if not isinstance(values.get(match[1]), yaml.ScalarNode):
            raise _TableError(value, path, f"found {match[0]!r}", choices(list(values), match[1]))
    text = _NAME.sub(lambda match: str(values[match[1]].value), value.value)
    return yaml.ScalarNode(value.tag, text, value.start_mark, value.end_mark)


def _count(node: yaml.Node) -> int:
    """Count the values of a tree."""
    inner = node.value if isinstance(node, yaml.SequenceNode) else []
    inner = [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else inner
    return sum(map(_count, inner)) + 1


def _values(node: yaml.MappingNode) -> Values:
    return {key.value: value for key, value in node.value}


def _mapping(node: yaml.Node, path: FieldPath) -> Values:
    if not isinstance(node, yaml.MappingNode):
        raise _TableError(node, path, "no fields", "name: value")
    return _values(node)


def _list(node: yaml.Node, path: FieldPath) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode):
        raise _TableError(node, path, "no list", "a list")
    return list(node.value)
