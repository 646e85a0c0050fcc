"""The form of an expression, as far as it shows without a run."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

LONGEST: Final = 1000  # characters of an expression


def problem(expression: str) -> str | None:
    """Say what is wrong with the form of an expression."""
    if len(expression) > LONGEST:
        return f"at most {LONGEST} characters"
    try:
        list(experiments(expression))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"not an expression: {getattr(error, 'msg', error)}"
    return None


def experiments(expression: str) -> Iterator[str]:
    """Name the experiments whose runs an expression asks for: `run("id", ...)`.

    `mean_over_seeds` takes expressions as text, so texts are looked into, too.

    Raises SyntaxError or ValueError for what is not an expression, or does not name the experiment as a text.
    """
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        first = node.args[0] if node.args else None
        if node.func.id == "run":
            if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
                raise ValueError("run() takes the id of an experiment as a text")
            yield first.value
        elif node.func.id == "mean_over_seeds" and isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield from experiments(first.value)


def is_about_means(expression: str, words: Mapping[str, str]) -> bool:
    """Whether an expression speaks of means over the seeds, itself or through the words that it uses."""
    names = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    others = {name: text for name, text in words.items() if name not in names}
    return "mean_over_seeds" in names or any(is_about_means(words[name], others) for name in names & words.keys())
