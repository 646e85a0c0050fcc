"""What a claim of the registry expects, as the rules take it."""

from analysis.claims.registry import DASH, Claim
from analysis.verdicts.expected import STATISTICS, Expected


def expected(claim: Claim) -> Expected:
    """Read what the paper prints: a number, or the two ends of a range."""
    low, high = claim.interval if isinstance(claim.interval, tuple) else (claim.printed, None)
    assert low is not None  # noqa: S101 (the registry checks it)
    return Expected(
        printed=_digits(low),
        upper=None if high is None else _digits(high),
        unit=claim.unit,
        metric=claim.metric,
        statistic=next(one for one in STATISTICS if one == claim.statistic),
        hedged=claim.approximate,
        half_width=float(claim.interval) if isinstance(claim.interval, str) else None,
        runs=claim.paper_runs,
        alternatives=tuple(_digits(one) for one in claim.alternatives),
    )


def _digits(printed: str) -> str:
    return "0" if printed == DASH else printed  # a dash in a table means none
