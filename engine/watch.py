"""Watches a guest from outside: virtual time has no meaning for a program that never sleeps, wall time has."""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from engine import handover
from engine.errors import EngineError
from engine.sandbox import Limits

STANDSTILL_S = 60.0
"""Wall seconds without a sign of life after which a guest counts as hung. A sign comes each hundredth of a scenario,
which takes the slowest kind of endpoint some seconds."""

FREE_BYTES = 16 << 20
"""A guest is ended before the disk has less left, whoever filled it."""

_LOOK_S = 0.25  # between two looks a guest can overshoot its limits; each costs a millisecond
_ANSWER_S = 2.0
_LONGEST_SIGN = 32
_TAIL_BYTES = 64 << 10
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def run(command: list[str], folder: Path, limits: Limits, descriptors: Sequence[int] = ()) -> int:
    """Run a guest to its end with its console in logs/console.log; returns the exit status. It inherits `descriptors`.

    Raises:
        EngineError: no progress for `STANDSTILL_S` (the sentence names the guest's running process), or more taken
            than `limits` allow.
    """
    with (folder / "logs" / "console.log").open("w+b") as console:
        guest = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=descriptors,
        )
        try:
            return _wait(guest, folder, console, limits)
        finally:
            _kill(guest)


def _wait(guest: subprocess.Popen[bytes], folder: Path, console: BinaryIO, limits: Limits) -> int:
    last_sign, since = None, time.monotonic()
    while not _has_ended(guest, _LOOK_S):
        too_much = _too_much(guest.pid, folder, limits)
        if too_much:
            raise EngineError(f"the guest was ended: {too_much}")
        sign = _sign_of_life(folder)
        if sign != last_sign:
            last_sign, since = sign, time.monotonic()
        elif time.monotonic() - since > STANDSTILL_S:
            at = f"at {sign / 1e9:.1f} s of the scenario" if sign else "before the scenario started"
            who = _running_process(guest.pid, console)
            raise EngineError(f"the guest made no progress for {STANDSTILL_S:.0f} s {at}: {who}")
    return guest.wait()


def _has_ended(guest: subprocess.Popen[bytes], within_s: float) -> bool:
    """Wait for the end. `Popen.wait` with a timeout looks every 50 ms; a descriptor tells at once."""
    descriptor = os.pidfd_open(guest.pid)
    try:
        return bool(select.select([descriptor], [], [], within_s)[0])
    finally:
        os.close(descriptor)


def _too_much(top: int, folder: Path, limits: Limits) -> str | None:
    """A sentence when the guest takes more than it may of what the kernel does not limit by itself."""
    processes = _descendants(top)
    if len(processes) > limits.processes:
        return f"it has {len(processes)} processes, allowed are {limits.processes}"
    memory_bytes = sum(map(_own_memory_bytes, processes))
    if memory_bytes > limits.memory_bytes:
        return f"its processes take {memory_bytes >> 20} MiB of memory, allowed are {limits.memory_bytes >> 20} MiB"
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < FREE_BYTES:
        return f"no space left on the disk ({free_bytes >> 20} MiB)"
    return handover.over(folder, limits, _unlinked_bytes(processes, folder.stat().st_dev))


def _own_memory_bytes(process: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
    except (OSError, ValueError):  # it has ended
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def _unlinked_bytes(processes: list[int], device: int) -> int:
    """What files without a name, that only an open descriptor keeps, take of the run folder's disk."""
    found = {}
    for process in processes:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{process}/fd") as descriptors:
            for descriptor in descriptors:
                status = os.stat(descriptor.path)  # noqa: PTH116  of the file itself: there is no name to resolve
                if status.st_nlink == 0 and status.st_dev == device:
                    found[status.st_ino] = status.st_blocks * 512
    return sum(found.values())


def _sign_of_life(folder: Path) -> int | None:
    """The virtual instant the guest has come to, ns. The file is the guest's, so it may be anything, a pipe too."""
    try:
        file = os.open(folder / "heartbeat", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return int(os.read(file, _LONGEST_SIGN))
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)


def _running_process(top: int, console: BinaryIO) -> str:
    """Ask the guest kernel which process runs (SIGUSR2 makes it print the name) and say what that means."""
    start = os.fstat(console.fileno()).st_size
    for process in _descendants(top):
        if _name(process) == "linux":
            os.kill(process, signal.SIGUSR2)
            break
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline:
        found = re.findall(rb"running: (.*)", os.pread(console.fileno(), _TAIL_BYTES, start))
        if found:
            name = found[-1].decode(errors="replace").strip()
            if name.startswith("swapper"):
                return "all its programs wait for something that never comes"
            return f"{name} computes without ever sleeping, so virtual time stands still"
        time.sleep(0.05)
    return "its kernel does not answer"


def _descendants(top: int) -> list[int]:
    found = [top]
    for process in found:
        try:
            found += [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
        except FileNotFoundError:
            continue
    return found


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""


def _kill(guest: subprocess.Popen[bytes]) -> None:
    """End everything inside and wait for it: nobody must write once the run folder is looked at.

    The sandbox's first process takes all others along (own pid namespace), and bwrap, its parent, ends after them.
    """
    if guest.poll() is None:
        for first in _descendants(guest.pid)[1:2]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)
        try:
            guest.wait(timeout=_ANSWER_S)
        except subprocess.TimeoutExpired:
            os.killpg(guest.pid, signal.SIGKILL)
            guest.wait()
