"""Bounds what a command may take of the host: one that waits forever is ended, one that wants all memory is refused.

On a host that has no room for another process, Polars may start some of its threads and wait for the others. And what
is read, an archive's claims for example, may come from anybody. Nothing half-written is left, as each file appears
whole.
"""

import os
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError

LIMIT_S: Final = 3600.0
"""Of any command that ends by itself. The longest, the report of ten thousand runs, takes minutes."""
MEMORY_BYTES: Final = 3 << 30
"""Of the same, besides what it had before. The largest, the measurements of PAM's Table 1, take 0.8 GB."""
HUNG: Final = 3
"""Exit status of a process that was ended."""

_OF_A_CORE_BYTES: Final = 64 << 20  # libraries have a thread for each, with a stack and a buffer that few ever fill
_PAGE_BYTES: Final = resource.getpagesize()
_NO_STACK: Final = "can't start new thread"  # Python's words where there is no memory for it
_DATA: Final = 5  # field of /proc/self/statm: what this process, and nobody else, may write to


@contextmanager
def ended_after(limit_s: float, doing: str, memory_bytes: int = MEMORY_BYTES) -> Iterator[None]:
    """End this process if what happens inside takes longer; a native call cannot be interrupted otherwise.

    Raises BadInputError where it wants more memory. Processes that are started inside get the same bound, each for
    itself.
    """

    def end() -> None:
        message = f"{doing} took more than {limit_s:g} s and was ended; give the command again"
        print(message, file=sys.stderr, flush=True)
        os._exit(HUNG)

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    of_cores_bytes = (os.cpu_count() or 1) * _OF_A_CORE_BYTES
    allowed = min([_statm()[_DATA] + memory_bytes + of_cores_bytes, *(bound for bound in (before, most) if bound >= 0)])
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))
    timer.start()
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and str(error) != _NO_STACK:
            raise
        raise BadInputError(f"{doing} wanted more than {memory_bytes / (1 << 30):g} GiB of memory") from None
    finally:
        timer.cancel()
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def resident_bytes() -> int:
    """Return what this process has in memory and shares with no other."""
    _, resident, shared, *_ = _statm()
    return resident - shared


def _statm() -> list[int]:
    return [int(pages) * _PAGE_BYTES for pages in Path("/proc/self/statm").read_text().split()]
