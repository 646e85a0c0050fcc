"""Locks of files: who waits for one says whom for, and since when that one has it."""

import fcntl
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_wanted: list[Path] = []
"""Locks that this process holds or waits for; a lock that two threads want stands here twice."""


@contextmanager
def held(file: Path, does: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of `file` for the time of the block; it ends with the process, however that ends.

    If another process holds it, says once for whom this one waits and what that one `does`. A thread that waits beside
    another of its own process says nothing: that one works, or has said it.
    """
    beside = file in _wanted
    _wanted.append(file)
    try:
        with file.open("a+") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = file.read_text() or "another command"  # it may not have written yet who it is
                if not beside:
                    say(f"Waiting for {holder}, which {does}.")
                fcntl.flock(stream, fcntl.LOCK_EX)
            stream.truncate(0)
            stream.write(f"process {os.getpid()} (`{_command()}`, since {time.strftime('%F %T')})")
            stream.flush()
            yield
    finally:
        _wanted.remove(file)


def _command() -> str:
    """Return this process's command as somebody typed it."""
    return shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]])
