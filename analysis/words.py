"""Which methods and properties the expressions of claims may use; docs/reference/claims.md lists them."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

_MARKED: Final[set[Callable[..., Any]]] = set()

F = TypeVar("F", bound=Callable[..., Any])


def word(method: F) -> F:
    """Let expressions use a method. Write it below `@property` and above whatever else decorates the method."""
    _MARKED.add(method)
    return method


@cache
def words(kind: type) -> dict[str, Callable[..., Any]]:
    """List the words of a class by name, in the order of their definition."""
    functions: dict[str, Any] = {}
    for base in kind.__mro__:
        for name, member in vars(base).items():
            functions.setdefault(name, member.fget if isinstance(member, property) else member)
    return {name: function for name, function in functions.items() if callable(function) and function in _MARKED}


@cache
def properties(kind: type) -> set[str]:
    """List the words of a class that are written without parentheses."""
    return {name for name in words(kind) if isinstance(getattr(kind, name), property)}
