r"""Two paths between the routers of a dumbbell, and OpenFlow rules that choose one for each direction.

::

                                   path a
    s1 --+                     /============\                 +-- d1
    s2 --+-- r1 ========== core1            core2 ------- r2 --+-- d2
    sN --+     bottleneck      \============/                 +-- dN
                                   path b

Rate and queue are where the dumbbell has them, on r1 and r2. The delays are on the paths: forward on the interfaces of
core1, backward on those of core2. Each switch chooses the path of the packets that leave it, so the two directions can
take different paths. Packets under way on the old path still arrive after a change of rule, as on a wire. The switches
forward by rules only: a learning switch would flood the loop of the two paths forever.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topologies.description import End, Network, Node, Path, Plain, TopologyError
from topologies.links.netem import Propagation
from topologies.named import dumbbell

FIELDS = (*dumbbell.FIELDS, "delay_b")
"""See `topologies.dumbbell.FIELDS`."""
PATHS = {"a": "delay", "b": "delay_b"}
"""For each path, the field of a scenario with its delay; the first path is taken at the start."""

# by direction: the switch that chooses the path, and the router whose packets it forwards
_DECIDES = {"forward": ("core1", "r1"), "backward": ("core2", "r2")}


def describe(scenario: Mapping[str, Any]) -> Network:
    """Describe the network of a scenario, whose values are in base units.

    Raises:
        TopologyError: the delay of path b is missing.
    """
    if not scenario.get("delay_b"):
        raise TopologyError(("delay_b",), "missing", "the delay of path b, which topology two-path has")
    drawing, (left, right) = dumbbell.start(scenario)
    network = drawing.network
    for direction, (switch, router) in _DECIDES.items():
        network.routes[direction] = {path: _route(switch, router, path) for path in PATHS}
        arriving = (_rule(switch, path, router) for path in PATHS)
        network.nodes[switch] = Node("switch", rules=(*arriving, _rule(switch, router, "a")))
    network.links += [(left, End("core1", "core1-r1")), (End("core2", "core2-r2"), right)]
    for path, name in PATHS.items():
        forward, backward = (Propagation(scenario[name][f"{direction}_ns"]) for direction in _DECIDES)
        ends = End("core1", f"core1-{path}", egress=forward), End("core2", f"core2-{path}", egress=backward)
        network.links.append(ends)
    dumbbell.finish(scenario, drawing, None, None)
    for path, name in PATHS.items():
        for pair in range(1, scenario["topology"]["pairs"] + 1):
            ways = Path(
                f"s{pair}-d{pair}",
                f"s{pair}",
                f"d{pair}",
                scenario[name]["forward_ns"],
                scenario[name]["backward_ns"],
                *dumbbell.limits(scenario),
                tuple(network.routes[direction][path] for direction in _DECIDES),
            )
            network.paths.append(ways if path == "a" else replace(ways, name=f"{ways.name}:{path}"))
    return network


def _route(switch: str, come_from: str, path: str) -> Plain:
    return {"node": switch, "port": f"{switch}-{path}", "rules": [_rule(switch, come_from, path)]}


def _rule(switch: str, come_from: str, go_to: str) -> str:
    return f'in_port="{switch}-{come_from}",actions=output:"{switch}-{go_to}"'
