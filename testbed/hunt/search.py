"""Chooses the points of an arena that are tried next: from what earlier ones gave, or at random."""

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from testbed.hunt.arena import Arena, Knob, Point

if TYPE_CHECKING:
    import optuna

SEARCHES: Final = ("tpe", "bins", "random")
BATCH: Final = 16
"""Points that are chosen together, whatever the number of CPUs: the same seed then gives the same points."""
_DRAWN: Final = 2  # batches, the same in each search, before the first that is chosen by what came before


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
    number = len(tried) // BATCH
    own_seed = seed * 1_000_003 + number
    if search == "tpe" and number >= _DRAWN:
        return _by_tpe(arena, tried, own_seed)
    draw = random.Random(own_seed)  # noqa: S311 (repeats)
    if search == "bins" and number >= _DRAWN:
        return [_mutant(arena, tried, draw) for _ in range(BATCH)]
    return [_point(arena, lambda knob: draw.randrange(len(knob.values))) for _ in range(BATCH)]


def _point(arena: Arena, turned: Callable[[Knob], int]) -> Point:
    """Turn the knobs that have something to turn, those that decide it first."""
    point: dict[str, int] = {}
    for knob in sorted(arena.knobs, key=lambda knob: len(list(arena.above(knob)))):
        if all(above.values[point[above.name]] for above in arena.above(knob) if above.name in point):
            point[knob.name] = turned(knob)
    return point


def _mutant(arena: Arena, tried: Sequence[Tried], draw: random.Random) -> Point:
    """Turn some knobs of a point that broke something nearly, or behaved as few others did."""
    if draw.random() < _DRAWN_ANEW:
        return _point(arena, lambda knob: draw.randrange(len(knob.values)))
    rivals = draw.choices(tried, k=_RIVALS)
    parent = max(rivals, key=lambda rival: rival.badness + rival.rarity).point

    def turned(knob: Knob) -> int:
        if knob.name in parent and draw.random() > _TURNED / len(parent):
            return parent[knob.name]
        return draw.randrange(len(knob.values))

    return _point(arena, turned)


def _by_tpe(arena: Arena, tried: Sequence[Tried], seed: int) -> list[Point]:
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
    return [_point(arena, partial(_suggested, study.ask())) for _ in range(BATCH)]


def _places(knob: Knob) -> "optuna.distributions.BaseDistribution":
    import optuna

    if knob.ordered:
        return optuna.distributions.IntDistribution(0, len(knob.values) - 1)
    return optuna.distributions.CategoricalDistribution(range(len(knob.values)))


def _suggested(trial: "optuna.trial.Trial", knob: Knob) -> int:
    if knob.ordered:
        return int(trial.suggest_int(knob.name, 0, len(knob.values) - 1))
    return int(trial.suggest_categorical(knob.name, range(len(knob.values))))
