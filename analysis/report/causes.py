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
from analysis.verdicts.rules import Outcome
from scenarios.counts import plural

TESTED: Final = "tested"
KINDS: Final = {  # what is known of a cause: the heading, in the order of the page
    TESTED: "a run has varied the cause",
    "untested": "a cause is suspected, and no run has varied it",
    "unknown": "the cause is not known; what was varied and excluded stands with each",
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
        if claim.get("cause") and _state(claim, reference) == Outcome.NOT_REPRODUCED
    ]
    if not failing:
        return None
    of_kind = {kind: [entry for entry in failing if entry[2]["evidence"] == kind] for kind in KINDS}
    varied = f"{len(of_kind[TESTED])} of {plural(len(failing), 'claim')} that {'is' if len(failing) == 1 else 'are'}"
    return {
        "title": f"A run has varied the cause of {varied} not reproduced",
        "kinds": [
            (f"{plural(len(entries), 'claim')}: {KINDS[kind]}", list(_groups(entries, experiments, values)))
            for kind, entries in of_kind.items()
            if entries
        ],
        "failing": len(failing),
        "varied": len(of_kind[TESTED]),
    }


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
