"""Which cells need more seeds: those whose claims a first batch leaves undecided, to the bounds in `rules`.

A function of verdicts alone, so every machine that measures the same decides the same.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

Cell = tuple[str, str]  # (experiment that simulates it, cell)
OTHERS: Final = ("run", "cell", "mean_over_seeds")  # words of docs/claims.md that lead to another cell


def more_seeds(measured: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Give the number of seeds that a cell should have, by experiment and cell; only cells that have fewer.

    `measured` are the contents of the verdicts.json files of all experiments.
    """
    results = list(measured)
    have: dict[Cell, set[int]] = {}
    for result in results:
        for run in result["runs"]:
            have.setdefault((_simulated_by(result), run["cell"]), set()).add(run["seed"])
    wanted: dict[str, dict[str, int]] = {}
    for result in results:
        for claim in result["claims"]:
            if "same_as" in claim:
                continue  # it asks where it stands itself
            for experiment, cell in _cells(claim, result, have):
                if claim.get("seeds_wanted", 0) > len(have[experiment, cell]):
                    cells = wanted.setdefault(experiment, {})
                    cells[cell] = max(cells.get(cell, 0), claim["seeds_wanted"])
    return {experiment: dict(sorted(cells.items())) for experiment, cells in sorted(wanted.items())}


def _simulated_by(result: Mapping[str, Any]) -> str:
    experiment: dict[str, str] = result["experiment"]
    return experiment.get("runs_of") or experiment["id"]


def _cells(claim: Mapping[str, Any], result: Mapping[str, Any], have: Iterable[Cell]) -> set[Cell]:
    """Give the cells a claim looks at: its own and those its expressions name; all where they put a name together."""
    own = _simulated_by(result)
    asked: set[tuple[str | None, str | None]] = {(own, claim["cell"])} if claim.get("cell") else set()
    words = result["experiment"].get("words") or {}
    for field in ("measure", "holds"):
        asked |= set(_named(claim.get(field) or "None", own, words))
    asked = asked or {(own, None)}
    return {cell for cell in have for one in asked if one[0] == cell[0] and one[1] in (None, cell[1])}


def _named(expression: str, own: str, words: Mapping[str, str]) -> Iterator[tuple[str | None, str | None]]:
    """Give (experiment, cell) for each use of a run; None for a cell whose name is put together."""
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Name) and node.id in words:
            earlier = {name: text for name, text in words.items() if name != node.id}
            yield from _named(words[node.id], own, earlier)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OTHERS):
            continue
        given = [_text(argument) for argument in node.args]
        match node.func.id:
            case "run":
                yield given[0], given[1] if len(given) > 1 else "single"
            case "cell":
                yield own, given[0]
            case _:
                if len(given) > 1:
                    yield own, given[1]
                if given[0] is not None:
                    yield from _named(given[0], own, words)


def _text(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None
