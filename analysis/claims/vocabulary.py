"""The words that the expressions of one cell and seed may use. Documented for writers in docs/claims.md."""

import itertools
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from analysis.run import Run
from analysis.words import properties, words

FindRun = Callable[[str, str], Run]  # (experiment, cell) -> the run with the seed at hand


class Vocabulary:
    """All words for one cell and seed: those of its own run, if it has one, the way to other runs, the study's own.

    `definitions` are the study's own words: expressions, each of which may use those before it.
    """

    def __init__(self, own: Run | None, experiment: str, find: FindRun, definitions: Mapping[str, str]) -> None:
        self._own = own
        self.definitions = definitions
        self.defined: dict[str, Any] = {}  # definitions that have been evaluated, with their values
        self.functions: dict[str, Callable[..., Any]] = {
            "run": lambda name, cell="single": find(name, cell),
            "cell": lambda name: find(experiment, name),
        }
        if own:
            self.functions |= {name: getattr(own, name) for name in words(Run).keys() - properties(Run)}

    def name(self, name: str) -> Any:
        """Read a word that is written without parentheses; KeyError for any other."""
        if self._own is None or name not in properties(Run):
            raise KeyError(name)
        return getattr(self._own, name)

    def before(self, name: str) -> "Vocabulary":
        """Give the vocabulary that the definition of a word may use."""
        earlier = copy(self)
        earlier.definitions = dict(itertools.takewhile(lambda item: item[0] != name, self.definitions.items()))
        return earlier
