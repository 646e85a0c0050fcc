"""The words of products beside those of claims: the numbers of a comparison, such as `shared("time to yield")`."""

import ast
from collections.abc import Callable
from typing import Final

from analysis.claims.of_run import number
from analysis.errors import BadInputError
from analysis.judge.statement import Form, Statement, of_text
from analysis.run import Run
from testbed.shared.metrics import METRICS, PHASES

Number = float | None
"""What an expression is in a run; None where the run does not tell."""
PAGES: Final = "docs/reference/claims.md and docs/howto/gate.md"
NUMBERS: Final = {phase: [metric.name for metric in METRICS if metric.phase == phase] for phase in PHASES}


def number_of(expression: str, run: Run) -> float:
    """Value of an expression; infinity for what never happened.

    Raises NotMeasuredError for what the run does not tell, BadInputError for what is no number.
    """
    return number(expression, run, {phase: _metrics(phase, run) for phase in PHASES})


def of_option(text: str, option: str) -> Statement:
    """Read the comparison that an option of a command line gives.

    Raises:
        BadInputError: it is none; the message says what was found.
    """
    try:
        return of_text(text, COMPARISON)
    except ValueError as error:
        raise BadInputError(f"{option}: {error}; allowed: {WORDS}") from None


def _metrics(phase: str, run: Run) -> Callable[[str], float]:
    named = {metric.name: metric.measure for metric in METRICS if metric.phase == phase}
    return lambda name: named[name](run)


def problem(node: ast.expr) -> str | None:
    """Say what is wrong with a part of an expression that asks for a number of a comparison."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NUMBERS):
        return None
    phase, names = node.func.id, NUMBERS[node.func.id]
    if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value in names:
        return None
    return f"found {phase}({', '.join(map(ast.unparse, node.args))}), not one of {', '.join(names)}"


COMPARISON: Final = Form((), (), (), (), NUMBERS, PAGES, problem)
"""Of a comparison on a command line."""
WORDS: Final = f"a comparison in the words of {PAGES}, with one of < <= > >="
