"""The criteria of RFC 9743 as data: a folder each, with its rows in criterion.yaml and the scenarios beside it."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.errors import BadInputError
from scenarios import schema
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.load import Document
from scenarios.resolve import expand
from testbed.shared.panel import point

FOLDER: Final = Path(__file__).with_name("criteria")
FILE: Final = "criterion.yaml"
SCHEMA: Final = Path(__file__).with_name("schema.yaml")
BASELINE: Final = "baseline"
"""In bounds, the value of the same measure in the baseline's run of the same point and seed."""
ALONE, ITSELF = "alone", "itself"
"""In bounds, the same where the control is missing, and where the flow `victim` stands in its place, too."""
BOUNDS: Final = (BASELINE, ALONE, ITSELF)


@dataclass(frozen=True)
class CriterionRow:
    """A statement about the control under test; `bound` is an expression, and the measure's most or its least.

    `points` are the scenario's points that it speaks of; None are all. Where it is false, `harms` are worse off. The
    summary says what was measured under the name `tells`. `victim` is the flow whose number this is, where the
    bound says what it does to itself.
    """

    id: str
    says: str
    otherwise: str
    scenario: str
    points: list[str] | None
    measure: str
    unit: str
    bound: str
    is_most: bool
    because: str
    harms: str | None = None
    tells: str | None = None
    victim: str | None = None

    @property
    def references(self) -> list[str]:
        """The words of its bound that need runs without the control."""
        return [word for word in (ALONE, ITSELF) if re.search(rf"\b{word}\b", self.bound)]

    @property
    def is_rate_of_others(self) -> bool:
        """Whether a bound of zero or less could never be broken."""
        return ALONE in self.references and not self.is_most


@dataclass(frozen=True)
class Criterion:
    """A criterion; `form` are questions for the control's author, `not_measured` what no run here shows."""

    id: str
    section: str
    title: str
    level: str
    asks: str
    rows: list[CriterionRow]
    form: list[str]
    not_measured: str | None

    @property
    def references(self) -> dict[str, tuple[str, str, str | None]]:
        """The scenarios without the control that its bounds need: of which, by which word, with which victim."""
        return {
            f"{self.id}-{row.scenario}-{word}.yaml": (f"{self.id}-{row.scenario}.yaml", word, row.victim)
            for row in self.rows
            for word in row.references
        }

    @property
    def scenarios(self) -> dict[str, Path]:
        """The scenarios of its rows, by the name that each has among those of all criteria."""
        return {
            f"{self.id}-{name}.yaml": FOLDER / self.id / f"{name}.yaml" for name in {row.scenario for row in self.rows}
        }


def load_all() -> list[Criterion]:
    """Read all criteria, in the order of the RFC's sections. Raises BadInputError as `load` does."""
    everything = [load(file) for file in FOLDER.glob(f"*/{FILE}")]
    return sorted(everything, key=lambda criterion: [int(part) for part in criterion.section.split(".")])


def load(path: Path) -> Criterion:
    """Read and check a criterion. Raises BadInputError that names line and field of everything that is wrong."""
    try:
        document, _ = schema.checked(path, SCHEMA)
        if wrong := _problems(document):
            raise ScenarioError(wrong)
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    data = document.data
    rows = [_row(entry) for entry in data.get("rows", [])]
    names = {name: data[name] for name in ("section", "title", "level", "asks")}
    return Criterion(
        path.parent.name, **names, rows=rows, form=data.get("form", []), not_measured=data.get("not_measured")
    )


def _row(entry: dict[str, Any]) -> CriterionRow:
    is_most = "at_most" in entry
    texts = {name: entry[name] for name in ("id", "says", "otherwise", "scenario", "measure", "unit", "because")}
    bound = str(entry["at_most" if is_most else "at_least"])
    optional: dict[str, Any] = {name: entry.get(name) for name in ("points", "harms", "tells", "victim")}
    return CriterionRow(**texts, **optional, bound=bound, is_most=is_most)


def _problems(document: Document) -> list[Problem]:
    """Say what is wrong with the rows of a criterion, as far as no schema can."""
    problems: list[Problem] = []
    ids: set[str] = set()
    folder = document.file.parent
    scenarios = sorted(file.stem for file in folder.glob("*.yaml") if file.name != FILE)
    points = cache(lambda name: {point(cell.name) for cell in expand(folder / f"{name}.yaml", "complete")})
    for index, entry in enumerate(document.data.get("rows", [])):
        field = ("rows", index)
        if entry["id"] in ids:
            problems.append(document.problem((*field, "id"), f"found {entry['id']!r} again", "another name"))
        ids.add(entry["id"])
        for name, words in (("measure", ()), ("at_least", BOUNDS), ("at_most", BOUNDS)):
            if wrong := expressions.problem(str(entry.get(name, 0)), words):
                allowed = "an expression in the words of docs/reference/claims.md and docs/howto/evaluate.md"
                problems.append(document.problem((*field, name), wrong, allowed))
        if re.search(rf"\b{ITSELF}\b", str(entry.get("at_least", entry.get("at_most")))) and "victim" not in entry:
            problems.append(document.problem(field, f"the bound says {ITSELF!r}, without a victim", "the flow's name"))
        if entry["scenario"] not in scenarios:
            allowed = choices(scenarios, entry["scenario"])
            problems.append(document.problem((*field, "scenario"), f"found {entry['scenario']!r}", allowed))
            continue
        for name in entry.get("points", []):
            if name not in points(entry["scenario"]):
                allowed = choices(sorted(points(entry["scenario"])), name)
                problems.append(document.problem((*field, "points"), f"found {name!r}", allowed))
    return problems
