"""What is different between two results, claim by claim: a page, and a feed that readers can subscribe to."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree

from analysis.report.beside import Beside
from analysis.report.cards import page_of
from analysis.report.formats import result_text
from analysis.report.results import NOT_HERE, ExperimentResult, state_of
from common.counts import plural

ATOM: Final = "http://www.w3.org/2005/Atom"
UNDATED: Final = "1970-01-01T00:00:00+00:00"


@dataclass(frozen=True)
class Change:
    """A claim with another verdict, or with other numbers behind the same one."""

    experiment: ExperimentResult
    claim: Mapping[str, Any]
    link: str
    before: str
    now: str
    numbers_before: str
    numbers_now: str
    is_of_verdict: bool  # or only of the numbers under it


def changes(experiments: Sequence[ExperimentResult], before: Beside) -> list[Change]:
    """List the claims that differ from other results: other verdicts first."""
    differences = [change for experiment in experiments for change in _changes(experiment, before)]
    return sorted(differences, key=lambda change: not change.is_of_verdict)


def _changes(experiment: ExperimentResult, before: Beside) -> Iterator[Change]:
    for claim in experiment.counted:
        there = before.entry(claim)
        if there is None or state_of(claim) == NOT_HERE:
            continue
        has_number = claim.get("measured") or claim.get("held")
        has_number = has_number and not (claim.get("is_look") and experiment.is_of_means(claim))
        if there["agrees"] and (there["same_numbers"] or not has_number):
            continue
        yield Change(
            experiment,
            claim,
            page_of(claim["id"]),
            there["verdict"],
            state_of(claim),
            there["text"],
            result_text(claim),
            not there["agrees"],
        )


def summary(differences: Sequence[Change], claims: int, compared: int, is_quick: bool = False) -> str:
    """Say in a sentence how much is different among so many claims, of which so many have numbers in both results.

    A quick look has no verdicts.
    """
    verdicts = sum(change.is_of_verdict for change in differences)
    numbers = len(differences) - verdicts
    if not differences:
        both = "" if compared == claims else f" that {'has' if compared == 1 else 'have'} numbers in both"
        return f"All {plural(compared, 'claim')}{both} have the same verdict and the same numbers."
    if is_quick:
        result = (
            f"{_some(verdicts, 'contradicts', 'contradict')} the reference set's verdict{'s' if verdicts > 1 else ''}"
        )
        result += ", as one seed may" if verdicts else ""
        others = f"{_some(numbers, 'has', 'have')} other numbers in the same seed"
    else:
        result = f"{_some(verdicts, 'has', 'have')} another verdict"
        others = f"{_some(numbers, 'has', 'have')} other numbers under the same verdict"
    both = f"Of {plural(claims, 'claim')}, {compared:,} {'has' if compared == 1 else 'have'} numbers in both"
    return f"{both}; {result}, and {others}."


def _some(amount: int, one: str, many: str) -> str:
    return f"{amount or 'none'} {one if amount < 2 else many}"


def feed(differences: Sequence[Change], title: str, subtitle: str) -> str:
    """Write an Atom feed (RFC 4287): an entry for each experiment with another verdict."""
    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed")
    by_experiment: dict[str, list[Change]] = {}
    for change in differences:
        if change.is_of_verdict:
            by_experiment.setdefault(change.experiment.id, []).append(change)
    ended = {name: _ended(of_it[0].experiment) for name, of_it in by_experiment.items()}
    _entry(root, "urn:ledbat-testbed:changes", title, max(ended.values(), default=UNDATED))
    for name, value in (("subtitle", subtitle), ("author", None)):
        element = ElementTree.SubElement(root, f"{{{ATOM}}}{name}")
        element.text = value
        if value is None:
            ElementTree.SubElement(element, f"{{{ATOM}}}name").text = "LEDBAT testbed"
    for name, of_it in by_experiment.items():
        entry = ElementTree.SubElement(root, f"{{{ATOM}}}entry")
        first = of_it[0].experiment
        kinds = Counter(f"{change.before} to {change.now}" for change in of_it)
        moved = ", ".join(f"{amount} from {kind}" for kind, amount in kinds.items())
        _entry(entry, f"urn:ledbat-testbed:{name}:{ended[name]}", f"{first.artefact}, {name}: {moved}", ended[name])
        ElementTree.SubElement(entry, f"{{{ATOM}}}link", {"href": f"{name}.html"})
        lines = [f"{change.claim['title']} {change.before} before, {change.now} now." for change in of_it]
        ElementTree.SubElement(entry, f"{{{ATOM}}}summary").text = "\n".join(lines)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _entry(parent: ElementTree.Element, identifier: str, title: str, updated: str) -> None:
    for name, value in (("id", identifier), ("title", title), ("updated", updated)):
        ElementTree.SubElement(parent, f"{{{ATOM}}}{name}").text = value


def _ended(experiment: ExperimentResult) -> str:
    return str(max((run["ended"] for run in experiment.data["runs"]), default=UNDATED))
