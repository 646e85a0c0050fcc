"""What the arguments of a command may name."""

from collections.abc import Sequence

from engine.errors import EngineError
from scenarios import implementations
from scenarios.errors import choices
from scenarios.implementations import Implementation


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
