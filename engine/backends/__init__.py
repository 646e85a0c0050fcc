"""Where a run executes. The same scenario, the same agent inside, the same run folder.

A backend is a module with ``prepare(run) -> Guest``; run.json has every value decided but `provenance` and
`origin_ns`.
"""

import importlib
from pathlib import Path
from typing import Any, ClassVar, Protocol

from engine.sandbox import Limits

Run = dict[str, Any]
NAMES = ("virtual", "qemu", "native")
AGENT = "engine.guest.agent"


class Guest(Protocol):
    """What is needed for a run is there; it has not begun."""

    provenance: dict[str, Any]
    memory_mib: int
    """What it may take of the host's memory."""
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


def modules(run: Run) -> list[str]:
    """The kernel modules of the run's implementations."""
    return sorted({entry["module"] for entry in run["implementations"].values() if entry.get("module")})


def agent(run: Run, delay_tolerance_ns: int) -> Run:
    """The `agent` of run.json, all that the agent does differently from backend to backend: here in virtual time.

    It loads `modules` and sets `kernel_sysctls` of the whole kernel and `namespace_sysctls` of each namespace. A path's
    delay may be off by `delay_tolerance_ns`, and the train of packets that measures a rate be longer or shorter by
    `train_tolerance_ns`. Besides its signs of life at each hundredth of a run, it gives one every `sign_every_ns`.
    """
    return {
        "modules": modules(run),
        "kernel_sysctls": run["sizes"]["kernel"],
        "namespace_sysctls": {},
        "delay_tolerance_ns": delay_tolerance_ns,
        "train_tolerance_ns": 0,
        "sign_every_ns": None,
    }


def prepare(run: dict[str, Any]) -> Guest:
    """The guest for a run by the backend it names.

    Raises:
        EngineError: images or parts of the host are missing.
    """
    guest: Guest = importlib.import_module(f"{__name__}.{run['backend']}").prepare(run)
    return guest
