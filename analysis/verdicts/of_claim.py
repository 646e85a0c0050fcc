"""Applies the rules to claims of the registry."""

from collections.abc import Mapping

from analysis.claims.registry import DASH, Claim
from analysis.claims.syntax import is_about_means
from analysis.verdicts import rules
from analysis.verdicts.expected import BOUNDS, STATISTICS, Expected
from analysis.verdicts.rules import Judgement


def judge(
    claim: Claim, words: Mapping[str, str], values: Mapping[int, float], held: Mapping[int, bool]
) -> Judgement | None:
    """Judge a claim by what each seed measured; None where no seed measured anything.

    `words` are those of the claim's experiment.
    """
    of_means = is_about_means(claim.holds or claim.measure or "None", words)
    if claim.holds:
        return rules.judge_predicate(sum(held.values()), len(held), of_means) if held else None
    return rules.judge_number(expected(claim), values, of_means) if claim.measure and values else None


def expected(claim: Claim) -> Expected:
    """Read what the paper prints: a number, or the two ends of a range."""
    low, high = claim.interval if isinstance(claim.interval, tuple) else (claim.printed, None)
    assert low is not None  # noqa: S101 (the registry checks it)
    return Expected(
        printed=_digits(low),
        upper=None if high is None else _digits(high),
        unit=claim.unit,
        metric=claim.metric,
        statistic=next(statistic for statistic in STATISTICS if statistic == claim.statistic),
        hedged=claim.approximate,
        half_width=float(claim.interval) if isinstance(claim.interval, str) else None,
        runs=claim.paper_runs,
        bound=next((bound for bound in BOUNDS if bound == claim.bound), None),
        since=None if claim.since is None else float(claim.since),
        grain=float(claim.grain or 0),
        alternatives=tuple(_digits(alternative) for alternative in claim.alternatives),
    )


def _digits(printed: str) -> str:
    return "0" if printed == DASH else printed  # a dash in a table means none
