"""The swarm: peers that reach each other over the Internet, each by an access link with a rate up and a rate down.

::

    p1 -- m1 ==== a1 --+-- core --+-- a2 ==== m2 -- p2
                                  +-- a3 ==== m3 -- p3

Each peer p<k> is behind a modem m<k>, in whose queue waits what it sends; what it receives waits in that of its
provider's router a<k>. The queues are `bottleneck-<k>` and `backward_bottleneck-<k>`, without a number those of the
first peer. The delay sits on the modem towards the peer, so every way from one peer to another has it once.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from topologies.description import Network, Path, Queue, Tap, TopologyError
from topologies.links import bottleneck, tightest
from topologies.links.base import Bottleneck
from topologies.links.netem import Propagation
from topologies.pairs import SOURCE, Drawing

FIELDS = ("backward_bottleneck", "peers")
"""See `topologies.named.dumbbell.FIELDS`."""
COUNTED = "peers"
"""The field of `topology` that says how many there are."""

_CORE = "core"


def describe(scenario: Mapping[str, Any]) -> Network:
    """Describe the network of a scenario, whose values are in base units.

    Raises:
        TopologyError: there is no rate down, the delays of both directions differ, or a peer that has its own rates is
            not there.
    """
    numbers = range(1, scenario["topology"]["peers"] + 1)
    ups, downs = _limits(scenario, len(numbers))
    delay_ns = _delay_ns(scenario)
    drawing = Drawing(scenario)
    network = drawing.network
    network.everyone = True
    known = drawing.addresses
    drawing.router(_CORE, *(f"{known.pair(SOURCE, number)} via {known.link(2 * number - 1, 1)}" for number in numbers))
    for number in numbers:
        home, provider = 2 * number - 2, 2 * number - 1
        modem, router = f"m{number}", f"a{number}"
        drawing.router(modem, f"default via {known.link(home, 2)}")
        own = f"{known.pair(SOURCE, number)} via {known.link(home, 1)}"
        drawing.router(router, f"default via {known.link(provider, 2)}", own)
        network.links.append(drawing.router_ends(home, modem, router, ups[number], downs[number]))
        network.links.append(drawing.router_ends(provider, router, _CORE, None, None))
        drawing.peer(number, modem, Propagation(delay_ns))
        _add_queues(drawing, number)
    for first, other in combinations(numbers, 2):
        ends = f"p{first}", f"p{other}"
        ways = tightest(ups[first], downs[other]), tightest(ups[other], downs[first])
        network.paths.append(Path("-".join(ends), *ends, delay_ns, delay_ns, *ways))
    return network


def _limits(scenario: Mapping[str, Any], peers: int) -> tuple[dict[int, Bottleneck], dict[int, Bottleneck]]:
    """Return the limits up and down of each peer, by its number."""
    if not scenario.get("backward_bottleneck"):
        raise TopologyError(("backward_bottleneck",), "missing", "what each peer of topology swarm can receive")
    first = {"up": bottleneck(scenario["bottleneck"]), "down": bottleneck(scenario["backward_bottleneck"])}
    ups, downs = (dict.fromkeys(range(1, peers + 1), first[way]) for way in ("up", "down"))
    for index, own in enumerate(scenario.get("peers") or ()):
        name, number = own["host"], own["host"][1:]
        if not (name[:1] == "p" and number.isdecimal() and int(number) in ups):
            raise TopologyError(("peers", index, "host"), f"unknown host {name!r}", f"p1 to p{peers}")
        for way, limits in (("up", ups), ("down", downs)):
            if way in own:
                limits[int(number)] = bottleneck(own[way])
    return ups, downs


def _delay_ns(scenario: Mapping[str, Any]) -> int:
    forward_ns, backward_ns = (int(scenario["delay"][f"{direction}_ns"]) for direction in ("forward", "backward"))
    if forward_ns != backward_ns:
        found = "found different delays forward and backward"
        raise TopologyError(("delay",), found, "one delay for both in topology swarm, whose peers have no sides")
    return forward_ns


def _add_queues(drawing: Drawing, number: int) -> None:
    network, bound_for = drawing.network, drawing.addresses.side(SOURCE)
    host, modem, router = f"p{number}", f"m{number}", f"a{number}"
    before, after, arriving = "bottleneck-in", "bottleneck-out", "backward-in"
    network.taps[before].append(Tap(modem, f"{modem}-{host}", "in"))
    network.taps[after].append(Tap(modem, f"{modem}-{router}", "out"))
    network.taps[arriving].append(Tap(router, f"{router}-{_CORE}", "in"))
    suffix = "" if number == 1 else f"-{number}"
    network.queues[f"bottleneck{suffix}"] = Queue(
        modem, f"{modem}-{router}", "forward", (f"{modem}-{host}",), (), bound_for, before, after, f"queue{suffix}"
    )
    network.queues[f"backward_bottleneck{suffix}"] = Queue(
        *(router, f"{router}-{modem}", "backward", (f"{router}-{_CORE}",), (), bound_for, arriving, after),
        f"queue-backward{suffix}",
    )
