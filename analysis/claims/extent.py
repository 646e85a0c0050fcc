"""Tells which expressions measure to the end of a run: in a shortened run they give another number."""

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

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
_OF_RUN: Final[Mapping[str, Callable[..., Any]]] = words(Run)
_ANY: Final[Mapping[str, Callable[..., Any]]] = {**words(Run), **words(Instants), **words(Series)}


def reaches_the_end(expression: str, defined: Mapping[str, str]) -> bool:
    """Say whether an expression, or a word of `defined` in it, measures to the end of a run.

    An interval that names its end does not. Whole runs, instants that may never come, and counts in no interval do.
    """
    tree = ast.parse(expression.strip(), mode="eval")
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return any(_to_the_end(node, calls.get(id(node)), defined) for node in ast.walk(tree))


def _to_the_end(node: ast.AST, call: ast.Call | None, defined: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _END or _is_open(_ANY.get(node.attr), call)
    if not isinstance(node, ast.Name):
        return False
    if node.id == "mean_over_seeds" and call and isinstance(call.args[0], ast.Constant):
        return reaches_the_end(str(call.args[0].value), defined)
    if node.id in defined:
        others = {name: text for name, text in defined.items() if name != node.id}
        return reaches_the_end(defined[node.id], others)
    return node.id in _END or _is_open(_OF_RUN.get(node.id), call)


def _is_open(word: Callable[..., Any] | None, call: ast.Call | None) -> bool:
    """Say whether a word, as it is called, measures to the end; what gives a series leaves that to the next word."""
    if word is None or word.__name__ in _SETTINGS:
        return False
    signature = inspect.signature(word)
    if signature.return_annotation in (Series, Instants):
        return False
    names = [name for name in signature.parameters if name != "self"]
    if call is None or "t1" not in names:
        return True
    return names.index("t1") >= len(call.args) and "t1" not in {keyword.arg for keyword in call.keywords}
