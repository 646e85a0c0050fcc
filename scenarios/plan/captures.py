"""Tells who captures packets: the guest's kernel unseen, or processes of the guest, which take memory and time."""

from typing import Any

_RECORDING_BACKEND = "virtual"


def recorded(run: dict[str, Any]) -> bool:
    """Tell whether the guest's kernel records packets, so that what is captured makes no difference in the guest."""
    return bool(run["backend"] == _RECORDING_BACKEND)


def of_agent(run: dict[str, Any]) -> list[str]:
    """Return the taps at which the agent captures packets, by a process for each interface."""
    return [] if recorded(run) else list(run["captures"])


def processes(run: dict[str, Any]) -> int:
    """Return how many processes do so."""
    return sum(len(run["network"]["taps"][tap]) for tap in of_agent(run))
