"""The parking lot: bottlenecks in a row. Each pair of hosts crosses one of them or several that follow each other.

::

            s1  s3           s2
             |  |            |
             r1 ============ r2 ============ r3 -- d1
                bottleneck    |  bottleneck-2 |
                              d3              d2       spans: [[1, 2], [2, 2], [1, 1]]

Bottleneck k lies between r<k> and r<k+1>, with its queue on r<k>. A pair that spans bottlenecks a to b has its source
at r<a> and its destination at r<b+1>; its delays sit on those two routers, as in the dumbbell. The reverse path has no
limit.
"""

from collections.abc import Mapping
from typing import Any

from topologies.description import Network, Path, Place, Queue, Tap, TopologyError
from topologies.links import bottleneck, tightest
from topologies.links.netem import Propagation
from topologies.pairs import DESTINATION, SOURCE, Addresses, Drawing

FIELDS = ("more_bottlenecks", "spans")
"""See `topologies.dumbbell.FIELDS`."""

Span = tuple[int, int]


def describe(scenario: Mapping[str, Any]) -> Network:
    """Describe the network of a scenario, whose values are in base units.

    Raises:
        TopologyError: the spans are not one for each pair, or name a bottleneck that is not there.
    """
    limits = [bottleneck(limit) for limit in (scenario["bottleneck"], *(scenario.get("more_bottlenecks") or ()))]
    spans = _spans(scenario, len(limits))
    drawing = Drawing(scenario)
    network = drawing.network
    network.own_pairs_only = True
    for number in range(1, len(limits) + 2):
        drawing.router(f"r{number}", *_routes(drawing.addresses, number, spans))
    for index, limit in enumerate(limits):
        network.links.append(drawing.router_ends(index, f"r{index + 1}", f"r{index + 2}", limit, None))
    delay = scenario["delay"]
    forward, backward = Propagation(delay["forward_ns"]), Propagation(delay["backward_ns"])
    sources = [drawing.source(pair, f"r{first}", backward) for pair, (first, _) in enumerate(spans, 1)]
    destinations = [drawing.destination(pair, f"r{last + 1}", forward) for pair, (_, last) in enumerate(spans, 1)]
    for index in range(len(limits)):
        _add_queue(drawing, index + 1, sources, destinations)
    for pair, (first, last) in enumerate(spans, 1):
        limit, name = tightest(*limits[first - 1 : last]), f"s{pair}-d{pair}"
        network.paths.append(Path(name, f"s{pair}", f"d{pair}", delay["forward_ns"], delay["backward_ns"], limit, None))
    return network


def _spans(scenario: Mapping[str, Any], bottlenecks: int) -> list[Span]:
    pairs = scenario["topology"]["pairs"]
    given = scenario.get("spans") or [[1, bottlenecks]] * pairs
    if len(given) != pairs:
        raise TopologyError(("spans",), f"found {len(given)} for {pairs} pairs", "one span for each pair")
    for index, (first, last) in enumerate(given):
        if not 1 <= first <= last <= bottlenecks:
            allowed = f"the numbers of the first and the last bottleneck that it crosses, 1 to {bottlenecks}"
            raise TopologyError(("spans", index), f"found [{first}, {last}]", allowed)
    return [(first, last) for first, last in given]


def _routes(known: Addresses, router: int, spans: list[Span]) -> list[str]:
    """Return the routes of a router to those hosts of the pairs that pass it that are not next to it."""
    routes = []
    for pair, (first, last) in enumerate(spans, 1):
        if first < router <= last + 1:
            routes.append(f"{known.pair(SOURCE, pair)} via {known.link(router - 2, 1)}")
        if first <= router < last + 1:
            routes.append(f"{known.pair(DESTINATION, pair)} via {known.link(router - 1, 2)}")
    return routes


def _add_queue(drawing: Drawing, number: int, sources: list[Place], destinations: list[Place]) -> None:
    network, bound_for = drawing.network, drawing.addresses.side(DESTINATION)
    router, suffix = f"r{number}", "" if number == 1 else f"-{number}"
    entering = [place for place in sources if place.node == router]
    if number > 1:
        entering.append(Place(router, f"{router}-r{number - 1}"))
    leaving = tuple(place.interface for place in destinations if place.node == router)
    before, after = f"bottleneck{suffix}-in", f"bottleneck{suffix}-out"
    network.taps[before] = [Tap(place.node, place.interface, "in") for place in entering]
    network.taps[after] = [Tap(router, f"{router}-r{number + 1}", "inout")]
    arrivals = tuple(place.interface for place in entering)
    network.queues[f"bottleneck{suffix}"] = Queue(
        router, f"{router}-r{number + 1}", "forward", arrivals, leaving, bound_for, before, after, f"queue{suffix}"
    )
