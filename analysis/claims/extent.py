"""Tells which expressions measure to the end of a run: in a shortened run they may give another number."""

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeGuard

from analysis.run import Run
from analysis.series import Instants, Series
from analysis.words import words

# words for the end itself, and words for settings, which no length of a run changes
_END: Final = frozenset(("duration", "steady"))
_SETTINGS: Final = frozenset(
    [
        "at",
        "start",
        "target_ms",
        "target_pkts",
        "receive_buffer_bytes",
        "flow_count",
        "rate_bps",
        "base_rtt_ms",
        "packet_ms",
        "buffer_pkts",
    ]
)
_FIRST: Final = frozenset(("first", "first_time_above", "first_time_below"))  # instants that more of a run leaves alone
_OF_RUN: Final[Mapping[str, Callable[..., Any]]] = words(Run)
_ANY: Final[Mapping[str, Callable[..., Any]]] = {**words(Run), **words(Instants), **words(Series)}


def reaches_the_end(expression: str, defined: Mapping[str, str], length_s: float) -> bool:
    """Say whether an expression, or a word of `defined` in it, measures to the end of a run of this length, virtual s.

    An interval that names its end does not, nor do all instants up to one within the run. Whole runs, instants that
    may never come, and counts in no interval do.
    """
    tree = ast.parse(expression.strip(), mode="eval")
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    bounded = {
        id(one.iter)
        for one in ast.walk(tree)
        if isinstance(one, ast.comprehension) and _is_all_instants(one.iter) and _ends(one, length_s)
    }
    return any(
        _to_the_end(node, calls.get(id(node)), defined, length_s) for node in ast.walk(tree) if id(node) not in bounded
    )


def is_first_instant(expression: str, defined: Mapping[str, str], length_s: float) -> bool:
    """Say whether an expression is the first instant of something, in any unit: a longer run than it took changes none.

    The arguments are as those of `reaches_the_end`.
    """
    node = ast.parse(expression.strip(), mode="eval").body
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div) and isinstance(node.right, ast.Constant):
        return is_first_instant(ast.unparse(node.left), defined, length_s)
    if isinstance(node, ast.Name) and node.id in defined:
        others = {name: text for name, text in defined.items() if name != node.id}
        return is_first_instant(defined[node.id], others, length_s)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _FIRST:
        return False
    return not reaches_the_end(ast.unparse(node.func.value), defined, length_s) and all(
        is_first_instant(part, defined, length_s) or not reaches_the_end(part, defined, length_s)
        for part in map(ast.unparse, (*node.args, *(keyword.value for keyword in node.keywords)))
    )


def _ends(one: ast.comprehension, length_s: float) -> bool:
    """Say whether a comprehension takes no instant behind one that is within the run: `if t >= 60 and t <= 300`."""
    conditions = [part for each in one.ifs for part in (each.values if _is_and(each) else [each])]
    return any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Lt | ast.LtE)
        and ast.unparse(part.left) == ast.unparse(one.target)
        and isinstance(end := part.comparators[0], ast.Constant)
        and isinstance(end.value, int | float)
        and end.value <= length_s
        for part in conditions
    )


def _is_all_instants(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "times"


def _is_and(node: ast.expr) -> TypeGuard[ast.BoolOp]:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)


def _to_the_end(node: ast.AST, call: ast.Call | None, defined: Mapping[str, str], length_s: float) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _END or _is_open(_ANY.get(node.attr), call)
    if not isinstance(node, ast.Name):
        return False
    if node.id == "mean_over_seeds" and call and isinstance(call.args[0], ast.Constant):
        return reaches_the_end(str(call.args[0].value), defined, length_s)
    if node.id in defined:
        others = {name: text for name, text in defined.items() if name != node.id}
        return reaches_the_end(defined[node.id], others, length_s)
    return node.id in _END or _is_open(_OF_RUN.get(node.id), call)


def _is_open(word: Callable[..., Any] | None, call: ast.Call | None) -> bool:
    """Say whether a word, as it is called, measures to the end; what gives a series leaves that to the next word."""
    if word is None or word.__name__ in _SETTINGS:
        return False
    signature = inspect.signature(word, eval_str=True)  # a class names one defined below it in quotes
    if signature.return_annotation in (Series, Instants):
        return False
    names = [name for name in signature.parameters if name != "self"]
    if call is None or "t1" not in names:
        return True
    return names.index("t1") >= len(call.args) and "t1" not in {keyword.arg for keyword in call.keywords}
