r"""Two paths between the routers of a dumbbell, and OpenFlow rules that say which one is taken.

::

                                   path a
    s1 --+                     /============\                 +-- d1
    s2 --+-- r1 ========== core1            core2 ------- r2 --+-- d2
    sN --+     bottleneck      \============/                 +-- dN
                                   path b

Queue and rate are where the dumbbell has them, on r1 and r2. The delays are on the paths: forward on the interfaces of
core1, backward on those of core2. Each switch decides for the packets that leave it, so the two directions can take
different paths. What is under way on the old path when a rule changes still arrives, as packets on a wire do. The rules
are all that forwards: by learning, the loop of the two paths would send floods round forever.
"""

from typing import Any

from topologies.dumbbell import Dumbbell
from topologies.network import BatchMininet, BatchSwitch
from topologies.shaping import Propagation

# by direction: the switch that decides, and the router whose packets it decides about
_DECIDES = {"forward": ("core1", "r1"), "backward": ("core2", "r2")}


class TwoPath(Dumbbell):
    """See the module. `paths` are their forward and backward delay by name; the first one is taken at the start."""

    # every topology builds from arguments of its own, as in Mininet
    def build(  # type: ignore[override]
        self, paths: dict[str, tuple[Propagation, Propagation]], **dumbbell: Any
    ) -> None:
        """Called by Mininet's Topo with the constructor's arguments: these and those of the dumbbell."""
        self.paths = paths
        super().build(forward=None, backward=None, **dumbbell)

    def connect_routers(self, r1: dict[str, Any], r2: dict[str, Any]) -> None:
        """Put two switches and both paths between the routers."""
        first = next(iter(self.paths))
        for index, (switch, router) in enumerate(_DECIDES.values()):
            arriving = [_rule(switch, path, router) for path in self.paths]
            rules = [*arriving, _rule(switch, router, first)]
            self.addSwitch(switch, cls=BatchSwitch, dpid=f"{3 + index:x}", rules=rules)
        self.addLink("r1", "core1", intfName2="core1-r1", **r1)
        self.addLink("core2", "r2", intfName1="core2-r2", **r2)
        for path, (forward, backward) in self.paths.items():
            self.addLink(
                "core1",
                "core2",
                intfName1=f"core1-{path}",
                intfName2=f"core2-{path}",
                params1={"egress": forward},
                params2={"egress": backward},
            )


def route(net: BatchMininet, paths: dict[str, str]) -> None:
    """Let packets of the directions named take the path named from now on, as ``{"forward": "b"}``."""
    for direction, path in paths.items():
        switch, router = _DECIDES[direction]
        net[switch].add_rules([_rule(switch, router, path)])


def _rule(switch: str, come_from: str, go_to: str) -> str:
    return f'in_port="{switch}-{come_from}",actions=output:"{switch}-{go_to}"'
