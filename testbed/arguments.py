"""What the arguments of a command may name."""

from collections.abc import Sequence
from pathlib import Path

from engine.errors import EngineError
from scenarios import implementations
from scenarios.errors import choices
from scenarios.implementations import Implementation
from scenarios.resolve import Cell, expand


def known(names: Sequence[str]) -> dict[str, Implementation]:
    """Return all implementations, these among them.

    Raises:
        EngineError: one of these does not exist.
    """
    everything = implementations.known()
    for name in names:
        if name not in everything:
            raise EngineError(f"unknown implementation {name!r}; allowed: {choices(sorted(everything), name)}")
    return everything


def senders(names: Sequence[str]) -> dict[str, Implementation]:
    """Return all implementations, these among them, each of which can send.

    Raises:
        EngineError: one of these does not exist or cannot send.
    """
    everything = known(names)
    for name in names:
        if "sender" not in everything[name]["roles"]:
            raise EngineError(f"{name} cannot send; allowed: an implementation with role sender")
    return everything


def cells(scenario: Path, size: str, names: list[str]) -> list[Cell]:
    """Return the cells of these names; all, if there are none.

    Raises:
        EngineError: the scenario has no such cell.
    """
    known = {cell.name: cell for cell in expand(scenario, size)}
    for name in names:
        if name not in known:
            raise EngineError(f"{scenario}: no cell {name!r}; it has: {', '.join(known)}")
    return [known[name] for name in names or known]
