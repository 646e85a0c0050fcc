"""Makes SIGTERM, which batch schedulers send some seconds before they kill, end a command as Ctrl-C does.

A command that a pipeline started gets SIGTERM from itself when the pipeline is gone: a killed one can tell nobody.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from common.end_with_parent import end_with_pipeline


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
    by_ctrl_c()
    before = signal.signal(signal.SIGTERM, terminate)
    end_with_pipeline()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def by_ctrl_c() -> None:
    """Let Ctrl-C end what this process waits for: Polars sets a handler after which the kernel goes on with a wait."""
    signal.siginterrupt(signal.SIGINT, True)


def status(interruption: KeyboardInterrupt) -> int:
    """Return the exit status of an interrupted command: 128 + the signal's number."""
    return 128 + (signal.SIGTERM if isinstance(interruption, Terminated) else signal.SIGINT)
