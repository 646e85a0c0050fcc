"""The headline: verdicts of findings, independent results that several claims may stand for.

Of twenty true claims one is outside of its distances by chance, so the claims of a finding are a family: a claim counts
against it where the false discovery rate of all its claims allows that, and numbers of one kind are judged together.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from analysis.judge.false_discoveries import largest_believed
from analysis.judge.intervals import NORMAL95
from analysis.judge.rules import ORDER
from analysis.judge.tolerances import tolerances
from analysis.judge.verdict import Verdict

FALSE_DISCOVERIES: Final = 0.05  # part of the claims that count against findings and are true
JUDGED: Final = ("measured_interval", "zones", "chance")  # what is used of claims beside their verdicts
WANTED: Final = "seeds_wanted"  # how many seeds an open claim should have; 0: no seeds are expected to decide it
FEWEST: Final = 4  # numbers that are judged together


def verdicts_of_findings(claims: Iterable[Mapping[str, Any]]) -> dict[str, Verdict]:
    """Return the verdict of each finding of a study, from the entries of its claims in verdicts.json.

    A finding stands only if all its claims do, so the worst of them decides, once those count as open that are
    outside of their distances by a chance that so many claims make likely. Numbers of one kind (`families`) count as
    one claim. Claims that cannot be tested count only where no other claim does. A claim without a `finding` is a
    finding by itself. A claim that the paper repeats elsewhere (`same_as`) counts once.
    """
    by_finding: dict[str, list[Mapping[str, Any]]] = {}
    for claim in claims:
        if decides(claim):
            by_finding.setdefault(claim.get("finding") or claim["id"], []).append(claim)
    return {finding: _verdict(of_finding) for finding, of_finding in by_finding.items()}


def decides(claim: Mapping[str, Any]) -> bool:
    """Say whether a claim counts for its finding, where it is tested."""
    return not claim.get("role") and not claim.get("same_as")


def unprinted(claim: Mapping[str, Any]) -> str:
    """Name the setting that decides a claim and that the paper does not print; "" where none is known."""
    cause = claim.get("cause")
    return str(cause.get("unprinted", "")) if isinstance(cause, Mapping) else ""


def _verdict(claims: Sequence[Mapping[str, Any]]) -> Verdict:
    testable = [claim for claim in claims if Verdict(claim["verdict"]) != Verdict.UNTESTABLE]
    if not testable:
        return Verdict.UNTESTABLE
    outcomes: dict[str, Verdict] = dict(zip((claim["id"] for claim in testable), _after_chance(testable), strict=True))
    if Verdict.FAILS in outcomes.values():
        return Verdict.FAILS
    for family in families(testable):
        outcomes |= dict.fromkeys((claim["id"] for claim in family), _of_family(family))
    return max(outcomes.values(), key=ORDER.index)


def _of_family(family: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judge numbers of one kind; those that a setting decides which the paper does not print leave it open at best."""
    settled = [claim for claim in family if claim["verdict"] != Verdict.FAILS or not unprinted(claim)]
    verdict = together(settled) if settled else Verdict.OPEN
    return verdict if len(settled) == len(family) else max(verdict, Verdict.OPEN, key=ORDER.index)


def _after_chance(claims: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Return the claims' verdicts, where one that does not hold may be open among so many.

    One without a chance, such as a KUnit case, does not depend on seeds. Nor does one count against the paper that a
    run made hold by a setting which the paper does not print.
    """
    most = largest_believed([claim.get("chance") or 0.0 for claim in claims], FALSE_DISCOVERIES)
    return [
        Verdict.OPEN
        if claim["verdict"] == Verdict.FAILS and ((claim.get("chance") or 0.0) > most or unprinted(claim))
        else Verdict(claim["verdict"])
        for claim in claims
    ]


def families(claims: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the claims that are judged together: at least `FEWEST` numbers of one metric and statistic."""
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for claim in claims:
        if claim.get("measured_interval") and claim.get("zones") and None not in claim["zones"]["nearly"]:
            kind = (claim["id"].rpartition("/")[0], claim.get("metric"), claim.get("statistic"), claim.get("unit"))
            alike.setdefault(kind, []).append(claim)
    return [family for family in alike.values() if len(family) >= FEWEST]


def together(family: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judge numbers of one kind as one: each counts by how far it is from the paper's, on either side.

    They hold if their mean distance, without its sign, is within the smaller one, and none of them lies
    outside of that by more than chance makes likely among so many; nearly likewise by the larger distance.
    """
    places = [_place(claim) for claim in family]
    centre = math.fsum(abs(place) for place, _, _ in places) / len(places)
    half = NORMAL95 * math.sqrt(math.fsum(error**2 for _, error, _ in places)) / len(places)
    larger = math.fsum(near for _, _, near in places) / len(places)
    if centre - half >= larger:
        return Verdict.FAILS
    if centre + half > larger:
        return Verdict.OPEN
    chances = [_chance_outside(abs(place), error) for place, error, _ in places]
    some_outside = largest_believed(chances, FALSE_DISCOVERIES) >= min(chances)
    return Verdict.NEARLY if some_outside or centre + half > 1 else Verdict.HOLDS


def distance(claim: Mapping[str, Any]) -> float:
    """Return how far a claim's number is from the paper's, in units of the smaller distance; 0 where none is compared.

    A statement that fails in some seeds is as far as the part of the seeds that fails, in units of the part that may.
    """
    if held := claim.get("held"):
        return list(held.values()).count(False) / len(held) / (1 - tolerances().predicates.holds[0])
    zones, interval = claim.get("zones"), claim.get("measured_interval")
    if not (zones and interval) or None in (*zones["holds"], *zones["nearly"]):
        return 0.0
    place = abs(_place(claim)[0])
    return place if math.isfinite(place) else math.inf


def _chance_outside(place: float, error: float) -> float:
    """Return the chance of a number at least as far out, if the truth were on the edge of the smaller distance."""
    beyond = place - 1
    if not error:
        return float(beyond <= 0)
    return math.erfc(beyond / error / math.sqrt(2)) / 2


def _place(claim: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return where a number lies, its standard error and the larger distance; the smaller distance is 1."""
    zones, interval = claim["zones"], claim["measured_interval"]
    is_log = zones["is_ratio"] and min(*zones["nearly"], *interval) > 0 and math.isfinite(interval[1])
    low, high, *near, least, most = (
        math.log(end) if is_log else end for end in (*zones["holds"], *zones["nearly"], *interval)
    )
    centre, distance = (low + high) / 2, (high - low) / 2
    return (
        ((least + most) / 2 - centre) / distance,
        (most - least) / 2 / NORMAL95 / distance,
        (near[1] - near[0]) / 2 / distance,
    )
