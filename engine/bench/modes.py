"""What runs cost with the guest's kernel in its processes, and with stub processes: docs/explanation/backends.md."""

import resource
from collections.abc import Mapping
from pathlib import Path

from engine import syscall_mode
from engine.run import execute
from scenarios.resolve import Cell, resolve


def figures(cells: Mapping[str, Cell], folder: Path, repeats: int) -> dict[str, float]:
    """Return CPU seconds by `key(name, stub)`: the least of some runs of each cell, taken alternately."""
    taken: dict[str, list[float]] = {}
    for name, cell in cells.items():
        for _ in range(repeats):
            for stub in (True, False):
                with syscall_mode.by_stubs(stub):
                    taken.setdefault(key(name, stub), []).append(_cpu_s(cell, folder))
    return {name: min(seconds) for name, seconds in taken.items()}


def key(name: str, stub: bool) -> str:
    """Name the figure of a cell in one of the modes."""
    return f"cpu_s_{name}_stub" if stub else f"cpu_s_{name}_in_process"


def _cpu_s(cell: Cell, folder: Path) -> float:
    """Of the guest and all its processes, and of this one around it."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    before = [resource.getrusage(who) for who in whose]
    execute(resolve(cell, 1), folder, keep=())
    after = [resource.getrusage(who) for who in whose]
    return sum(
        now.ru_utime + now.ru_stime - then.ru_utime - then.ru_stime for now, then in zip(after, before, strict=True)
    )
