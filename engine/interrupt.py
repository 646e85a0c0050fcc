"""Makes SIGTERM, which batch schedulers send some seconds before they kill, end a command as Ctrl-C does."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated in the block when SIGTERM comes, so that all that cleans up does its work.

    SIGINT ends what the block waits for, whatever handler an imported library has set.
    """

    def terminate(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)  # cleaning up is not interrupted
        raise Terminated

    signal.siginterrupt(signal.SIGINT, True)  # Polars sets a handler after which the kernel goes on with a wait
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def status(interruption: KeyboardInterrupt) -> int:
    """Return the exit status of an interrupted command: 128 + the signal's number."""
    return 128 + (signal.SIGTERM if isinstance(interruption, Terminated) else signal.SIGINT)
