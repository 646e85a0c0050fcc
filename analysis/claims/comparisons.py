"""Compares two numbers, in claims and in all that bounds a number: budgets, properties, requirements, criteria."""

import math
import operator
from collections.abc import Callable
from typing import Final

from analysis.series import NotMeasuredError

SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": lambda left, right: left != right,
}
NO_VALUE: Final = "it has no value, since something in it never happened or has no value"


class NoNumberError(NotMeasuredError):
    """A comparison or arithmetic has no result: a value is NaN, or an instant never came."""


def compare(left: float, sign: str, right: float, *, by_name: bool = False) -> bool:
    """Whether `left sign right`, with one of SIGNS. An instant that never came (infinity) is later than all others.

    `by_name`: one side is the word `never` itself, so it is asked whether the other one happened.

    Raises:
        NoNumberError: a side is NaN, or both never happened and neither is there by name.
    """
    if math.isnan(left) or math.isnan(right):
        raise NoNumberError(NO_VALUE)
    if math.isinf(left) and math.isinf(right) and not by_name:
        raise NoNumberError("both sides never happened, so they cannot be compared")
    return SIGNS[sign](left, right)
