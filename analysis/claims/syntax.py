"""Checks and takes apart expressions without a run."""

import ast
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final

from scenarios.errors import suggestion

LONGEST: Final = 1000  # characters of an expression
DEEPEST: Final = 50  # levels of an expression
LARGEST_POWER: Final = 10
ELSEWHERE: Final = ("run", "cell", "mean_over_seeds")  # words for other runs
NEVER: Final = "never"
PLAIN: Final = frozenset((NEVER, "abs", "all", "any", "len", "max", "min", "sum", "trend"))
"""Names that ask nothing of a run."""

# what an expression may consist of; all else is refused before anything is evaluated
_NODES: Final = (
    *(ast.Expression, ast.Load, ast.Store, ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.BoolOp, ast.And, ast.Or),
    *(ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
    *(ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.Subscript, ast.Slice),
)
_CONSTANTS: Final = (int, float, bool, str)


def problem(expression: str, names: Collection[str], attributes: Collection[str]) -> str | None:
    """Say what is wrong with an expression that may use these names and attributes; None if nothing is."""
    try:
        parsed(expression)
        list(experiments(expression))
        unknown = next(_unknown(expression, names, attributes), None)
    except ValueError as error:
        return str(error)
    if unknown is None:
        return None
    return f"unknown word {unknown!r}{suggestion(unknown, {*names, *attributes})}"


@lru_cache(maxsize=10_000)
def parsed(expression: str) -> ast.expr:
    """Return the syntax tree of an expression, which consists of nothing but what expressions may have.

    Raises ValueError that says what was found.
    """
    if len(expression) > LONGEST:
        raise ValueError(f"at most {LONGEST} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(_unreadable(expression.strip(), error.offset or 0, error.msg)) from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError(f"it has unprintable characters, or more than {DEEPEST} levels") from None
    if _depth(tree) > DEEPEST:
        raise ValueError(f"at most {DEEPEST} levels of parentheses, operators and words")
    for node in ast.walk(tree):
        if wrong := _foreign(node):
            raise ValueError(wrong)
    return tree.body


def _unreadable(text: str, offset: int, said: str) -> str:
    """Say where the parser gave up; it counts characters from 1, and at the end of the text gives 0."""
    if not 0 < offset <= len(text):
        return "something is missing at its end"
    if "never closed" in said or "unmatched" in said or "unterminated" in said:
        return f"{text[offset - 1]!r} at character {offset} has no partner"
    rest = text[offset - 1 :]
    hint = "; equality is written ==" if rest.startswith("=") else ""
    return f"it cannot be read from character {offset}, {rest!r}{hint}"


def _written(operator: ast.AST) -> str:
    """Write an operator as expressions do."""
    sides = ast.Name("a"), ast.Name("b")
    match operator:
        case ast.operator():
            return ast.unparse(ast.BinOp(sides[0], operator, sides[1]))[1:-1].strip()
        case ast.unaryop():
            return ast.unparse(ast.UnaryOp(operator, sides[0]))[:-1].strip()
        case ast.cmpop():
            return ast.unparse(ast.Compare(sides[0], [operator], [sides[1]]))[1:-1].strip()
    return "something"


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _foreign(node: ast.AST) -> str | None:
    """Say why a node, looked at alone, has no place in an expression; None if it has."""
    found = f"found {ast.unparse(node) if isinstance(node, ast.expr) else _written(node)!r}"
    allowed = "no expression may contain"
    match node:
        case ast.Constant(value=value) if type(value) not in _CONSTANTS or value in (float("inf"), -float("inf")):
            return f"{found}, which {allowed}"
        case ast.Constant(value=int(value)) if abs(value) > 2**53:
            return f"{found}; allowed: whole numbers up to 2**53"
        case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=ast.Constant(value=0)):
            return f"{found}, which divides by zero"
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
            return f"{found}, which {allowed}"
        case ast.BinOp(op=ast.Pow(), right=right) if not _is_small(right):
            return f"{found}; allowed: powers from 0 to {LARGEST_POWER}, written as numbers"
        case ast.Call(func=ast.Name(id="run")) if _first_text(node) is None:
            return "run() takes the id of an experiment as a string"
        case ast.Call(func=ast.Name(id="mean_over_seeds")) if _first_text(node) is None:
            return "mean_over_seeds() takes an expression as a string; a cell comes second"
        case ast.Call(func=function) if not isinstance(function, ast.Name | ast.Attribute):
            return f"{found}; only words take arguments"
        case ast.comprehension(target=target) if not isinstance(target, ast.Name) or node.is_async:
            return "a comprehension binds one name"
        case ast.Slice(step=step) if step is not None:
            return "found a slice with a step"
        case ast.keyword(arg=None):
            return "found **, which no expression may contain"
        case _ if not isinstance(node, _NODES):
            return f"{found}, which {allowed}"
    return None


def _is_small(node: ast.expr) -> bool:
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return is_number and 0 <= node.value <= LARGEST_POWER  # type: ignore[attr-defined]


def asks(expression: str) -> bool:
    """Say whether an expression has a word at all. Raises ValueError for what is not an expression."""
    names = {node.id for node in ast.walk(parsed(expression)) if isinstance(node, ast.Name)}
    return bool(names - PLAIN)


def _unknown(expression: str, names: Collection[str], attributes: Collection[str]) -> Iterator[str]:
    nodes = list(ast.walk(parsed(expression)))
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if taken := sorted(bound & set(names)):
        raise ValueError(f"found a list with `for {taken[0]}`, which is a word already; allowed: another name")
    for node in nodes:
        if isinstance(node, ast.Name) and node.id not in bound and node.id not in names:
            yield node.id
        if isinstance(node, ast.Attribute) and node.attr not in attributes:
            yield node.attr
        if (text := _over_seeds(node)) is not None:
            yield from _unknown(text, names, attributes)


def experiments(expression: str) -> Iterator[str]:
    """Name the experiments whose runs an expression asks for: `run("id", ...)`.

    `mean_over_seeds` takes an expression as a string, which is searched, too.

    Raises ValueError for what is not an expression.
    """
    for node in ast.walk(parsed(expression)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run":
            yield str(_first_text(node))
        elif (text := _over_seeds(node)) is not None:
            yield from experiments(text)


def _over_seeds(node: ast.AST) -> str | None:
    """Return the expression inside a call of `mean_over_seeds`; None for other nodes."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mean_over_seeds":
        return _first_text(node)
    return None


def _first_text(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def is_about_means(expression: str, words: Mapping[str, str]) -> bool:
    """Say whether an expression is about means over the seeds, directly or through the words it uses."""
    due, seen = [expression], set[str]()
    while due:
        names = {node.id for node in ast.walk(parsed(due.pop())) if isinstance(node, ast.Name)} - seen
        seen |= names
        due += [words[name] for name in names & words.keys()]
    return "mean_over_seeds" in seen
