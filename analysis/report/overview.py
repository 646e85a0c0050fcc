"""The first screen: what came out, one sentence a study, the matrix of verdicts, and what made the results."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis.provenance import distinct
from analysis.report.beside import Beside
from analysis.report.cards import ORDER, name_of, page_of
from analysis.report.prose import values_of
from analysis.report.results import NOT_RUN, STATES, Result, state_of
from analysis.report.words import paper_value, plural, said
from analysis.verdicts.findings import verdicts_of_findings
from analysis.verdicts.rules import Outcome

FEW: Final = 4  # up to this part of all, experiments are named one by one
HOLDS: Final = (Outcome.REPRODUCED, Outcome.NEAR)


@dataclass(frozen=True)
class Cell:
    """A finding, as one experiment sees it: its state, and the claim that decided."""

    finding: str
    sentence: str
    state: str
    numbers: str
    link: str
    elsewhere: str  # the state in the reference set, where that differs


@dataclass(frozen=True)
class Tile:
    """One figure or table of a paper."""

    experiment: Result
    label: str
    cells: list[Cell]


@dataclass(frozen=True)
class Finding:
    """A finding of a study over all its experiments."""

    name: str
    sentence: str
    state: str
    numbers: str
    link: str
    where: list[tuple[str, str]]  # labels and pages of the experiments that speak of it
    elsewhere: str


@dataclass(frozen=True)
class StudyView:
    """A study on the first screen."""

    name: str
    label: str
    paper: dict[str, Any]
    conclusions: dict[str, list[str]]
    headline: str
    tail: str
    counts: Counter[str]  # of findings, by state
    claims: Counter[str]  # of claims that count, by state
    why_not: Counter[str]  # of claims that are not testable, by the kind of reason
    tiles: list[Tile]
    findings: list[Finding]
    experiments: list[Result]
    values: set[float]  # that stand behind its conclusions


def studies(experiments: Sequence[Result], reference: Beside | None) -> list[StudyView]:
    """Give the studies in the order in which their results were found."""
    by_name: dict[str, list[Result]] = {}
    for experiment in experiments:
        by_name.setdefault(experiment.study, []).append(experiment)
    # a study that claims nothing has no place in the matrix
    return [_study(name, some, reference) for name, some in by_name.items() if some[0].findings]


def _study(name: str, experiments: list[Result], reference: Beside | None) -> StudyView:
    first = experiments[0]
    claims = [claim for experiment in experiments for claim in experiment.claims]
    states = _states(claims)
    there = _states_there(claims, reference)
    counts = Counter(states.values())
    headline, tail = _headline(counts, Counter(there.values()), reference)
    return StudyView(
        name=name,
        label=f"{name.upper()} {first.paper['year']}" if "year" in first.paper else name.capitalize(),
        paper=first.paper,
        conclusions=first.conclusions,
        headline=headline,
        tail=tail,
        counts=counts,
        claims=Counter(state_of(claim) for claim in claims if _counts(claim)),
        why_not=Counter(claim["not_testable"]["reason"] for claim in claims if _is_not_testable(claim)),
        tiles=[_tile(experiment, reference) for experiment in experiments],
        findings=[_finding(finding, experiments, states, there) for finding in states],
        experiments=experiments,
        values=values_of(experiments),
    )


def _states(claims: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Give the state of each finding: its verdict, or NOT_RUN where nothing of it could be tested only for now."""
    claims = list(claims)
    verdicts = verdicts_of_findings(claims)
    for_now = {_finding_of(claim) for claim in claims if state_of(claim) == NOT_RUN}
    return {
        finding: NOT_RUN if verdict == Outcome.NOT_TESTABLE and finding in for_now else str(verdict)
        for finding, verdict in verdicts.items()
    }


def _states_there(claims: Iterable[Mapping[str, Any]], reference: Beside | None) -> dict[str, str]:
    if reference is None:
        return {}
    moved = [
        {**claim, "verdict": reference.claims[claim["id"]]["verdict"], "not_testable": None}
        for claim in claims
        if claim["id"] in reference.claims
    ]
    return {finding: str(verdict) for finding, verdict in verdicts_of_findings(moved).items()}


def _counts(claim: Mapping[str, Any]) -> bool:
    return claim.get("role") != "echo" and "same_as" not in claim


def _is_not_testable(claim: Mapping[str, Any]) -> bool:
    return _counts(claim) and claim["verdict"] == Outcome.NOT_TESTABLE and "not_testable" in claim


def _finding_of(claim: Mapping[str, Any]) -> str:
    return str(claim.get("finding") or claim["id"])


def _headline(counts: Counter[str], there: Counter[str], reference: Beside | None) -> tuple[str, str]:
    """Say in a sentence how many findings hold, and behind it what is known of the others."""
    decided = sum(counts[outcome] for outcome in (*HOLDS, Outcome.NOT_REPRODUCED))
    holds = sum(counts[outcome] for outcome in HOLDS)
    if decided:
        near = f" ({counts[Outcome.NEAR]} only nearly)" if counts[Outcome.NEAR] else ""
        headline = f"{holds} of {plural(decided, 'decided finding')} {'holds' if holds == 1 else 'hold'}{near}."
    else:
        headline = "No finding is decided."
    parts = [
        (counts[Outcome.UNDECIDED], "undecided"),
        (counts[Outcome.NOT_TESTABLE], "not testable"),
        (counts[NOT_RUN], "not run at this size"),
    ]
    tail = ", ".join(f"{amount} {said}" for amount, said in parts if amount)
    tail = f"{tail[:1].upper()}{tail[1:]}." if tail else ""
    differs = any(there[outcome] != counts[outcome] for outcome in (*HOLDS, Outcome.NOT_REPRODUCED))
    if reference and there and differs:
        held = sum(there[outcome] for outcome in HOLDS)
        of = held + there[Outcome.NOT_REPRODUCED]
        when = f" of {reference.date}" if reference.date else ""
        tail += f" In the full run{when}, {f'{held} of {of} hold' if of else 'none of these is decided'}."
    return headline, tail.strip()


def _tile(experiment: Result, reference: Beside | None) -> Tile:
    shown = [claim for claim in experiment.claims if claim.get("role") != "echo"]
    by_finding: dict[str, list[dict[str, Any]]] = {}
    for claim in shown:
        by_finding.setdefault(_finding_of(claim), []).append(claim)
    cells = [_cell(finding, claims, experiment, reference) for finding, claims in by_finding.items()]
    return Tile(experiment, label_of(experiment.artefact), cells)


def _cell(finding: str, claims: list[dict[str, Any]], experiment: Result, reference: Beside | None) -> Cell:
    # a claim that is told elsewhere counts there; here it is shown all the same
    own = [{**claim, "same_as": None} for claim in claims]
    state = _states(own)[finding]
    deciding = _deciding(claims, state)
    there = _states_there(own, reference).get(finding, "")
    return Cell(
        finding=finding,
        sentence=experiment.findings.get(finding, deciding["title"]),
        state=state,
        numbers=_numbers(deciding),
        link=f"{experiment.id}.html#{name_of(deciding)}",  # a claim told elsewhere has a card here, too
        elsewhere=there if there and there != state else "",
    )


def _deciding(claims: list[dict[str, Any]], state: str) -> dict[str, Any]:
    """Find the claim that gave a finding its state: one with a number, if there is one."""
    candidates = [claim for claim in claims if state_of(claim) == state] or claims
    return next((claim for claim in candidates if claim.get("measured") and claim.get("paper")), candidates[0])


def _numbers(claim: Mapping[str, Any]) -> str:
    measured, paper = said(claim), paper_value(claim)
    if paper and measured and not claim.get("held"):
        return f"paper {paper}, measured {measured}"
    return measured or str(claim.get("why", ""))


def _finding(name: str, experiments: list[Result], states: dict[str, str], there: dict[str, str]) -> Finding:
    claims: list[dict[str, Any]] = []
    where: dict[str, str] = {}
    for experiment in experiments:
        own = [claim for claim in experiment.claims if _finding_of(claim) == name and claim.get("role") != "echo"]
        claims += [claim for claim in own if "same_as" not in claim]
        if own:
            where[f"{experiment.id}.html#{name_of(own[0])}"] = label_of(experiment.artefact)
    deciding = _deciding(claims, states[name])
    return Finding(
        name=name,
        sentence=experiments[0].findings.get(name, deciding["title"]),
        state=states[name],
        numbers=_numbers(deciding),
        link=page_of(deciding["id"]),
        where=[(label, page) for page, label in where.items()],
        elsewhere=there[name] if there.get(name, states[name]) != states[name] else "",
    )


def label_of(artefact: str) -> str:
    """Shorten the name of a figure or table for a tile: "Fig. 2(a); text sec. IV.A" is "Fig. 2(a)"."""
    first = artefact.partition(";")[0].removeprefix("text ").strip()
    return re.sub(r" \((?:Scenario \d+|panel unknown)\)$", "", first)


def why_not(views: Iterable[StudyView]) -> list[tuple[str, int]]:
    """Count the claims of all studies that are not testable by the kind of reason, the most frequent first."""
    total: Counter[str] = Counter()
    for view in views:
        total.update(view.why_not)
    return total.most_common()


def totals(views: Iterable[StudyView]) -> Counter[str]:
    """Count the findings of all studies by state."""
    total: Counter[str] = Counter()
    for view in views:
        total.update(view.counts)
    return total


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Put what failed first."""
    order = [*map(str, ORDER), NOT_RUN]
    return sorted(findings, key=lambda finding: order.index(finding.state))


def banner(experiments: Sequence[Result]) -> dict[str, Any]:
    """Say what the results are: size, seeds, when, by what, on what, and the one command that repeats them."""
    measured = [experiment for experiment in experiments if experiment.folder]
    # several experiments may look at the same run
    runs = {
        (experiment.data["experiment"]["runs_of"], run["cell"], run["seed"]): run
        for experiment in measured
        for run in experiment.data["runs"]
    }
    seeds = Counter((experiment, cell) for experiment, cell, _ in runs)
    sizes = {run["size"] for run in runs.values()}
    days = sorted({run["ended"][:10] for run in runs.values()})
    few = [experiment.id for experiment in measured] if len(measured) <= len(experiments) / FEW else []
    return {
        "size": " and ".join(sorted(sizes)),
        "seeds": _span(list(seeds.values())),
        "runs": len(runs),
        "virtual_s": sum(run["virtual_s"] for run in runs.values()),
        "days": " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "hosts": sorted({experiment.data["host"] for experiment in measured}),
        "provenance": distinct(
            {name: value}
            for experiment in measured
            for name, values in experiment.data["provenance"].items()
            for value in values
        ),
        "command": command(few, sizes),
    }


def _span(amounts: list[int]) -> str:
    if not amounts:
        return "none"
    low, high = min(amounts), max(amounts)
    return plural(low, "seed") if low == high else f"{low} to {high} seeds"


def command(experiments: Sequence[str], sizes: set[str]) -> str:
    """Give the command that makes experiments again with runs of their size; without any, all of them."""
    is_quick = sizes == {"quick"}
    if not experiments:
        return "make quick" if is_quick else "make reproduce"
    return f"snakemake --cores all {' '.join(experiments)}{' --config size=quick' if is_quick else ''}"


STATE_WORDS: Final[dict[str, str]] = {
    Outcome.REPRODUCED: "the 95 % interval lies within the tolerance of the paper's value",
    Outcome.NEAR: "within the larger tolerance",
    Outcome.UNDECIDED: "the interval crosses a bound; more seeds may decide",
    Outcome.NOT_REPRODUCED: "outside both tolerances",
    Outcome.NOT_TESTABLE: "the text lacks the value, or no run here can show it",
    NOT_RUN: "another size, or the module's tests, would test it",
}
assert set(STATE_WORDS) == set(STATES)  # noqa: S101
