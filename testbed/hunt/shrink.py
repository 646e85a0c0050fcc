"""Makes a scenario smaller as long as it breaks the same property, until no single change leaves it broken."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from scenarios import schema
from scenarios.errors import FieldPath
from scenarios.units import QUANTITIES
from testbed.hunt.arena import is_valid, written
from testbed.hunt.scenario import Data
from testbed.shared.panel import CLIENT, STANDARD

ROUND: Final = tuple(map(Decimal, (1, 2, 5)))
"""What people choose, of each power of ten."""
_KEPT: Final = ("experiment", "title", "topology", "bottleneck", "delay", "flows", "duration", "matrix")
_NEEDED: Final = ("rate", "buffer", "name", "implementation", "from", "to", "may_fail", "at", "on", "host")
_SHORTEST_S: Final = 2
_AS_MET: Final = ("mtu", "black_hole")  # rounded, they would be paths that no protocol has to work over

Breaking = Callable[[Sequence[Data]], list[bool]]


def shrink(scenario: Data, breaking: Breaking) -> Iterator[Data]:
    """Yield ever smaller scenarios, until no single change that `changes` knows is smaller and still `breaking`.

    The changes that each for itself leave it broken are then made together as far as that leaves it broken, too.
    """
    while True:
        tried = list(changes(scenario))
        works = [change for change, broken in zip(tried, breaking(tried), strict=True) if broken]
        if not works:
            return
        scenario = _together(scenario, works, breaking)
        yield scenario


def _together(scenario: Data, works: Sequence[Data], breaking: Breaking) -> Data:
    """Make as many of several changes as leave it broken together: all, else a half, and so on; at least the first."""
    count = len(works)
    while count > 1:
        merged = scenario
        for change in works[:count]:
            merged = _merged(scenario, change, merged)
        if is_valid(merged) and breaking([merged])[0]:
            return merged
        count //= 2
    return works[0]


def _merged(before: Any, after: Any, into: Any) -> Any:
    """Make in `into`, a changed copy of `before`, the change that leads from `before` to `after`."""
    if before == after:
        return into
    if isinstance(before, dict) and isinstance(after, dict) and isinstance(into, dict):
        kept = {name: value for name, value in into.items() if name in after or name not in before}
        return {
            name: _merged(before[name], after[name], value) if name in before and name in after else value
            for name, value in kept.items()
        }
    if isinstance(before, list) and isinstance(after, list) and isinstance(into, list):
        if len(before) == len(after) == len(into):
            return [_merged(*items) for items in zip(before, after, into, strict=True)]
        dropped = [item for item in before if item not in after]
        return [item for item in into if item not in dropped]
    return after


def changes(scenario: Data) -> Iterator[Data]:
    """Yield each valid scenario that one change makes smaller, those with the greatest effect first."""
    yield from filter(is_valid, _changes(scenario))


def _changes(scenario: Data) -> Iterator[Data]:
    for change in _dropped(scenario):
        yield _tidied(change)
    for path, number, unit in quantities(scenario):
        for smaller in _rounder(path, number) if not {*path} & {*_AS_MET} else ():
            yield replaced(scenario, path, written(smaller, QUANTITIES[unit]))
    for index, flow in enumerate(scenario["flows"]):
        if flow["name"] != CLIENT and flow["implementation"] != STANDARD:
            yield replaced(scenario, ("flows", index, "implementation"), STANDARD)


def _dropped(scenario: Data) -> Iterator[Data]:
    """Yield the scenario without a field, an item of a list, or a field of one of these."""
    for name, value in scenario.items():
        if name not in _KEPT:
            yield _without(scenario, (name,))
        if name in ("events", "flows", "clocks"):
            for index, item in enumerate(value):
                if item.get("name") != CLIENT:
                    yield _without(scenario, (name, index))
                yield from (_without(scenario, (name, index, *field)) for field in _fields(item))
        elif name in ("bottleneck", "backward_bottleneck"):
            yield from (_without(scenario, (name, field)) for field in value if field not in _NEEDED)


def _fields(item: Data) -> Iterator[FieldPath]:
    """Yield the fields that an item of a list can do without, and either direction of one that has both."""
    optional = [field for field in item if field not in _NEEDED]
    if "at" not in item or len(optional) > 1:  # an event changes something
        yield from ((field,) for field in optional)
    for field in optional:
        if isinstance(item[field], dict) and len(item[field]) > 1:
            yield from ((field, direction) for direction in item[field])


def _tidied(scenario: Data) -> Data:
    """Return the scenario without empty fields, and without pairs of hosts that no flow uses."""
    tidy = {name: value for name, value in scenario.items() if value != []}
    topology = tidy["topology"]
    if "pairs" in topology:
        used = max(int(flow[end][1:]) for flow in tidy["flows"] for end in ("from", "to"))
        tidy["topology"] = topology | {"pairs": min(topology["pairs"], used)}
    return tidy


def quantities(scenario: Data) -> Iterator[tuple[FieldPath, int, str]]:
    """Yield each quantity of a scenario: its place, its value in base units, and its unit's name."""
    yield from _quantities(scenario, schema.load_schema("scenario"), ())


def _quantities(data: Any, field: Any, path: FieldPath) -> Iterator[tuple[FieldPath, int, str]]:
    if "unit" in field and isinstance(data, str):
        yield path, QUANTITIES[field["unit"]].parse(data), field["unit"]
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from _quantities(value, field.get("properties", {}).get(name, {}), (*path, name))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _quantities(value, field.get("items", {}), (*path, index))


def _rounder(path: FieldPath, number: int) -> Iterator[int]:
    """Yield the numbers to which people would round one; a duration becomes shorter, an instant earlier."""
    if path == ("duration",):
        if (shorter := _below(number)) >= _SHORTEST_S * 10**9:
            yield shorter
    elif number > 0:
        if path[-1] in ("at", "start"):
            yield 0
        if not _is_round(number):
            low = _below(number)
            high = _below(low * 5 // 2 + 1) if low else 1
            yield from sorted({low, high} - {0}, key=lambda end: abs(math.log(end / number)))


def _is_round(number: int) -> bool:
    return number in {_below(number + 1)}


def _below(number: int) -> int:
    """Return the largest round number below another."""
    powers = [step.scaleb(exponent) for exponent in range(len(str(number))) for step in ROUND]
    return int(max((power for power in powers if power < number), default=Decimal(0)))


def replaced(data: Data, path: FieldPath, value: Any) -> Data:
    """Copy a scenario with another value at a place."""
    changed = copy.deepcopy(data)
    around: Any = changed
    for part in path[:-1]:
        around = around[part]
    around[path[-1]] = value
    return changed


def _without(data: Data, path: FieldPath) -> Data:
    changed = copy.deepcopy(data)
    around: Any = changed
    for part in path[:-1]:
        around = around[part]
    del around[path[-1]]
    return changed
