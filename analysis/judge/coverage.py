"""Measures how often the rules are right, on synthetic claims whose truth is known.

`python -m testbed.tables coverage` prints the tables of docs/reference/verdicts.md.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from analysis.judge import rules
from analysis.judge.expected import Expected
from analysis.judge.findings import verdicts_of_findings
from analysis.judge.rules import BOUND, BOUND_OF_FRACTIONS, FIRST, Judgement
from analysis.judge.verdict import Verdict

CLAIMS: Final = 1000  # synthetic claims per row
JUDGED: Final = (Verdict.HOLDS, Verdict.NEARLY, Verdict.OPEN, Verdict.FAILS)

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


def _of_papers_runs(mean: float, std: float, runs: int) -> Draw:
    """Draw around a mean that the paper's runs have missed by their own sampling error."""

    def draw(random: np.random.Generator, count: int) -> list[float]:
        missed = random.normal(0, std / runs**0.5)
        return list(random.normal(mean + missed, std, count))

    return draw


def _holds(fraction: float) -> Draw:
    return lambda random, count: list((random.random(count) < fraction).astype(float))


def _modes(fraction: float) -> Draw:
    """Draw outcomes of two kinds, 141 and 216; the first comes in that fraction of the seeds."""
    return lambda random, count: list(
        np.where(random.random(count) < fraction, 141.0, 216.0) + random.normal(0, 1, count)
    )


def cases() -> Iterator[Case]:
    """Yield the rows of the table. True is on the paper's value, nearly between the bounds, false far outside."""
    index = Expected("0.65", "1", "jain")  # holds within 0.035, nearly within 0.085
    means = (("true", 0.65), ("just holds", 0.685), ("nearly", 0.71), ("just nearly", 0.735), ("false", 0.80))
    for truth, mean in means:
        yield Case("mean, deviation 0.02", truth, index, _normal(mean, 0.02))
    for truth, mean in means:
        yield Case("mean, deviation 0.06", truth, index, _normal(mean, 0.06))
    for runs in (10, 100):
        of_runs = Expected("0.65", "1", "jain", runs=runs)
        for truth, mean in (("true", 0.65), ("false", 0.80 if runs == 100 else 1.0)):
            yield Case(
                f"mean of {runs} runs of the paper, deviation 0.15", truth, of_runs, _of_papers_runs(mean, 0.15, runs)
            )
    bound = Expected("0.7", "1", "jain", bound="at most")
    for truth, mean in (("true", 0.6), ("on the bound", 0.78), ("false", 0.9)):
        yield Case("upper bound, deviation 0.02", truth, bound, _normal(mean, 0.02))
    slope = Expected("0", "1", "slope", bound="above")
    for truth, mean in (("true", 1.0), ("no trend", 0.0), ("false", -1.0)):
        yield Case("trend, deviation 1", truth, slope, _normal(mean, 1.0))
    time = Expected("6.0", "s", "time")  # holds within 0.35, nearly within 0.95
    for truth, mean in (("true", 6.0), ("false", 8.0)):
        yield Case("mean, skewed", truth, time, _skewed(mean, 0.1))
    losses = Expected("4.1e-4", "fraction", "loss_rate")  # holds within a factor of 1.5, nearly of 2
    for truth, rate in (("true", 4.1e-4), ("nearly", 4.15e-4 * 3**0.5), ("false", 1.4e-4), ("no losses", 0.0)):
        yield Case("rate of losses", truth, losses, _losses(rate))
    for runs in (10, 100):
        std = Expected("0.12", "1", "jain", statistic="std", runs=runs)
        for truth, deviation in (("true", 0.12), ("false", 0.04)):
            yield Case(f"deviation, {runs} runs of the paper", truth, std, _normal(0.6, deviation))
    for truth, fraction in (
        ("true", 1.0),
        ("just holds", 0.8),
        ("nearly", 0.65),
        ("just nearly", 0.5),
        ("false", 0.1),
    ):
        yield Case("predicate", truth, None, _holds(fraction))
    mode = Expected("142", "s", "completion", statistic="fraction-in-mode")
    for truth, fraction in (("true", 0.95), ("nearly", 0.65), ("false", 0.1)):
        yield Case("one of two modes", truth, mode, _modes(fraction))


def _judge(case: Case, numbers: list[float]) -> Judgement:
    """Judge the numbers of some seeds."""
    if case.expected is None:
        return rules.judge_predicate(int(sum(numbers)), len(numbers))
    return rules.judge_number(case.expected, dict(enumerate(numbers, 1)))


@dataclass(frozen=True)
class CoverageRow:
    """Verdicts of the claims of a case after the first seeds, and after as many as the rules then ask for."""

    case: Case
    first: Counter[Verdict]
    adapted: Counter[Verdict]


@cache
def rows() -> tuple[CoverageRow, ...]:
    """Judge all claims."""
    return tuple(_count(case, number) for number, case in enumerate(cases()))


def _count(case: Case, number: int) -> CoverageRow:
    random = np.random.default_rng(number)
    first: Counter[Verdict] = Counter()
    adapted: Counter[Verdict] = Counter()
    for _ in range(CLAIMS):
        numbers = case.draw(random, BOUND_OF_FRACTIONS)
        seeds, judgement = FIRST, _judge(case, numbers[:FIRST])
        first[judgement.verdict] += 1
        while judgement.seeds_wanted > seeds:
            seeds = judgement.seeds_wanted
            judgement = _judge(case, numbers[:seeds])
        adapted[judgement.verdict] += 1
    return CoverageRow(case, first, adapted)


@dataclass(frozen=True)
class Family:
    """Claims of one finding, of which a number are false."""

    kind: str
    size: int
    false: int
    expected: Expected
    true_draw: Draw
    false_draw: Draw


FINDINGS: Final = 300  # synthetic findings per row
SEEDS_OF_FINDINGS: Final = BOUND


def families() -> Iterator[Family]:
    """Yield the rows of the table of findings."""
    std = Expected("0.12", "1", "jain", statistic="std", runs=10)
    index = Expected("0.65", "1", "jain")
    for false in (0, 1, 6):
        yield Family("deviation, 10 runs of the paper", 24, false, std, _normal(0.6, 0.12), _normal(0.6, 0.02))
    for false in (0, 1, 6):
        yield Family("mean, deviation 0.06", 12, false, index, _normal(0.65, 0.06), _normal(0.80, 0.06))


def _findings(family: Family, number: int) -> Counter[Verdict]:
    """Judge findings."""
    random = np.random.default_rng(number)
    found: Counter[Verdict] = Counter()
    for _ in range(FINDINGS):
        draws = [family.false_draw] * family.false + [family.true_draw] * (family.size - family.false)
        verdicts = [
            rules.judge_number(family.expected, dict(enumerate(draw(random, SEEDS_OF_FINDINGS)))) for draw in draws
        ]
        entries = [_entry(family.expected, place, judgement) for place, judgement in enumerate(verdicts)]
        found[verdicts_of_findings(entries)["f"]] += 1
    return found


def _entry(expected: Expected, place: int, judgement: Judgement) -> dict[str, Any]:
    return {
        "id": f"x/e{place:02}",
        "finding": "f",
        "metric": expected.metric,
        "statistic": expected.statistic,
        "verdict": judgement.verdict,
        "measured_interval": judgement.interval,
        "zones": judgement.zones and asdict(judgement.zones),
        "chance": judgement.chance,
    }


def table_of_findings() -> str:
    """Write the table of findings in Markdown."""
    lines = [_row(["claims of a finding", "false", *JUDGED]), _row(["---"] + ["---:"] * (1 + len(JUDGED)))]
    for number, family in enumerate(families()):
        named = f"{family.size} of kind: {family.kind}"
        lines.append(_row([named, str(family.false), *_shown(_findings(family, number))]))
    return "\n".join(lines)


def table() -> str:
    """Write the table of verdicts after all seeds in Markdown."""
    lines = [_row(["kind", "truth", *JUDGED]), _row(["---", "---"] + ["---:"] * len(JUDGED))]
    lines += [_row([row.case.kind, row.case.truth, *_shown(row.adapted)]) for row in rows()]
    return "\n".join(lines)


def _shown(counted: Counter[Verdict]) -> list[str]:
    return [str(counted[outcome] or "") for outcome in JUDGED]


def _row(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"


def main(_words: list[str]) -> int:
    """Print both tables, after some minutes; return 0."""
    print(table())
    print()
    print(table_of_findings())
    return 0
