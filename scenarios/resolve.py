"""Resolves a scenario file to its cells, and a cell with a seed to the run.json in which every value is decided."""

from __future__ import annotations

import copy
import itertools
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scenarios import checks, enough, implementations, load, rate_traces, schema
from scenarios.errors import FieldPath, Problem, ScenarioError, choices
from scenarios.implementations import Implementation
from scenarios.load import Document
from scenarios.plan.hosts import hosts
from scenarios.plan.lead import lead
from scenarios.plan.sizes import TooLargeError, sizes
from scenarios.units import parse
from topologies import by_name
from topologies.links.queues import QUEUES

MOST_VALUES = 1_000_000
"""In all cells of a scenario together; checking so many takes about a minute."""
MOST_WRONG_CELLS = 20
"""After which a scenario is refused, whatever its other cells are like."""
MOST_RUNS = 100_000
"""Of a scenario. More would take a processor over a day, because each run takes at least a second."""

FORMAT = 2
FIRST_PORT = 5001
"""The receiver of flow number k (from 0) listens on this plus k."""
SIZES = ("full", "quick")

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
# These fields define the cells; no single cell has them.
_VARIATION = ("matrix", "cases", "quick")
# These are resolved into other fields of a cell or a run.
_RESOLVED = (*_VARIATION, "experiment", "seeds", "start_jitter_ns", "delay_spread_ns", "paired")


@dataclass(frozen=True)
class Cell:
    """One point of a scenario's matrix: everything about its runs except the seed."""

    scenario: Path
    study: str
    experiment: str
    name: str  # "single", or "case=a,buffer=40p": also the name of its folder
    draws: str  # the same without what `paired` names; what is drawn depends on it
    size: str
    seeds: range
    start_jitter_ns: dict[str, int]  # by flow
    delay_spread_ns: int
    settings: dict[str, Any]  # run.json without the seed; starts without jitter
    known: dict[str, Implementation]  # every implementation by its name, as this cell was checked against

    @property
    def virtual_s(self) -> float:
        """Length of one run in virtual seconds."""
        return float(self.settings["duration_ns"] / 1e9)


def expand(scenario: Path, size: str) -> list[Cell]:
    """List the cells of a scenario file at a size ('full' or 'quick'), checked and in the order of the file.

    Raises ScenarioError with everything that is wrong in the file, before anything runs.
    """
    root = load.read_nodes(scenario)
    rules = schema.load_schema("scenario")
    _check_variation(load.document(scenario, root), rules)
    if size == "quick":
        root = _at_quick(root)
        _check_variation(load.document(scenario, root), rules)
    known = implementations.known()
    cells, wrong = [], list[Problem]()
    wrong_cells = 0
    for values, node in _points(root):
        document = load.document(scenario, node)
        of_cell = list(_unknown_names(document, (), document.data, [name for name in values if name != "case"]))
        of_cell = of_cell or schema.problems(document, rules)
        if not of_cell:
            document = load.document(scenario, _repeated(node))
            filled = schema.with_defaults(document.data, rules)
            for flow in filled["flows"]:
                implementations.split_sides(flow)
            of_cell = checks.problems(document, filled, known)
        if of_cell:
            wrong += of_cell
            wrong_cells += 1
            if wrong_cells == MOST_WRONG_CELLS:
                raise ScenarioError(wrong)
        else:
            cells.append(_cell(scenario, filled, values, size, known))
    document = load.document(scenario, root)
    runs = sum(len(cell.seeds) for cell in cells)
    if runs > MOST_RUNS:
        asked = f"{runs} runs in {len(cells)} cells"
        wrong.append(document.problem(("seeds", size), asked, f"{MOST_RUNS} or fewer"))
    if wrong:
        raise ScenarioError(wrong)
    axes = [*document.data.get("matrix", {}), *(["case"] if "cases" in document.data else [])]
    wrong += [
        document.problem(("paired", index), f"found {name!r}", choices(axes, name))
        for index, name in enumerate(document.data.get("paired", []))
        if name not in axes
    ]
    if wrong:
        raise ScenarioError(wrong)
    return cells


def resolve(cell: Cell, seed: int, backend: str = "virtual") -> dict[str, Any]:
    """Return the run.json of one run.

    The engine adds what only images and the host's clock tell: `provenance`, `agent`, `origin_ns` and, for programs in
    a root of their own, the `environment` of that.

    Raises ScenarioError for a run that no guest can hold.
    """
    run = copy.deepcopy(cell.settings)
    for flow in run["flows"]:
        flow["start_ns"] += int(_random(cell, seed, flow["name"]).random() * cell.start_jitter_ns[flow["name"]])
    if cell.delay_spread_ns:
        source = _random(cell, seed, "delay_spread")
        run["delay"] = {name: ns + int(source.random() * cell.delay_spread_ns) for name, ns in run["delay"].items()}
    for index, drawn in enumerate(run.pop("drawn_events")):
        run["events"] += _drawn(drawn, run["duration_ns"], _random(cell, seed, f"drawn_events[{index}]"))
    for index, trace in enumerate(run.pop("rate_traces", ())):
        source = _random(cell, seed, f"rate_traces[{index}]")
        steps = rate_traces.steps(trace, cell.scenario.parent, run["duration_ns"], source)
        step = {"on": trace["on"], "traced": True}
        run["events"] += [{"at_ns": at_ns, **step, "rate_bps": rate_bps} for at_ns, rate_bps in steps]
    run["events"] = _end_suspensions(run["events"], run["duration_ns"])
    run["events"].sort(key=lambda event: event["at_ns"])
    _place(run)
    head = {"format": FORMAT, "study": cell.study, "experiment": cell.experiment, "cell": cell.name, "size": cell.size}
    run = {**head, "cell_values": run.pop("cell_values"), "seed": seed, **run, "backend": backend}
    used = sorted(implementations.used_by(run["flows"]))
    run["implementations"] = copy.deepcopy({name: cell.known[name] for name in used})
    try:
        run |= {"lead": lead(run), "sizes": sizes(run)}
    except TooLargeError as error:
        raise ScenarioError([Problem(cell.scenario, 1, "(whole file)", error.found, error.allowed)]) from None
    return run | {"hosts": hosts(run)}


def _place(run: dict[str, Any]) -> None:
    """Place the run on its network: where flows go and what events change. Keep only the paths that flows use."""
    network = by_name.describe(run)
    network.keep_used(run["flows"])
    for index, flow in enumerate(run["flows"]):
        flow["from_address"], flow["to_address"] = (network.nodes[flow[end]].address for end in ("from", "to"))
        flow |= {"port": FIRST_PORT + index, "direction": network.direction(flow["from"])}
    for event in run["events"]:
        event["changes"] = network.changes(event)
    run["network"] = network.plain()


def _random(cell: Cell, seed: int, what: str) -> random.Random:
    """Return a source of its own for each thing that is drawn, so that one more leaves the others unchanged.

    `random.Random` promises the same `random()` for the same text on every machine and version.
    """
    return random.Random("/".join((cell.experiment, cell.draws, str(seed), what)))  # noqa: S311 (repeatable on purpose)


def _drawn(drawn: dict[str, Any], end_ns: int, source: random.Random) -> Iterator[dict[str, Any]]:
    """Draw the events of one entry of `drawn_events`."""

    def exponential_ns(mean_ns: int) -> int:
        return int(-math.log(1 - source.random()) * mean_ns)

    what = "delay" if "delay" in drawn else "suspension"
    bounds = drawn[what]
    at_ns = drawn["at_ns"] if "at_ns" in drawn else drawn["after_ns"] + exponential_ns(drawn["mean_gap_ns"])
    while at_ns < end_ns:
        if what == "delay":
            value_ns = bounds["base_ns"] + exponential_ns(bounds["mean_extra_ns"])
        else:
            value_ns = bounds["least_ns"] + int(source.random() * (bounds["most_ns"] - bounds["least_ns"]))
        directions = {f"{direction}_ns": value_ns for direction in bounds["directions"]}
        yield {"at_ns": at_ns, "on": drawn["on"], what: directions}
        at_ns += exponential_ns(drawn["mean_gap_ns"])


def _end_suspensions(events: list[dict[str, Any]], end_ns: int) -> list[dict[str, Any]]:
    """Return the events with those that end suspensions. One that begins during another only prolongs that."""
    ends: list[dict[str, Any]] = []
    groups = [list(group) for group in {tuple(event.get("pairs", ())) for event in events}]
    for direction, pairs in itertools.product(("forward_ns", "backward_ns"), sorted(groups)):
        spans: list[tuple[dict[str, Any], int]] = []
        for event in sorted(events, key=lambda event: event["at_ns"]):
            if direction in event.get("suspension", {}) and event.get("pairs", []) == pairs:
                until_ns = event["at_ns"] + event["suspension"][direction]
                if spans and event["at_ns"] <= spans[-1][1]:
                    del event["suspension"][direction]
                    event, until_ns = spans[-1][0], max(until_ns, spans.pop()[1])
                spans.append((event, until_ns))
        for event, until_ns in spans:
            event["suspension"][direction] = until_ns - event["at_ns"]
            if until_ns < end_ns:
                where: dict[str, Any] = {name: event[name] for name in ("on", "pairs") if name in event}
                ends.append({"at_ns": until_ns, **where, "suspension": {direction: 0}})
    left = [{name: value for name, value in event.items() if value != {}} for event in events + ends]
    return [event for event in left if event.keys() - {"at_ns", "on", "pairs"}]


def _cell(
    scenario: Path, filled: dict[str, Any], values: dict[str, Any], size: str, known: dict[str, Implementation]
) -> Cell:
    rules = schema.load_schema("scenario")
    data = schema.in_base_units(filled, rules)
    data.setdefault("backward_bottleneck", None)
    data.setdefault("delay_b", None)
    own = [peer[way] for peer in data.get("peers", ()) for way in ("up", "down") if way in peer]
    others = *data.get("more_bottlenecks", ()), *own, *data.get("cards", ())
    for link in (data["bottleneck"], data["backward_bottleneck"], *others):
        if link and link.get("queue", "fifo") != "fifo":
            defaults = {name: parameter.default for name, parameter in QUEUES[link["queue"]].parameters.items()}
            link["params"] = defaults | link.get("params", {})
    data["tcp"].setdefault("receiver_timestamps", data["tcp"]["timestamps"])
    jitter = {flow["name"]: flow.pop("start_jitter_ns", data["start_jitter_ns"]) for flow in data["flows"]}
    for flow in data["flows"]:
        flow.setdefault("stop_ns", data["duration_ns"])
        flow.setdefault("bytes", None)
    for flow, more in zip(data["flows"], enough.defaults(data["flows"], data, known), strict=True):
        declared = known[flow["implementation"]]["parameters"]
        given = more | flow["params"]
        flow["params"] = implementations.resolved_parameters(given, declared)
        if "receiver_implementation" in flow:
            declared = known[flow["receiver_implementation"]]["parameters"]
            flow["receiver_params"] = implementations.resolved_parameters(given, declared)
    return Cell(
        scenario=scenario,
        study=scenario.absolute().parent.name,
        experiment=data["experiment"],
        name=_named(values),
        draws=_named({name: value for name, value in values.items() if name not in data["paired"]}),
        size=size,
        seeds=range(1, data["seeds"][size] + 1),
        start_jitter_ns=jitter,
        delay_spread_ns=data["delay_spread_ns"],
        known=known,
        settings={"cell_values": values} | {name: value for name, value in data.items() if name not in _RESOLVED},
    )


def _named(values: dict[str, Any]) -> str:
    return ",".join(f"{name}={_written(value)}" for name, value in values.items()) or "single"


def _written(value: object) -> str:
    """Write a matrix value as YAML does."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_variation(document: Document, rules: schema.Schema) -> None:
    """Refuse a malformed matrix, case or quick part before cells are built from it."""
    properties = {name: rules["properties"][name] for name in _VARIATION}
    wrong = schema.problems(document, {"properties": properties})
    if wrong:
        raise ScenarioError(wrong)
    fields = [name for name in rules["properties"] if name not in ("experiment", "cases", "quick")]
    parts: dict[FieldPath, dict[str, Any]] = {
        ("cases", name): case for name, case in document.data.get("cases", {}).items()
    }
    parts[("quick",)] = document.data.get("quick", {})
    allowed_in_case = [name for name in fields if name != "matrix"]
    for path, part in parts.items():
        allowed = [*fields, "cases"] if path == ("quick",) else allowed_in_case
        wrong += [
            document.problem((*path, name), "no field that may differ here", choices(allowed, name))
            for name in part
            if name not in allowed
        ]
    cases = list(document.data.get("cases", {}))
    wrong += [
        document.problem(("quick", "cases", index), f"found {name!r}", choices(cases, name))
        for index, name in enumerate(parts[("quick",)].get("cases", []))
        if name not in cases
    ]
    rest = {name: value for name, value in document.data.items() if name not in ("matrix", "quick")}
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
    rest = {name: value for name, value in document.data.items() if name not in _VARIATION}
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


def _points(root: yaml.MappingNode) -> Iterator[tuple[dict[str, Any], yaml.MappingNode]]:
    """Yield the values and the nodes of each cell."""
    base = yaml.MappingNode(
        root.tag, [pair for pair in root.value if pair[0].value not in _VARIATION], root.start_mark, root.end_mark
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


def _repeated(cell: yaml.MappingNode) -> yaml.MappingNode:
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


def _unknown_names(document: Document, path: FieldPath, data: Any, names: list[str]) -> Iterator[Problem]:
    """Find every `${name}` whose name the matrix does not have."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _unknown_names(document, (*path, key), value, names)
    elif isinstance(data, str):
        for name in dict.fromkeys(_PLACEHOLDER.findall(data)):
            yield document.problem(path, f"unknown name {name!r}", f"names of the matrix: {choices(names, name)}")


def _child(mapping: yaml.MappingNode, name: str) -> yaml.MappingNode:
    """Return the mapping under `name`, empty if there is none."""
    child = next((value for key, value in mapping.value if key.value == name), None)
    return child or yaml.MappingNode("tag:yaml.org,2002:map", [], mapping.start_mark, mapping.end_mark)


def _at_quick(root: yaml.MappingNode) -> Any:
    """Apply the part `quick`, whose `cases` lists those that remain."""
    changes = {key.value: (key, value) for key, value in _child(root, "quick").value}
    if "cases" in changes:
        cases = _child(root, "cases")
        key, names = changes["cases"]
        wanted = {name.value for name in names.value}
        left = [pair for pair in cases.value if pair[0].value in wanted]
        root = yaml.MappingNode(
            root.tag, [pair for pair in root.value if pair[0].value != "cases"], root.start_mark, root.end_mark
        )
        changes["cases"] = (key, yaml.MappingNode(cases.tag, left, cases.start_mark, cases.end_mark))
    return _merged(root, yaml.MappingNode(root.tag, list(changes.values()), root.start_mark, root.end_mark))


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
