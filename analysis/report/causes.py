"""Why claims do not hold, or nearly: each cause once, by what is known of it and by what varied it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from analysis.judge.verdict import Verdict
from analysis.report.beside import Beside
from analysis.report.cards import UNKEPT, how_known, name_of, page_of
from analysis.report.overview import label_of
from analysis.report.prose import marked
from analysis.report.results import ExperimentResult, state_of
from common.counts import plural

WORDS: Final = {  # what is known of a cause, in the order of the page: as cards call it
    "tested": "Cause",
    "partly": "Part of the cause",
    "likely": "Likely cause",
    UNKEPT: "Cause, by runs that were not kept",
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
    UNKEPT: ("varied in runs that were not kept", "nobody can look at what these runs showed"),
    "untested": ("suspected", "no run has varied anything"),
    "unknown": ("not known", "what was varied and excluded stands with each"),
}


Entry = tuple[ExperimentResult, dict[str, Any]]
"""A claim, and its experiment."""


@dataclass(frozen=True)
class Failing:
    """A claim that does not hold, or nearly."""

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
class CauseGroup:
    """The causes that one experiment varied, or the claims of one experiment for which none is known."""

    study: str
    artefact: str
    title: str
    link: str
    causes: list[Cause]


def table(
    experiments: Sequence[ExperimentResult], reference: Beside | None, values: Mapping[str, set[float]]
) -> dict[str, Any] | None:
    """Give what the page of causes shows, of the reference set where there is one; None where no claim failed.

    Near claims stand behind, as far as they have a cause.

    `values` are the numbers that causes may quote, by the experiment of their claims.
    """
    of_state = {
        state: [
            (experiment, claim)
            for experiment in experiments
            for claim in experiment.counted
            if _state(claim, reference) == state
        ]
        for state in (Verdict.FAILS, Verdict.NEARLY)
    }
    failing = [(experiment, claim) for experiment, claim in of_state[Verdict.FAILS] if claim.get("cause")]
    if not failing:
        return None
    near = [(experiment, claim) for experiment, claim in of_state[Verdict.NEARLY] if claim.get("cause")]
    amounts = {kind: len(entries) for kind, entries in _by_kind(failing).items()}
    return {
        "title": f"Why {plural(len(failing), 'claim')} {'does' if len(failing) == 1 else 'do'} not hold",
        "kinds": _kinds(failing, experiments, values),
        "said": f"Their cause is {_listed(amounts)}. {_judged_by(failing)}",
        "near": _kinds(near, experiments, values),
        "with_cause": len(near),
        "near_claims": len(of_state[Verdict.NEARLY]),
    }


def _judged_by(entries: Sequence[Entry]) -> str:
    """Say how many miss a printed number, and how many a check, whose bounds may be ours."""
    statements = sum("holds" in claim or "kunit" in claim for _, claim in entries)
    numbers = len(entries) - statements
    misses = "misses" if numbers == 1 else "miss"
    fails = "is a statement and fails its check" if statements == 1 else "are statements and fail their checks"
    return (
        f"{numbers} {misses} a number that a paper prints. {statements} {fails}, which we wrote: "
        "where a source gives no bound, the bound is ours."
    )


def _by_kind(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    kinds = {kind: [entry for entry in entries if how_known(entry[1]["cause"]) == kind] for kind in WORDS}
    return {kind: some for kind, some in kinds.items() if some}


def _kinds(
    entries: Sequence[Entry], experiments: Sequence[ExperimentResult], values: Mapping[str, set[float]]
) -> list[tuple[str, int, str, str, list[CauseGroup]]]:
    """Sort causes by how well they are known: kind, number of claims, its word, what that means, and its groups."""
    return [
        (kind, len(some), *_HEADS[kind], list(_groups(some, experiments, values)))
        for kind, some in _by_kind(entries).items()
    ]


def _listed(amounts: Mapping[str, int]) -> str:
    """Say how many causes are known how well: shown by a run for 60, likely for 3 and not known for 14."""
    counts = [f"{_HEADS[kind][0]} for {amount}" for kind, amount in amounts.items()]
    return " and ".join(filter(None, (", ".join(counts[:-1]), counts[-1])))


def _state(claim: Mapping[str, Any], reference: Beside | None) -> str:
    there = reference.claims.get(claim["id"]) if reference else None
    return state_of(there or claim)


def _groups(
    entries: Sequence[Entry],
    experiments: Sequence[ExperimentResult],
    values: Mapping[str, set[float]],
) -> Iterator[CauseGroup]:
    named = {experiment.id: experiment for experiment in experiments}
    causes: dict[str, dict[tuple[str, str], Cause]] = {}
    for experiment, claim in entries:
        cause = claim["cause"]
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
            yield CauseGroup(experiment.study_name, experiment.artefact, title, f"{experiment.id}.html", of_it)
