"""Measures how often the rules are right, on synthetic claims whose truth is known.

`python -m analysis.verdicts.coverage` prints the table of docs/reference/verdicts.md.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from analysis.verdicts import rules
from analysis.verdicts.expected import Expected
from analysis.verdicts.rules import BOUND_OF_FRACTIONS, FIRST, Outcome, Verdict

CLAIMS: Final = 1000  # synthetic claims per row
JUDGED: Final = (Outcome.REPRODUCED, Outcome.NEAR, Outcome.UNDECIDED, Outcome.NOT_REPRODUCED)

Draw = Callable[[np.random.Generator, int], list[float]]  # (generator, count) -> one number per seed


@dataclass(frozen=True)
class Case:
    """Claims of one kind and truth. Without `expected` it is a predicate, and `draw` gives 1 where it holds."""

    kind: str
    truth: str
    expected: Expected | None
    draw: Draw


def _normal(mean: float, std: float) -> Draw:
    return lambda random, count: list(random.normal(mean, std, count))


def _skewed(mean: float, spread: float) -> Draw:
    """Draw numbers whose logarithms are normal with that deviation."""
    return lambda random, count: list(mean * random.lognormal(-(spread**2) / 2, spread, count))


def _losses(rate: float) -> Draw:
    """Draw loss rates of runs of 50,000 packets, 300 s at 2 Mbit/s."""
    return lambda random, count: list(random.poisson(50_000 * rate, count) / 50_000)


def _holds(fraction: float) -> Draw:
    return lambda random, count: list((random.random(count) < fraction).astype(float))


def _modes(fraction: float) -> Draw:
    """Draw outcomes of two kinds, 141 and 216; the first comes in that fraction of the seeds."""
    return lambda random, count: list(
        np.where(random.random(count) < fraction, 141.0, 216.0) + random.normal(0, 1, count)
    )


def cases() -> Iterator[Case]:
    """Yield the rows of the table. True is on the paper's value, near between the bounds, false far outside."""
    index = Expected("0.65", "1", "jain")  # reproduced within 0.035, near within 0.085
    means = (("true", 0.65), ("just reproduced", 0.685), ("near", 0.71), ("just near", 0.735), ("false", 0.80))
    for truth, mean in means:
        yield Case("mean, deviation 0.02", truth, index, _normal(mean, 0.02))
    for truth, mean in means:
        yield Case("mean, deviation 0.06", truth, index, _normal(mean, 0.06))
    time = Expected("6.0", "s", "time")  # reproduced within 0.35, near within 0.95
    for truth, mean in (("true", 6.0), ("false", 8.0)):
        yield Case("mean, skewed", truth, time, _skewed(mean, 0.1))
    losses = Expected("4.1e-4", "fraction", "loss_rate")  # reproduced within a factor of 1.5, near of 2
    for truth, rate in (("true", 4.1e-4), ("near", 4.15e-4 * 3**0.5), ("false", 1.4e-4), ("no losses", 0.0)):
        yield Case("rate of losses", truth, losses, _losses(rate))
    for runs in (10, 100):
        std = Expected("0.12", "1", "jain", statistic="std", runs=runs)
        for truth, deviation in (("true", 0.12), ("false", 0.04)):
            yield Case(f"deviation, {runs} runs of the paper", truth, std, _normal(0.6, deviation))
    for truth, fraction in (
        ("true", 1.0),
        ("just reproduced", 0.8),
        ("near", 0.65),
        ("just near", 0.5),
        ("false", 0.1),
    ):
        yield Case("predicate", truth, None, _holds(fraction))
    mode = Expected("142", "s", "completion", statistic="fraction-in-mode")
    for truth, fraction in (("true", 0.95), ("near", 0.65), ("false", 0.1)):
        yield Case("one of two modes", truth, mode, _modes(fraction))


def _judge(case: Case, numbers: list[float]) -> Verdict:
    """Judge the numbers of some seeds."""
    if case.expected is None:
        return rules.judge_predicate(int(sum(numbers)), len(numbers))
    return rules.judge_number(case.expected, dict(enumerate(numbers, 1)))


@dataclass(frozen=True)
class Row:
    """Verdicts of the claims of a case after the first seeds, and after as many as the rules then ask for."""

    case: Case
    first: Counter[Outcome]
    adapted: Counter[Outcome]


@cache
def rows() -> tuple[Row, ...]:
    """Judge all claims."""
    return tuple(_count(case, number) for number, case in enumerate(cases()))


def _count(case: Case, number: int) -> Row:
    random = np.random.default_rng(number)
    first: Counter[Outcome] = Counter()
    adapted: Counter[Outcome] = Counter()
    for _ in range(CLAIMS):
        numbers = case.draw(random, BOUND_OF_FRACTIONS)
        seeds, verdict = FIRST, _judge(case, numbers[:FIRST])
        first[verdict.outcome] += 1
        while verdict.seeds_wanted > seeds:
            seeds = verdict.seeds_wanted
            verdict = _judge(case, numbers[:seeds])
        adapted[verdict.outcome] += 1
    return Row(case, first, adapted)


def table() -> str:
    """Write the table in Markdown."""
    heads = [
        "kind",
        "truth",
        *(f"{outcome}, first" for outcome in JUDGED),
        *(f"{outcome}, adapted" for outcome in JUDGED),
    ]
    lines = [_row(heads), _row(["---", "---"] + ["---:"] * 2 * len(JUDGED))]
    for row in rows():
        counts = [counted[outcome] for counted in (row.first, row.adapted) for outcome in JUDGED]
        lines.append(_row([row.case.kind, row.case.truth, *(str(count or "") for count in counts)]))
    return "\n".join(lines)


def _row(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"


if __name__ == "__main__":
    print(table())
