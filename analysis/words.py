"""Which methods and properties the expressions of claims may use; docs/reference/claims.md lists them."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

_UNITS: Final[dict[Callable[..., Any], str]] = {}
SAME: Final = "same"
"""Unit of a word that keeps the unit of what it is asked of, such as a mean."""

F = TypeVar("F", bound=Callable[..., Any])


def word(unit: str = "") -> Callable[[F], F]:
    """Let expressions use a method, whose number has this unit; "" where it is a count, a ratio or no number.

    Write it below `@property` and above whatever else decorates the method.
    """
    if not isinstance(unit, str):
        raise TypeError(f'@word: found the method {unit}; allowed: a unit, as in @word("ms"), or @word()')

    def mark(method: F) -> F:
        _UNITS[method] = unit
        return method

    return mark


@cache
def words(kind: type) -> dict[str, Callable[..., Any]]:
    """List the words of a class by name, in the order of their definition."""
    functions: dict[str, Any] = {}
    for base in kind.__mro__:
        for name, member in vars(base).items():
            functions.setdefault(name, member.fget if isinstance(member, property) else member)
    return {name: function for name, function in functions.items() if callable(function) and function in _UNITS}


@cache
def properties(kind: type) -> set[str]:
    """List the words of a class that are written without parentheses."""
    return {name for name in words(kind) if isinstance(getattr(kind, name), property)}


@cache
def units(kind: type) -> dict[str, str]:
    """Give the unit of each word of a class."""
    return {name: _UNITS[function] for name, function in words(kind).items()}
