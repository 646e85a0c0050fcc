"""Statements: a measure, its bounds, where it holds, and why, as files of all products have them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.claims.comparisons import compare
from analysis.claims.syntax import NEVER
from analysis.errors import BadInputError
from scenarios import schema
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.load import Document, read
from scenarios.resolve import written
from scenarios.schema import Schema

SCHEMA: Final = Path(__file__).with_name("statements.schema.yaml")
SIGNS: Final = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}
"""The fields of bounds."""
_CALLED: Final = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}
LIST: Final = "statements"


@dataclass(frozen=True)
class Bound:
    """One end of what a measure may be: a sign and an expression."""

    sign: str
    text: str

    @property
    def is_most(self) -> bool:
        """Whether it bounds a number from above."""
        return self.sign.startswith("<")

    def __str__(self) -> str:
        return f"{_CALLED[self.sign]} {self.text}"

    def shown(self, number: str) -> str:
        """Say it with its value."""
        return f"{_CALLED[self.sign]} {number}"


@dataclass(frozen=True)
class Statement:
    """A statement; the fields are those of statements.schema.yaml. Without a measure, `untestable` says why.

    `cells` are the values that `in` allows, by name. `at` begins messages about a field, as in "file.yaml:3:
    statements[0].".
    """

    id: str
    measure: str
    bounds: tuple[Bound, ...]
    cells: Mapping[str, tuple[str, ...]]
    says: str = ""
    document: str = ""
    section: str = ""
    level: str = ""
    untestable: str = ""
    at: str = field(default="", compare=False)

    @property
    def limits(self) -> list[str]:
        """The expressions of its bounds."""
        return [bound.text for bound in self.bounds]

    def is_about(self, cell: str) -> bool:
        """Whether it counts in a cell of its scenario, given by its name."""
        values = set(cell.split(","))
        return all(values & {f"{name}={value}" for value in allowed} for name, allowed in self.cells.items())

    def keeps(self, bound: Bound, measured: float, limit: float) -> bool:
        """Whether a number keeps a bound of this value. Raises NotMeasuredError where they cannot be compared."""
        return compare(measured, bound.sign, limit, by_name=NEVER in (self.measure, bound.text))


@dataclass(frozen=True)
class Form:
    """What the files of a product say: fields beside the list, fields of a statement, and those that each must have.

    `one_of` are fields of which a statement has one. `words` are what measures and bounds may use beside the words of
    claims; `pages` explain all of them.
    """

    head: tuple[str, ...]
    fields: tuple[str, ...]
    required: tuple[str, ...]
    one_of: tuple[str, ...]
    words: Collection[str]
    pages: str

    def schema(self) -> Schema:
        """Return the part of the schema that the product takes."""
        whole = read(SCHEMA).data
        every = whole["properties"][LIST]
        item = every["items"] | {
            "required": list(self.required),
            "oneOf": [{"required": [name]} for name in self.one_of],
            "properties": {name: part for name, part in every["items"]["properties"].items() if name in self.fields},
        }
        head = {name: whole["properties"][name] for name in self.head}
        return {**whole, "required": [*self.head, LIST], "properties": head | {LIST: {**every, "items": item}}}


def load(
    path: Path, form: Form, check: Callable[[Document], Iterator[Problem]] = lambda _: iter(())
) -> tuple[dict[str, Any], list[Statement]]:
    """Read a file of statements; return its other fields, and them. `check` finds what only the product can.

    Raises:
        BadInputError: it names line and field of everything that is wrong.
    """
    try:
        document = read(path)
        if wrong := schema.problems(document, rules := form.schema()):
            raise ScenarioError(wrong)
        if wrong := [*_problems(document, form), *check(document)]:
            raise ScenarioError(wrong)
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    head = schema.with_defaults(document.data, rules)
    return head, [_statement(document, index, entry) for index, entry in enumerate(head.pop(LIST))]


def _statement(document: Document, index: int, entry: dict[str, Any]) -> Statement:
    bounds = tuple(Bound(sign, str(entry[name])) for name, sign in SIGNS.items() if name in entry)
    cells = {
        name: tuple(map(written, value if isinstance(value, list) else [value]))
        for name, value in entry.get("in", {}).items()
    }
    plain = {name: value for name, value in entry.items() if name not in {*SIGNS, "in", "measure"}}
    at = f"{document.file}:{document.lines[LIST, index]}: {LIST}[{index}]."
    return Statement(measure=entry.get("measure", ""), bounds=bounds, cells=cells, at=at, **plain)


def _problems(document: Document, form: Form) -> Iterator[Problem]:
    """Find what is wrong with statements, as far as no schema can."""
    ids: set[str] = set()
    documents = document.data.get("documents", {})
    for index, entry in enumerate(document.data[LIST]):
        at = (LIST, index)
        if entry["id"] in ids:
            yield document.problem((*at, "id"), f"found {entry['id']!r} again", "another name")
        ids.add(entry["id"])
        if "document" in entry and entry["document"] not in documents:
            allowed = choices(list(documents), entry["document"])
            yield document.problem((*at, "document"), f"found {entry['document']!r}", allowed)
        bounds = [name for name in SIGNS if name in entry]
        if bool(bounds) != ("measure" in entry):
            found = "found a measure without a bound" if not bounds else f"found {bounds[0]} without a measure"
            yield document.problem(at, found, f"a measure, and one of {', '.join(SIGNS)}")
        for name in ("measure", *bounds):
            if wrong := expressions.problem(str(entry.get(name, 0)), form.words):
                yield document.problem((*at, name), wrong, f"an expression in the words of {form.pages}")
