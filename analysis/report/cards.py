"""What a card shows of a claim: built from its entry in verdicts.json, for the templates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from analysis.report.beside import Beside
from analysis.report.evidence import Evidence, Source
from analysis.report.formats import first_sentence, measured_value, paper_value, said, sentence
from analysis.report.named import bare_name, named
from analysis.report.results import state_of
from analysis.report.strip import held_strip, strip
from analysis.verdicts.rules import Outcome

NOT_RUN_HERE: Final = "not run at this size"
# what a reader looks for first stands first
ORDER: Final = (
    Outcome.NOT_REPRODUCED,
    Outcome.UNDECIDED,
    Outcome.NEAR,
    Outcome.REPRODUCED,
    Outcome.NOT_TESTABLE,
)


@dataclass(frozen=True)
class Cause:
    """Why a claim is not reproduced. `told_at` is the card on the page that tells it already."""

    first: str
    rest: str
    evidence: str
    by: str | None
    told_at: str | None


@dataclass(frozen=True)
class Card:
    """A claim, ready for the page."""

    name: str  # e04: its anchor
    data: Mapping[str, Any]
    state: str
    sentence: str
    paper: str
    measured: str
    how_many: str
    why_not: str  # it is not judged
    strip: Markup
    cause: Cause | None
    beside: list[dict[str, Any]]
    by_reading: list[dict[str, str]]  # verdict and number by each other reading of the text
    simulated: list[dict[str, str]]  # what the paper's simulator gives, in each reading of the text
    evidence: Evidence


def cards(claims: Sequence[Mapping[str, Any]], others: Sequence[Beside], source: Source) -> list[Card]:
    """Give the cards of an experiment, failures first, otherwise as the paper has them."""
    first_cards: dict[str, str] = {}
    made = []
    for claim in sorted(claims, key=lambda entry: ORDER.index(Outcome(entry["verdict"]))):
        card = _card(claim, others, first_cards, source)
        if card.cause and not card.cause.told_at:
            first_cards[claim["cause"]["text"]] = card.name
        made.append(card)
    return made


def _card(claim: Mapping[str, Any], others: Sequence[Beside], first_cards: Mapping[str, str], source: Source) -> Card:
    return Card(
        name=name_of(claim),
        data=claim,
        state=state_of(claim),
        sentence=sentence(claim["title"]),
        paper=paper_value(claim),
        measured=sentence(said(claim)) if claim.get("held") else measured_value(claim),
        how_many=", ".join(filter(None, (bare_name(claim), _how_many(claim)))) if claim.get("measured") else "",
        why_not=not_judged(claim),
        strip=held_strip(claim) or strip(claim),
        cause=_cause(claim, first_cards),
        beside=[entry for machine in others if (entry := machine.entry(claim))],
        by_reading=[
            {"title": other["title"], "state": state_of({**claim, **other}), "text": said({**claim, **other})}
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
        return "Not run at this size, which omits a cell that it needs."
    return sentence(why if reason in (why, NOT_RUN_HERE) else f"{reason}: {why}")


def _cause(claim: Mapping[str, Any], first_cards: Mapping[str, str]) -> Cause | None:
    cause = claim.get("cause")
    if not cause:
        return None
    first, rest = first_sentence(cause["text"])
    return Cause(first, rest, cause["evidence"], cause.get("by"), first_cards.get(cause["text"]))
