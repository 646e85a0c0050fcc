"""Tells from the expressions of a claim which cells it reads, before anything has run."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analysis.claims.syntax import ELSEWHERE, SINGLE

Cell = tuple[str, str]
"""The experiment that simulates it, and its name."""


def cells_of(claim: Mapping[str, Any], result: Mapping[str, Any], have: Iterable[Cell]) -> set[Cell]:
    """Return the cells of a claim: its own and those its expressions name; all where they compute a name.

    `result` has the claim's `experiment` as verdicts.json has it: `runs_of`, and the `words` of its expressions.
    """
    own, known = result["experiment"]["runs_of"], set(have)
    is_single = {cell for experiment, cell in known if experiment == own} == {SINGLE}
    cell = claim.get("cell") or (SINGLE if is_single else None)
    named: set[tuple[str | None, str | None]] = {(own, cell)} if cell else set()
    words = result["experiment"].get("words") or {}
    for name in ("measure", "holds"):
        named |= set(runs_named(claim.get(name) or "None", own, words))
    named = named or {(own, None)}
    return {one for one in known for wish in named if wish[0] == one[0] and wish[1] in (None, one[1])}


def runs_named(expression: str, own: str, words: Mapping[str, str]) -> Iterator[tuple[str | None, str | None]]:
    """Yield (experiment, cell) for each use of a run; None for a cell whose name is computed."""
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Name) and node.id in words:
            earlier = {name: text for name, text in words.items() if name != node.id}
            yield from runs_named(words[node.id], own, earlier)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ELSEWHERE):
            continue
        arguments = [_text(argument) for argument in node.args]
        match node.func.id:
            case "run":
                yield arguments[0], arguments[1] if len(arguments) > 1 else SINGLE
            case "cell":
                yield own, arguments[0]
            case _:
                if len(arguments) > 1:
                    yield own, arguments[1]
                if arguments[0] is not None:
                    yield from runs_named(arguments[0], own, words)


def _text(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None
