"""What a card shows of a claim: built from its entry in verdicts.json, for the templates."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from markupsafe import Markup

from analysis.claims.registry import NOT_KEPT
from analysis.experiment_files import NOT_RUN
from analysis.judge import intervals
from analysis.judge.findings import JUDGED
from analysis.judge.tolerances import Zones, tolerances
from analysis.judge.verdict import Verdict
from analysis.report.beside import REFERENCE, Beside
from analysis.report.evidence import Evidence, Source
from analysis.report.formats import (
    DIGITS,
    SMALL,
    first_sentence,
    in_powers,
    is_next_to_zero,
    measured_value,
    number,
    paper_value,
    printed_digits,
    result_text,
    sentence,
    with_unit,
)
from analysis.report.named_numbers import bare_name, named
from analysis.report.results import is_for_now, state_of
from analysis.report.scan import by_scan, other_zones
from analysis.report.strip import held_strip, strip, zone

UNKEPT: Final = "unkept"  # a kind of evidence for a cause, beside those that a claims file gives
OMITTED: Final = "Not run at this size, which omits a cell that it needs."
SHORT: Final = 700  # characters of a cause that is not folded: its first sentence often tells what happens, not why
CHOSEN: Final = {
    "quantity": "the quantity",
    "place": "the place where it is measured",
    "bound": "the bound",
    "setting": "a setting",
}
KINDS: Final = ("holds", "nearly")  # of zones
# what a reader looks for first stands first
ORDER: Final = (
    Verdict.FAILS,
    Verdict.OPEN,
    Verdict.NEARLY,
    Verdict.HOLDS,
    Verdict.UNTESTABLE,
)


def how_known(cause: Mapping[str, Any]) -> str:
    """Give the kind of evidence for a cause; UNKEPT where what varied it cannot be looked at."""
    return UNKEPT if str(cause.get("by", "")).startswith(NOT_KEPT) else str(cause["evidence"])


@dataclass(frozen=True)
class ClaimCause:
    """Why a claim does not hold. `home` is the card on the page that has it already."""

    first: str
    rest: str
    evidence: str
    by: str | None
    home: str | None


@dataclass(frozen=True)
class Card:
    """A claim, ready for the page."""

    name: str  # e04: its anchor
    data: Mapping[str, Any]
    state: str
    sentence: str
    paper: str
    scanned: str  # what the scan has in its place
    measured: str
    how_many: str
    rule: str  # what decides: the interval, and where it has to lie
    chosen: str  # by us, since the paper does not give it
    why_not: str  # it is not judged
    strip: Markup
    strip_there: Markup  # that of the reference set, where it says more
    cause: ClaimCause | None
    beside: list[dict[str, Any]]
    by_reading: list[dict[str, str]]  # verdict and number by each other reading of the text
    simulated: list[dict[str, str]]  # what the paper's simulator gives, in each reading of the text
    evidence: Evidence


def cards(claims: Sequence[Mapping[str, Any]], others: Sequence[Beside], source: Source) -> list[Card]:
    """Give the cards of an experiment, failures first, otherwise as the paper has them; last what does not count."""
    first_cards: dict[str, str] = {}
    made = []
    for claim in sorted(claims, key=lambda entry: ("role" in entry, ORDER.index(Verdict(entry["verdict"])))):
        card = _card(claim, others, first_cards, source)
        if card.cause and not card.cause.home:
            first_cards[claim["cause"]["text"]] = card.name
        made.append(card)
    return made


def _card(claim: Mapping[str, Any], others: Sequence[Beside], first_cards: Mapping[str, str], source: Source) -> Card:
    known, why_not = _in_reference(claim, others), not_judged(claim)
    is_statement = claim.get("held") and not why_not  # of one that is not judged here, the number alone is shown
    return Card(
        name=name_of(claim),
        data=claim,
        state=state_of(claim),
        sentence=sentence(claim["title"]),
        paper=paper_value(claim, rounded=False),
        # what we say of the scan, in a sentence, stands with how it is read
        scanned="" if claim.get("scan", "").endswith(".") else claim.get("scan", ""),
        measured=sentence(result_text(claim)) if is_statement else "" if claim.get("held") else measured_value(claim),
        how_many=_told_of(claim) if claim.get("measured") else "",
        rule=rule(known, known is not claim),
        chosen=_chosen(claim.get("ours", ())),
        why_not=why_not,
        strip=Markup() if why_not and claim.get("held") else _strip(claim),
        strip_there=_strip(known) if known is not claim and not strip(claim) else Markup(),
        cause=None if known["verdict"] == Verdict.HOLDS else _cause(claim, first_cards),
        beside=[entry for machine in others if (entry := machine.entry(claim))],
        by_reading=[
            {"title": other["title"], "state": state_of({**claim, **other}), "text": _result_of({**claim, **other})}
            for other in claim.get("by_reading", [])
        ],
        simulated=[
            {
                "title": one["title"],
                "text": measured_value({**claim, **one}),
                "how_many": _how_many({"statistic": claim.get("statistic"), **one}).replace("seed", "run"),
            }
            for one in claim.get("simulated", [])
        ],
        evidence=source.of(claim),
    )


def _told_of(claim: Mapping[str, Any]) -> str:
    """Say of what a measured number is, and over how many seeds; beside a statement, in a sentence of its own."""
    told = ", ".join(filter(None, (bare_name(claim), _how_many(claim))))
    return sentence(told) if claim.get("held") else told


def _result_of(other: Mapping[str, Any]) -> str:
    """Say what a claim comes to by another reading of the text, and why that is open where the scan may say more."""
    each = by_scan(other).partition(": ")[2]
    return result_text(other) + (f" ({each})" if each else "")


def _chosen(ours: Sequence[str]) -> str:
    """Say what of a check the paper does not give: "the bound and a setting, which the paper does not give"."""
    names = [CHOSEN[name] for name in ours]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    return f"{listed}, which the paper does not give" if listed else ""


def rule(claim: Mapping[str, Any], is_elsewhere: bool = False) -> str:
    """Say in words what decides a claim: its 95 % interval, maybe the reference set's, and where it has to lie."""
    held, zones, interval = claim.get("held"), claim.get("zones"), claim.get("measured_interval")
    if claim.get("kunit") or claim["verdict"] == Verdict.UNTESTABLE or not (held or zones):
        return ""
    if claim.get("statistic") == "fraction-in-mode":
        return sentence(claim["rule"].partition(": ")[2])
    unit, of_what = claim.get("unit"), " of the standard deviation" * (claim.get("statistic") == "std")
    powers = in_powers(claim)
    if held:
        unit, of_what, zones = "%", " of the share of seeds", asdict(tolerances().predicates)
        zones |= {kind: _percent(zones[kind]) for kind in KINDS}
        interval = _percent(intervals.fraction(sum(held.values()), len(held))) if len(held) > 1 else None
    assert zones is not None  # noqa: S101 (as above)
    places = [_place(zone(zones, kind), unit, powers) for kind in KINDS]
    if not interval:
        return f"With more seeds, it holds if the whole 95 % interval{of_what} is {places[0]}, nearly if {places[1]}."
    where = " in the reference set" if is_elsewhere else ""
    interval_text = f"95 % interval{of_what}{where}: {_known(interval, unit, bool(held), powers)}."
    more = " As many seeds as the rules allow would not show more." if "do not tell" in claim.get("why", "") else ""
    if zone(zones, "nearly") != zones["nearly"]:
        more += " The paper's value is next to zero, so an absolute tolerance decides."
    as_printed, others = "It", [printed_digits({"paper": other}) for other in claim.get("alternatives", [])]
    if others:
        as_printed = f"Read as {printed_digits(claim)}, it"
        for printed, other in other_zones(claim):
            ends = [_place(zone(_of_file(other), kind), unit, powers) for kind in KINDS]
            more += f" Read as {printed_digits({'paper': printed})}, it holds if {ends[0]}, nearly if {ends[1]}."
        told = by_scan(claim) or f"the scan may say {' or '.join(others)}, too, with the same verdict"
        more += f" {sentence(told)}"
    return f"{interval_text} {as_printed} holds if all of that is {places[0]}, nearly if {places[1]}.{more}"


def _strip(claim: Mapping[str, Any]) -> Markup:
    return held_strip(claim) or strip(claim)


def _known(ends: Sequence[float], unit: str | None, is_rough: bool, powers: bool) -> str:
    """Give an interval with as many digits as tell its ends apart; shares of seeds as whole numbers."""
    if is_rough:
        return f"{ends[0]:.0f} to {ends[1]:.0f} %"
    digits = DIGITS + (number(ends[0]) == number(ends[1]))
    low, high = _ends(ends, unit, powers, digits)
    return high if ends[0] == ends[1] or with_unit(ends[0], unit, digits, powers=powers) == high else f"{low} to {high}"


def _ends(ends: Sequence[float], unit: str | None, powers: bool, digits: int = DIGITS) -> tuple[str, str]:
    """Write both ends of a range in one notation, the second one with the unit."""
    powers = powers or any(0 < abs(end) < SMALL for end in ends)
    return number(ends[0], digits, powers=powers), with_unit(ends[1], unit, digits, powers=powers)


def _of_file(zones: Zones) -> dict[str, Any]:
    """Give zones as a claim's entry has them: an open end is None."""
    ends = {kind: [end if math.isfinite(end) else None for end in getattr(zones, kind)] for kind in KINDS}
    return {**ends, "is_ratio": zones.is_ratio}


def _percent(ends: Sequence[float]) -> list[float | None]:
    """Give a share of the seeds in percent."""
    return [100 * ends[0], 100 * ends[1]]


def _place(zone: Sequence[float | None], unit: str | None, powers: bool) -> str:
    """Say where a zone is, of which an end may be open."""
    low, high = zone
    if low is not None and is_next_to_zero(low):
        return "above 0" if high is None else f"above 0 and at most {with_unit(high, unit, powers=powers)}"
    if high is not None and is_next_to_zero(high):
        return "below 0" if low is None else f"below 0 and at least {with_unit(low, unit, powers=powers)}"
    if low is None:
        return f"at {with_unit(high, unit, powers=powers)} or less"
    if high is None:
        return f"at {with_unit(low, unit, powers=powers)} or more"
    if (unit, high) == ("%", 100):
        return f"at {with_unit(low, unit)} or more"
    return "from {} to {}".format(*_ends((low, high), unit, powers))


def _in_reference(claim: Mapping[str, Any], others: Sequence[Beside]) -> Mapping[str, Any]:
    """Give a claim as the reference set has it, where it is only looked at here."""
    there = next((other.claims.get(claim["id"]) for other in others if other.name == REFERENCE), None)
    if not there or not is_for_now(claim):
        return claim
    theirs = {name: there.get(name) for name in ("verdict", "measured", "held", "is_look", *JUDGED)}
    return {**claim, **theirs, "not_testable": None}


def name_of(claim: Mapping[str, Any]) -> str:
    """Give the last part of a claim's id."""
    return str(claim["id"]).rpartition("/")[2]


def page_of(claim: str) -> str:
    """Give the address of a claim's card by its id."""
    return "{0}.html#{2}".format(*claim.rpartition("/"))


def _how_many(claim: Mapping[str, Any]) -> str:
    measured = claim.get("measured")
    if not measured:
        return ""
    if claim.get("held"):
        return named(claim)
    seeds = measured["seeds"]
    if claim.get("statistic") == "std":
        return f"standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    if seeds == 1:
        return "one seed"
    never = f"; never in {measured['never']}" if measured["never"] else ""
    return f"mean of {seeds} seeds, ± 95 % interval{never}" if measured["ci95"] else f"mean of {seeds} seeds{never}"


def not_judged(claim: Mapping[str, Any]) -> str:
    """Say why a claim is not judged; what asks for another size says so in the same words everywhere."""
    if "not_testable" not in claim:
        return ""
    reason, why = claim["not_testable"]["reason"], claim["why"]
    if why.startswith("there is no run of"):
        return OMITTED
    return sentence(why if reason in (why, NOT_RUN) else f"{reason}: {why}")


def _cause(claim: Mapping[str, Any], first_cards: Mapping[str, str]) -> ClaimCause | None:
    cause = claim.get("cause")
    if not cause:
        return None
    first, rest = (cause["text"], "") if len(cause["text"]) <= SHORT else first_sentence(cause["text"])
    return ClaimCause(first, rest, how_known(cause), cause.get("by"), first_cards.get(cause["text"]))
