"""Makes SIGTERM, which batch schedulers send some seconds before they kill, end a command as Ctrl-C does.

A command that a pipeline started gets SIGTERM from itself when the pipeline is gone: a killed one can tell nobody.
"""

import contextlib
import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PIPELINE = "TESTBED_PIPELINE"
"""Environment variable: the number of the pipeline's process, on this host."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated in the block when SIGTERM comes, so that all that cleans up does its work.

    SIGINT ends what the block waits for, whatever handler an imported library has set. A parent that ignores SIGCHLD
    passes that on, and then nobody learns how a process has ended: it has its default effect again.
    """

    def terminate(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)  # cleaning up is not interrupted
        raise Terminated

    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.siginterrupt(signal.SIGINT, True)  # Polars sets a handler after which the kernel goes on with a wait
    before = signal.signal(signal.SIGTERM, terminate)
    if PIPELINE in os.environ:
        threading.Thread(target=_end_after, args=[int(os.environ[PIPELINE])], daemon=True).start()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end_after(pipeline: int) -> None:
    """Send this process SIGTERM once another one has ended."""
    with contextlib.suppress(ProcessLookupError):
        select.select([os.pidfd_open(pipeline)], [], [])
    os.kill(os.getpid(), signal.SIGTERM)


def status(interruption: KeyboardInterrupt) -> int:
    """Return the exit status of an interrupted command: 128 + the signal's number."""
    return 128 + (signal.SIGTERM if isinstance(interruption, Terminated) else signal.SIGINT)
