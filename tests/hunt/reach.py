"""How soon a search meets conditions in which a client may break, without a run: `python -m tests.hunt.reach`."""

import statistics
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import Final

from scenarios.units import parse
from testbed.hunt import arena, search
from testbed.hunt.scenario import Data

CLIENT: Final = "libutp"
SEEDS: Final = range(1, 21)
SEARCHES: Final = ("tour", "random")
_MOST: Final = 2000


def _forward(scenario: Data, what: str, unit: str) -> Iterator[int]:
    """Yield the values of an effect on the forward path, in base units."""
    for event in scenario.get("events", ()):
        if "forward" in event.get(what, {}):
            yield parse(event[what]["forward"], unit)


def _silence(scenario: Data) -> bool:
    return max(_forward(scenario, "suspension", "time"), default=0) > parse("3s", "time")


def _duplicates(scenario: Data) -> bool:
    return max(_forward(scenario, "duplicate", "share"), default=0) >= parse("1%", "share")


def _bursts(scenario: Data) -> bool:
    lossy = [event for event in scenario.get("events", ()) if "burst" in event]
    return max(_forward({"events": lossy}, "loss", "share"), default=0) >= parse("2%", "share")


def _longer_way(scenario: Data) -> bool:
    least = max(parse("200ms", "time"), 2 * parse(scenario["delay"]["forward"], "time"))
    return max(_forward(scenario, "delay", "time"), default=0) >= least


CONDITIONS: Final[dict[str, Callable[[Data], bool]]] = {
    "a silence of more than 3 s": _silence,
    "a path of 1280 bytes": lambda data: parse("1280B", "bytes") in _forward(data, "mtu", "bytes"),
    "a black hole above 1280 bytes": lambda data: parse("1280B", "bytes") in _forward(data, "black_hole", "bytes"),
    "1 % of duplicates and more": _duplicates,
    "2 % of losses and more, in bursts": _bursts,
    "10 ms of jitter and more": lambda data: max(_forward(data, "jitter", "time"), default=0) >= parse("10ms", "time"),
    "a delay that doubles, to 200 ms and more": _longer_way,
    "a silence of more than 3 s, and 1 % of duplicates and more": lambda data: _silence(data) and _duplicates(data),
    "a base round-trip time of more than 400 ms": lambda data: (
        sum(parse(way, "time") for way in data["delay"].values()) > parse("400ms", "time")
    ),
    "a window of more than 256 packets": lambda data: (
        parse(data["bottleneck"]["rate"], "rate") * (sum(parse(way, "time") for way in data["delay"].values()) + 10**8)
        > 256 * 12_000 * 10**9
    ),
    "a base round-trip time below 10 ms": lambda data: (
        sum(parse(way, "time") for way in data["delay"].values()) < parse("10ms", "time")
    ),
}


@cache
def _arena() -> arena.Arena:
    return arena.read(arena.DEFAULT, CLIENT)


def first(how: str, seed: int, condition: Callable[[Data], bool]) -> int:
    """Return the number of the first scenario, from 1, that a search gives and a condition holds in."""
    place = _arena()
    tried = 0
    while tried < _MOST:
        for point in search.batch(place, tried, seed, how):
            tried += 1
            if condition(place.scenario(point, CLIENT)):
                return tried
    return _MOST


def table() -> Iterator[str]:
    """Yield a row for each condition."""
    yield "| condition | tour, median | random, median | all of random's over all of tour's |"
    yield "|---|---|---|---|"
    everything: dict[str, list[int]] = {how: [] for how in SEARCHES}
    for says, condition in CONDITIONS.items():
        numbers = {how: [first(how, seed, condition) for seed in SEEDS] for how in SEARCHES}
        for how in SEARCHES:
            everything[how] += numbers[how]
        yield _row(says, *numbers.values())
    yield _row("all", *everything.values())


def _row(says: str, tour: list[int], random: list[int]) -> str:
    medians = " | ".join(f"{statistics.median(each):g}" for each in (tour, random))
    return f"| {says} | {medians} | {sum(random) / sum(tour):.1f} |"


if __name__ == "__main__":
    sys.stdout.writelines(chain.from_iterable((line, "\n") for line in table()))
