"""Locks of files: who waits for one says whom for, and since when that one has it."""

import fcntl
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(file: Path, does: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of `file` for the time of the block; it ends with the process, however that ends.

    If another process holds it, says once for whom this one waits and what that one `does`. A thread waits for another
    of its own process without a word: their process says itself what it does.
    """
    with file.open("a+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = file.read_text() or "another command"  # it may not have written yet who it is
            if not holder.startswith(f"{_me()} "):
                say(f"Waiting for {holder}, which {does}.")
            fcntl.flock(stream, fcntl.LOCK_EX)
        stream.truncate(0)
        stream.write(f"{_me()} (`{_command()}`, since {time.strftime('%F %T')})")
        stream.flush()
        yield


def _me() -> str:
    return f"process {os.getpid()}"


def _command() -> str:
    """Return this process's command as somebody typed it."""
    return shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]])
