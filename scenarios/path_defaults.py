"""Defaults of parameters that follow the path, such as the file of a client that can only send files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from scenarios.units import parse
from topologies import by_name


def defaults(flows: list[dict[str, Any]], data: Mapping[str, Any], known: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return for each flow the parameters marked `follows_path`, with a value for this scenario.

    The value is what the path can carry while the flow lasts, but at least the parameter's default and at most what its
    range allows. If several flows have such a parameter, it is the default: both sides keep their files in the guest's
    memory, which has no room for several larger ones. `data` is in base units.
    """
    following = [
        {
            name: parameter
            for name, parameter in known[flow["implementation"]]["parameters"].items()
            if parameter.get("follows_path")
        }
        for flow in flows
    ]
    alone = sum(map(bool, following)) == 1
    return [
        {
            name: f"{_between(parameter, _carried_bytes(data, flow) if alone and not flow['bytes'] else 0)}B"
            for name, parameter in parameters.items()
        }
        for flow, parameters in zip(flows, following, strict=True)
    ]


def _carried_bytes(data: Mapping[str, Any], flow: Mapping[str, Any]) -> float:
    network = by_name.describe(data)
    direction = network.direction(flow["from"])
    path = next(path for path in network.paths if flow["from"] in (path.source, path.destination))
    limit = path.forward if direction == "forward" else path.backward
    if limit is None:
        return math.inf
    queues = [name for name, queue in network.queues.items() if queue.direction == direction]
    changes = [event["rate_bps"] for event in data["events"] if event["on"] in queues and "rate_bps" in event]
    return float(max(limit.rate_bps, *changes, 0) * (flow["stop_ns"] - flow["start_ns"]) / 8e9)


def _between(parameter: Mapping[str, Any], wanted: float) -> int:
    least, most = (parse(value, "bytes") for value in (parameter["default"], parameter["range"][1]))
    return int(min(max(wanted, least), most))
