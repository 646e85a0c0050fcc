"""Why claims are not reproduced: each cause once, by what is known of it and by the experiment that varied it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from analysis.report.beside import Beside
from analysis.report.cards import name_of, page_of
from analysis.report.overview import label_of
from analysis.report.prose import marked
from analysis.report.results import Result, state_of
from analysis.verdicts.rules import Verdict
from common.counts import plural

WORDS: Final = {  # what is known of a cause, in the order of the page: as cards call it
    "tested": "Cause",
    "partly": "Part of the cause",
    "likely": "Likely cause",
    "untested": "Cause, untested",
    "unknown": "Cause not known",
}
_HEADS: Final = {  # of the page, and of its summary
    "tested": (
        "shown by a run",
        "a run that varied it makes the claim hold, or takes its number to the paper's or past it",
    ),
    "partly": ("shown in part", "a run that varied it takes the number towards the paper's; the rest is not known"),
    "likely": ("likely", "runs excluded other causes, and none varied this one"),
    "untested": ("suspected", "no run has varied anything"),
    "unknown": ("not known", "what was varied and excluded stands with each"),
}


@dataclass(frozen=True)
class Failing:
    """A claim that is not reproduced."""

    sentence: str
    place: str  # figure and claim
    link: str


@dataclass(frozen=True)
class Cause:
    """What is said of some claims, which have it together."""

    text: Markup
    by: str  # what varied it, where that is no experiment's name alone
    claims: list[Failing]


@dataclass(frozen=True)
class Group:
    """The causes that one experiment varied, or the claims of one experiment for which none is known."""

    study: str
    artefact: str
    title: str
    link: str
    causes: list[Cause]


def table(
    experiments: Sequence[Result], reference: Beside | None, values: Mapping[str, set[float]]
) -> dict[str, Any] | None:
    """Give what the page of causes shows, of the full run where there is one; None where no claim failed.

    `values` are the numbers that causes may quote, by the experiment of their claims.
    """
    failing = [
        (experiment, claim, claim["cause"])
        for experiment in experiments
        for claim in experiment.counted
        if claim.get("cause") and _state(claim, reference) == Verdict.NOT_REPRODUCED
    ]
    if not failing:
        return None
    of_kind = {kind: [entry for entry in failing if entry[2]["evidence"] == kind] for kind in WORDS}
    amounts = {kind: len(entries) for kind, entries in of_kind.items() if entries}
    return {
        "title": f"Why {plural(len(failing), 'claim')} {'is' if len(failing) == 1 else 'are'} not reproduced",
        "kinds": [
            (kind, amount, *_HEADS[kind], list(_groups(of_kind[kind], experiments, values)))
            for kind, amount in amounts.items()
        ],
        "failing": len(failing),
        "said": f"Their cause is {_listed(amounts)}.",
    }


def _listed(amounts: Mapping[str, int]) -> str:
    """Say how many causes are known how well: shown by a run for 60, likely for 3 and not known for 14."""
    counts = [f"{_HEADS[kind][0]} for {amount}" for kind, amount in amounts.items()]
    return " and ".join(filter(None, (", ".join(counts[:-1]), counts[-1])))


def _state(claim: Mapping[str, Any], reference: Beside | None) -> str:
    there = reference.claims.get(claim["id"]) if reference else None
    return state_of(there or claim)


def _groups(
    entries: Sequence[tuple[Result, dict[str, Any], dict[str, Any]]],
    experiments: Sequence[Result],
    values: Mapping[str, set[float]],
) -> Iterator[Group]:
    named = {experiment.id: experiment for experiment in experiments}
    causes: dict[str, dict[tuple[str, str], Cause]] = {}
    for experiment, claim, cause in entries:
        name, _, rest = cause.get("by", "").partition(", ")
        varied = named.get(name, experiment)
        by = rest if varied.id == name else cause.get("by", "")
        own = Cause(marked(cause["text"], values[experiment.id]), by, [])
        of_group = causes.setdefault(varied.id, {})
        of_group.setdefault((cause["text"], by), own).claims.append(
            Failing(claim["title"], f"{label_of(experiment.artefact)}, {name_of(claim)}", page_of(claim["id"]))
        )
    for experiment in experiments:
        if experiment.id in causes:
            title = experiment.result or experiment.title
            of_it = list(causes[experiment.id].values())
            yield Group(experiment.study_name, experiment.artefact, title, f"{experiment.id}.html", of_it)
