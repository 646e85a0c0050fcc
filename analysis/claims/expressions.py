"""Evaluates the expressions of claims, with nothing in reach but the vocabulary.

simpleeval walks the syntax tree and supports no statements, imports or lambdas. Expressions may call the few built-in
functions below, and use the attributes of runs, series and instants that `analysis.words` marks.
"""

import ast
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import fmean
from typing import Any, Final

import simpleeval

from analysis.claims import syntax
from analysis.claims.syntax import ELSEWHERE
from analysis.claims.vocabulary import Vocabulary
from analysis.errors import BadInputError
from analysis.run import Run
from analysis.series import Instants, NeverHappenedError, NotMeasuredError, Series
from analysis.words import words


def trend(places: Sequence[float], numbers: Sequence[float]) -> float:
    """Return the slope of the straight line of least squares through numbers at places, in units of both."""
    middle, centre = fmean(places), fmean(numbers)
    steps = [place - middle for place in places]
    rises = (step * (number - centre) for step, number in zip(steps, numbers, strict=True))
    return math.fsum(rises) / math.fsum(step**2 for step in steps)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "len": len,
    "max": max,
    "min": min,
    "sum": sum,
    "trend": trend,
}
NAMES: Final = {"True": True, "False": False, "never": math.inf}

KNOWN: Final = frozenset((*FUNCTIONS, *NAMES, *ELSEWHERE, *words(Run)))
ATTRIBUTES: Final[dict[type, Iterable[str]]] = {kind: frozenset(words(kind)) for kind in (Run, Series, Instants)}

ALL_ATTRIBUTES: Final = frozenset(name for names in ATTRIBUTES.values() for name in names)


def problem(expression: str, defined: Collection[str]) -> str | None:
    """Say what is wrong with an expression, as far as that shows without a run. It may use the words `defined`."""
    return syntax.problem(expression, KNOWN.union(defined), ALL_ATTRIBUTES)


def evaluate(expression: str, vocabulary: Vocabulary) -> Any:
    """Evaluate an expression.

    Raises NotMeasuredError and NeverHappenedError for what the data cannot tell, BadInputError for an expression that
    makes no sense.
    """

    def name(node: ast.Name) -> Any:
        if node.id in NAMES:
            return NAMES[node.id]
        if node.id in vocabulary.definitions:
            return vocabulary.value(node.id, evaluate)
        try:
            return vocabulary.name(node.id)
        except KeyError:
            raise simpleeval.NameNotDefined(node.id, expression) from None

    evaluator = simpleeval.EvalWithCompoundTypes(
        names=name,
        allowed_attrs=ATTRIBUTES,
    )
    evaluator.functions = FUNCTIONS | vocabulary.functions  # setting them here replaces the library's own
    evaluator.ATTR_INDEX_FALLBACK = False
    try:
        return evaluator.eval(expression)
    except ZeroDivisionError as error:
        raise NotMeasuredError(f"{expression}: division by zero") from error
    except IndexError as error:
        # the expression names the third loss of two, say
        raise NeverHappenedError from error
    except BadInputError:
        raise
    except (simpleeval.InvalidExpression, SyntaxError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise BadInputError(f"expression {expression!r}: {error}") from error
