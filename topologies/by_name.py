"""Finds a topology by the name that scenarios use."""

from collections.abc import Mapping
from typing import Any

from topologies import dumbbell, parking_lot, two_path
from topologies.description import Network, TopologyError

_MODULES: dict[str, Any] = {"dumbbell": dumbbell, "two-path": two_path, "parking-lot": parking_lot}


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
    network: Network = _MODULES[name].describe(scenario)
    return network
