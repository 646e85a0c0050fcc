"""Where a run executes. Scenario, agent and run folder are the same on every backend.

A backend is a module here with ``prepare(run) -> Guest``. In `run` every value is decided except `agent`, which
`prepare` adds, `provenance` and `origin_ns`.
"""

import importlib
from pathlib import Path
from typing import Any, ClassVar, Protocol

from engine.recorder import Recording
from engine.sandbox import Limits
from scenarios.plan import captures

Run = dict[str, Any]
NAMES = ("virtual", "qemu", "native")
AGENT = "engine.guest.agent"


class Guest(Protocol):
    """A run for which everything is ready, but which has not begun."""

    provenance: dict[str, Any]
    memory_mib: int
    """What it may take of the host's memory."""
    alone: ClassVar[bool]
    """Whether nothing else of the testbed may run on the host meanwhile, because the run is in real time."""

    def origin_ns(self, probe_ns: int) -> int:
        """Return the zero of the scenario's clock (CLOCK_REALTIME in the guest, ns) for a run that starts now.

        The fidelity probe begins `probe_ns` before it.
        """
        ...

    def execute(self, folder: Path, cpu: int, limits: Limits, recording: Recording) -> int:
        """Carry out ``folder/run.json`` on one CPU, which leaves the agent's files in `folder`; return the exit status.

        Packets go to `recording` where the guest's kernel records them.

        Raises:
            EngineError: the run had to be ended; the sentence says why.
        """
        ...


def modules(run: Run) -> list[str]:
    """Return the kernel modules of the run's implementations."""
    return sorted({entry["module"] for entry in run["implementations"].values() if entry.get("module")})


def agent(run: Run, delay_tolerance_ns: int) -> Run:
    """Return the `agent` of run.json: all that the agent does differently on different backends; here, in virtual time.

    The agent loads `modules`, and sets `kernel_sysctls` of the whole kernel and `namespace_sysctls` in each namespace.
    The fidelity probe tolerates `delay_tolerance_ns` in a delay, and `train_tolerance_ns` in the duration of the packet
    train that measures a capacity. The agent gives a sign of life at each hundredth of a run, and every
    `sign_every_ns`. It captures packets at the taps `captures`.
    """
    return {
        "modules": modules(run),
        "kernel_sysctls": run["sizes"]["kernel"],
        "namespace_sysctls": {},
        "delay_tolerance_ns": delay_tolerance_ns,
        "train_tolerance_ns": 0,
        "sign_every_ns": None,
        "captures": captures.of_agent(run),
    }


def prepare(run: dict[str, Any]) -> Guest:
    """Prepare a run on the backend that it names.

    Raises:
        EngineError: images, or parts of the host, are missing.
    """
    guest: Guest = importlib.import_module(f"{__name__}.{run['backend']}").prepare(run)
    return guest
