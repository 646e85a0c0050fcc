"""Asks the runs of an experiment for the value of an expression, seed by seed."""

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final

from analysis.claims import expressions
from analysis.claims.vocabulary import Vocabulary
from analysis.errors import BadInputError
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NeverHappenedError, NotMeasuredError, Series

SINGLE: Final = "single"  # the cell of a scenario without a matrix


class Question:
    """The runs of one experiment, and those of others with the same seed, as expressions ask for them.

    `words` are the study's own names for expressions, see docs/claims.md.
    """

    def __init__(self, runs: Runs, experiment: str, words: Mapping[str, str]) -> None:
        self.runs = runs
        self.experiment = experiment
        self.words = words
        self._vocabularies: dict[tuple[str | None, int], Vocabulary] = {}
        self._means: dict[tuple[str, str | None], float] = {}
        own = runs.by_cell_and_seed(experiment)
        self.seeds = sorted({seed for _, seed in own})
        # an expression without a cell speaks of the only one, if there is only one
        self.own_cell = SINGLE if {cell for cell, _ in own} == {SINGLE} else None

    def numbers(self, expression: str, cell: str | None) -> tuple[dict[int, float], dict[int, str]]:
        """Ask for a number by seed (infinity: it never happened), and by seed the reason where there is none."""
        values, unknown = self._ask(expression, cell, never=math.inf)
        for value in values.values():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self._wrong(expression, value, "a number")
        return {seed: float(value) for seed, value in values.items()}, unknown

    def truths(self, expression: str, cell: str | None) -> tuple[dict[int, bool], dict[int, str]]:
        """Ask for a truth by seed, and by seed the reason where there is none."""
        values, unknown = self._ask(expression, cell, never=False)
        for value in values.values():
            if not isinstance(value, bool):
                raise self._wrong(expression, value, "true or false")
        return values, unknown

    def mean_over_seeds(self, expression: str, cell: str | None) -> float:
        """Ask for the mean of a number over all seeds, for statements about means such as those of a table.

        Raises NeverHappenedError if it never happened in one of them, NotMeasuredError if no seed tells it.
        """
        if (expression, cell) not in self._means:
            values, unknown = self.numbers(expression, cell)
            if not values:
                raise NotMeasuredError(next(iter(unknown.values()), "no seed has been run"))
            self._means[expression, cell] = fmean(values.values())
        mean = self._means[expression, cell]
        if math.isinf(mean):
            raise NeverHappenedError
        return mean

    def series(self, expression: str, run: Run) -> Series:
        """Ask one run for a series."""
        value = expressions.evaluate(expression, self._vocabulary(run.settings.cell, run.settings.seed))
        if not isinstance(value, Series):
            raise self._wrong(expression, value, "a series")
        return value

    def cells(self) -> dict[str, dict[str, Any]]:
        """List the cells that ran, with the values that their scenario's matrix gives them."""
        return {
            cell: run.settings.cell_values for (cell, _), run in self.runs.by_cell_and_seed(self.experiment).items()
        }

    def _ask(self, expression: str, cell: str | None, never: Any) -> tuple[dict[int, Any], dict[int, str]]:
        values: dict[int, Any] = {}
        unknown: dict[int, str] = {}
        for seed in self.seeds:
            try:
                values[seed] = expressions.evaluate(expression, self._vocabulary(cell or self.own_cell, seed))
            except NotMeasuredError as error:
                unknown[seed] = str(error)
            except NeverHappenedError:
                values[seed] = never
        return values, unknown

    def _vocabulary(self, cell: str | None, seed: int) -> Vocabulary:
        def find(experiment: str, cell: str) -> Run:
            return self.runs.get(experiment, cell, seed)

        if (cell, seed) not in self._vocabularies:
            own = find(self.experiment, cell) if cell else None
            vocabulary = Vocabulary(own, self.experiment, find, self.words)
            vocabulary.functions["mean_over_seeds"] = lambda expression, other=cell: self.mean_over_seeds(
                expression, other
            )
            self._vocabularies[cell, seed] = vocabulary
        return self._vocabularies[cell, seed]

    def _wrong(self, expression: str, value: object, allowed: str) -> BadInputError:
        return BadInputError(f"{self.experiment}: expression {expression!r} gives {value!r}, allowed is {allowed}")
