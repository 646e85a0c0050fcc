"""Comparisons that a run keeps or breaks, such as `queue_ms.mean() < 25`, and the numbers that they compare."""

import ast
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from analysis.claims import expressions
from analysis.claims.comparisons import compare
from analysis.claims.of_run import number
from analysis.claims.syntax import NEVER
from analysis.errors import BadInputError
from analysis.run import Run
from analysis.run.outcomes import ENDS
from testbed.shared.metrics import METRICS, PHASES

OPERATORS: Final[dict[type[ast.cmpop], str]] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
WORDS: Final = "a comparison in the words of docs/reference/claims.md and docs/howto/gate.md, with one of < <= > >="
SHARES: Final = ("share", "utilization", "loss_rate", "retransmission_rate", "queue_share")
NUMBERS: Final = {phase: [metric.name for metric in METRICS if metric.phase == phase] for phase in PHASES}
_QUOTED: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
_KEYWORD: Final = re.compile(r"[(,]\s*\w+\s*=(?!=)")
_EQUALS: Final = re.compile(r"(?<![<>!=])={1,2}(?!=)")

Number = float | None
"""What an expression is in a run; None where the run does not tell."""


@dataclass(frozen=True)
class Inequality:
    """A comparison as it was written, and its parts: two expressions and the sign between them."""

    text: str
    measured: str
    sign: str
    bound: str

    @property
    def sides(self) -> tuple[str, str]:
        """Both expressions."""
        return self.measured, self.bound

    def holds(self, measured: float, bound: float) -> bool:
        """Whether these numbers keep it. Raises NotMeasuredError where they cannot be compared."""
        return compare(measured, self.sign, bound, by_name=NEVER in self.sides)


def of_option(text: str, option: str) -> Inequality:
    """Read the inequality that an option of a command line gives.

    Raises:
        BadInputError: it is none; the message says what was found.
    """
    try:
        return Inequality(text, *compared(text))
    except ValueError as error:
        raise BadInputError(f"{option}: {error}; allowed: {WORDS}") from None


def number_of(expression: str, run: Run) -> float:
    """Value of an expression in the words of budgets; infinity for what never happened.

    Raises NotMeasuredError for what the run does not tell, BadInputError for what is no number.
    """
    return number(expression, run, {phase: _metrics(phase, run) for phase in PHASES})


def _metrics(phase: str, run: Run) -> Callable[[str], float]:
    named = {metric.name: metric.measure for metric in METRICS if metric.phase == phase}
    return lambda name: named[name](run)


def names_of(expression: str) -> list[ast.Name]:
    """List the names in an expression."""
    return [node for node in ast.walk(ast.parse(expression.strip(), mode="eval")) if isinstance(node, ast.Name)]


def calls_of_ended(expression: str) -> Iterator[dict[str | None, Any]]:
    """Yield the arguments, by their names, of each call of `ended` whose arguments are written down."""
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ended":
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            words = dict(zip(("flow", "how"), node.args, strict=False)) | named
            written = {name: word.value for name, word in words.items() if isinstance(word, ast.Constant)}
            if len(written) == len(words):
                yield written


def compared(text: str, defined: Collection[str] = ()) -> tuple[str, str, str]:
    """Split a comparison into what is measured, the sign and the bound; both sides may use the words `defined`.

    Raises:
        ValueError: it is no comparison, or has unknown words; the message says what was found.
    """
    if _EQUALS.search(_KEYWORD.sub("(", _QUOTED.sub("", text))):
        raise ValueError(f"found {text!r}, which allows one exact number only; a pair of budgets bounds both sides")
    check_words(text, defined)
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


def check_words(expression: str, defined: Collection[str] = ()) -> None:
    """Refuse an expression with unknown words. Raises ValueError, which says what was found."""
    if not expression.strip():
        raise ValueError("found nothing")
    if wrong := expressions.problem(expression, {*NUMBERS, *defined}):
        raise ValueError(wrong)
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NUMBERS:
            _check_number(node.func.id, node.args)
    for words in calls_of_ended(expression):
        if (how := words.get("how", "")) not in ("", *ENDS):
            raise ValueError(f"found {how!r}, no end ({', '.join(ENDS)})")


def _check_number(phase: str, arguments: list[ast.expr]) -> None:
    names = NUMBERS[phase]
    if len(arguments) != 1 or not isinstance(arguments[0], ast.Constant) or arguments[0].value not in names:
        raise ValueError(f"found {phase}({', '.join(map(ast.unparse, arguments))}), not one of {', '.join(names)}")
