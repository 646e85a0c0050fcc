"""Resolves a scenario file to its cells, and a cell with a seed to the run.json in which every value is decided."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scenarios import (
    checks,
    draws,
    implementations,
    late,
    load,
    path_defaults,
    rate_traces,
    schema,
    tables,
    variation,
    waiting,
)
from scenarios.cell_names import name_of
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.implementations import Implementation
from scenarios.load import Document
from scenarios.plan.hosts import hosts
from scenarios.plan.lead import lead
from scenarios.plan.sizes import TooLargeError, sizes
from scenarios.run_files import FORMAT, OF_ENGINE
from scenarios.units import parse
from topologies import by_name
from topologies.links.queues import QUEUES

MOST_WRONG_CELLS = 20
"""After which a scenario is refused, whatever its other cells are like."""
MOST_RUNS = 100_000
"""Of a scenario. More would take a processor over a day, because each run takes at least a second."""

FIRST_PORT = 5001
"""The receiver of flow number k (from 0) listens on this plus k."""
SIZES = COMPLETE, QUICK = ("complete", "quick")

_OF_MACHINE = ("backend", "implementations")

# These are resolved into other fields of a cell or a run.
_RESOLVED = (*variation.FIELDS, "experiment", "seeds", "start_jitter_ns", "delay_spread_ns", "paired")


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
    """List the cells of a scenario file, checked and in the order of the file, with their seeds at a size.

    Raises ScenarioError with everything that is wrong in the file, before anything runs.
    """
    root = tables.spread(scenario, load.read_nodes(scenario))
    rules = schema.load_schema("scenario")
    variation.check_variation(load.document(scenario, root), rules)
    known = implementations.known()
    cells, wrong = [], list[Problem]()
    wrong_cells = 0
    for values, point in variation.points(root):
        node = waiting.in_packets(point)
        document = load.document(scenario, node)
        of_cell = list(
            variation.unknown_names(document, (), document.data, [name for name in values if name != "case"])
        )
        of_cell = of_cell or schema.problems(document, rules)
        if not of_cell:
            document = load.document(scenario, variation.repeated(node))
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
    wrong += _wrong_as_a_whole(load.document(scenario, root), cells, size)
    if wrong:
        raise ScenarioError(wrong)
    return cells


class Outline(NamedTuple):
    """What a claims file may name of a cell: its flows, and instants up to its end."""

    flows: dict[str, str | None]  # by name, the implementation where the flow names one for both sides
    duration_s: float


def outlines(scenario: Path) -> dict[str, Outline]:
    """Outline the cells of a scenario by their names, without a look at implementations.

    Raises ScenarioError where the file does not follow the schema.
    """
    root = tables.spread(scenario, load.read_nodes(scenario))
    rules = schema.load_schema("scenario")
    variation.check_variation(load.document(scenario, root), rules)
    named = {}
    for values, point in variation.points(root):
        node = waiting.in_packets(point)
        if wrong := schema.problems(load.document(scenario, node), rules):
            raise ScenarioError(wrong)
        data = load.document(scenario, variation.repeated(node)).data
        ran = {flow["name"]: flow.get("implementation") for flow in data["flows"]}
        flows = {name: of_both if isinstance(of_both, str) else None for name, of_both in ran.items()}
        named[name_of(values)] = Outline(flows, parse(data["duration"], "time") / 1e9)
    return named


def _wrong_as_a_whole(document: Document, cells: Sequence[Cell], size: str) -> Iterator[Problem]:
    """Find problems that no cell has by itself."""
    runs = sum(len(cell.seeds) for cell in cells)
    if runs > MOST_RUNS:
        asked = f"{runs} runs in {len(cells)} cells"
        yield document.problem(("seeds", size), asked, f"{MOST_RUNS} or fewer")
    if not isinstance(paired := document.data.get("paired", []), list):
        return  # each cell has this problem
    axes = [*document.data.get("matrix", {}), *(["case"] if "cases" in document.data else [])]
    for index, name in enumerate(paired):
        if name not in axes:
            yield document.problem(("paired", index), f"found {name!r}", choices(axes, str(name)))


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
        run["events"] += draws.drawn_events(drawn, run["duration_ns"], _random(cell, seed, f"drawn_events[{index}]"))
    for index, trace in enumerate(run.pop("rate_traces", ())):
        source = _random(cell, seed, f"rate_traces[{index}]")
        steps = rate_traces.steps(trace, cell.scenario.parent, run["duration_ns"], source)
        step = {"on": trace["on"], "traced": True}
        run["events"] += [{"at_ns": at_ns, **step, "rate_bps": rate_bps} for at_ns, rate_bps in steps]
    run["events"].sort(key=lambda event: event["at_ns"])
    head = {"format": FORMAT, "study": cell.study, "experiment": cell.experiment, "cell": cell.name, "size": cell.size}
    run = {**head, "cell_values": run.pop("cell_values"), "seed": seed, **run, "network": None, "backend": backend}
    used = sorted(implementations.used_by(run["flows"]))
    run["implementations"] = copy.deepcopy({name: cell.known[name] for name in used})
    return _completed(run, cell.scenario)


def changed(run: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return a run.json with other settings: what follows from them is as they say, and the engine adds its part anew.

    Raises ScenarioError for a run that no guest can hold.
    """
    kept = {name: value for name, value in copy.deepcopy(run).items() if name not in OF_ENGINE}
    return _completed(kept | settings, Path(run["cell"], "run.json"))


def unlike(run: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Name the fields in which two run.json differ, but for what the engine and implementations add."""
    both = {**run, **other}
    return [name for name in both if name not in (*OF_ENGINE, *_OF_MACHINE) and run.get(name) != other.get(name)]


def _completed(run: dict[str, Any], file: Path) -> dict[str, Any]:
    """Return a run with what follows from its settings: ends of suspensions, its place on a network, sizes, hosts."""
    events = [{name: value for name, value in event.items() if name != "changes"} for event in run["events"]]
    run["events"] = sorted(draws.end_suspensions(events, run["duration_ns"]), key=lambda event: event["at_ns"])
    _place(run)
    try:
        run |= {"lead": lead(run), "sizes": sizes(run)}
    except TooLargeError as error:
        raise ScenarioError([Problem(file, 1, "(whole file)", error.found, error.allowed)]) from None
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
    for noise in data.get("noise", ()):
        noise["late_ns"] = late.distribution(noise.pop("late"))
    data["tcp"].setdefault("receiver_timestamps", data["tcp"]["timestamps"])
    jitter = {flow["name"]: flow.pop("start_jitter_ns", data["start_jitter_ns"]) for flow in data["flows"]}
    for flow in data["flows"]:
        flow.setdefault("stop_ns", data["duration_ns"])
        flow.setdefault("bytes", None)
    for flow, more in zip(data["flows"], path_defaults.defaults(data["flows"], data, known), strict=True):
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
        name=name_of(values),
        draws=name_of({name: value for name, value in values.items() if name not in data["paired"]}),
        size=size,
        seeds=range(1, data["seeds"][size] + 1),
        start_jitter_ns=jitter,
        delay_spread_ns=data["delay_spread_ns"],
        known=known,
        settings={"cell_values": values} | {name: value for name, value in data.items() if name not in _RESOLVED},
    )
