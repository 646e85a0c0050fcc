"""Tells from the expressions of a claim which cells it reads, before anything has run."""

import ast
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from analysis.claims.syntax import ELSEWHERE
from scenarios.cell_names import SINGLE

Cell = tuple[str, str]
"""The experiment that simulates it, and its name."""


MOST_TEXTS: Final = 1000
"""That a name may be put together to; with more it counts as computed."""


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
    """Yield (experiment, cell) for each use of a run; None for a cell whose name is computed.

    A name that is put together of the texts in a list, `cell("case=" + n) for n in ["a", "b"]`, is each of these.
    """
    due, seen = [expression], set[str]()
    while due:
        text = due.pop()
        if text not in seen:
            seen.add(text)
            yield from _named(text, own, words, due)


def _named(
    expression: str, own: str, words: Mapping[str, str], due: list[str]
) -> Iterator[tuple[str | None, str | None]]:
    """Yield those of an expression itself; add to `due` the expressions that it uses."""
    tree = ast.parse(expression, mode="eval")
    texts = {
        one.target.id: listed
        for one in ast.walk(tree)
        if isinstance(one, ast.comprehension) and isinstance(one.target, ast.Name)
        if (listed := _listed(one.iter, words))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in words:
            due.append(words[node.id])
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ELSEWHERE):
            continue
        arguments: list[Sequence[str | None]] = [_texts(argument, texts) or (None,) for argument in node.args]
        match node.func.id:
            case "run":
                yield from itertools.product(arguments[0], arguments[1] if len(arguments) > 1 else [SINGLE])
            case "cell":
                yield from ((own, cell) for cell in arguments[0])
            case _:
                if len(arguments) > 1:
                    yield from ((own, cell) for cell in arguments[1])
                due += filter(None, arguments[0])


def _listed(node: ast.expr, words: Mapping[str, str]) -> list[str]:
    """Return the texts of a list, or of a word for one; none of anything else."""
    if isinstance(node, ast.Name) and node.id in words:
        node = ast.parse(words[node.id], mode="eval").body
    if not isinstance(node, ast.List | ast.Tuple):
        return []
    parts = [_texts(part, {}) for part in node.elts]
    return [text for part in parts for text in part] if all(parts) else []


def _texts(node: ast.expr, texts: Mapping[str, list[str]]) -> list[str]:
    """Return what a text may be, where names stand for one of several; nothing if it is computed otherwise."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Name(id=name):
            return texts.get(name, [])
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            sides = _texts(left, texts), _texts(right, texts)
            if len(sides[0]) * len(sides[1]) <= MOST_TEXTS:
                return [first + last for first, last in itertools.product(*sides)]
    return []
