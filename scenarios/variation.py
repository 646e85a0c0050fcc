"""How the cells of a scenario differ: its `matrix` and its `cases`.

All work on trees of YAML nodes, so that each problem in a cell has the line of the file that it comes from.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from scenarios import load, schema
from scenarios.errors import FieldPath, Problem, ScenarioError, choices
from scenarios.load import Document
from scenarios.units import parse

FIELDS = ("matrix", "cases")
"""These define the cells; no single cell has them."""
MOST_VALUES = 1_000_000
"""In all cells of a scenario together; checking so many takes about a minute."""

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


def check_variation(document: Document, rules: schema.Schema, given: Sequence[str] = ()) -> None:
    """Refuse a malformed matrix or case before cells are built from it; names of `given` may stand in `${}`, too."""
    properties = {name: rules["properties"][name] for name in FIELDS}
    wrong = schema.problems(document, {"properties": properties})
    if wrong:
        raise ScenarioError(wrong)
    allowed = [name for name in rules["properties"] if name not in ("experiment", *FIELDS)]
    wrong += [
        document.problem(("cases", case, name), "no field that may differ here", choices(allowed, name))
        for case, changes in document.data.get("cases", {}).items()
        for name in changes
        if name not in allowed
    ]
    rest = {name: value for name, value in document.data.items() if name != "matrix"}
    wrong += unknown_names(document, (), rest, [*document.data.get("matrix", {}), *given], replaced=False)
    used = set(_placeholders(rest))
    wrong += [
        document.problem(("matrix", name), "not used", f'"${{{name}}}" in some field')
        for name in document.data.get("matrix", {})
        if name not in used
    ]
    if wrong:
        raise ScenarioError(wrong)
    _check_count(document)


def _placeholders(data: Any) -> Iterator[str]:
    """Name what stands in `${}`."""
    if isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from _placeholders(value)
    elif isinstance(data, str):
        yield from _PLACEHOLDER.findall(data)


def _check_count(document: Document) -> None:
    """Refuse more cells than anyone can wait for, before the first is built."""
    matrix, cases = document.data.get("matrix", {}), document.data.get("cases", {})
    lengths = [len(values) for values in matrix.values()] + ([len(cases)] if cases else [])
    cells = math.prod(lengths)
    rest = {name: value for name, value in document.data.items() if name not in FIELDS}
    values = _count(rest) + max(map(_count, cases.values()), default=0)
    if cells > 1 and cells * values > MOST_VALUES:
        found = f"{cells} cells ({' x '.join(map(str, lengths))}) of {values} values each"
        allowed = f"at most {MOST_VALUES} values, here {MOST_VALUES // values} cells"
        raise ScenarioError([document.problem(("matrix" if matrix else "cases",), found, allowed)])


def _count(data: Any) -> int:
    """Count the values that are not lists or mappings."""
    if isinstance(data, dict | list):
        return sum(map(_count, data.values() if isinstance(data, dict) else data))
    return 1


def points(root: yaml.MappingNode) -> Iterator[tuple[dict[str, Any], yaml.MappingNode]]:
    """Yield the values and the nodes of each cell."""
    base = yaml.MappingNode(
        root.tag, [pair for pair in root.value if pair[0].value not in FIELDS], root.start_mark, root.end_mark
    )
    matrix = {key.value: values.value for key, values in _child(root, "matrix").value}
    plain = load.document(Path(), _child(root, "matrix")).data
    cases = _child(root, "cases").value or [(None, None)]
    for (case, changes), *_ in itertools.product(cases):
        varied = base if case is None else _merged(base, changes)
        for indices in itertools.product(*(range(len(values)) for values in matrix.values())):
            chosen = dict(zip(matrix, indices, strict=True))
            values = {} if case is None else {"case": case.value}
            values |= {name: plain[name][index] for name, index in chosen.items()}
            nodes = {name: matrix[name][index] for name, index in chosen.items()}
            yield values, _substituted(varied, nodes)


def repeated(cell: yaml.MappingNode) -> yaml.MappingNode:
    """Make of each flow that has a `count` so many flows, between successive pairs of hosts."""
    [flows] = [pair for pair in cell.value if pair[0].value == "flows"]
    listed = []
    for flow in flows[1].value:
        fields = {key.value: value for key, value in flow.value}
        count, every = fields.pop("count", None), fields.pop("every", None)
        for number in range(int(count.value) if count else 1):
            later_ns = number * parse(every.value, "time") if every else 0
            own = fields
            if count:
                start_ns = parse(fields["start"].value, "time") if "start" in fields else 0
                texts = {"name": f"{fields['name'].value}-{number + 1}", "start": f"{start_ns + later_ns}ns"}
                texts |= {end: _next_host(fields[end].value, number) for end in ("from", "to")}
                own = fields | {name: _text(text, fields.get(name, flow)) for name, text in texts.items()}
            pairs = [(_text(name, value), value) for name, value in own.items()]
            listed.append(yaml.MappingNode(flow.tag, pairs, flow.start_mark, flow.end_mark))
    all_flows = yaml.SequenceNode(flows[1].tag, listed, flows[1].start_mark, flows[1].end_mark)
    values = [(flows[0], all_flows) if pair is flows else pair for pair in cell.value]
    return yaml.MappingNode(cell.tag, values, cell.start_mark, cell.end_mark)


def _next_host(name: str, further: int) -> str:
    """Return the host of the pair that is so much further; what is no host stays as it is."""
    letter, number = name[:1], name[1:]
    return f"{letter}{int(number) + further}" if number.isdecimal() else name


def _text(text: str, place: yaml.Node) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, place.start_mark, place.end_mark)


def unknown_names(
    document: Document, path: FieldPath, data: Any, names: list[str], replaced: bool = True
) -> Iterator[Problem]:
    """Find every `${name}` whose name the matrix does not have: any that is left once names are `replaced`."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from unknown_names(document, (*path, key), value, names, replaced)
    elif isinstance(data, str):
        for name in dict.fromkeys(_PLACEHOLDER.findall(data)):
            if name in names and not replaced:
                continue
            yield document.problem(path, f"unknown name ${{{name}}}", f"names of the matrix: {choices(names, name)}")


def _child(mapping: yaml.MappingNode, name: str) -> yaml.MappingNode:
    """Return the mapping under `name`, empty if there is none."""
    child = next((value for key, value in mapping.value if key.value == name), None)
    return child or yaml.MappingNode("tag:yaml.org,2002:map", [], mapping.start_mark, mapping.end_mark)


def _merged(base: yaml.Node, changes: yaml.Node) -> Any:
    """Update `base` with `changes`: mappings field by field; anything else is replaced."""
    if not (isinstance(base, yaml.MappingNode) and isinstance(changes, yaml.MappingNode)):
        return changes
    fields = {key.value: (key, value) for key, value in base.value}
    for key, value in changes.value:
        old = fields.get(key.value)
        fields[key.value] = (key, _merged(old[1], value) if old else value)
    return yaml.MappingNode(base.tag, list(fields.values()), base.start_mark, base.end_mark)


def _substituted(node: yaml.Node, values: dict[str, yaml.ScalarNode]) -> Any:
    """Replace `${name}` in the tree; a field that consists of nothing else gets the value with its type."""
    if isinstance(node, yaml.MappingNode):
        pairs = [(key, _substituted(value, values)) for key, value in node.value]
        return yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark)
    if isinstance(node, yaml.SequenceNode):
        items = [_substituted(item, values) for item in node.value]
        return yaml.SequenceNode(node.tag, items, node.start_mark, node.end_mark)
    names = set(_PLACEHOLDER.findall(node.value)) & values.keys()
    if not names:
        return node
    whole = _PLACEHOLDER.fullmatch(node.value)
    if whole:
        value = values[whole[1]]
        return yaml.ScalarNode(value.tag, value.value, node.start_mark, node.end_mark)
    text = _PLACEHOLDER.sub(lambda match: values[match[1]].value if match[1] in values else match[0], node.value)
    return yaml.ScalarNode(node.tag, text, node.start_mark, node.end_mark)
