"""Applies the rules to claims of the registry."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analysis.claims.registry import DASH, Claim
from analysis.claims.syntax import is_about_means
from analysis.judge import rules
from analysis.judge.expected import STATISTICS, Expected
from analysis.judge.rules import Judgement
from analysis.judge.verdict import Verdict


def judge(
    claim: Claim, words: Mapping[str, str], values: Mapping[int, float], held: Mapping[int, bool]
) -> Judgement | None:
    """Judge a claim by what each seed measured; None where no seed measured anything.

    `words` are those of the claim's experiment.
    """
    of_means = is_about_means(claim.holds or claim.measure or "None", words)
    if claim.holds:
        return rules.judge_predicate(sum(held.values()), len(held), of_means) if held else None
    return rules.judge_number(expected(claim.data), values, of_means) if claim.measure and values else None


def by_print(entry: Mapping[str, Any], values: Mapping[int, float]) -> list[tuple[str, Verdict]]:
    """Judge the entry of a claim that compares a number by each reading of the scan: as printed, and the verdict."""
    claimed = expected(entry)
    each = [(entry["paper"], claimed.printed), *zip(entry["alternatives"], claimed.alternatives, strict=True)]
    return [
        (printed, rules.judge_number(replace(claimed, printed=digits, alternatives=()), values).verdict)
        for printed, digits in each
    ]


def expected(entry: Mapping[str, Any]) -> Expected:
    """Read what the paper prints, a number or the two ends of a range, from the entry of a claim."""
    interval = entry.get("interval")
    low, high = interval if isinstance(interval, list) else (entry["paper"], None)
    return Expected(
        printed=_digits(low),
        upper=None if high is None else _digits(high),
        unit=entry.get("unit"),
        metric=entry["metric"],
        statistic=entry.get("statistic", STATISTICS[0]),
        hedged=entry.get("approximate", False),
        half_width=float(interval) if isinstance(interval, str) else None,
        runs=entry.get("paper_runs"),
        bound=entry.get("bound"),
        since=None if "since" not in entry else float(entry["since"]),
        grain=float(entry.get("grain", 0)),
        alternatives=tuple(map(_digits, entry.get("alternatives", []))),
    )


def _digits(printed: str) -> str:
    return "0" if printed == DASH else printed  # a dash in a table means none
