"""The headline: verdicts of findings, independent results that several claims may stand for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from analysis.verdicts.rules import ORDER, Outcome

DECIDING: Final = "claim"  # the role of claims that count; echoes and settings follow from the scenario itself


def verdicts_of_findings(claims: Iterable[Mapping[str, Any]]) -> dict[str, Outcome]:
    """Return the verdict of each finding of a study, from the entries of its claims in verdicts.json.

    A finding stands only if all its claims do, so the worst of them decides; claims that are not testable count only
    where no other claim does. A claim without a `finding` is a finding by itself. A claim that the paper repeats
    elsewhere (`same_as`) counts once.
    """
    worst: dict[str, Outcome] = {}
    for claim in claims:
        if claim.get("role", DECIDING) != DECIDING or claim.get("same_as"):
            continue
        finding, outcome = claim.get("finding") or claim["id"], Outcome(claim["verdict"])
        worst[finding] = _worse(worst.get(finding, outcome), outcome)
    return worst


def count_findings(claims: Iterable[Mapping[str, Any]]) -> Counter[Outcome]:
    """Count the findings of a study by verdict."""
    return Counter(verdicts_of_findings(claims).values())


def _worse(first: Outcome, second: Outcome) -> Outcome:
    testable = [outcome for outcome in (first, second) if outcome != Outcome.NOT_TESTABLE]
    return max(testable or (first,), key=ORDER.index)
