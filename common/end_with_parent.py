"""Ends a process when another one has ended, as a killed one can tell nobody."""

import os
import select
import signal
import threading
from contextlib import suppress

PIPELINE = "TESTBED_PIPELINE"
"""Environment variable: the number of the pipeline's process, on this host."""


def end_with_pipeline() -> None:
    """Send this process SIGTERM once the pipeline that started it has ended, if one did."""
    if PIPELINE in os.environ:
        end_with(int(os.environ[PIPELINE]))


def end_with(process: int) -> None:
    """Send this process SIGTERM once another one has ended."""
    threading.Thread(target=_end_after, args=[process], daemon=True).start()


def _end_after(process: int) -> None:
    with suppress(ProcessLookupError):
        select.select([os.pidfd_open(process)], [], [])
    os.kill(os.getpid(), signal.SIGTERM)
