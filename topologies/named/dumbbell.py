"""The dumbbell: pairs of hosts on both sides of one bottleneck.

::

    s1 --+                  +-- d1
    s2 --+-- r1 ====== r2 --+-- d2
         |   bottleneck     |
    sN --+                  +-- dN

Rate and queue sit on r1 towards r2, and on r2 towards r1 if the reverse path is limited. The forward delay sits on r2
towards the destinations, the backward delay on r1 towards the sources: never on the interface of a queue.
"""

from collections.abc import Mapping
from typing import Any

from topologies.description import End, Network, Path, Queue, Tap
from topologies.links import bottleneck
from topologies.links.base import Bottleneck
from topologies.links.netem import Propagation
from topologies.pairs import DESTINATION, SOURCE, Drawing

FIELDS = ("backward_bottleneck",)
"""The fields of a scenario that this topology has and not every other."""


def describe(scenario: Mapping[str, Any]) -> Network:
    """Describe the network of a scenario, whose values are in base units."""
    drawing, (left, right) = start(scenario)
    drawing.network.links.append((left, right))
    both = scenario["delay"]
    finish(scenario, drawing, Propagation(both["forward_ns"]), Propagation(both["backward_ns"]))
    drawing.network.paths = [
        Path(f"s{pair}-d{pair}", f"s{pair}", f"d{pair}", both["forward_ns"], both["backward_ns"], *limits(scenario))
        for pair in _pairs(scenario)
    ]
    return drawing.network


def start(scenario: Mapping[str, Any]) -> tuple[Drawing, tuple[End, End]]:
    """Draw the routers; return the ends of the link between them, which is not drawn yet."""
    drawing = Drawing(scenario)
    known = drawing.addresses
    drawing.router("r1", f"{known.side(DESTINATION)} via {known.link(0, 2)}")
    drawing.router("r2", f"{known.side(SOURCE)} via {known.link(0, 1)}")
    return drawing, drawing.router_ends(0, "r1", "r2", *limits(scenario))


def limits(scenario: Mapping[str, Any]) -> tuple[Bottleneck, Bottleneck | None]:
    """Return the limits of the link between the routers, forward and backward."""
    backward = scenario.get("backward_bottleneck")
    return bottleneck(scenario["bottleneck"]), bottleneck(backward) if backward else None


def finish(
    scenario: Mapping[str, Any], drawing: Drawing, forward: Propagation | None, backward: Propagation | None
) -> None:
    """Draw the hosts and place the queues and taps."""
    network = drawing.network
    sources = [drawing.source(pair, "r1", backward) for pair in _pairs(scenario)]
    destinations = [drawing.destination(pair, "r2", forward) for pair in _pairs(scenario)]
    network.taps["bottleneck-in"] = [Tap(place.node, place.interface, "in") for place in sources]
    network.taps["bottleneck-out"] = [Tap("r1", "r1-r2", "inout")]
    network.taps["backward-in"] = [Tap(place.node, place.interface, "in") for place in destinations]
    arrivals, bound_for = tuple(place.interface for place in sources), drawing.addresses.side(DESTINATION)
    around = "bottleneck-in", "bottleneck-out"
    network.queues["bottleneck"] = Queue("r1", "r1-r2", "forward", arrivals, (), bound_for, *around, "queue")
    if scenario.get("backward_bottleneck"):
        arrivals, around = tuple(place.interface for place in destinations), ("backward-in", "bottleneck-out")
        bound_for = drawing.addresses.side(SOURCE)
        queue = Queue("r2", "r2-r1", "backward", arrivals, (), bound_for, *around, "queue-backward")
        network.queues["backward_bottleneck"] = queue


def _pairs(scenario: Mapping[str, Any]) -> range:
    return range(1, scenario["topology"]["pairs"] + 1)
