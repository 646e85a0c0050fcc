"""Checks and takes apart expressions without a run."""

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from scenarios.errors import suggestion

LONGEST: Final = 1000  # characters of an expression
SINGLE: Final = "single"  # the cell of a scenario without a matrix
ELSEWHERE: Final = ("run", "cell", "mean_over_seeds")  # words for other runs


def problem(expression: str, names: Collection[str], attributes: Collection[str]) -> str | None:
    """Say what is wrong with an expression that may use these names and attributes; None if nothing is."""
    if len(expression) > LONGEST:
        return f"at most {LONGEST} characters"
    try:
        list(experiments(expression))
        unknown = next(_unknown(expression, names, attributes), None)
        over_zero = next(filter(_is_over_zero, ast.walk(ast.parse(expression.strip(), mode="eval"))), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"not an expression: {getattr(error, 'msg', error)}"
    if over_zero is not None:
        return f"found {ast.unparse(over_zero)!r}, which divides by zero"
    if unknown is None:
        return None
    return f"unknown word {unknown!r}{suggestion(unknown, {*names, *attributes})}"


def _unknown(expression: str, names: Collection[str], attributes: Collection[str]) -> Iterator[str]:
    nodes = list(ast.walk(ast.parse(expression.strip(), mode="eval")))
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id not in bound and node.id not in names:
            yield node.id
        if isinstance(node, ast.Attribute) and node.attr not in attributes:
            yield node.attr
        if (text := _over_seeds(node)) is not None:
            yield from _unknown(text, names, attributes)


def _is_over_zero(node: ast.AST) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
        return False
    return isinstance(node.right, ast.Constant) and node.right.value == 0


def experiments(expression: str) -> Iterator[str]:
    """Name the experiments whose runs an expression asks for: `run("id", ...)`.

    `mean_over_seeds` takes an expression as a string, which is searched, too.

    Raises SyntaxError or ValueError for what is not an expression, or does not name the experiment by a string.
    """
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run":
            if (name := _first_text(node)) is None:
                raise ValueError("run() takes the id of an experiment as a string")
            yield name
        elif (text := _over_seeds(node)) is not None:
            yield from experiments(text)


def _over_seeds(node: ast.AST) -> str | None:
    """Return the expression inside a call of `mean_over_seeds`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mean_over_seeds":
        return _first_text(node)
    return None


def _first_text(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def is_about_means(expression: str, words: Mapping[str, str]) -> bool:
    """Say whether an expression is about means over the seeds, directly or through the words it uses."""
    names = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    others = {name: text for name, text in words.items() if name not in names}
    return "mean_over_seeds" in names or any(is_about_means(words[name], others) for name in names & words.keys())
