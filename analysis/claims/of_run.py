"""The number that an expression is in one run, for gates, conformance and evaluations."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from analysis.claims.comparisons import NO_VALUE
from analysis.claims.expressions import evaluate, kind_of
from analysis.claims.vocabulary import Vocabulary
from analysis.errors import BadInputError
from analysis.run import Run
from analysis.series import NeverHappenedError, NotMeasuredError


def number(
    expression: str,
    run: Run,
    functions: Mapping[str, Callable[..., float]] = MappingProxyType({}),
    names: Mapping[str, float] = MappingProxyType({}),
) -> float:
    """Value of an expression in the words of claims, in `functions` and `names`; infinity for what never comes.

    Raises NotMeasuredError for what the run does not tell, such as a value at such an instant or between two of them,
    BadInputError for what is no number.
    """
    vocabulary = Vocabulary(run, run.settings.experiment, lambda *_: run, dict.fromkeys(names, ""))
    vocabulary.defined |= names
    vocabulary.functions |= functions
    try:
        value: Any = evaluate(expression, vocabulary)
    except NeverHappenedError:
        raise NotMeasuredError(f"{expression}: {NO_VALUE}") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInputError(f"expression {expression!r}: found {kind_of(value)}; allowed: a real number")
    if math.isnan(value):
        raise NotMeasuredError(f"{expression}: {NO_VALUE}")
    return float(value)
