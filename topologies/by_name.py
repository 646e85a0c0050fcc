"""Finds a topology by the name that scenarios use."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from topologies import description, named
from topologies.description import Network, TopologyError
from topologies.links import tightest
from topologies.links.base import Bottleneck

_MODULES: dict[str, Any] = {
    file.stem.replace("_", "-"): import_module(f"{named.__name__}.{file.stem}")
    for file in sorted(Path(named.__file__).parent.glob("[a-z]*.py"))
}


def describe(scenario: Mapping[str, Any]) -> Network:
    """Describe the network of a scenario, whose values are in base units.

    Raises:
        TopologyError: the scenario has a field that its topology does not have, or lacks one that it needs.
    """
    name = scenario["topology"]["name"]
    for field in dict.fromkeys(field for module in _MODULES.values() for field in module.FIELDS):
        owners = [known for known, module in _MODULES.items() if field in module.FIELDS]
        if scenario.get(field) and name not in owners:
            raise TopologyError((field,), f"found with topology {name}", f"topology {' or '.join(owners)}")
    counted = getattr(_MODULES[name], "COUNTED", "pairs")
    if counted not in scenario["topology"]:
        raise TopologyError(("topology", counted), "missing", f"the number of {counted}, which topology {name} has")
    network: Network = _MODULES[name].describe(scenario)
    for index, host in enumerate(card["host"] for card in scenario.get("cards", ())):
        if host not in network.cards:
            hosts = ", ".join(name for name, node in network.nodes.items() if node.kind == "host")
            raise TopologyError(("cards", index, "host"), f"unknown host {host!r}", hosts)
    network.paths = [_limited_by_cards(path, network) for path in network.paths]
    return network


def _limited_by_cards(path: description.Path, network: Network) -> description.Path:
    """Return a path with the limits that the network cards of its hosts add."""
    if not network.cards.keys() & {path.source, path.destination}:
        return path
    shaped = {end.interface: end.egress for ends in network.links for end in ends}
    cards = {host: shaped[place.interface] for host, place in network.cards.items()}
    forward = [limit for limit in (path.forward, cards.get(path.source)) if isinstance(limit, Bottleneck)]
    backward = [limit for limit in (path.backward, cards.get(path.destination)) if isinstance(limit, Bottleneck)]
    return replace(path, forward=tightest(*forward), backward=tightest(*backward) if backward else None)
