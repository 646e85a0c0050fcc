"""Checks what a schema cannot: names must exist, instants must lie inside the run, a topology must have the fields."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from scenarios import implementations, rate_traces, schema
from scenarios.errors import FieldPath, Problem, choices
from scenarios.implementations import Implementation
from scenarios.load import Document
from scenarios.rate_traces import TraceError
from scenarios.units import parse
from topologies import by_name
from topologies.description import Network, TopologyError
from topologies.links.base import Bottleneck
from topologies.links.queues import QUEUES, QueueKind
from topologies.pairs import IPV4, IPV6
from topologies.pairs import RELAYED as RELAYED

MOST_RATE_ERROR = 0.0001
_LEAST_BUFFER_US = 5
LEAST_IPV6_MTU_BYTES = 1280

MOST_DRAWN_EVENTS = 100_000
"""Per entry and run, on average. Each event starts processes, which take some 10 ms of processor time."""


def problems(document: Document, filled: dict[str, Any], known: Mapping[str, Implementation]) -> list[Problem]:
    """Return every problem of a document that satisfies the schema; `filled` is its data with all defaults."""
    end_ns = parse(filled["duration"], "time")
    try:
        network = by_name.describe(schema.in_base_units(filled, schema.load_schema("scenario")))
    except TopologyError as error:
        return [document.problem(error.path, error.found, error.allowed)]
    return [
        *_rate_problems(document, filled),
        *_queue_problems(document, filled),
        *_capture_problems(document, filled, network),
        *_flow_problems(document, filled, network, known, end_ns),
        *_clock_problems(document, filled, known),
        *_event_problems(document, filled, network, end_ns),
        *_form_problems(document, filled),
        *_reorder_problems(document, filled, network),
        *_drawn_event_problems(document, filled, network, end_ns),
        *_trace_problems(document, filled, network, end_ns),
    ]


def problems_of_events(document: Document, settings: dict[str, Any]) -> list[Problem]:
    """Return the problems of a document of events alone, for a run whose settings are in base units."""
    end_ns = settings["duration_ns"]
    filled = {**document.data, "duration": f"{end_ns / 1e9:g}s"}
    return list(_event_problems(document, filled, by_name.describe(settings), end_ns))


def _rate_problems(document: Document, filled: dict[str, Any]) -> Iterator[Problem]:
    """Find rates that the limiter cannot keep, and buffers too small for the probe to keep a fast link busy."""
    places = _links(filled)
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


def _links(filled: dict[str, Any]) -> list[tuple[FieldPath, dict[str, Any]]]:
    links: list[tuple[FieldPath, dict[str, Any]]] = [
        ((name,), filled[name]) for name in ("bottleneck", "backward_bottleneck") if name in filled
    ]
    for field in ("more_bottlenecks", "cards"):
        links += [((field, index), link) for index, link in enumerate(filled.get(field, []))]
    for index, peer in enumerate(filled.get("peers", [])):
        links += [(("peers", index, way), peer[way]) for way in ("up", "down") if way in peer]
    return links


def _queue_problems(document: Document, filled: dict[str, Any]) -> Iterator[Problem]:
    """Find parameters that a queueing discipline does not have, or not these values."""
    for path, link in _links(filled):
        queue, params = link.get("queue", "fifo"), link.get("params", {})
        kind = QUEUES.get(queue, QueueKind(queue, 0))
        known = {name.rpartition("_")[0] or name: parameter.default for name, parameter in kind.parameters.items()}
        for name in sorted(params.keys() - known.keys()):
            yield document.problem((*path, "params", name), f"no parameter of {queue}", choices(list(known), name))
        for name in [name for name, default in known.items() if default is None and name not in params]:
            yield document.problem((*path, "params", name), "missing", f"a value, which {queue} needs")
        if kind.only_pkts not in (None, parse(link["buffer"], "packets")):
            found = f"found {link['buffer']!r}"
            yield document.problem((*path, "buffer"), found, f"{kind.only_pkts}p, to which the kernel sets {queue}")
        if {"min", "max"} <= params.keys() & known.keys():
            low, high, most = (parse(value, "packets") for value in (params["min"], params["max"], link["buffer"]))
            if not low < high < most:
                found = f"found min {params['min']!r}, max {params['max']!r}, buffer {link['buffer']!r}"
                yield document.problem((*path, "params"), found, "min below max, and max below buffer")


def _capture_problems(document: Document, filled: dict[str, Any], network: Network) -> Iterator[Problem]:
    for index, tap in enumerate(filled["captures"]):
        if tap not in network.taps:
            yield document.problem(("captures", index), f"found {tap!r}", choices(list(network.taps), tap))


def _flow_problems(
    document: Document, filled: dict[str, Any], network: Network, known: Mapping[str, Implementation], end_ns: int
) -> Iterator[Problem]:
    hosts = [name for name, node in network.nodes.items() if node.kind == "host"]
    names: set[str] = set()
    senders: dict[tuple[str, str], dict[str, Any]] = {}  # a sysctl applies to all flows of a host
    for index, flow in enumerate(filled["flows"]):
        path: FieldPath = ("flows", index)
        if flow["name"] in names:
            yield document.problem((*path, "name"), f"found {flow['name']!r} again", "a name no other flow has")
        names.add(flow["name"])
        if flow["from"] not in hosts:
            yield document.problem((*path, "from"), f"unknown host {flow['from']!r}", choices(hosts))
        elif flow["to"] not in (across := network.across(flow["from"])):
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
        unknown = sorted(implementations.used_by([flow]) - set(known))
        for name in unknown:
            implementations.refuse_wrong([name])
            allowed = choices(sorted(known), name)
            yield document.problem((*path, "implementation"), f"unknown implementation {name!r}", allowed)
        if not unknown:
            sides = [known[implementations.of_side(flow, role)] for role in ("sender", "receiver")]
            declared = sides[1]["parameters"] | sides[0]["parameters"]
            yield from implementations.parameter_problems(document, path, declared)
            told = senders.setdefault((flow["from"], flow["implementation"]), flow)
            if told["params"] != flow["params"] and any("sysctl" in parameter for parameter in declared.values()):
                found = f"not those of flow {told['name']!r}, which also sends from {flow['from']}"
                yield document.problem((*path, "params"), found, "one set per sending host, or another host")
            version = filled.get("ip", IPV4)
            for name in sorted(implementations.used_by([flow])):
                if not implementations.can_talk_over(known[name], version):
                    found = f"found {name!r}, which cannot talk over IPv{version}"
                    able = implementations.programs_over(known, version)
                    allowed = f"with ip {version}, all of kind kernel-tcp{''.join(f', {other}' for other in able)}"
                    yield document.problem((*path, "implementation"), found, allowed)
            if "writes" in flow and sides[0]["kind"] == "program":
                found = f"found for {flow['implementation']!r}, a program, which sends without a pause"
                yield document.problem((*path, "writes"), found, "a congestion control of the kernel")
            if why := implementations.mismatch(*sides):
                allowed = "implementations that can play their sides, of one kind, transport and application"
                yield document.problem((*path, "implementation"), why, allowed)


def _transport(flow: Mapping[str, Any], known: Mapping[str, Implementation]) -> str:
    transport: str = known.get(flow["implementation"], {}).get("transport", "tcp")
    return transport


def _clock_problems(
    document: Document, filled: dict[str, Any], known: Mapping[str, Implementation]
) -> Iterator[Problem]:
    """Refuse clocks that a relay (engine/guest/relay.c) cannot show, boxes without work, and a second one in a link."""
    clocks = filled.get("clocks", [])
    tcp = filled["tcp"]
    stamps = {"from": tcp["timestamps"], "to": tcp.get("receiver_timestamps", tcp["timestamps"])}
    hosts = {flow[end] for flow in filled["flows"] for end in ("from", "to")}
    relayed: set[str] = set()
    for name in RELAYED:
        for index, host in enumerate(entry["host"] for entry in filled.get(name, ())):
            path: FieldPath = (name, index, "host")
            if host not in hosts:
                yield document.problem(path, f"found {host!r}, a host without flows", choices(sorted(hosts), host))
            if host in relayed:
                yield document.problem(path, f"found {host!r} again", f"each host once, in {choices(list(RELAYED))}")
            relayed.add(host)
    for index, box in enumerate(filled.get("middleboxes", ())):
        over = [_transport(flow, known) for flow in filled["flows"] if box["host"] in (flow["from"], flow["to"])]
        if "rebound" in box and {*over} == {"tcp"}:
            found = f"found {box['host']!r}, whose flows are over TCP"
            yield document.problem(("middleboxes", index, "rebound"), found, "hosts with a flow over UDP")
    for index, host in enumerate(clock["host"] for clock in clocks):
        path = ("clocks", index, "host")
        for flow in filled["flows"]:
            transport = _transport(flow, known)
            if host in (flow["from"], flow["to"]) and transport not in implementations.TIMESTAMPED:
                found = f"found {host!r}, whose flow {flow['name']!r} is {flow['implementation']}, without timestamps"
                yield document.problem(path, found, "hosts all of whose flows are over TCP or uTP")
            elif transport == "tcp" and any(flow[end] == host and unit == "1ms" for end, unit in stamps.items()):
                found = f"found {host!r}, whose flow {flow['name']!r} has TCP timestamps of 1ms"
                yield document.problem(path, found, "hosts with TCP timestamps of 1us or none")


def _drawn_event_problems(
    document: Document, filled: dict[str, Any], network: Network, end_ns: int
) -> Iterator[Problem]:
    targets = [name for name, fields in network.targets().items() if "delay" in fields]
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
        if event["on"] not in targets:
            yield document.problem((*path, "on"), f"found {event['on']!r}", choices(targets, event["on"]))
        if "suspension" in event:
            least, most = (event["suspension"][end] for end in ("least", "most"))
            if parse(least, "time") > parse(most, "time"):
                found = f"found least {least!r}, most {most!r}"
                yield document.problem((*path, "suspension"), found, "least not above most")


def _trace_problems(document: Document, filled: dict[str, Any], network: Network, end_ns: int) -> Iterator[Problem]:
    rules = schema.load_schema("scenario")
    traces = schema.in_base_units(filled, rules).get("rate_traces", [])
    for index, trace in enumerate(traces):
        path: FieldPath = ("rate_traces", index)
        if trace["on"] not in network.queues:
            yield document.problem((*path, "on"), f"found {trace['on']!r}", choices(list(network.queues), trace["on"]))
        if ("like" in trace) != ("mean_bps" in trace):
            found = "missing" if "like" in trace else "found beside file"
            yield document.problem((*path, "mean"), found, "a mean rate with like, and only there")
            continue
        try:
            rate_traces.steps(trace, document.file.parent, end_ns, random.Random(0))  # noqa: S311
        except TraceError as error:
            yield document.problem((*path, "file" if "file" in trace else "step"), error.found, error.allowed)


def _instant_problems(
    document: Document, path: FieldPath, event: Mapping[str, Any], end: str, end_ns: int
) -> Iterator[Problem]:
    field = "at" if "at" in event else "after"
    if parse(event[field], "time") >= end_ns:
        yield document.problem(
            (*path, field), f"found {event[field]!r}, not before the end", f"an instant before {end}"
        )


# Fields of events on a path that say of what form another one is, and do nothing without it
_FORMS = {
    "distribution": "jitter",
    "keep_order": "jitter",
    "burst": "loss",
    "policed_burst": "policed",
    "reorder_correlation": "reorder",
}


def _form_problems(document: Document, filled: dict[str, Any]) -> Iterator[Problem]:
    """Find forms of jitter or losses in a direction that no event gives jitter or losses."""
    events = filled["events"]
    for index, event in enumerate(events):
        for form, of in _FORMS.items():
            for direction in event.get(form, {}):
                if not any(direction in other.get(of, {}) for other in events if other["on"] == event["on"]):
                    found = f"has no effect: no event sets {of} {direction} on {event['on']}"
                    yield document.problem(
                        ("events", index, form, direction), found, f"beside {of}: {{{direction}: ...}}"
                    )
        for direction in event.get("policed", {}):
            if not any(direction in other.get("policed_burst", {}) for other in events):
                path: FieldPath = ("events", index, "policed", direction)
                yield document.problem(
                    path, "no event says how many bytes may pass at once", f"beside policed_burst: {{{direction}: ...}}"
                )


def _reorder_problems(document: Document, filled: dict[str, Any], network: Network) -> Iterator[Problem]:
    """Find directions in which packets are to overtake, and none can: without a delay, or in order."""
    events = filled["events"]
    for index, event in enumerate(events):
        for direction in event.get("reorder", {}):
            path: FieldPath = ("events", index, "reorder", direction)
            delays = [getattr(way, f"{direction}_ns") for way in network.paths]
            delays += [parse(each["delay"][direction], "time") for each in events if direction in each.get("delay", {})]
            if not all(delays):
                yield document.problem(path, "found beside a delay of 0", f"a delay {direction}, which packets skip")
            if any(direction in other.get("keep_order", {}) for other in events if other["on"] == event["on"]):
                yield document.problem(path, "found beside keep_order", "one of the two")


def _event_problems(document: Document, filled: dict[str, Any], network: Network, end_ns: int) -> Iterator[Problem]:
    targets = network.targets()
    for index, event in enumerate(filled["events"]):
        path: FieldPath = ("events", index)
        yield from _instant_problems(document, path, event, filled["duration"], end_ns)
        if event["on"] not in targets:
            yield document.problem((*path, "on"), f"found {event['on']!r}", choices(list(targets), event["on"]))
            continue
        fields = targets[event["on"]]
        changed = event.keys() - {"at", "on", "pairs"}
        pairs = len(network.delays["forward"])
        if "pairs" in event and (event["on"] != "path" or max(event["pairs"]) > pairs):
            found = f"found {event['pairs']} on {event['on']}"
            yield document.problem((*path, "pairs"), found, f"numbers from 1 to {pairs}, on path")
        if not changed:
            yield document.problem(path, "changes nothing", f"at least one of {', '.join(fields)}")
        for field in sorted(changed - set(fields)):
            yield document.problem((*path, field), f"no field of {event['on']}", choices(fields))
        if event["on"] == "path":
            missing = [direction for direction, places in network.delays.items() if not places]
            allowed = " or ".join(network.delays.keys() - missing)
            for direction, length in event.get("mtu", {}).items():
                if filled.get("ip", IPV4) == IPV6 and parse(length, "bytes") < LEAST_IPV6_MTU_BYTES:
                    found = f"found {length!r} with ip 6"
                    allowed = f"{LEAST_IPV6_MTU_BYTES}B or more, as of every link that carries IPv6 (RFC 8200)"
                    yield document.problem((*path, "mtu", direction), found, allowed)
            for field, direction in itertools.product(sorted(changed & set(fields)), missing):
                if isinstance(event[field], dict) and direction in event[field]:
                    yield document.problem((*path, field, direction), "no direction of its paths", allowed)
