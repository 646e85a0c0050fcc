"""The criteria of RFC 9743 as data: a folder each, with its statements and the scenarios beside them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from analysis.judge.statement import LIST, Form, Statement
from analysis.judge.statement import load as load_statements
from scenarios.cell_names import written
from scenarios.errors import Problem, choices
from scenarios.load import Document
from scenarios.resolve import expand
from testbed.shared import rulebooks
from testbed.shared.rulebooks import STATEMENTS

FOLDER: Final = rulebooks.FOLDER / "rfc9743"
BASELINE: Final = "baseline"
"""In bounds, the value of the same measure in the baseline's run of the same point and seed."""
ALONE, ITSELF = "alone", "itself"
"""In bounds, the same where the control is missing, and where the flow `victim` stands in its place, too."""
FORM: Final = Form(
    head=("section", "title", "level", "asks", "among", "form", "not_measured"),
    fields=(
        *("id", "says", "otherwise", "because", "harms", "tells", "scenario", "in"),
        *("measure", "unit", "victim", "at_least", "at_most"),
    ),
    required=("id", "says", "otherwise", "scenario", "measure", "unit", "because"),
    one_of=("at_least", "at_most"),
    words=(),
    pages="docs/reference/claims.md and docs/howto/evaluate.md",
    references=(BASELINE, ALONE, ITSELF),
    needs=("section", "title", "level", "asks"),
)
AMONG: Final = "among"
"""The field, and the scenario, of criteria that take the statements of a file that they share."""
_SHARED: Final = FOLDER / "among.statements.yaml"
_FORM_OF_SHARED: Final = replace(FORM, head=(), needs=(LIST,))
_WHERE: Final = "{among}"


@dataclass(frozen=True)
class Criterion:
    """A criterion; `form` are questions for the control's author, `not_measured` what no run here shows."""

    id: str
    section: str
    title: str
    level: str
    asks: str
    rows: list[Statement]
    form: list[str]
    not_measured: str | None

    @property
    def references(self) -> dict[str, tuple[str, str, str]]:
        """The scenarios without the control that its bounds need: of which, by which word, with which victim."""
        return {
            f"{self.id}-{row.scenario}-{word}.yaml": (f"{self.id}-{row.scenario}.yaml", word, row.victim)
            for row in self.rows
            for word in references_of(row)
        }

    @property
    def scenarios(self) -> dict[str, Path]:
        """The scenarios of its rows, by the name that each has among those of all criteria."""
        return {
            f"{self.id}-{name}.yaml": FOLDER / self.id / f"{name}.yaml" for name in {row.scenario for row in self.rows}
        }


def references_of(row: Statement) -> list[str]:
    """Return the words of a statement's bound that need runs without the control."""
    return [word for word in (ALONE, ITSELF) if _says(row.bounds[0].text, word)]


def _says(text: str, word: str) -> bool:
    return bool(re.search(rf"\b{word}\b", text))


def load_all() -> list[Criterion]:
    """Read all criteria, in the order of the RFC's sections. Raises BadInputError as `load` does."""
    everything = [load(file) for file in FOLDER.glob(f"*/{STATEMENTS}")]
    return sorted(everything, key=lambda criterion: [int(part) for part in criterion.section.split(".")])


def load(path: Path) -> Criterion:
    """Read and check a criterion. Raises BadInputError that names line and field of everything that is wrong."""
    head, rows = load_statements(path, FORM, _problems)
    if where := head.pop(AMONG, ""):
        _, shared = load_statements(_SHARED, _FORM_OF_SHARED)
        own = {row.id for row in rows}
        rows += [replace(row, otherwise=row.otherwise.replace(_WHERE, where)) for row in shared if row.id not in own]
    return Criterion(path.parent.name, **{"form": [], "not_measured": None} | head, rows=rows)


def _problems(document: Document) -> Iterator[Problem]:
    """Find what is wrong with the statements of a criterion, as far as only this product can say."""
    if LIST not in document.data and "form" not in document.data:
        yield document.problem((LIST,), "missing", "statements, or a form")
    folder = document.file.parent
    scenarios = sorted(file.stem for file in folder.glob("*.yaml") if file.name != STATEMENTS)
    if AMONG in document.data and AMONG not in scenarios:
        yield document.problem((AMONG,), "found it without its scenario", f"a criterion with {AMONG}.yaml beside it")
    for index, entry in enumerate(document.data.get(LIST, [])):
        at = (LIST, index)
        if _says(str(entry.get("at_least", entry.get("at_most"))), ITSELF) and "victim" not in entry:
            yield document.problem(at, f"the bound says {ITSELF!r}, without a victim", "the flow's name")
        if entry["scenario"] not in scenarios:
            allowed = choices(scenarios, entry["scenario"])
            yield document.problem((*at, "scenario"), f"found {entry['scenario']!r}", allowed)
        elif "in" in entry:
            values = [cell.settings["cell_values"] for cell in expand(folder / f"{entry['scenario']}.yaml", "complete")]
            for name, value in entry["in"].items():
                known = list(dict.fromkeys(written(each[name]) for each in values if name in each))
                for one in value if isinstance(value, list) else [value]:
                    if written(one) not in known:
                        yield document.problem((*at, "in", name), f"found {one!r}", choices(known, written(one)))
