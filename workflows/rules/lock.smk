# One pipeline at a time works in a folder. Another one waits until it has ended, before it looks at what is due.
import fcntl
import os
import shlex
import sys
import time
from pathlib import Path


def lock():
    """Return an open file that holds the lock as long as this process lives; wait for it if another has it.

    Snakemake's own lock outlives a killed process and is switched off in the profile.
    """
    place = Path(".snakemake/testbed.lock")
    place.parent.mkdir(exist_ok=True)
    file = place.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        wait_for(file, place.read_text())
    file.truncate(0)
    file.write(f"process {os.getpid()} (`{shlex.join(sys.argv)}`, since {time.strftime('%F %T')})")
    file.flush()
    return file


def wait_for(file, holder):
    """Say who holds the lock of a file, and wait for it; Ctrl-C ends that."""
    try:
        print(f"Waiting for {holder}, which is at work in this folder.", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    except KeyboardInterrupt:
        print("Interrupted; nothing had begun.", file=sys.stderr, flush=True)
        os._exit(130)  # Snakemake would report an error of this file


# a dry run changes nothing that another pipeline uses, and tells of it while it works
if workflow.is_main_process and not {"-n", "--dry-run", "--dryrun"} & set(sys.argv):
    HELD = lock()
