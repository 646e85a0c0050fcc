"""Ends a command that waits forever.

On a host that has no room for another process, Polars may start some of its threads and wait for the others. Nothing
half-written is left, as each file appears whole.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LIMIT_S: Final = 3600.0
"""Of any command that ends by itself. The longest, the report of ten thousand runs, takes minutes."""
HUNG: Final = 3
"""Exit status of a process that was ended."""


@contextmanager
def ended_after(limit_s: float, doing: str) -> Iterator[None]:
    """End this process if what happens inside takes longer; a native call cannot be interrupted otherwise."""

    def end() -> None:
        message = f"{doing} took more than {limit_s:g} s and was ended; give the command again"
        print(message, file=sys.stderr, flush=True)
        os._exit(HUNG)

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
