"""Draws the points of an arena that are tried next."""

import random
from collections.abc import Callable
from functools import partial
from typing import Final

from testbed.hunt.arena import MAYBE, TOUR, Arena, Knob, Point

SEARCHES: Final = ("tour", "random")
FIRST: Final = 4
LATER: Final = 16
"""Points that are chosen together, whatever the number of CPUs: the same seed then gives the same points.

The first batches are small, as one of few scenarios breaks a property that nearly any breaks.
"""
_EARLY: Final = 16  # points
_PLAIN_ONE_IN: Final = 4
"""Beside tours, so many scenarios of `tour` are drawn like those of `random`."""
_TOURED: Final = 3 / 4
"""The part of the arena's events that a tour has. Other things that `maybe` are there are in half of the tours."""
_AT_AN_END: Final = 1 / 2
"""The part of an event's numbers that a tour takes from the ends of their ranges, where most breaks."""
_CORNER: Final = 2
"""The place among `_PLAIN_ONE_IN` of the tour in which all numbers of the link are ends of their ranges."""
_NO_LINK: Final = ("events", "flows", "clocks", "duration")
_ORDERS: Final = 1000


def batch(arena: Arena, number: int, seed: int, search: str) -> list[Point]:
    """Draw the next points, after `number` of them; the same for the same arguments."""
    points = range(FIRST if number < _EARLY else LATER)
    draw = random.Random(seed * 1_000_003 + number)  # noqa: S311 (repeats)
    if search == "random":
        return [_drawn(arena, draw) for _ in points]
    drawn = [_tour(arena, draw) if (place + 1) % _PLAIN_ONE_IN else _drawn(arena, draw) for place in points]
    rounds = [divmod(number + place, _PLAIN_ONE_IN) for place in points]
    return [
        _cornered(arena, point, turn) if place == _CORNER else point
        for point, (turn, place) in zip(drawn, rounds, strict=True)
    ]


def single(arena: Arena, number: int, seed: int) -> Point:
    """Draw the point of an arena that comes after `number` of its points, evenly; the same for the same arguments."""
    return _drawn(arena, random.Random(f"{seed} {number} {arena.document.file.name}"))  # noqa: S311 (repeats)


def _drawn(arena: Arena, draw: random.Random) -> Point:
    return _point(arena, partial(_at_random, draw))


def _at_random(draw: random.Random, knob: Knob) -> int:
    return draw.randrange(len(knob.values))


def _point(arena: Arena, turned: Callable[[Knob], int]) -> Point:
    """Turn the knobs that have something to turn, those that decide it first."""
    point: dict[str, int] = {}
    for knob in sorted(arena.knobs, key=lambda knob: len(list(arena.above(knob)))):
        if all(above.values[point[above.name]] for above in arena.above(knob) if above.name in point):
            point[knob.name] = turned(knob)
    return point


def _tour(arena: Arena, draw: random.Random) -> Point:
    """Draw a point with many events, which follow one another."""

    def turned(knob: Knob) -> int:
        is_of_event = knob.path[0] == "events"
        if knob.path[-1] == MAYBE:
            return int(draw.random() > (_TOURED if is_of_event else 1 / 2))
        if is_of_event and knob.ordered and draw.random() < _AT_AN_END:
            return draw.choice((0, len(knob.values) - 1))
        return _at_random(draw, knob)

    return {**_point(arena, turned), TOUR: draw.randrange(_ORDERS)}


def _cornered(arena: Arena, point: Point, turn: int) -> Point:
    """Put the numbers of the link at ends of their ranges, both ways of a delay at the same.

    Of any two of its first three numbers, four turns have all pairs of ends; eight have all corners.
    """
    link = [knob for knob in arena.knobs if knob.ordered and knob.path[0] not in _NO_LINK and knob.name in point]
    numbers = list(dict.fromkeys(knob.path[:1] if knob.path[0] == "delay" else knob.path for knob in link))
    first, second, later = turn & 1, turn >> 1 & 1, turn >> 2 & 1
    is_high = (first, second, first ^ second ^ later ^ 1)
    ends = {path: is_high[place % len(is_high)] for place, path in enumerate(numbers)}
    high = {knob.name: ends.get(knob.path, ends.get(knob.path[:1])) for knob in link}
    return {**point, **{knob.name: len(knob.values) - 1 if high[knob.name] else 0 for knob in link}}
