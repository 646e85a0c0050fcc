"""Buffers that a scenario gives as a time, such as `buffer: 1s`: how many full packets leave in it at the link's rate.

Works on trees of YAML nodes, before anything is checked, so that all else knows buffers in packets only.
"""

from __future__ import annotations

from typing import Any

import yaml

from scenarios.units import UnitError, parse
from topologies.packets import packet_ns

_OTHERS = ("flows", "matrix")  # whose own `buffer` and `rate` are no link's
_NS_OF_A_BYTE_BPS = 8_000_000_000


def in_packets(node: yaml.Node) -> Any:
    """Copy a cell's nodes with packets for each time that is the `buffer` beside a `rate`.

    What is no time, or has no rate beside it, stays, and is refused as no buffer.
    """
    if isinstance(node, yaml.SequenceNode):
        return yaml.SequenceNode(node.tag, [in_packets(item) for item in node.value], node.start_mark, node.end_mark)
    if not isinstance(node, yaml.MappingNode):
        return node
    fields = {key.value: value for key, value in node.value}
    pairs = []
    for key, value in node.value:
        if key.value == "buffer" and (pkts := _pkts(fields)) is not None:
            made = yaml.ScalarNode("tag:yaml.org,2002:str", f"{pkts}p", value.start_mark, value.end_mark)
            pairs.append((key, made))
        else:
            pairs.append((key, value if key.value in _OTHERS else in_packets(value)))
    return yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark)


def _pkts(link: dict[str, yaml.Node]) -> int | None:
    """Return how many packets wait in a link's buffer, at least one; None where it is no time, or has no rate."""
    texts = {name: node.value for name, node in link.items() if isinstance(node, yaml.ScalarNode)}
    try:
        time_ns, rate_bps = parse(texts.get("buffer"), "time"), parse(texts.get("rate"), "rate")
        overhead_bytes = parse(texts.get("overhead", "0B"), "bytes")
    except UnitError:
        return None
    framed = {"overhead_bytes": overhead_bytes, "cells": texts.get("cells") == "true"}
    packet_bytes = round(packet_ns({"rate_bps": _NS_OF_A_BYTE_BPS} | framed))
    return max(1, time_ns * rate_bps // (_NS_OF_A_BYTE_BPS * packet_bytes))
