"""The words that the expressions of one cell and seed may use.

`python -m testbed.tables words` prints the tables of docs/reference/claims.md, made from the words' docstrings.
"""

import inspect
import itertools
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Final

from analysis.run import Run
from analysis.series import Instants, Series
from analysis.words import properties, words
from scenarios.cell_names import SINGLE

GIVES: Final[dict[Any, str]] = {Series: "series", Instants: "instants", list[int]: "list", list[float]: "list"}

FindRun = Callable[[str, str], Run]  # (experiment, cell) -> the run with the seed at hand


class Vocabulary:
    """All words for one cell and seed: those of its run, if it has one, those for other runs, and defined words.

    `definitions` are the expressions that the claims file names; each may use those above it.
    """

    def __init__(self, own: Run | None, experiment: str, find: FindRun, definitions: Mapping[str, str]) -> None:
        self._own = own
        self.definitions = definitions
        self.defined: dict[str, Any] = {}  # definitions that have been evaluated, with their values
        self._read_by: dict[str, list[tuple[str, str]]] = {}  # a definition
        self.read: list[tuple[str, str]] = []  # experiment and cell of each other run that was asked for, in order
        self.functions: dict[str, Callable[..., Any]] = {
            "run": lambda name, cell=SINGLE: self._find(find, name, cell),
            "cell": lambda name: self._find(find, experiment, name),
        }
        if own:
            self.functions |= {name: getattr(own, name) for name in words(Run).keys() - properties(Run)}

    def name(self, name: str) -> Any:
        """Read a word that is written without parentheses; KeyError for any other."""
        if self._own is None or name not in properties(Run):
            raise KeyError(name)
        return getattr(self._own, name)

    def _find(self, find: FindRun, experiment: str, cell: str) -> Run:
        self.read.append((experiment, cell))
        return find(experiment, cell)

    def value(self, name: str, evaluate: Callable[[str, "Vocabulary"], Any]) -> Any:
        """Return the value of a defined word, which is evaluated once."""
        if name in self.defined:
            self.read += self._read_by.get(name, ())
        else:
            start = len(self.read)
            self.defined[name] = evaluate(self.definitions[name], self.before(name))
            # each once: else a word that uses the one above it twice, and so on, doubles them
            self._read_by[name] = list(dict.fromkeys(self.read[start:]))
        return self.defined[name]

    def before(self, name: str) -> "Vocabulary":
        """Return the vocabulary that the definition of a word may use."""
        earlier = copy(self)
        earlier.definitions = dict(itertools.takewhile(lambda item: item[0] != name, self.definitions.items()))
        return earlier


def table(kind: type) -> str:
    """List the words of a class in Markdown."""
    rows = ["| word | gives | meaning |", "|---|---|---|"]
    for name, function in words(kind).items():
        signature = inspect.signature(function, eval_str=True)
        arguments = ", ".join(parameter for parameter in signature.parameters if parameter != "self")
        shown = name if name in properties(kind) else f"{name}({arguments})"
        meaning = " ".join((inspect.getdoc(function) or "").partition("\n\nRaises")[0].split())
        rows.append(f"| `{shown}` | {GIVES.get(signature.return_annotation, 'number')} | {meaning} |")
    return "\n".join(rows)


def main(_words: list[str]) -> int:
    """Print the tables of all words; return 0."""
    print("\n\n".join(table(kind) for kind in (Run, Series, Instants)))
    return 0
