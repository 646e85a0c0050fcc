"""Polls what a guest's processes take of the host where the kernel cannot limit it.

It looks only at state that lasts, even if the process that made it lived shortly: processes and their memory, files in
the run folder, and open descriptors. The system call filter (engine/guest/confine.c) bounds what can be hidden from it:
code in the guest's kernel can keep a file that has lost its name in a mapping or in a message to one of its sockets,
until the disk has less than FREE_BYTES left, and memory in shared pieces of 16 KiB, unless a cgroup counts it.
"""

import contextlib
import ctypes
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine import handover
from engine.sandbox import MEMORY_FOLDER, Limits

FREE_BYTES = 16 << 20
"""A guest is ended before the disk has less space left than this, whoever filled it."""

_LIBC = ctypes.CDLL(None)
_KCMP = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
_KCMP_FILES = 2
_KIB = re.compile(rb"^(?:RssAnon|VmSwap|VmPTE):\s+(\d+) kB", re.MULTILINE)
_SOCKET_BYTES = 256 << 10
"""What waits in one socket at most, in the host's kernel: its default is 208 KiB, and a message may exceed that."""
_PIPE_BYTES = 64 << 10
_NODE_BYTES = 1 << 10
"""Of kernel memory for a file of the memory folder, however empty."""


class Usage:
    """What process `top`, a guest with this run folder and these limits, and all processes below it take together."""

    def __init__(self, top: int, folder: Path, limits: Limits, bounded: bool) -> None:
        """`bounded`: a cgroup counts memory and processes already."""
        self._top, self._folder, self._limits, self._bounded = top, folder, limits, bounded

    def too_much(self) -> str | None:
        """Return a sentence if the guest takes more than it may."""
        inside = processes(self._top)
        memory_device = _memory_device(inside)  # now: who ends has no folders any more when its files have been listed
        try:
            opened = {(status.st_dev, status.st_ino): status for status in _open_files(inside)}
        except PermissionError:
            return "one of its processes hides which files it has open"
        wrong = None if self._bounded else self._too_much_memory(inside, opened.values())
        if wrong:
            return wrong
        free_bytes = shutil.disk_usage(self._folder).free
        if free_bytes < FREE_BYTES:
            return f"no space left on the disk ({free_bytes >> 20} MiB)"
        unlinked_bytes = sum(
            max(status.st_blocks * 512, status.st_size)
            for status in opened.values()
            if status.st_nlink == 0 and stat.S_ISREG(status.st_mode) and status.st_dev != memory_device
        )
        return handover.over(self._folder, self._limits, unlinked_bytes)

    def _too_much_memory(self, inside: list[int], opened: Iterable[os.stat_result]) -> str | None:
        if len(inside) > self._limits.processes:
            return f"it has {len(inside)} processes, allowed are {self._limits.processes}"
        memory_bytes = sum(map(_own_memory_bytes, inside)) + sum(map(_kernel_bytes, opened)) + _node_bytes(inside)
        if memory_bytes > self._limits.memory_bytes:
            allowed_mib = self._limits.memory_bytes >> 20
            return f"its processes take {memory_bytes >> 20} MiB of memory, allowed are {allowed_mib} MiB"
        return None


def processes(top: int) -> list[int]:
    """Return process `top` and all below it. A child belongs to the thread that made it."""
    family = [top]
    for process in family:
        for thread in _listed(f"/proc/{process}/task"):
            family += map(int, read(f"/proc/{process}/task/{thread}/children").split())
    return family


def _open_files(inside: list[int]) -> Iterator[os.stat_result]:
    """Yield the status of each open file of each thread that does not share its descriptors with the one before.

    Raises:
        PermissionError: a live process of the guest cannot be inspected.
    """
    listed = 0
    for process in inside:
        for thread in map(int, _listed(f"/proc/{process}/task")):
            if listed and _share_descriptors(thread, listed):
                continue
            try:
                folder = os.open(f"/proc/{process}/task/{thread}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except PermissionError:
                if len(inside) > 2 and process != inside[0] and _has_memory(process):
                    raise
                continue  # the sandbox's own first steps may be privileged, and who ends has no memory any more
            except OSError:
                continue
            listed = thread
            try:
                for descriptor in _listed(folder):
                    with contextlib.suppress(OSError):
                        yield os.stat(descriptor, dir_fd=folder)
            finally:
                os.close(folder)


def _share_descriptors(thread: int, other: int) -> bool:
    """Ask kcmp(2). All host processes of a guest share one table, which has a descriptor for each of them and more."""
    return _KCMP is not None and _LIBC.syscall(_KCMP, thread, other, _KCMP_FILES, 0, 0) == 0


def _kernel_bytes(file: os.stat_result) -> int:
    """Return what the host's kernel may hold for an open file."""
    if stat.S_ISSOCK(file.st_mode):
        return _SOCKET_BYTES
    return _PIPE_BYTES if stat.S_ISFIFO(file.st_mode) else 0


def _own_memory_bytes(process: int) -> int:
    return sum(map(int, _KIB.findall(read(f"/proc/{process}/status")))) << 10


def _memory_device(inside: list[int]) -> int | None:
    """Return the device of the sandbox's memory folder; None if all processes have ended."""
    for process in reversed(inside):
        with contextlib.suppress(OSError):
            return os.stat(f"/proc/{process}/root{MEMORY_FOLDER}").st_dev  # noqa: PTH116
    return None


def _node_bytes(inside: list[int]) -> int:
    """Return the kernel memory for files in the sandbox's memory folder, whose size bounds what they hold."""
    try:
        place = f"/proc/{inside[-1]}/root{MEMORY_FOLDER}"
        if Path(place).stat().st_dev == Path(MEMORY_FOLDER).stat().st_dev:
            return 0
        status = os.statvfs(place)
        return (status.f_files - status.f_ffree) * _NODE_BYTES
    except OSError:  # it has ended
        return 0


def _has_memory(process: int) -> bool:
    return read(f"/proc/{process}/statm").split()[:1] not in ([], [b"0"])


def state(process: int) -> str:
    """Return the letter of a process's state as in /proc (T: stopped); nothing if it has ended."""
    return read(f"/proc/{process}/stat").rpartition(b")")[2][1:2].decode()


def cpu_s(top: int) -> float:
    """Return the CPU time of process `top` and all below it, those that have ended included, in s."""
    ticks = 0
    for process in processes(top):
        fields = read(f"/proc/{process}/stat").rpartition(b")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # of its own and of its children that have ended; see proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


def _listed(folder: str | int) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  a path object takes longer than the rest
    except OSError:  # it has ended
        return []


def read(file: str) -> bytes:
    """Read a file of /proc; return nothing if its process has ended."""
    try:
        with open(file, "rb", buffering=0) as stream:  # noqa: PTH123
            return stream.read()
    except OSError:
        return b""
