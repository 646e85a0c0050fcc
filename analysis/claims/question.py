"""Evaluates expressions on the runs of an experiment, seed by seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from analysis.claims import expressions
from analysis.claims.comparisons import NO_VALUE
from analysis.claims.reads import runs_named
from analysis.claims.vocabulary import Vocabulary
from analysis.errors import BadExpressionError
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NeverHappenedError, NotMeasuredError, Series
from scenarios.cell_names import SINGLE


class Question:
    """Answers expressions from the runs of one experiment, and from other runs with the same seed.

    `words` are the names that the claims file gives to expressions, see docs/reference/claims.md.
    """

    def __init__(self, runs: Runs, experiment: str, words: Mapping[str, str]) -> None:
        self.runs = runs
        self.experiment = experiment
        self.words = words
        self._vocabularies: dict[str | None, Vocabulary] = {}  # of one seed, by cell
        self._seed: int | None = None
        self._answers: dict[tuple[str, str | None, int], Any] = {}
        self._reads: dict[tuple[str, str | None], dict[tuple[str, str], None]] = {}  # in order, each once
        self._means: dict[tuple[str, str | None], float] = {}
        own = runs.by_cell_and_seed(experiment)
        self.seeds = _seeds(runs, experiment)
        # an expression without a cell means the only one, if there is only one
        self.own_cell = SINGLE if {cell for cell, _ in own} == {SINGLE} else None

    def ask_ahead(self, expressions: Iterable[tuple[str, str | None]]) -> None:
        """Evaluate expressions, each with its cell, seed by seed, so that runs of one seed at a time are in memory.

        `numbers` and `truths` then answer from memory.
        """
        together = sorted(set(expressions), key=lambda question: question[1] or "")
        of_each = {question: self._seeds_of(*question) for question in together}
        for seed in sorted(set().union(*of_each.values())):
            for question in together:
                if seed in of_each[question]:
                    self._answer(*question, seed)

    def numbers(self, expression: str, cell: str | None) -> tuple[dict[int, float], dict[int, str]]:
        """Return a number by seed (infinity: it never happened), and the reason for each seed without one."""
        values, unknown = self._ask(expression, cell, never=math.inf)
        for value in values.values():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self._wrong(expression, value, "a number")
        return {seed: float(value) for seed, value in values.items()}, unknown

    def truths(self, expression: str, cell: str | None) -> tuple[dict[int, bool], dict[int, str]]:
        """Return true or false by seed, and the reason for each seed without an answer."""
        values, unknown = self._ask(expression, cell, never=False)
        for value in values.values():
            if not isinstance(value, bool):
                raise self._wrong(expression, value, "true or false")
        return values, unknown

    def reads(self, expression: str, cell: str | None) -> list[tuple[str, str]]:
        """Return experiment and cell of the runs that an expression read, up to the first that there is not."""
        return list(self._reads.get((expression, cell), ()))

    def mean_over_seeds(self, expression: str, cell: str | None) -> float:
        """Return the mean of a number over all seeds, for claims about means such as those of a table.

        Raises NeverHappenedError if it never happened in one of them, NotMeasuredError if no seed has the number.
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
        """Evaluate an expression that gives a series, on one run."""
        value = expressions.evaluate(expression, self._vocabulary(run.settings.cell, run.settings.seed))
        if not isinstance(value, Series):
            raise self._wrong(expression, value, "a series")
        return value

    def cells(self) -> dict[str, dict[str, Any]]:
        """List the cells that ran, each with its values in the matrix of the scenario."""
        return {
            cell: run.settings.cell_values for (cell, _), run in self.runs.by_cell_and_seed(self.experiment).items()
        }

    def _ask(self, expression: str, cell: str | None, never: Any) -> tuple[dict[int, Any], dict[int, str]]:
        values: dict[int, Any] = {}
        unknown: dict[int, str] = {}
        for seed in self._seeds_of(expression, cell):
            answer = self._answer(expression, cell, seed)
            if isinstance(answer, NotMeasuredError):
                unknown[seed] = str(answer)
            elif isinstance(answer, float) and math.isnan(answer):
                unknown[seed] = f"{expression}: {NO_VALUE}"
            else:
                values[seed] = never if isinstance(answer, NeverHappenedError) else answer
        return values, unknown

    def _seeds_of(self, expression: str, cell: str | None) -> Sequence[int]:
        """Give the seeds to ask: of what reads nothing of its own experiment, those that all it reads have."""
        if cell or self.own_cell:
            return self.seeds
        read = {experiment for experiment, _ in runs_named(expression, self.experiment, self.words)}
        if not read or read & {self.experiment, None}:  # None: a name that is computed
            return self.seeds
        return sorted(set.intersection(*(set(_seeds(self.runs, str(experiment))) for experiment in read)))

    def _answer(self, expression: str, cell: str | None, seed: int) -> Any:
        """Return the value of an expression, or the error that says why there is none. Each is evaluated once."""
        if (expression, cell, seed) not in self._answers:
            own, read = cell or self.own_cell, self._reads.setdefault((expression, cell), {})
            read |= {(self.experiment, own): None} if own else {}
            try:
                vocabulary = self._vocabulary(own, seed)
                start = len(vocabulary.read)
                try:
                    answer = expressions.evaluate(expression, vocabulary)
                finally:
                    read |= dict.fromkeys(vocabulary.read[start:])
            except NotMeasuredError as error:
                answer = NotMeasuredError(
                    str(error)
                )  # the original error would keep everything alive that its traceback refers to
            except NeverHappenedError:
                answer = NeverHappenedError()
            self._answers[expression, cell, seed] = answer
        return self._answers[expression, cell, seed]

    def _vocabulary(self, cell: str | None, seed: int) -> Vocabulary:
        def find(experiment: str, cell: str) -> Run:
            return self.runs.get(experiment, cell, seed)

        if seed != self._seed:
            # the values of defined words can be long series
            self._vocabularies.clear()
            self._seed = seed
        if cell not in self._vocabularies:
            own = find(self.experiment, cell) if cell else None
            vocabulary = Vocabulary(own, self.experiment, find, self.words)

            def mean_over_seeds(expression: str, other: str | None = cell) -> float:
                try:
                    return self.mean_over_seeds(expression, other)
                finally:
                    vocabulary.read += self.reads(expression, other)

            vocabulary.functions["mean_over_seeds"] = mean_over_seeds
            self._vocabularies[cell] = vocabulary
        return self._vocabularies[cell]

    def _wrong(self, expression: str, value: object, allowed: str) -> BadExpressionError:
        return BadExpressionError(expression, f"gives {expressions.kind_of(value)}; allowed: {allowed}")


def _seeds(runs: Runs, experiment: str) -> list[int]:
    """List the seeds of an experiment; failed runs are asked, too: they answer with the reason."""
    own = {seed for _, seed in runs.by_cell_and_seed(experiment)}
    return sorted(own | {failure.seed for failure in runs.failed(experiment)})
