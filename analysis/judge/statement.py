"""Statements: a measure, its bounds, where it holds, and why, as files of all products have them."""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.claims.comparisons import compare
from analysis.claims.kinds import NUMBER
from analysis.claims.syntax import NEVER
from analysis.errors import BadInputError
from analysis.run.outcomes import ENDS
from scenarios import schema
from scenarios.cell_names import written
from scenarios.errors import FieldPath, Problem, ScenarioError, choices
from scenarios.load import Document, read
from scenarios.schema import Schema

SCHEMA: Final = Path(__file__).with_name("statements.schema.yaml")
SIGNS: Final = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}
"""The fields of bounds."""
_CALLED: Final = {sign: name.replace("_", " ") for name, sign in SIGNS.items()}
LIST: Final = "statements"
_OPERATORS: Final[dict[type[ast.cmpop], str]] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_QUOTED: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
_KEYWORD: Final = re.compile(r"[(,]\s*\w+\s*=(?!=)")
_EQUALS: Final = re.compile(r"(?<![<>!=])={1,2}(?!=)")
SHARES: Final = ("share", "utilization", "loss_rate", "retransmission_rate", "queue_share")
"""Words that give a part of a whole, 0 to 1."""


@dataclass(frozen=True)
class Bound:
    """One end of what a measure may be: a sign and an expression."""

    sign: str
    text: str

    @property
    def is_most(self) -> bool:
        """Whether it bounds a number from above."""
        return self.sign.startswith("<")

    @property
    def called(self) -> str:
        """Its name, such as "at most"."""
        return _CALLED[self.sign]

    def shown(self, number: str) -> str:
        """Say it with its value."""
        return f"{self.called} {number}"


@dataclass(frozen=True)
class Statement:
    """A statement; the fields are those of statements.schema.yaml.

    Without a measure, another implementation bounds all numbers (`no_worse_than`), or `untestable` says why there is
    none. `cells` are the values that `in` allows, by name. `at` begins messages about a field, as in "file.yaml:3:
    statements[0].".
    """

    id: str
    measure: str
    bounds: tuple[Bound, ...]
    cells: Mapping[str, tuple[str, ...]]
    says: str = ""
    otherwise: str = ""
    because: str = ""
    harms: str = ""
    tells: str = ""
    document: str = ""
    section: str = ""
    level: str = ""
    scenario: str = ""
    unit: str = ""
    victim: str = ""
    no_worse_than: str = ""
    untestable: str = ""
    at: str = field(default="", compare=False)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Its measure and its bounds, if it has them."""
        return (self.measure, *(bound.text for bound in self.bounds)) if self.measure else ()

    def is_about(self, cell: str) -> bool:
        """Whether it counts in a cell of its scenario, given by its name."""
        values = set(cell.split(","))
        return all(values & {f"{name}={value}" for value in allowed} for name, allowed in self.cells.items())

    def keeps(self, bound: Bound, measured: float, limit: float) -> bool:
        """Whether a number keeps a bound of this value. Raises NotMeasuredError where they cannot be compared."""
        return compare(measured, bound.sign, limit, by_name=NEVER in (self.measure, bound.text))


@dataclass(frozen=True)
class Form:
    """What the files of a product may say: fields beside the list, fields of a statement, those that each must have.

    `needs` are the file's own, and `one_of` fields of which a statement has one. `words` are what expressions may use
    beside the words of claims, `references` what bounds may use beside these, and `check` says what else is wrong with
    one; `pages` explain them.
    """

    head: tuple[str, ...]
    fields: tuple[str, ...]
    required: tuple[str, ...]
    one_of: tuple[str, ...]
    words: Collection[str]
    pages: str
    check: Callable[[ast.expr], str | None] = lambda _: None
    references: Collection[str] = ()
    needs: tuple[str, ...] = (LIST,)

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
        return {**whole, "required": list(self.needs), "properties": head | {LIST: {**every, "items": item}}}

    def problem_of_bound(self, expression: str) -> str | None:
        """Say what is wrong with a bound."""
        return replace(self, words={*self.words, *self.references}).problem(expression)

    def problem(self, expression: str, wanted: str | None = NUMBER) -> str | None:
        """Say what is wrong with an expression of a kind (None: any), as far as that shows without a run."""
        if not expression.strip():
            return "found nothing"
        if wrong := expressions.problem(expression, self.words, wanted):
            return wrong
        nodes = list(ast.walk(_parsed(expression)))
        ends = (str(end) for words in calls_of_ended(expression) if (end := words.get("how", "")) not in ("", *ENDS))
        if wrong_end := next(ends, None):
            return f"found {wrong_end!r}, no end ({', '.join(ENDS)})"
        return next(filter(None, (self.check(node) for node in nodes if isinstance(node, ast.expr))), None)


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
    return head, [_statement(document, index, entry) for index, entry in enumerate(head.pop(LIST, []))]


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
    for index, entry in enumerate(document.data.get(LIST, [])):
        at = (LIST, index)
        if entry["id"] in ids:
            yield document.problem((*at, "id"), f"found {entry['id']!r} again", "another name")
        ids.add(entry["id"])
        if "document" in entry and entry["document"] not in documents:
            allowed = choices(list(documents), entry["document"])
            yield document.problem((*at, "document"), f"found {entry['document']!r}", allowed)
        bounds = [name for name in SIGNS if name in entry]
        if bool(bounds) != ("measure" in entry):
            found = f"found {bounds[0]} without a measure" if bounds else "found a measure without a bound"
            yield document.problem(at, found, f"a measure, and one of {', '.join(SIGNS)}")
        elif bounds:
            yield from _wrong_expressions(document, at, entry, bounds, form)


def _wrong_expressions(
    document: Document, at: FieldPath, entry: Mapping[str, Any], bounds: Collection[str], form: Form
) -> Iterator[Problem]:
    texts = {name: str(entry[name]) for name in ("measure", *bounds)}
    allowed = f"an expression in the words of {form.pages}"
    checked = {name: form.problem if name == "measure" else form.problem_of_bound for name in texts}
    wrong = {name: problem for name, text in texts.items() if (problem := checked[name](text))}
    for name, problem in wrong.items():
        yield document.problem((*at, name), problem, allowed)
    if wrong:
        return
    if not any(map(names_of, texts.values())):
        yield document.problem((*at, "measure"), f"found {texts['measure']!r}, which measures nothing", allowed)
    for name in bounds:
        if is_share(_parsed(texts["measure"])) and isinstance(entry[name], int | float) and entry[name] > 1:
            found = f"found {entry[name]}, while the measure is a share, 0 to 1"
            yield document.problem((*at, name), found, "a part of 1, or a measure of 100 * for percent")


def of_text(text: str, form: Form) -> Statement:
    """Read a comparison as a command line has it, such as `queue_ms.mean() < 25`.

    Raises:
        ValueError: it is none; the message says what was found.
    """
    if _EQUALS.search(_KEYWORD.sub("(", _QUOTED.sub("", text))):
        raise ValueError(f"found {text!r}, which allows one exact number only; two comparisons bound both sides")
    if wrong := form.problem(text, None):
        raise ValueError(wrong)
    whole = _parsed(text)
    if not isinstance(whole, ast.Compare):
        raise ValueError(f"found {text!r}, which compares nothing")
    if len(whole.ops) > 1:
        raise ValueError(f"found {text!r}, which compares twice")
    if type(whole.ops[0]) not in _OPERATORS:
        raise ValueError(f"found {text!r}, which tests equality or membership")
    if not names_of(text):
        raise ValueError(f"found {text!r}, which measures nothing")
    for share, limit in ((whole.left, whole.comparators[0]), (whole.comparators[0], whole.left)):
        value = limit.value if isinstance(limit, ast.Constant) else None
        if is_share(share) and isinstance(value, int | float) and value > 1:
            raise ValueError(f"found {text!r}, which compares a share, 0 to 1, with {value} (100 * is percent)")
    bound = Bound(_OPERATORS[type(whole.ops[0])], ast.unparse(whole.comparators[0]))
    return Statement(text, ast.unparse(whole.left), (bound,), {})


def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression.strip(), mode="eval").body


def names_of(expression: str) -> set[str]:
    """Return the names in an expression."""
    return {node.id for node in ast.walk(_parsed(expression)) if isinstance(node, ast.Name)}


def is_share(node: ast.expr) -> bool:
    """Whether an expression is the call of one word of SHARES."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SHARES


def calls_of_ended(expression: str) -> Iterator[dict[str | None, Any]]:
    """Yield the arguments, by their names, of each call of `ended` whose arguments are written down."""
    for node in ast.walk(_parsed(expression)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ended":
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            words = dict(zip(("flow", "how"), node.args, strict=False)) | named
            values = {name: word.value for name, word in words.items() if isinstance(word, ast.Constant)}
            if len(values) == len(words):
                yield values
