"""Chooses the points of an arena that are tried next: from what earlier ones gave, or at random."""

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from testbed.hunt.arena import MAYBE, TOUR, Arena, Knob, Point

if TYPE_CHECKING:
    import optuna

SEARCHES: Final = ("tour", "tpe", "bins", "random")
FIRST: Final = 4
LATER: Final = 16
"""Points that are chosen together, whatever the number of CPUs: the same seed then gives the same points.

The first batches are small, as one of few scenarios breaks a property that nearly any breaks.
"""
_EARLY: Final = 16  # points
_DRAWN: Final = 32  # points, the same in each search but `tour`, before the first that is chosen by what came before
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

_DRAWN_ANEW: Final = 1 / 4
"""The part of `bins` that is drawn at random, so that nothing is out of its reach."""
_RIVALS: Final = 4
"""Points of which the best becomes the parent of a new one."""
_TURNED: Final = 2
"""Knobs of a parent that are turned, on average."""


@dataclass(frozen=True)
class Tried:
    """A point, and what came of it.

    `badness` is how near it was to breaking what is looked for (0 to 2, more than 1: broken), `rarity` how few others
    behaved as it did (0 to 1).
    """

    point: Point
    badness: float
    rarity: float = 0.0


def batch(arena: Arena, tried: Sequence[Tried], seed: int, search: str) -> list[Point]:
    """Choose the next points; the same for the same arguments."""
    number, points = len(tried), range(FIRST if len(tried) < _EARLY else LATER)
    own_seed = seed * 1_000_003 + number
    if search == "tpe" and number >= _DRAWN:
        study = _study(arena, tried, own_seed)
        return [_point(arena, partial(_suggested, study.ask())) for _ in points]
    draw = random.Random(own_seed)  # noqa: S311 (repeats)
    if search == "tour":
        drawn = [_tour(arena, draw) if (place + 1) % _PLAIN_ONE_IN else _drawn(arena, draw) for place in points]
        rounds = [divmod(number + place, _PLAIN_ONE_IN) for place in points]
        return [
            _cornered(arena, point, turn) if place == _CORNER else point
            for point, (turn, place) in zip(drawn, rounds, strict=True)
        ]
    if search == "bins" and number >= _DRAWN:
        return [_mutant(arena, tried, draw) for _ in points]
    return [_drawn(arena, draw) for _ in points]


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


def _mutant(arena: Arena, tried: Sequence[Tried], draw: random.Random) -> Point:
    """Turn some knobs of a point that broke something nearly, or behaved as few others did."""
    if draw.random() < _DRAWN_ANEW:
        return _drawn(arena, draw)
    rivals = draw.choices(tried, k=_RIVALS)
    parent = max(rivals, key=lambda rival: rival.badness + rival.rarity).point

    def turned(knob: Knob) -> int:
        if knob.name in parent and draw.random() > _TURNED / len(parent):
            return parent[knob.name]
        return _at_random(draw, knob)

    return _point(arena, turned)


def _study(arena: Arena, tried: Sequence[Tried], seed: int) -> "optuna.Study":
    import optuna  # loads much

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():  # some of the sampler's options are called experimental
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=0, constant_liar=True)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    for past in tried:
        study.add_trial(
            optuna.trial.create_trial(
                params=dict(past.point),
                distributions={knob.name: _places(knob) for knob in arena.knobs if knob.name in past.point},
                value=past.badness,
            )
        )
    return study


def _places(knob: Knob) -> "optuna.distributions.BaseDistribution":
    import optuna

    if knob.ordered:
        return optuna.distributions.IntDistribution(0, len(knob.values) - 1)
    return optuna.distributions.CategoricalDistribution(range(len(knob.values)))


def _suggested(trial: "optuna.trial.Trial", knob: Knob) -> int:
    if knob.ordered:
        return int(trial.suggest_int(knob.name, 0, len(knob.values) - 1))
    return int(trial.suggest_categorical(knob.name, range(len(knob.values))))
