"""Polls what a guest's processes take of the host where the kernel cannot limit it.

It looks only at state that lasts, even if the process that made it lived shortly: processes and their memory, files in
the run folder, and files without a name that a descriptor, a mapping or a message under way keeps. The system call
filter (engine/guest/confine.c) refuses what could not be found. What the host's kernel itself holds for pipes, sockets
and descriptors cannot be seen and is not counted.
"""

import contextlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine import handover, messages
from engine.sandbox import FOLDERS, MEMORY_FOLDER, Limits

FREE_BYTES = 16 << 20
"""A guest is ended before the disk has less space left than this, whoever filled it."""

_KIB = re.compile(rb"^(?:RssAnon|VmSwap|VmPTE):\s+(\d+) kB", re.MULTILINE)
_SHARED_MEMORY = b"/dev/zero (deleted)"  # the kernel's name for memory shared without a file
_SHARED_BYTES = 16 << 10  # of one such piece at most: SHARED_BYTES in confine.c
_NODE_BYTES = 1 << 10  # of kernel memory for a file of the memory folder, however empty
_LONGEST_MAPS_BYTES = 64 << 20
_CLOSE_LOOK_SHARE = 0.01  # of a processor, for looks at mappings and sockets


class Usage:
    """What process `top`, a guest with this run folder and these limits, and all processes below it take together."""

    def __init__(self, top: int, folder: Path, limits: Limits, bounded: bool) -> None:
        """`bounded`: a cgroup counts memory and processes already."""
        self._top, self._folder, self._limits, self._bounded = top, folder, limits, bounded
        self._next_close_look_s = 0.0
        self._shared_bytes = 0
        self._under_way: dict[int, int] = {}  # bytes of files without a name, by inode

    def too_much(self) -> str | None:
        """Return a sentence if the guest takes more than it may."""
        try:
            return self._found(processes(self._top))
        except PermissionError:
            return "one of its processes hides which files it has open"

    def _found(self, inside: list[int]) -> str | None:
        wrong = self._look_closely(inside) if time.monotonic() >= self._next_close_look_s else None
        if not (wrong or self._bounded):
            wrong = self._too_much_memory(inside)
        if wrong:
            return wrong
        free_bytes = shutil.disk_usage(self._folder).free
        if free_bytes < FREE_BYTES:
            return f"no space left on the disk ({free_bytes >> 20} MiB)"
        return handover.over(self._folder, self._limits, self._unlinked_bytes(inside))

    def _too_much_memory(self, inside: list[int]) -> str | None:
        if len(inside) > self._limits.processes:
            return f"it has {len(inside)} processes, allowed are {self._limits.processes}"
        memory_bytes = sum(map(_own_memory_bytes, inside)) + self._shared_bytes + _node_bytes(inside)
        if memory_bytes > self._limits.memory_bytes:
            allowed_mib = self._limits.memory_bytes >> 20
            return f"its processes take {memory_bytes >> 20} MiB of memory, allowed are {allowed_mib} MiB"
        return None

    def _look_closely(self, inside: list[int]) -> str | None:
        """Look at mappings and messages under way; the longer this takes, the more rarely it is done."""
        started_s = time.thread_time()
        try:
            return self._wrong_mapping(inside) or self._hidden_in_messages(inside)
        finally:
            self._next_close_look_s = time.monotonic() + (time.thread_time() - started_s) / _CLOSE_LOOK_SHARE

    def _wrong_mapping(self, inside: list[int]) -> str | None:
        """Return a sentence if a process maps a file of the run folder, which hides it; UML only reads and writes."""
        places = [os.fsencode(place) + b"/" for place in (FOLDERS["TESTBED_RUN"], self._folder.resolve())]
        read_bytes, shared = 0, set()
        for process in inside:
            maps = _read(f"/proc/{process}/maps", _LONGEST_MAPS_BYTES)
            read_bytes += len(maps)
            if read_bytes > _LONGEST_MAPS_BYTES:
                return "its processes have too many pieces of memory to look through"
            if any(place in maps for place in places):
                return "one of its processes maps a file of the run folder into its memory"
            if _SHARED_MEMORY in maps:
                shared |= {line.split()[4] for line in maps.splitlines() if line.endswith(_SHARED_MEMORY)}
        self._shared_bytes = len(shared) * _SHARED_BYTES
        return None

    def _hidden_in_messages(self, inside: list[int]) -> str | None:
        """Find the files that only a message keeps; return a sentence if they cannot be looked at."""
        sockets = {
            status.st_ino: place
            for place, status in _open_files(inside)
            if stat.S_ISSOCK(status.st_mode) and messages.wait_at(place)
        }
        try:
            found = [file for inode, place in sockets.items() for file in messages.files(place, inode)]
        except messages.HiddenError:
            return "its processes keep open files in messages that cannot be looked at"
        self._under_way = _unlinked(found, _memory_device(inside))
        return None

    def _unlinked_bytes(self, inside: list[int]) -> int:
        """Return what files without a name take that only a descriptor, or a message under way, keeps."""
        opened = _unlinked((status for _, status in _open_files(inside)), _memory_device(inside))
        return sum((self._under_way | opened).values())


def processes(top: int) -> list[int]:
    """Return process `top` and all below it. A child belongs to the thread that made it."""
    found = [top]
    for process in found:
        for thread in _listed(f"/proc/{process}/task"):
            found += map(int, _read(f"/proc/{process}/task/{thread}/children").split())
    return found


def _open_files(inside: list[int]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the name in /proc and the status of each open file of each thread: threads need not share descriptors.

    Raises:
        PermissionError: a live process of the guest cannot be inspected.
    """
    for process in inside:
        for thread in _listed(f"/proc/{process}/task"):
            folder = f"/proc/{process}/task/{thread}/fd"
            try:
                descriptors = os.listdir(folder)  # noqa: PTH208  a path object for each takes longer than the rest
            except PermissionError:
                if len(inside) > 2 and process != inside[0] and _has_memory(process):
                    raise
                continue  # the sandbox's own first steps may be privileged, and who ends has no memory any more
            except OSError:
                continue
            for descriptor in descriptors:
                with contextlib.suppress(OSError):
                    # of the file itself: there is no name to resolve
                    yield f"{folder}/{descriptor}", os.stat(f"{folder}/{descriptor}")  # noqa: PTH116


def _own_memory_bytes(process: int) -> int:
    return sum(map(int, _KIB.findall(_read(f"/proc/{process}/status")))) << 10


def _unlinked(files: Iterable[os.stat_result], memory_device: int | None) -> dict[int, int]:
    """Return the bytes of files on disk without a name, by inode. Parts of a disk may be devices of their own."""
    return {
        status.st_ino: max(status.st_blocks * 512, status.st_size)
        for status in files
        if status.st_nlink == 0 and stat.S_ISREG(status.st_mode) and status.st_dev != memory_device
    }


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
    return _read(f"/proc/{process}/statm").split()[:1] not in ([], [b"0"])


def state(process: int) -> str:
    """Return the letter of a process's state as in /proc (T: stopped); nothing if it has ended."""
    return _read(f"/proc/{process}/stat").rpartition(b")")[2][1:2].decode()


def cpu_s(top: int) -> float:
    """Return the CPU time of process `top` and all below it, those that have ended included, in s."""
    ticks = 0
    for process in processes(top):
        fields = _read(f"/proc/{process}/stat").rpartition(b")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # of its own and of its children that have ended; see proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:  # it has ended
        return []


def _read(file: str, at_most: int = 1 << 20) -> bytes:
    """Read a file of /proc; return nothing if its process has ended."""
    try:
        with open(file, "rb", buffering=0) as stream:  # noqa: PTH123
            parts, length = [], 0
            while length <= at_most and (part := stream.read(1 << 16)):
                parts.append(part)
                length += len(part)
            return b"".join(parts)
    except OSError:
        return b""
