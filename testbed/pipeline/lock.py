"""One pipeline at a time works in a folder. Another one waits until it has ended, before it looks at what is due."""

import fcntl
import os
import shlex
import sys
import time
from pathlib import Path
from typing import IO


def lock() -> IO[str]:
    """Return an open file that holds the lock as long as this process lives; wait for it if another has it.

    Snakemake's own lock outlives a killed process and is switched off in the profile.
    """
    place = Path(".snakemake/testbed.lock")
    place.parent.mkdir(exist_ok=True)
    file = place.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _wait_for(file, place.read_text())
    file.truncate(0)
    file.write(f"process {os.getpid()} (`{shlex.join(sys.argv)}`, since {time.strftime('%F %T')})")
    file.flush()
    return file


def _wait_for(file: IO[str], holder: str) -> None:
    """Say who holds the lock of a file, and wait for it; Ctrl-C ends that."""
    try:
        print(f"Waiting for {holder}, which is at work in this folder.", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    except KeyboardInterrupt:
        print("Interrupted; nothing had begun.", file=sys.stderr, flush=True)
        os._exit(130)  # Snakemake would report an error of the file that called this
