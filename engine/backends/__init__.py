"""Where a run executes. The same scenario, the same agent inside, the same run folder.

A backend is a module with ``prepare(run) -> Guest``; run.json has every value decided but `provenance` and
`origin_ns`.
"""

import importlib
from pathlib import Path
from typing import Any, ClassVar, Protocol

from engine.sandbox import Limits

NAMES = ("virtual", "qemu", "native")
AGENT = "engine.guest.agent"


class Guest(Protocol):
    """What is needed for a run is there; it has not begun."""

    provenance: dict[str, Any]
    alone: ClassVar[bool]
    """Whether nothing else of the testbed may run on the host meanwhile: its time is that of the host."""

    def origin_ns(self, probe_ns: int) -> int:
        """Zero of the scenario's clock (CLOCK_REALTIME in the guest, ns) for a run that starts now.

        The fidelity probe begins `probe_ns` before it.
        """
        ...

    def execute(self, folder: Path, cpu: int, limits: Limits) -> int:
        """Carry out ``folder/run.json`` on one CPU; the agent's files are in `folder` then. Returns the exit status.

        Raises:
            EngineError: it had to be ended; the sentence says why.
        """
        ...


def prepare(run: dict[str, Any]) -> Guest:
    """The guest for a run by the backend it names.

    Raises:
        EngineError: images or parts of the host are missing.
    """
    guest: Guest = importlib.import_module(f"{__name__}.{run['backend']}").prepare(run)
    return guest
