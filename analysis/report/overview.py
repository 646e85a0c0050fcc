"""The first screen: what came out, one sentence a study, the matrix of verdicts, and what made the results."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from markupsafe import Markup

from analysis.judge import intervals
from analysis.judge.findings import JUDGED, distance, unprinted
from analysis.judge.rules import HOLDS, judge_predicate
from analysis.judge.tolerances import tolerances
from analysis.judge.verdict import Verdict, so_many
from analysis.provenance import distinct
from analysis.report.beside import Beside
from analysis.report.cards import ORDER, name_of, not_judged, page_of
from analysis.report.evidence import command_of_all
from analysis.report.formats import paper_value, result_text
from analysis.report.named_numbers import bare_name, named, quantity
from analysis.report.prose import values_of
from analysis.report.results import (
    LOOKS,
    NOT_HERE,
    STATES,
    ExperimentResult,
    finding_of,
    is_for_now,
    is_quick,
    state_of,
    states_of_findings,
)
from analysis.report.scan import by_scan
from analysis.report.strip import strip
from common.counts import plural

FEW: Final = 4  # up to this part of all, experiments are named one by one
NOT_JUDGED: Final = (str(Verdict.UNTESTABLE), NOT_HERE)
# what failed stands first, a look behind the verdict that it resembles
FIRST: Final = [*(state for verdict in ORDER for state in (str(verdict), LOOKS.get(verdict)) if state), NOT_HERE]
# findings that count apart, by the kinds of study.yaml
APART: Final = {
    "conformance": "Counted apart: the code does what the paper's formula says",
    "echo": "Counted apart: it follows from a value that the scenario was given",
}
# what the lists of a study's conclusions are about: their heads, and the verdicts of findings; `open` takes the others
CONCLUSIONS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "right": ("Holds with a real implementation", HOLDS),
    "wrong": ("Does not hold here", (Verdict.FAILS,)),
    "open": ("Open", ()),
}


@dataclass(frozen=True)
class ElsewhereMark:
    """What a finding came to in the reference set, and the claim that decided there.

    So the number of one claim never stands beside a verdict that another one gave.
    """

    state: str
    claim: str  # e11; "" where it is the one that decides here
    numbers: str  # of that other claim
    same: str  # what the claim that decides here came to there, where that is not the finding's state


@dataclass(frozen=True)
class FindingMark:
    """A finding, as one experiment sees it: its state, and the claim that decided, else that of the reference set."""

    finding: str
    sentence: str
    state: str
    claim: str  # e04
    numbers: str
    link: str
    there: ElsewhereMark | None  # where the state in the reference set differs
    contradicts: bool  # that state

    @property
    def elsewhere(self) -> str:
        """The state in the reference set, where that differs."""
        return self.there.state if self.there else ""


@dataclass(frozen=True)
class Tile:
    """One figure or table of a paper."""

    experiment: ExperimentResult
    label: str
    cells: list[FindingMark]

    @property
    def against(self) -> list[tuple[FindingMark, str]]:
        """What does not hold or is open, by the reference set if there is one: a title may leave it out."""
        states = [(cell, cell.elsewhere or cell.state) for cell in self.cells]
        return [(cell, state) for wanted in (Verdict.FAILS, Verdict.OPEN) for cell, state in states if state == wanted]


@dataclass(frozen=True)
class PaperFinding:
    """A finding of a study over all its experiments."""

    name: str
    sentence: str
    apart: str  # why it counts apart: a kind of study.yaml; "" where it does not
    state: str
    numbers: str
    claim: str  # the id of the one that decides
    where: list[tuple[str, str]]  # labels and pages of the experiments that speak of it
    elsewhere: str
    there: str  # its state by the reference set where these results are a look, or by these results
    numbers_there: str
    link_there: str  # to the claim that decided there
    title_there: str  # of that claim, where another one decides here
    same_there: str  # what the reference set has of the claim that decides here, where another one decided there
    others_there: list[tuple[str, str, str, str]]  # of experiments with another verdict: label, page, verdict, numbers
    strip: Markup  # of the claim that decides

    @property
    def link(self) -> str:
        """The address of the card of the claim that decides."""
        return page_of(self.claim)


@dataclass(frozen=True)
class StudyView:
    """A study on the first screen."""

    name: str
    label: str
    paper: dict[str, Any]
    concluded: dict[str, list[str]]
    conclusions: dict[str, list[str]]
    headline: str
    tail: str
    counts: Counter[str]  # of findings that do not count apart, by state
    claims: Counter[str]  # of claims that count, by state
    why_not: dict[str, Counter[str]]  # claims that cannot be tested, or not judged here, by the kind of reason
    tiles: list[Tile]
    findings: list[PaperFinding]
    outcome: list[Mapping[str, Any]]  # the paper's own sentences that sum it up
    experiments: list[ExperimentResult]
    values: set[float]  # that stand behind its conclusions

    @property
    def in_part(self) -> str:
        """Say how many of the experiments that decide findings ran, where not all did."""
        ran = [each.folder is not None for each in self.experiments if each.decides]
        has = "has" if sum(ran) == 1 else "have"
        return "" if all(ran) else f"as far as {sum(ran)} of {plural(len(ran), 'experiment')} {has} them"

    def head(self, kind: str) -> str:
        """Head a list of conclusions; one that does not name all findings with its outcome says how many there are."""
        text, verdicts = CONCLUSIONS[kind]
        decided = {verdict for _, some in CONCLUSIONS.values() for verdict in some}
        states = {one.name: one.there for one in self.findings if not one.apart}
        about = {name for name, state in states.items() if (state in verdicts if verdicts else state not in decided)}
        if about <= {*self.concluded.get(kind, [])}:
            return text
        nearly = ", or nearly" if Verdict.NEARLY in (states[name] for name in about) and kind == "right" else ""
        return f"{text}{nearly}: {plural(len(about), 'finding')}, among them"


def studies(experiments: Sequence[ExperimentResult], reference: Beside | None) -> list[StudyView]:
    """Give the studies: those with a paper by its year, then the others."""
    by_name: dict[str, list[ExperimentResult]] = {}
    for experiment in experiments:
        by_name.setdefault(experiment.study, []).append(experiment)
    # a study that claims nothing has no place in the matrix
    views = [_study(name, some, reference) for name, some in by_name.items() if some[0].findings]
    return sorted(views, key=lambda view: (view.paper.get("year", math.inf), view.label))


def _study(name: str, experiments: list[ExperimentResult], reference: Beside | None) -> StudyView:
    first = experiments[0]
    claims = [claim for experiment in experiments for claim in experiment.claims]
    states = states_of_findings(claims)
    there = states_there(claims, reference)
    apart = {name for names in first.apart.values() for name in names}
    counts, counts_there = (
        Counter(state for name, state in some.items() if name not in apart) for some in (states, there)
    )
    headline, tail = _headline(counts, counts_there, reference)
    tail = " ".join(filter(None, (tail, _said_apart(first.apart, states))))
    return StudyView(
        name=name,
        label=" ".join([first.study_name, *([str(first.paper["year"])] if "year" in first.paper else [])]),
        paper=first.paper,
        concluded=first.concluded,
        conclusions=first.conclusions,
        headline=headline,
        tail=tail,
        counts=counts,
        claims=sum((experiment.counts for experiment in experiments), Counter()),
        why_not={
            state: Counter(
                claim["not_testable"]["reason"] for claim in claims if _counts(claim) and state_of(claim) == state
            )
            for state in NOT_JUDGED
        },
        tiles=[_tile(experiment, states, reference) for experiment in experiments],
        findings=[_finding(finding, experiments, states, reference) for finding in states],
        outcome=[quote for quote in first.quotes if quote.get("outcome")],
        experiments=experiments,
        values=values_of(experiments),
    )


def states_there(claims: Iterable[Mapping[str, Any]], reference: Beside | None) -> dict[str, str]:
    """Give the state of each finding of these claims in the reference set; nothing without one."""
    if reference is None:
        return {}
    return states_of_findings(_as_there(claims, reference))


def _counts(claim: Mapping[str, Any]) -> bool:
    return "role" not in claim and "same_as" not in claim


@dataclass(frozen=True)
class Standing:
    """How many findings have each outcome. What one seed shows is open, too, and so is what no run here judges.

    `absent` are those of which the reference set knows nothing.
    """

    holds: int
    near: int
    fails: int
    open: int
    untestable: int
    absent: int

    @classmethod
    def of(cls, states: Mapping[str, int]) -> Self:
        """Count findings by state, "" if absent; all, so that the numbers add up to the findings that there are."""
        named = (Verdict.HOLDS, Verdict.NEARLY, Verdict.FAILS, Verdict.UNTESTABLE)
        holds, near, fails, untestable = (states.get(state, 0) for state in named)
        absent = states.get("", 0)
        others = sum(states.values()) - holds - near - fails - untestable - absent
        return cls(holds, near, fails, others, untestable, absent)

    @property
    def total(self) -> int:
        """Number of findings."""
        return self.holds + self.near + self.fails + self.open + self.untestable + self.absent

    def __str__(self) -> str:
        """Say it in the same words everywhere: 8 hold, 3 nearly, 4 do not, 3 are open."""
        holds = f"{self.holds or 'none'} {'hold' if self.holds > 1 else 'holds'}"
        others = (
            (self.near, "nearly"),
            (self.fails, "does not" if self.fails == 1 else "do not"),
            (self.open, "is open" if self.open == 1 else "are open"),
            (self.untestable, "cannot be tested"),
            (self.absent, "not in the reference set"),
        )
        return ", ".join([holds, *(f"{amount} {words}" for amount, words in others if amount)])


def _headline(counts: Counter[str], there: Counter[str], reference: Beside | None) -> tuple[str, str]:
    """Say in a sentence how all findings stand here, and behind it how in the reference set, where that differs."""
    all_of_them = plural(counts.total(), "finding")
    agree, nearly = (counts[LOOKS[outcome]] for outcome in HOLDS)
    looked = sum(counts[look] for look in LOOKS.values())
    if looked > sum(counts[outcome] for outcome in (*HOLDS, Verdict.FAILS)):
        near_too = f", nearly with {nearly}" if nearly else ""
        headline = f"Of {all_of_them}, one seed agrees with {agree or 'none'}{near_too}, and decides none."
        rest = {state: amount for state, amount in counts.items() if state not in map(LOOKS.get, HOLDS)}
        tail = ", ".join(so_many(rest[state], state) for state in STATES if rest.get(state))
        tail = f"{tail[:1].upper()}{tail[1:]}." if tail else ""
    else:
        headline, tail = f"Of {all_of_them}, {Standing.of(counts)}.", ""
    differs = any(there[outcome] != counts[outcome] for outcome in (*HOLDS, Verdict.FAILS))
    if reference and there and differs:
        tail += f" In the {reference.called()}, {Standing.of(there)}."
    return headline, tail.strip()


def _said_apart(apart: Mapping[str, Sequence[str]], states: Mapping[str, str]) -> str:
    """Say how many findings count apart; nothing where none does."""
    amount = len([name for names in apart.values() for name in names if name in states])
    if not amount:
        return ""
    each = (
        "says that the code does what a formula says, or follows"
        if amount == 1
        else "say that the code does what a formula says, or follow"
    )
    return f"{amount} more count apart: they {each} from a value that was given."


def _tile(experiment: ExperimentResult, states: Mapping[str, str], reference: Beside | None) -> Tile:
    shown = [claim for claim in experiment.claims if "role" not in claim]
    by_finding: dict[str, list[dict[str, Any]]] = {}
    for claim in shown:
        by_finding.setdefault(finding_of(claim), []).append(claim)
    cells = [_cell(claims, experiment, states.get(finding, ""), reference) for finding, claims in by_finding.items()]
    return Tile(experiment, label_of(experiment.artefact), cells)


def _cell(
    claims: list[dict[str, Any]], experiment: ExperimentResult, overall: str, reference: Beside | None
) -> FindingMark:
    # a claim whose result stands elsewhere counts there; here it is shown all the same
    finding, own = finding_of(claims[0]), [{**claim, "same_as": None} for claim in claims]
    state = states_of_findings(own)[finding]
    known = _as_there(own, reference) if reference else []
    there = states_of_findings(known).get(finding, "")
    decided_there = _deciding(known, there) if known else None
    deciding = _deciding(claims, state, decided_there["id"] if decided_there else "")
    # several may have decided there
    decided_there = _deciding(known, there, deciding["id"]) if known else None
    # a claim told elsewhere has a card here, too
    shown = decided_there if state == NOT_HERE and decided_there else deciding
    return FindingMark(
        finding=finding,
        # the finding's sentence has its own state; what this experiment has of it may have another
        sentence=experiment.findings.get(finding, shown["title"]) if state == overall else shown["title"],
        state=state,
        claim=name_of(shown),
        numbers=deciding_numbers(deciding, state),
        link=f"{experiment.id}.html#{name_of(shown)}",
        there=_elsewhere(known, there, shown["id"], decided_there, state) if decided_there and there != state else None,
        contradicts=_contradicts(state, there),
    )


def _elsewhere(
    known: Iterable[Mapping[str, Any]], there: str, shown: str, decided: Mapping[str, Any], state: str
) -> ElsewhereMark:
    """Give what a finding came to in the reference set, beside the claim of an id."""
    is_other = decided["id"] != shown
    same = next((_state_for_findings(claim) for claim in known if claim["id"] == shown), there)
    return ElsewhereMark(
        state=there,
        claim=name_of(decided) if is_other else "",
        numbers=deciding_numbers(decided, there) if is_other or state == NOT_HERE else "",
        same=same if is_other or same != there else "",
    )


def _contradicts(state: str, there: str) -> bool:
    """Say whether a state and the reference set's verdict exclude each other; a look does not decide between others."""
    if state == NOT_HERE or not there:
        return False
    if state in LOOKS.values():
        held = state in (LOOKS[outcome] for outcome in HOLDS)
        return there == Verdict.FAILS if held else there in HOLDS and state == LOOKS[Verdict.FAILS]
    return state != there


def _deciding(claims: list[dict[str, Any]], state: str, elsewhere: str = "") -> dict[str, Any]:
    """Find the claim that gave a finding its state: the one of the id that decided elsewhere, or the worst.

    Where a finding holds, that is the one closest to its bound, and one with a number of the paper before a statement.
    """
    of_state = [claim for claim in claims if _state_for_findings(claim) == state]
    tested = [claim for claim in claims if state_of(claim) not in NOT_JUDGED]
    candidates = (tested if state == Verdict.HOLDS else of_state) or of_state or claims
    same = [claim for claim in candidates if claim["id"] == elsewhere]
    by_distance = sorted(candidates, key=lambda claim: (-distance(claim), not _is_compared(claim)))
    return [*same, *by_distance][0]


def _state_for_findings(claim: Mapping[str, Any]) -> str:
    """Give the state that counts for the finding of a claim."""
    if claim["verdict"] == Verdict.FAILS and unprinted(claim):
        return LOOKS[Verdict.OPEN] if claim.get("is_look") else str(Verdict.OPEN)
    return state_of(claim)


def _is_compared(claim: Mapping[str, Any]) -> bool:
    return bool(claim.get("measured") and claim.get("paper"))


def deciding_numbers(claim: Mapping[str, Any], state: str) -> str:
    """Give what decides a finding of a state; where it takes several claims, also what this one comes to alone."""
    own, numbers = _state_for_findings(claim), numbers_of(claim)
    is_of_many = own not in (state, *NOT_JUDGED) and state not in NOT_JUDGED
    return numbers + (f"; alone: {own}, but alike claims are judged together" if is_of_many else "")


def numbers_of(claim: Mapping[str, Any]) -> str:
    """Give what decides a claim; what this run cannot test has the reason instead."""
    if state_of(claim) == NOT_HERE:
        return not_judged(claim)
    depends = unprinted(claim) if claim["verdict"] == Verdict.FAILS else ""
    return measured_of(claim) + (f"; it depends on {depends}, which the paper does not print" if depends else "")


def measured_of(claim: Mapping[str, Any]) -> str:
    """Give the paper's number and the measured one, or a statement's number and its bound, where it is judged."""
    measured, paper = result_text(claim), paper_value(claim)
    if claim.get("held") and claim.get("not_testable"):
        return named(claim) or not_judged(claim)
    if claim.get("held"):
        open_or_near = "" if claim.get("is_look") else _why_open(claim["verdict"], claim["held"])
        return "; ".join(filter(None, (measured, open_or_near, named(claim), by_ours(claim))))
    if paper and measured:
        name = bare_name(claim)
        by_each = by_scan(claim)
        return (f"{name}: " if name else "") + f"paper {paper}, measured {measured}" + (by_each and f"; {by_each}")
    return f"{quantity(claim).name}: {measured}" if measured else str(claim.get("why", ""))


def by_ours(claim: Mapping[str, Any]) -> str:
    """Say that a bound of ours decides, where the paper gives none."""
    return "by our bound" if "bound" in claim.get("ours", ()) else ""


def _why_open(verdict: str, held: Mapping[str, bool]) -> str:
    """Say why a statement holds nearly at best, or is open: how many seeds like these would decide it, if any would."""
    if verdict == Verdict.NEARLY:
        low, high = intervals.fraction(sum(held.values()), len(held))
        needed = 100 * tolerances().predicates.holds[0]
        interval_text = f"95 % interval {100 * low:.0f} to {100 * high:.0f} %"
        return f"{interval_text}, and it holds if all of that is {needed:.0f} % or more"
    if verdict != Verdict.OPEN:
        return ""
    wanted = judge_predicate(sum(held.values()), len(held)).seeds_wanted
    return f"it takes {wanted} to decide" if wanted else "more like these would not decide"


def _finding(
    name: str, experiments: list[ExperimentResult], states: dict[str, str], reference: Beside | None
) -> PaperFinding:
    claims: list[dict[str, Any]] = []
    where: dict[str, str] = {}
    for experiment in experiments:
        own = [claim for claim in experiment.claims if finding_of(claim) == name and "role" not in claim]
        claims += [claim for claim in own if "same_as" not in claim]
        if own:
            where[f"{experiment.id}.html#{name_of(own[0])}"] = label_of(experiment.artefact)
    asks_there = is_quick(experiments) or any(map(is_for_now, claims))
    claims_there = _as_there(claims, reference) if reference and asks_there else claims
    state_there = states_of_findings(claims_there).get(name, "")
    decided_there = _deciding(claims_there, state_there) if claims_there else None
    deciding = _deciding(claims, states[name], decided_there["id"] if decided_there else "")
    # several may have decided there
    deciding_there = _deciding(claims_there, state_there, deciding["id"]) if claims_there else deciding
    is_same = deciding_there["id"] == deciding["id"]
    there = states_there(claims, reference).get(name, "")
    return PaperFinding(
        name=name,
        sentence=experiments[0].findings.get(name, deciding["title"]),
        apart=next((kind for kind, names in experiments[0].apart.items() if name in names), ""),
        state=states[name],
        numbers=deciding_numbers(deciding, states[name]),
        claim=deciding["id"],
        where=[(label, page) for page, label in where.items()],
        elsewhere=there if there and there != states[name] else "",
        there=state_there,
        numbers_there=deciding_numbers(deciding_there, state_there),
        link_there=page_of(deciding_there["id"]),
        title_there="" if is_same else deciding_there["title"],
        same_there="" if is_same else _told(deciding["id"], claims_there),
        others_there=list(
            _others(claims_there, name, deciding_there["id"].partition("/")[0], state_there, experiments)
        ),
        strip=strip(deciding_there),
    )


def _told(name: str, claims: Iterable[Mapping[str, Any]]) -> str:
    """Say the state and the numbers of the claim of an id; nothing where it is not among the claims."""
    return next((f"{state_of(claim)}, {numbers_of(claim)}" for claim in claims if claim["id"] == name), "")


def _others(
    claims: Sequence[Mapping[str, Any]],
    finding: str,
    decided: str,
    verdict: str,
    experiments: Iterable[ExperimentResult],
) -> Iterator[tuple[str, str, str, str]]:
    """Yield label, page, verdict and numbers of the experiments with another verdict than the one that decided."""
    for experiment in experiments:
        own = [dict(claim) for claim in claims if claim["id"].partition("/")[0] == experiment.id]
        state = states_of_findings(own).get(finding, verdict)
        if experiment.id != decided and state not in (verdict, *NOT_JUDGED):
            deciding = _deciding(own, state)
            yield label_of(experiment.artefact), page_of(deciding["id"]), state, deciding_numbers(deciding, state)


def _as_there(claims: Iterable[Mapping[str, Any]], reference: Beside) -> list[dict[str, Any]]:
    """Give claims with what the reference set has of them; those that it has not are left out."""
    moved = []
    for claim in claims:
        if there := reference.claims.get(claim["id"]):
            theirs = {name: there.get(name) for name in ("verdict", "measured", "held", "is_look", *JUDGED)}
            # why it is not judged here is no reason there
            why = there.get("tested") or claim.get("why", "")
            moved.append({**claim, **theirs, "not_testable": None, "why": why})
    return moved


def label_of(artefact: str) -> str:
    """Shorten the name of a figure or table for a tile: "Fig. 2(a); text sec. IV.A" is "Fig. 2(a)"."""
    first = artefact.partition(";")[0].removeprefix("text ").strip()
    return re.sub(r" \((?:Scenario \d+|panel unknown)\)$", "", first)


def why_not(views: Iterable[StudyView]) -> dict[str, list[tuple[str, int]]]:
    """Count the claims of all studies that are not judged, by state and kind of reason, the most frequent first."""
    total: dict[str, Counter[str]] = {state: Counter() for state in NOT_JUDGED}
    for view in views:
        for state, counts in view.why_not.items():
            total[state].update(counts)
    return {state: counts.most_common() for state, counts in total.items() if counts}


def totals(views: Iterable[StudyView]) -> Counter[str]:
    """Count the findings of all studies by state."""
    total: Counter[str] = Counter()
    for view in views:
        total.update(view.counts)
    return total


def ordered(findings: Iterable[PaperFinding]) -> list[PaperFinding]:
    """Put what failed first."""
    return sorted(findings, key=lambda finding: FIRST.index(finding.state))


def banner(experiments: Sequence[ExperimentResult]) -> dict[str, Any]:
    """Say what the results are: size, seeds, when, by what, on what, and the one command that repeats them.

    `runs` are those that ended well, beside the `failed` ones.
    """
    measured = [experiment for experiment in experiments if experiment.folder]
    # several experiments may look at the same run
    runs = {
        (experiment.data["experiment"]["runs_of"], run["cell"], run["seed"]): run
        for experiment in measured
        for run in experiment.data["runs"]
    }
    failed = {
        (experiment.data["experiment"]["runs_of"], run["cell"], run["seed"])
        for experiment in measured
        for run in experiment.data["failed"]
    }
    seeds = Counter((experiment, cell) for experiment, cell, _ in runs)
    sizes = {run["size"] for run in runs.values()}
    days = sorted({run["ended"][:10] for run in runs.values()})
    few = [experiment.id for experiment in measured] if len(measured) <= len(experiments) / FEW else []
    return {
        "size": " and ".join(sorted(sizes)),
        "seeds": _span(list(seeds.values())),
        "runs": len(runs),
        "failed": len(failed),
        "virtual_s": sum(run["virtual_s"] for run in runs.values()),
        "days": " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "hosts": sorted({experiment.data["host"] for experiment in measured}),
        "provenance": distinct(
            {name: value}
            for experiment in measured
            for name, values in experiment.data["provenance"].items()
            for value in values
        ),
        "command": command_of_all(few, sizes),
    }


def _span(amounts: list[int]) -> str:
    if not amounts:
        return "none"
    low, high = min(amounts), max(amounts)
    return plural(low, "seed") if low == high else f"{low} to {high} seeds"


STATE_WORDS: Final[dict[str, str]] = {
    Verdict.HOLDS: "the 95 % interval lies within the tolerance of the paper's value",
    Verdict.NEARLY: "within the larger tolerance, and not shown to be within the smaller one",
    Verdict.OPEN: "the interval crosses a bound, so more seeds may decide; or readings of a scan disagree",
    Verdict.FAILS: "outside both tolerances",
    Verdict.UNTESTABLE: "the text lacks the value, or no run here can show it",
    LOOKS[Verdict.HOLDS]: "within the tolerance in one seed, which decides nothing",
    LOOKS[Verdict.NEARLY]: "within the larger tolerance in one seed, which decides nothing",
    LOOKS[Verdict.OPEN]: "one seed cannot show it",
    LOOKS[Verdict.FAILS]: "outside both tolerances in one seed, which decides nothing",
    NOT_HERE: "another size, or the module's tests, would test it",
}
assert set(STATE_WORDS) == set(STATES)  # noqa: S101
