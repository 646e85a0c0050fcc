"""One CPU per guest. Unpinned, every system call of a guest is a wake-up on another CPU: five times slower.

A run in real time has them all: what else runs would disturb it.
"""

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def free_cpu() -> Iterator[int]:
    """Hold a CPU of this process's allowed set that no other guest on this host holds; waits, and says so, for one.

    The claim is a file lock shared by all pipelines of the host; it ends with the process, however that ends.
    """
    folder = _lock_folder()
    allowed = sorted(os.sched_getaffinity(0))
    for cpu in allowed:
        lock = _open_lock(folder, cpu)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        break
    else:
        cpu = allowed[os.getpid() % len(allowed)]
        lock = _open_lock(folder, cpu)
        print("waiting for a CPU: other runs on this host hold all of them", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield cpu
    finally:
        os.close(lock)


@contextmanager
def all_cpus() -> Iterator[int]:
    """Hold every CPU of this host, for a run that nothing of the testbed may run beside; waits for what does.

    Taken in order, so that two who want all cannot wait for each other. What is yielded names none in particular.
    """
    folder = _lock_folder()
    with ExitStack() as held:
        for cpu in range(os.cpu_count() or 1):
            lock = _open_lock(folder, cpu)
            held.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield 0


def _lock_folder() -> Path:
    """Where all users of the host look; any of them may hold any CPU, whatever the first one's umask."""
    candidates = (Path("/run/lock"), Path(tempfile.gettempdir()))
    parent = next(folder for folder in candidates if os.access(folder, os.W_OK))
    folder = parent / "ledbat-testbed"
    folder.mkdir(exist_ok=True)
    if folder.stat().st_uid == os.getuid():
        folder.chmod(0o1777)
    return folder


def _open_lock(folder: Path, cpu: int) -> int:
    lock = os.open(folder / f"cpu{cpu}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    if os.fstat(lock).st_uid == os.getuid():
        os.fchmod(lock, 0o666)
    return lock
