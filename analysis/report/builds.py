"""What the full run is: when it was recorded, and from which builds, part by part, beside those of these runs."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis.provenance import MADE_FROM
from analysis.report.beside import Beside
from analysis.report.first_page import Machine, machine
from analysis.report.outside import Numbers, numbers_beside
from analysis.report.overview import StudyView
from analysis.report.results import Result
from scenarios.implementations import known

SAME: Final = "the same"
ANOTHER: Final = "another"
PARTLY: Final = "the same in part"
NOT_HERE: Final = "not in these runs"
NOT_THERE: Final = "not in the full run"
_DIFFERS: Final = (ANOTHER, PARTLY, NOT_THERE)
_DIGITS: Final = 12  # of a digest
_CALLED: Final = {"rootfs": "root file system", "tools": "guest tools"}
_FIRST: Final = ("kernel", "rootfs", "tools")


@dataclass(frozen=True)
class Side:
    """A part in some runs: short digests of its builds, and what these said of their versions, as far as known."""

    digests: list[str]
    versions: list[str]


@dataclass(frozen=True)
class Part:
    """A part of what ran, here and in the full run."""

    name: str
    here: Side
    there: Side
    standing: str
    is_used: bool  # not a module that no flow here uses

    @property
    def differs(self) -> bool:
        """Whether the full run lacks these builds of a part in use."""
        return self.is_used and self.standing in _DIFFERS


@dataclass(frozen=True)
class Builds:
    """What an experiment of the full run was made from, and how its numbers stand beside these."""

    experiment: Result
    recorded: str  # the day of its last run
    runs: int
    commits: list[str]
    parts: list[Part]
    claims: Machine
    beside: Numbers
    has_figure_of_others: bool  # what stands pale behind a figure is in part of newer builds than the rest

    @property
    def differing(self) -> list[str]:
        """The parts in use of which the full run lacks these builds."""
        return [part.name for part in self.parts if part.differs]


@dataclass(frozen=True)
class Origin:
    """The full run as a whole, beside the experiments that are shown."""

    experiments: list[Builds]  # other numbers first, then other builds
    since: str
    until: str
    same: int  # experiments that have all builds of these runs
    but_for: str  # the part that most of the others lack alone; empty where none does
    but_for_it: int
    claims: Machine  # of all other experiments
    beside: Numbers

    @property
    def outside(self) -> dict[str, Builds]:
        """The experiments with numbers outside the full run's range, by id: their results may not fit these builds."""
        return {one.experiment.id: one for one in self.experiments if one.beside.outside}

    def behind(self, findings: Container[str], view: StudyView) -> list[Builds]:
        """Give those of `outside` that findings of a study stand on."""
        where = {page.partition(".html")[0] for one in view.findings if one.name in findings for _, page in one.where}
        return [one for name, one in self.outside.items() if name in where]


def origin(experiments: Iterable[Result], reference: Beside) -> Origin | None:
    """Compare the builds of all experiments that the full run has, too; None where it has none of them."""
    compared = [
        _compared(experiment, kept, reference)
        for experiment in experiments
        if (kept := reference.kept.get(experiment.id)) and "made_from" in kept
    ]
    if not compared:
        return None
    alone = Counter(part for one in compared if len(one.differing) == 1 for part in one.differing).most_common(1)
    but_for, but_for_it = alone[0] if alone else ("", 0)
    others = [one for one in compared if one.differing not in ([], [but_for])]
    days = sorted(one.recorded for one in compared)
    with_others = [one.experiment for one in others]
    return Origin(
        sorted(compared, key=lambda one: (_agrees(one), one not in others, not one.differing)),
        days[0],
        days[-1],
        len(compared) - len(others) - but_for_it,
        but_for,
        but_for_it,
        machine(with_others, reference),
        numbers_beside(with_others, reference),
    )


def _agrees(one: Builds) -> bool:
    return one.claims.same_numbers == one.claims.compared and not one.beside.outside


def _compared(experiment: Result, kept: Mapping[str, Any], reference: Beside) -> Builds:
    return Builds(
        experiment,
        kept["ended"][:10],
        kept["runs"],
        kept.get("commit", []),
        list(_parts(experiment, kept)),
        machine([experiment], reference),
        numbers_beside([experiment], reference),
        "figure_recorded" in kept,
    )


def _parts(experiment: Result, kept: Mapping[str, Any]) -> Iterator[Part]:
    here, there = experiment.data["provenance"], kept["made_from"]
    names = {name for name in (*here, *there) if MADE_FROM.fullmatch(name)}
    used = _modules(experiment.implementations)
    for name in sorted(names, key=lambda name: (name not in _FIRST, name)):
        ours = _side(name, here.get(name, []), experiment.data.get("versions", {}))
        theirs = _side(name, there.get(name, []), kept.get("versions", {}))
        yield Part(
            _CALLED.get(name, name.replace(":", " ")),
            ours,
            theirs,
            _standing(set(ours.digests), set(theirs.digests)),
            not name.startswith("module:") or used is None or name in used,
        )


def _modules(implementations: Sequence[str]) -> set[str] | None:
    """Give the modules that implementations use, by their name in a provenance; None where one is not known."""
    described = known()
    if not described.keys() >= set(implementations):
        return None
    return {f"module:{described[name]['module']}" for name in implementations if "module" in described[name]}


def _side(part: str, builds: Sequence[Mapping[str, Any]], versions: Mapping[str, list[str]]) -> Side:
    """Give a part's side; `versions` are what implementations said of theirs, a kernel has its release."""
    kind, _, name = part.partition(":")
    said = [str(build["release"]) for build in builds if "release" in build]
    for implementation, some in versions.items():
        if (implementation if kind == "program" else known().get(implementation, {}).get("module")) == name:
            said += some
    return Side([str(build.get("digest", ""))[:_DIGITS] for build in builds], list(dict.fromkeys(said)))


def _standing(here: set[str], there: set[str]) -> str:
    if not here:
        return NOT_HERE
    if not there:
        return NOT_THERE
    if here == there:
        return SAME
    return PARTLY if here & there else ANOTHER
