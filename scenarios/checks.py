"""What a schema cannot see: names that must exist, instants that must lie inside the run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from scenarios import implementations
from scenarios.errors import FieldPath, Problem, choices
from scenarios.implementations import Implementation
from scenarios.load import Document
from scenarios.units import parse
from topologies.shaping import Bottleneck

# What an event may change, by what it is on.
_QUEUE, _PATH = ["rate", "buffer"], ["delay", "jitter", "loss"]
EVENT_FIELDS = {"bottleneck": _QUEUE, "backward_bottleneck": _QUEUE, "path": _PATH, "route": ["path"]}

MOST_RATE_ERROR = 0.0001
_LEAST_BUFFER_US = 5

MOST_DRAWN_EVENTS = 100_000
"""Of one entry in a run, on average: each is carried out by processes of its own, some 10 ms of a processor's time."""


def problems(document: Document, filled: dict[str, Any], known: Mapping[str, Implementation]) -> list[Problem]:
    """Every problem of a document that satisfies the schema; `filled` is its data with all defaults."""
    end_ns = parse(filled["duration"], "time")
    return [
        *_topology_problems(document, filled),
        *_rate_problems(document, filled),
        *_flow_problems(document, filled, known, end_ns),
        *_clock_problems(document, filled, known),
        *_event_problems(document, filled, end_ns),
        *_drawn_event_problems(document, filled, end_ns),
    ]


def _topology_problems(document: Document, filled: dict[str, Any]) -> Iterator[Problem]:
    two = filled["topology"]["name"] == "two-path"
    if two and "delay_b" not in filled:
        yield document.problem(("delay_b",), "missing", "the delay of path b, which topology two-path has")
    if two and filled["drawn_events"]:
        yield document.problem(("drawn_events",), "found with topology two-path", "events on route, or dumbbell")
    if not two and "delay_b" in filled:
        yield document.problem(("delay_b",), f"found with topology {filled['topology']['name']}", "topology two-path")


def _rate_problems(document: Document, filled: dict[str, Any]) -> Iterator[Problem]:
    """Rates that the limiter cannot keep, and buffers so small that the fidelity probe cannot keep a fast link busy."""
    places: list[tuple[FieldPath, dict[str, Any]]] = [
        ((name,), filled[name]) for name in ("bottleneck", "backward_bottleneck") if name in filled
    ]
    places += [(("events", index), event) for index, event in enumerate(filled["events"]) if "rate" in event]
    for path, link in places:
        buffer_pkts = parse(link["buffer"], "packets") if "buffer" in link else None
        limiter = Bottleneck(parse(link["rate"], "rate"), buffer_pkts or 1)
        if abs(limiter.rate_error) > MOST_RATE_ERROR:
            found = f"found {link['rate']!r}, which the limiter keeps to {100 * abs(limiter.rate_error):.3f} %"
            allowed = f"what it keeps to {100 * MOST_RATE_ERROR:g} %: multiples of 8bit, above 1gbit rates at which "
            allowed += "1500 bytes take a whole number of ns, such as 2.5gbit, 5gbit, 10gbit"
            yield document.problem((*path, "rate"), found, allowed)
        elif path[0] != "events" and 12e9 * limiter.buffer_pkts / limiter.rate_bps < _LEAST_BUFFER_US:
            found = f"found {link['buffer']!r}, less than {_LEAST_BUFFER_US} us of {link['rate']}"
            allowed = f"{math.ceil(_LEAST_BUFFER_US * limiter.rate_bps / 12e9)}p or more"
            yield document.problem((*path, "buffer"), found, allowed)


def _hosts(topology: Mapping[str, Any], side: str) -> list[str]:
    return [f"{side}{number}" for number in range(1, topology["pairs"] + 1)]


def _flow_problems(
    document: Document, filled: dict[str, Any], known: Mapping[str, Implementation], end_ns: int
) -> Iterator[Problem]:
    left, right = (_hosts(filled["topology"], side) for side in "sd")
    names: set[str] = set()
    senders: dict[tuple[str, str], dict[str, Any]] = {}  # a sysctl holds for all flows of a host
    for index, flow in enumerate(filled["flows"]):
        path: FieldPath = ("flows", index)
        if flow["name"] in names:
            yield document.problem((*path, "name"), f"found {flow['name']!r} again", "a name no other flow has")
        names.add(flow["name"])
        if flow["from"] not in left + right:
            yield document.problem((*path, "from"), f"unknown host {flow['from']!r}", choices(left + right))
        elif flow["to"] not in (across := right if flow["from"] in left else left):
            yield document.problem(
                (*path, "to"), f"found {flow['to']!r}, no host across from {flow['from']}", choices(across)
            )
        jitter = flow.get("start_jitter", filled["start_jitter"])
        latest_ns = parse(flow["start"], "time") + parse(jitter, "time")
        latest = f"{flow['start']!r} plus start_jitter {jitter!r}"
        if latest_ns >= end_ns:
            yield document.problem(
                (*path, "start"), f"found {latest}, not before the end", f"an instant before {filled['duration']}"
            )
        if "stop" in flow and not latest_ns < parse(flow["stop"], "time") <= end_ns:
            allowed = f"an instant after the start, {latest}, and not after the end, {filled['duration']}"
            yield document.problem((*path, "stop"), f"found {flow['stop']!r}", allowed)
        if flow["implementation"] not in known:
            found = f"unknown implementation {flow['implementation']!r}"
            allowed = choices(sorted(known), flow["implementation"])
            yield document.problem((*path, "implementation"), found, allowed)
        else:
            declared = known[flow["implementation"]]["parameters"]
            yield from implementations.parameter_problems(document, path, declared)
            told = senders.setdefault((flow["from"], flow["implementation"]), flow)
            if told["params"] != flow["params"] and any("sysctl" in parameter for parameter in declared.values()):
                found = f"not those of flow {told['name']!r}, which also sends from {flow['from']}"
                yield document.problem((*path, "params"), found, "one set per sending host, or another host")
            if "sender" not in known[flow["implementation"]]["roles"]:
                yield document.problem((*path, "implementation"), "cannot send", "an implementation with role sender")


def _clock_problems(
    document: Document, filled: dict[str, Any], known: Mapping[str, Implementation]
) -> Iterator[Problem]:
    """What a relay cannot show of a clock (engine/guest/relay.c) is refused."""
    clocks = filled.get("clocks", [])
    hosts = {flow[end] for flow in filled["flows"] for end in ("from", "to")}
    for index, host in enumerate(clock["host"] for clock in clocks):
        path: FieldPath = ("clocks", index, "host")
        if host not in hosts:
            yield document.problem(path, f"found {host!r}, a host without flows", choices(sorted(hosts), host))
        if host in [clock["host"] for clock in clocks[:index]]:
            yield document.problem(path, f"found {host!r} again", "each host once")
        for flow in filled["flows"]:
            transport = known.get(flow["implementation"], {}).get("transport", "tcp")
            if host in (flow["from"], flow["to"]) and transport not in ("tcp", "utp"):
                found = f"found {host!r}, whose flow {flow['name']!r} is {flow['implementation']}, without timestamps"
                yield document.problem(path, found, "hosts all of whose flows are over TCP or uTP")


def _paths(topology: Mapping[str, Any]) -> list[str]:
    """What an event can be on besides the queues."""
    if topology["name"] == "two-path":
        return ["route"]
    return ["path", *(f"path:s{number}-d{number}" for number in range(1, topology["pairs"] + 1))]


def _drawn_event_problems(document: Document, filled: dict[str, Any], end_ns: int) -> Iterator[Problem]:
    for index, event in enumerate(filled["drawn_events"]):
        path: FieldPath = ("drawn_events", index)
        if ("at" in event) == ("after" in event):
            found = "has both at and after" if "at" in event else "has neither at nor after"
            yield document.problem(path, found, "one of at, after")
            continue
        yield from _instant_problems(document, path, event, filled["duration"], end_ns)
        count = end_ns // parse(event["mean_gap"], "time")
        if count > MOST_DRAWN_EVENTS:
            found = f"found {event['mean_gap']!r}, about {count} events in {filled['duration']}"
            yield document.problem((*path, "mean_gap"), found, f"gaps for at most {MOST_DRAWN_EVENTS} events")
        if event["on"] not in (paths := _paths(filled["topology"])):
            yield document.problem((*path, "on"), f"found {event['on']!r}", choices(paths, event["on"]))


def _instant_problems(
    document: Document, path: FieldPath, event: Mapping[str, Any], end: str, end_ns: int
) -> Iterator[Problem]:
    field = "at" if "at" in event else "after"
    if parse(event[field], "time") >= end_ns:
        yield document.problem(
            (*path, field), f"found {event[field]!r}, not before the end", f"an instant before {end}"
        )


def _event_problems(document: Document, filled: dict[str, Any], end_ns: int) -> Iterator[Problem]:
    for index, event in enumerate(filled["events"]):
        path: FieldPath = ("events", index)
        yield from _instant_problems(document, path, event, filled["duration"], end_ns)
        queues = [name for name in ("bottleneck", "backward_bottleneck") if name in filled]
        targets = [*queues, *_paths(filled["topology"])]
        if event["on"] not in targets:
            yield document.problem((*path, "on"), f"found {event['on']!r}", choices(targets, event["on"]))
            continue
        fields = EVENT_FIELDS[event["on"].partition(":")[0]]
        changed = event.keys() - {"at", "on"}
        if not changed:
            yield document.problem(path, "changes nothing", f"at least one of {', '.join(fields)}")
        for field in sorted(changed - set(fields)):
            yield document.problem((*path, field), f"no field of {event['on']}", choices(fields))
