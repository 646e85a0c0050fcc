"""A file of budgets, checked before anything runs."""

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.errors import BadInputError
from analysis.run.outcomes import ENDS
from scenarios import schema
from scenarios.errors import Problem, ScenarioError
from testbed.compare.differences import LEVEL, smallest_p
from testbed.compare.metrics import METRICS, PHASES
from testbed.compare.panel import CLIENT

OPERATORS: Final[dict[type[ast.cmpop], str]] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
HOLDS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SCHEMA: Final = Path(__file__).with_name("schema.yaml")
WORDS: Final = "an expression in the words of docs/reference/claims.md and docs/howto/gate.md"
_QUOTED: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
_KEYWORD: Final = re.compile(r"[(,]\s*\w+\s*=(?!=)")
_EQUALS: Final = re.compile(r"(?<![<>!=])={1,2}(?!=)")
SHARES: Final = ("share", "utilization", "loss_rate", "retransmission_rate", "queue_share")
NUMBERS: Final = {phase: [metric.name for metric in METRICS if metric.phase == phase] for phase in PHASES}


@dataclass(frozen=True)
class Budget:
    """`measured` and `bound` are expressions; `cell` is None where every point of the scenario counts.

    `at` begins messages about a field of it, such as "budgets.yaml:3: budgets[0].".
    """

    name: str
    scenario: str
    cell: str | None
    measured: str
    sign: str
    bound: str
    holds: Callable[[float, float], bool]
    at: str = field(compare=False)

    @property
    def words(self) -> set[str]:
        """The names that it uses."""
        return {node.id for text in (self.measured, self.bound) for node in names_of(text)}

    @property
    def ends(self) -> set[str]:
        """The ends of the client that it bounds, so that they alone do not break it; an empty text stands for any."""
        calls = [words for text in (self.measured, self.bound) for words in _calls_of_ended(text)]
        return {words.get("how", "") for words in calls if words.get("flow") == CLIENT}

    @property
    def most(self) -> bool:
        """Whether it bounds a number from above, so that the largest is the worst."""
        return self.sign.startswith("<")


@dataclass(frozen=True)
class Comparison:
    """A budget that another implementation sets: no number of the client may be worse. The rest is as in Budget."""

    name: str
    scenario: str
    cell: str | None
    other: str
    at: str = field(default="", compare=False)


@dataclass(frozen=True)
class Budgets:
    """A whole file."""

    client: str | None
    seeds: int
    budgets: list[Budget | Comparison]

    def points(self, scenario: str) -> list[str]:
        """Return the points of a scenario that budgets name; none if one of them is about all."""
        cells = [budget.cell for budget in self.budgets if budget.scenario == scenario]
        return [] if None in cells else [cell for cell in cells if cell is not None]

    def others(self) -> dict[str, list[str]]:
        """Return the scenarios, each with the implementations to run in it beside the client."""
        others: dict[str, list[str]] = {budget.scenario: [] for budget in self.budgets}
        for budget in self.budgets:
            if isinstance(budget, Comparison) and budget.other not in others[budget.scenario]:
                others[budget.scenario].append(budget.other)
        return others


def names_of(expression: str) -> list[ast.Name]:
    """List the names in an expression."""
    return [node for node in ast.walk(ast.parse(expression.strip(), mode="eval")) if isinstance(node, ast.Name)]


def _calls_of_ended(expression: str) -> Iterator[dict[str | None, Any]]:
    """Yield the arguments, by their names, of each call of `ended` whose arguments are written down."""
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ended":
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            words = dict(zip(("flow", "how"), node.args, strict=False)) | named
            written = {name: word.value for name, word in words.items() if isinstance(word, ast.Constant)}
            if len(written) == len(words):
                yield written


def load(path: Path) -> Budgets:
    """Read and check a file. Raises BadInputError that names line and field of everything that is wrong."""
    try:
        document, data = schema.checked(path, SCHEMA)
        listed: list[Budget | Comparison] = []
        problems: list[Problem] = []
        for index, entry in enumerate(data["budgets"]):
            at = f"{path}:{document.lines['budgets', index]}: budgets[{index}]."
            if entry["name"] in [budget.name for budget in listed]:
                path_of_name = ("budgets", index, "name")
                problems.append(document.problem(path_of_name, f"found {entry['name']!r} again", "another name"))
            if "no_worse_than" in entry:
                if smallest_p(data["seeds"], data["seeds"]) > LEVEL:
                    allowed = "4 or more, so that a test can show a difference (no_worse_than)"
                    problems.append(document.problem(("seeds",), f"found {data['seeds']}", allowed))
                listed.append(
                    Comparison(entry["name"], entry["scenario"], entry.get("cell"), entry["no_worse_than"], at)
                )
                continue
            try:
                listed.append(_budget(entry, at))
            except ValueError as error:
                allowed = f"{WORDS}, one of < <= > >=, and a bound"
                problems.append(document.problem(("budgets", index, "holds"), str(error), allowed))
        if problems:
            raise ScenarioError(problems)
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return Budgets(data.get("client"), data["seeds"], listed)


def unbroken(expression: str, scenario: str, cell: str | None) -> Budgets:
    """Return a budget that measures an expression and bounds it by itself.

    Raises:
        ValueError: it is no expression, or has unknown words; the message says what was found.
    """
    _check_words(expression)
    return Budgets(None, 1, [Budget(expression, scenario, cell, expression, "<=", expression, HOLDS["<="], "--")])


def _budget(entry: dict[str, Any], at: str) -> Budget:
    measured, sign, bound = compared(entry["holds"])
    return Budget(entry["name"], entry["scenario"], entry.get("cell"), measured, sign, bound, HOLDS[sign], at)


def compared(text: str, defined: Collection[str] = ()) -> tuple[str, str, str]:
    """Split a comparison into what is measured, the sign and the bound; both sides may use the words `defined`.

    Raises:
        ValueError: it is no comparison, or has unknown words; the message says what was found.
    """
    if _EQUALS.search(_KEYWORD.sub("(", _QUOTED.sub("", text))):
        raise ValueError(f"found {text!r}, which allows one exact number only; a pair of budgets bounds both sides")
    _check_words(text, defined)
    whole = ast.parse(text.strip(), mode="eval").body
    if not isinstance(whole, ast.Compare):
        raise ValueError(f"found {text!r}, which compares nothing")
    if len(whole.ops) > 1:
        raise ValueError(f"found {text!r}, which compares twice")
    if type(whole.ops[0]) not in OPERATORS:
        raise ValueError(f"found {text!r}, which tests equality or membership")
    if not names_of(text):
        raise ValueError(f"found {text!r}, which measures nothing")
    for share, bound in ((whole.left, whole.comparators[0]), (whole.comparators[0], whole.left)):
        value = bound.value if isinstance(bound, ast.Constant) else None
        if is_share(share) and isinstance(value, int | float) and value > 1:
            raise ValueError(f"found {text!r}, which compares a share, 0 to 1, with {value} (100 * is percent)")
    return ast.unparse(whole.left), OPERATORS[type(whole.ops[0])], ast.unparse(whole.comparators[0])


def is_share(node: ast.expr) -> bool:
    """Whether an expression is the call of one word that gives a part of a whole, 0 to 1."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SHARES


def _check_words(expression: str, defined: Collection[str] = ()) -> None:
    if not expression.strip():
        raise ValueError("found nothing")
    if wrong := expressions.problem(expression, {*NUMBERS, *defined}):
        raise ValueError(wrong)
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NUMBERS:
            _check_number(node.func.id, node.args)
    for words in _calls_of_ended(expression):
        if (how := words.get("how", "")) not in ("", *ENDS):
            raise ValueError(f"found {how!r}, no end ({', '.join(ENDS)})")


def _check_number(phase: str, arguments: list[ast.expr]) -> None:
    names = NUMBERS[phase]
    if len(arguments) != 1 or not isinstance(arguments[0], ast.Constant) or arguments[0].value not in names:
        raise ValueError(f"found {phase}({', '.join(map(ast.unparse, arguments))}), not one of {', '.join(names)}")
