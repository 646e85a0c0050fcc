"""What shapes the packets that an interface sends, made from the fields that scenarios and events give.

A queueing discipline is an entry of `queues.QUEUES`. What an event can change is a field of a link in `netem` or
`filters`, or of `base.Bottleneck`, and a name in `CHANGEABLE` there.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from topologies.links import filters, netem
from topologies.links.base import Bottleneck
from topologies.links.filters import FilteredLink
from topologies.links.netem import ImpairedLink, Propagation
from topologies.links.queues import ManagedBottleneck

Shaping = Bottleneck | Propagation

CHANGEABLE_OF_PATHS = (*netem.CHANGEABLE, *filters.CHANGEABLE)
"""Fields of a path that an event may change in place, without their units."""

_PATHS = (Propagation, ImpairedLink, FilteredLink)  # each with the fields of those before it


def bottleneck(values: Mapping[str, Any]) -> Bottleneck:
    """Return the bottleneck that has these fields."""
    if values.get("queue", "fifo") != "fifo":
        return ManagedBottleneck(**values)
    own = {name: values[name] for name in ("overhead_bytes", "cells") if name in values}
    return Bottleneck(values["rate_bps"], values["buffer_pkts"], **own)


def tightest(*limits: Bottleneck) -> Bottleneck:
    """Return what limits packets that pass several bottlenecks: the slowest, with the smallest buffer."""
    slowest = min(limits, key=lambda limit: limit.rate_bps)
    return replace(slowest, buffer_pkts=min(limit.buffer_pkts for limit in limits))


def shaping(values: Mapping[str, Any]) -> Shaping:
    """Return the shaping that has these fields."""
    return bottleneck(values) if "rate_bps" in values else Propagation(**values)


def changed(now: Any, values: Mapping[str, Any]) -> Any:
    """Return a shaping with other values of some fields, which a plain link may lack."""
    known = {**vars(now), **values}
    if known.keys() == vars(now).keys():
        return replace(now, **values)
    kind = next(kind for kind in _PATHS if known.keys() <= {field.name for field in fields(kind)})
    return kind(**known)
