"""Finds what has been measured and drawn, in whatever folder of the results it lies."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from analysis.claims.syntax import is_about_means
from analysis.documents import Fields, read_made
from analysis.errors import BadInputError
from analysis.experiment_files import FORMAT, NOT_RUN, NOT_TESTED, VERDICTS
from analysis.files import check_folder
from analysis.judge.findings import decides, verdicts_of_findings
from analysis.judge.rules import HOLDS
from analysis.judge.verdict import Verdict
from common import sums
from scenarios.implementations import used_by
from scenarios.resolve import QUICK

NOT_HERE: Final = "not judged here"  # a state, not a verdict: runs of another size judge it
# One seed is a look, and no verdict: these say less than what more seeds say with the same numbers.
LOOKS: Final[dict[str, str]] = {
    Verdict.HOLDS: "agrees in one seed",
    Verdict.NEARLY: "nearly agrees in one seed",
    Verdict.OPEN: "open in one seed",
    Verdict.FAILS: "differs in one seed",
}
DECIDED: Final = (Verdict.HOLDS, Verdict.NEARLY, Verdict.FAILS)
# what a page tells apart: the verdicts, looks, and what another run of the same programs could test
STATES: Final = (*Verdict, *LOOKS.values(), NOT_HERE)


@dataclass(frozen=True)
class ExperimentResult:
    """One experiment: what `measure` wrote, and where; without a folder it has not been run."""

    id: str
    title: str
    artefact: str
    study: str
    paper: dict[str, Any]
    concluded: dict[str, list[str]]  # the findings that each list of conclusions is about
    conclusions: dict[str, list[str]]
    findings: dict[str, str]
    folder: Path | None
    data: dict[str, Any]
    result: str = ""  # what came out by the reference set, in a sentence, where its claims are decided
    quotes: Sequence[Mapping[str, Any]] = ()  # the paper's own sentences, as study.yaml has them
    apart: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the findings that count apart, by kind
    decides: bool = True  # a finding; others say how causes were varied, and run with `everything` only

    @property
    def counts(self) -> Counter[str]:
        """Number of claims that count, by state."""
        return Counter(map(state_of, self.counted))

    @property
    def counted(self) -> list[dict[str, Any]]:
        """The entries of the claims that count: no role, and not what another experiment's claims say."""
        return [claim for claim in self.claims if "role" not in claim and "same_as" not in claim]

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The entries of its claims."""
        entries: list[dict[str, Any]] = self.data.get("claims", [])
        return entries

    def is_of_means(self, claim: Mapping[str, Any]) -> bool:
        """Tell whether a claim is about means over the seeds, which a look at one seed cannot have."""
        words = self.data["experiment"].get("words") or {}
        return is_about_means(claim.get("holds") or claim.get("measure") or "0", words)

    @property
    def study_name(self) -> str:
        """The study as pages call it: a conference by its acronym."""
        return self.study.upper() if "year" in self.paper else self.study.capitalize()

    @property
    def implementations(self) -> list[str]:
        """What sent or answered in its runs, in the order of their names."""
        cells = self.data.get("settings", [])
        return sorted(used_by(flow for cell in cells for flow in cell["flows"]))

    @property
    def wall_s(self) -> float:
        """Wall time of all runs together, s."""
        return float(sum(run["wall_s"] for run in self.data.get("runs", [])))

    @property
    def virtual_s(self) -> dict[tuple[str, str, int], float]:
        """Virtual seconds of each run, by the experiment that simulates it, cell and seed."""
        runs = self.data.get("runs", [])
        return {(self.data["experiment"]["runs_of"], run["cell"], run["seed"]): float(run["virtual_s"]) for run in runs}


def titled(experiment: ExperimentResult, there: Mapping[str, Mapping[str, Any]] | None) -> ExperimentResult:
    """Give an experiment with its result, unless the reference set, or without one these runs, leaves that open."""
    entry = experiment.data.get("experiment", {})
    claims: Mapping[str, Mapping[str, Any]] = there or {claim["id"]: claim for claim in experiment.claims}
    decisive = [claims.get(f"{experiment.id}/{name}") for name in entry.get("result_of", [])]
    is_decided = all(claim and state_of(claim) in DECIDED for claim in decisive)
    return replace(experiment, result=entry.get("result", "") if is_decided else "")


def state_of(claim: Mapping[str, Any]) -> str:
    """Give the verdict of a claim's entry, one of LOOKS for a look, or NOT_HERE where only this run cannot test it."""
    reason = (claim.get("not_testable") or {}).get("reason")
    if claim["verdict"] == Verdict.UNTESTABLE:
        return NOT_HERE if reason in (NOT_RUN, NOT_TESTED) else str(claim["verdict"])
    return LOOKS[claim["verdict"]] if claim.get("is_look") else str(claim["verdict"])


def collect(results: Path) -> list[ExperimentResult]:
    """All experiments of the studies that have results, in the order of their registries."""
    check_folder(results, "results")
    measured: dict[str, Fields] = {}
    for folder in sorted(_measured(results)):
        document = read_made(folder, VERDICTS)
        if document.get("format", int) != FORMAT:
            raise document.error("format", document.data["format"], str(FORMAT))
        measured[document.child("experiment").get("id", str)] = document
    if not measured:
        raise BadInputError(f"{results}: nothing has been measured there yet (no {VERDICTS})")
    for document in measured.values():
        _tell_looks(document)
    by_name: dict[str, ExperimentResult] = {}
    for document in measured.values():
        for experiment in document.children("experiments"):
            name = experiment.get("id", str)
            own = measured.get(name)
            named = own.child("experiment") if own else experiment
            by_name.setdefault(
                name,
                ExperimentResult(
                    id=name,
                    title=named.get("title", str),
                    artefact=named.get("artefact", str),
                    study=document.get("study", str),
                    paper=document.get("paper", dict),
                    concluded=document.maybe("concluded", dict) or {},
                    conclusions=document.get("conclusions", dict),
                    findings=document.get("findings", dict),
                    folder=own.path.parent if own else None,
                    data=own.data if own else {},
                    quotes=document.maybe("quotes", list) or [],
                    apart=document.maybe("apart", dict) or {},
                    decides=experiment.maybe("decides", bool) is not False,
                ),
            )
    return list(by_name.values())


def _measured(results: Path) -> set[Path]:
    """Give the folders of measured experiments, also those whose verdicts have been removed since."""
    there = {file.parent for level in ("*", "*/*") for file in results.glob(f"{level}/{VERDICTS}")}
    vouched = {file.parent for level in ("*", "*/*") for file in results.glob(f"{level}/{sums.FILE}")}
    return there | {folder for folder in vouched if VERDICTS in sums.known(folder)}


def lines(verdicts: Path) -> list[str]:
    """Say the state of each claim of an experiment, a line a claim, and in which file the rest stands."""
    document = read_made(verdicts.parent, verdicts.name)
    _tell_looks(document)
    claims = document.get("claims", list)
    return [*(f"{each['id']}: {state_of(each)} ({each['why']}): {each['title']}" for each in claims), str(verdicts)]


def _tell_looks(document: Fields) -> None:
    is_quick = any(run["size"] == QUICK for run in document.data["runs"])
    for claim in document.data.get("claims", []):
        claim["is_look"] = is_look(claim, is_quick)


def is_quick(experiments: Iterable[ExperimentResult]) -> bool:
    """Say whether any runs are of size quick."""
    return any(run["size"] == QUICK for experiment in experiments for run in experiment.data.get("runs", []))


def is_look(claim: Mapping[str, Any], is_quick: bool) -> bool:
    """Say whether a claim is only looked at: by runs of size quick, or by one seed. A KUnit case has no seeds."""
    by_seed = (claim.get("measured") or {}).get("by_seed") or claim.get("held") or {}
    return not claim.get("kunit") and (is_quick or len(by_seed) == 1)


def is_look_there(kept: Mapping[str, Any]) -> bool:
    """Say whether a claim of the reference set, as its file has it, is only looked at there: by one seed."""
    return is_look({"held": kept["held"], "measured": {"by_seed": kept["by_seed"]}}, is_quick=False)


def is_for_now(claim: Mapping[str, Any]) -> bool:
    """Say whether a claim waits for other runs: a look, or not judged here."""
    return bool(claim.get("is_look")) or state_of(claim) == NOT_HERE


def states_of_findings(claims: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Give the state of each finding: its verdict, or the look that a look among its claims makes of it.

    NOT_HERE stands where a claim that counts waits for other runs, and no other claim counts against the finding.
    """
    claims = list(claims)
    looks = {finding_of(claim) for claim in claims if claim.get("is_look") and state_of(claim) != Verdict.UNTESTABLE}
    for_now = {finding_of(claim) for claim in claims if decides(claim) and state_of(claim) == NOT_HERE}

    def state(finding: str, verdict: Verdict) -> str:
        if finding in for_now and verdict in (*HOLDS, Verdict.UNTESTABLE):
            return NOT_HERE
        return LOOKS[verdict] if finding in looks and verdict in LOOKS else str(verdict)

    return {finding: state(finding, verdict) for finding, verdict in verdicts_of_findings(claims).items()}


def finding_of(claim: Mapping[str, Any]) -> str:
    """Give the finding that a claim stands for; itself where it names none."""
    return str(claim.get("finding") or claim["id"])
