"""What the first page says before the matrix: what holds, what does not, what is open; this machine beside the rest."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis.figures import in_reference
from analysis.figures.in_reference import Range, ranges
from analysis.judge.findings import WANTED
from analysis.judge.verdict import Verdict
from analysis.report.beside import Beside
from analysis.report.cards import name_of
from analysis.report.formats import number
from analysis.report.overview import PaperFinding, Standing, StudyView, measured_of, numbers_of
from analysis.report.results import NOT_HERE, ExperimentResult, is_for_now, state_of
from common.counts import plural
from scenarios.implementations import program_of

SHOWN: Final = 5  # findings of a kind


@dataclass(frozen=True)
class Machine:
    """How claims measured here compare with the reference set; of a look, only its own seed is compared."""

    claims: int
    compared: int
    with_numbers: int  # of these, those of which the seeds that ran have a number
    same_numbers: int
    agree: int
    differ: int


@dataclass(frozen=True)
class Share:
    """Share of the link that a low-priority flow keeps beside another one: median, and range over several seeds, %."""

    low: float
    middle: float
    high: float
    is_here: bool  # measured here, or in the reference set
    there: str = ""  # what the reference set has beside one seed measured here


@dataclass(frozen=True)
class Yielding:
    """Who yields to whom: a row for each low-priority control, a column for each foreground."""

    page: str
    what: str  # the numbers are
    columns: list[str]
    rows: list[tuple[str, list[Share | None]]]
    not_run: list[str]  # neither here nor in the reference set


def whose_verdicts(reference: Beside | None, is_quick: bool) -> str:
    """Say what stands beside these results, and where the verdicts of a look come from; nothing without a reference."""
    if reference is None:
        return ""
    how = f": {plural(reference.runs, 'run')}, all from one commit and one set of images" if reference.runs else ""
    return f"{'Verdicts are those of' if is_quick else 'Beside them stands'} the {reference.called()}{how}."


def same_numbers(machine: Machine | None, is_quick: bool) -> str:
    """Say how many claims have the numbers of the reference set; nothing where none is compared."""
    if machine is None or not machine.with_numbers:
        return ""
    have = "has" if machine.same_numbers == 1 else "have"
    whose = "number for the same seed" if is_quick else "numbers, seed by seed"
    text = f"Of {plural(machine.with_numbers, 'claim')} measured here, {machine.same_numbers:,} {have}"
    text += f" the reference set's {whose}, to nine digits."
    if machine.same_numbers < machine.with_numbers:
        text += " A number differs only where code or images do."
    return text


def other_verdicts(machine: Machine, is_quick: bool) -> str:
    """Say how many claims have another verdict than in the reference set."""
    amount, is_one = machine.differ or "None", machine.differ < 2
    if is_quick:
        return f"{amount} {'contradicts' if is_one else 'contradict'} a verdict of the reference set"
    return f"{amount} {'has' if is_one else 'have'} another verdict"


def papers(views: Sequence[StudyView]) -> str:
    """Say how many papers there are: "four papers"."""
    count = sum("year" in view.paper for view in views)
    return {0: "specifications", 1: "one paper", 2: "two papers", 3: "three papers", 4: "four papers"}.get(
        count, f"{count} papers"
    )


def programs(experiments: Iterable[ExperimentResult]) -> dict[str, list[str]]:
    """Give the programs and congestion controls that ran, each with the other names that stand for settings of it."""
    names = sorted({name for experiment in experiments for name in experiment.implementations})
    ran: dict[str, list[str]] = {}
    for name in names:
        ran.setdefault(program_of(name), []).append(name)
    return {program: [name for name in some if name != program] for program, some in sorted(ran.items())}


def ranking(experiments: Iterable[ExperimentResult]) -> ExperimentResult | None:
    """Find the experiment whose figure says `overview: ranking`: it shows throughput against delay."""
    return next(
        (experiment for experiment in experiments if experiment.data["figure"].get("overview") == "ranking"), None
    )


def of_result(experiment: ExperimentResult) -> list[tuple[str, str]]:
    """Give what the runs of this page have of the claims behind a title, which is by the reference set: name and text.

    Nothing where these runs decide it themselves.
    """
    decisive = experiment.data["experiment"].get("result_of", []) if experiment.result else []
    claims = [claim for claim in experiment.claims if name_of(claim) in decisive]
    if not any(is_for_now(claim) for claim in claims):
        return []
    return [(name_of(claim), _of_this_run(claim)) for claim in claims]


def _of_this_run(claim: Mapping[str, Any]) -> str:
    text = measured_of(claim) if claim.get("measured") else numbers_of(claim)
    is_short = claim.get("measured") and state_of(claim) == NOT_HERE
    said = text + ("; not judged at this size" if is_short else "")
    # what holds, or does not, is the statement
    return f"{claim['title'].strip().removesuffix('.')}: {said}" if claim.get("held") else said


def unit_tests(experiments: Iterable[ExperimentResult]) -> str:
    """Say whether the module's unit tests decide any claim: "run", or "not run"; nothing where no claim has one."""
    verdicts = {claim["verdict"] for one in experiments for claim in one.counted if claim.get("kunit")}
    if not verdicts:
        return ""
    return "not run" if verdicts == {Verdict.UNTESTABLE} else "run"


def picked(views: Sequence[StudyView]) -> list[tuple[str, list[tuple[StudyView, PaperFinding]]]]:
    """Give findings that hold, that do not and that are open by the reference set: some of each, of several studies."""
    kinds = (
        ("Holds", Verdict.HOLDS, "right"),
        ("Does not hold", Verdict.FAILS, "wrong"),
        ("Open", Verdict.OPEN, "open"),
    )
    return [(head, _from_several(views, state, concluded)) for head, state, concluded in kinds]


def _from_several(views: Sequence[StudyView], state: str, concluded: str) -> list[tuple[StudyView, PaperFinding]]:
    """Give one of each study, then a second one of each, until there are enough."""
    turns = []
    for view in views:
        named = view.concluded.get(concluded, [])
        fitting = sorted(
            (finding for finding in view.findings if finding.there == state and not finding.apart),
            key=lambda one: _telling(one, named),
        )
        turns += [(turn, view, finding) for turn, finding in enumerate(fitting)]
    return [(view, finding) for _, view, finding in sorted(turns, key=lambda turn: turn[0])][:SHOWN]


def _telling(finding: PaperFinding, named: Sequence[str]) -> tuple[int, int]:
    """Put what a study's conclusions name first; then those with numbers, of which more experiments speak."""
    place = named.index(finding.name) if finding.name in named else len(named)
    return place, -len(finding.where) - 10 * any(letter.isdigit() for letter in finding.numbers_there)


def open_claims(experiments: Sequence[ExperimentResult], reference: Beside | None) -> tuple[int, int]:
    """Count claims that are open in the reference set: those that want more seeds, and those that none would decide."""
    known = [
        (reference.claims.get(claim["id"]) if reference else None) or claim
        for experiment in experiments
        for claim in experiment.counted
    ]
    wanted = [claim[WANTED] for claim in known if state_of(claim) == Verdict.OPEN]
    return sum(map(bool, wanted)), wanted.count(0)


def open_text(experiments: Sequence[ExperimentResult], reference: Beside | None, is_quick: bool) -> str:
    """Say how many claims are open, and why; nothing where none is."""
    wanting, staying = open_claims(experiments, reference)
    if not wanting + staying:
        return ""
    of_set = " in the reference set" if is_quick else ""
    amount = f"{plural(wanting + staying, 'claim')} {'is' if wanting + staying == 1 else 'are'} open{of_set}"
    return f"{amount}: {wanting} for lack of seeds, {staying} whatever seeds the rules allow."


def matrix_key(reference: Beside | None, is_quick: bool) -> str:
    """Say how to read the matrix of findings."""
    key = "A row is a paper, a box a figure or table, a mark a finding, as the box alone shows it; a finding's verdict "
    key += "over all boxes stands below."
    if reference:
        differs = "contradicts the mark" if is_quick else "has another verdict"
        key += f" A black corner: the {reference.called()} {differs}, for the box alone."
    if reference and is_quick:
        key += " ◇ agrees and ⊗ differs in one seed. Dotted: not judged here, the verdict of the reference set."
    return key


def standings(views: Iterable[StudyView]) -> list[tuple[StudyView, Standing]]:
    """Say of each study how its findings stand by the reference set."""
    return [
        (view, Standing.of(Counter(finding.there for finding in view.findings if not finding.apart))) for view in views
    ]


def standing(views: Iterable[StudyView]) -> Standing:
    """Say how the findings of all studies stand by the reference set."""
    return Standing.of(Counter(finding.there for view in views for finding in view.findings if not finding.apart))


def machine(experiments: Iterable[ExperimentResult], reference: Beside) -> Machine:
    """Compare the claims that are measured here with the reference set."""
    claims = [(experiment, claim) for experiment in experiments for claim in experiment.counted]
    entries = [
        (entry, not (claim.get("is_look") and experiment.is_of_means(claim)))
        for experiment, claim in claims
        if state_of(claim) != NOT_HERE and (claim.get("measured") or claim.get("held"))
        if (entry := reference.entry(claim))
    ]
    agree = sum(entry["agrees"] for entry, _ in entries)
    same = [entry["same_numbers"] for entry, has_number in entries if has_number]
    return Machine(len(claims), len(entries), len(same), sum(same), agree, len(entries) - agree)


def yielding(experiments: Iterable[ExperimentResult], reference: Beside | None) -> Yielding | None:
    """Make the table of who yields to whom, of the figure that says `overview: yielding`; None where there is none."""
    for experiment in experiments:
        figure = experiment.data["figure"]
        if figure.get("overview") == "yielding":
            file = reference.kept.get(experiment.id) if reference else None
            there = ranges(in_reference.kept(experiment.data, file)) if file else {}
            here = ranges(in_reference.numbers_of(figure))
            labels = [value["label"] for value in figure["values"]]
            what = ". ".join(filter(None, (_of_seeds(figure) if here else "", *_of_reference(here, there))))
            return _table(f"{experiment.id}.html", what, here, there, labels) if what else None
    return None


def _of_reference(here: Mapping[str, Range], there: Mapping[str, Range]) -> list[str]:
    """Say which numbers are the reference set's."""
    both = [_beside(here[label], there[label]) for label in here.keys() & there.keys()]
    marks = ["pale"] * bool(there.keys() - here.keys()) + ["in brackets"] * any(both)
    return [f"{' and '.join(marks).capitalize()}: the reference set, median and range"] if marks else []


def _of_seeds(figure: dict[str, Any]) -> str:
    most = max(len(value["by_seed"]) for value in figure["values"])
    return "Median, and range over the seeds" if most > 1 else "One seed"


def _beside(here: Range, there: Range) -> str:
    """Say what the reference set has beside one seed of these runs; nothing where all are the same, rounded."""
    low, middle, high = (number(value, 2) for value in there)
    if here[0] != here[2] or {low, middle, high} == {number(here[1], 2)}:
        return ""
    return middle if low == high else f"{middle}, {low} to {high}"


def _table(page: str, what: str, here: dict[str, Range], there: dict[str, Range], labels: list[str]) -> Yielding:
    pairs = [label.partition(": ") for label in labels]
    columns, rows = list(dict.fromkeys(pair[0] for pair in pairs)), list(dict.fromkeys(pair[2] for pair in pairs))

    def share(row: str, column: str) -> Share | None:
        label = f"{column}: {row}"
        shown = here.get(label) or there.get(label)
        beside = _beside(here[label], there[label]) if label in here and label in there else ""
        return Share(shown[0], shown[1], shown[2], label in here, beside) if shown else None

    shares = {row: [share(row, column) for column in columns] for row in rows}
    run = {row: beside for row, beside in shares.items() if any(beside)}
    return Yielding(page, what, columns, list(run.items()), [row for row in rows if row not in run])
