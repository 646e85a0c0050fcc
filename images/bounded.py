# SPDX-License-Identifier: MIT
"""Run a command within bounds: `bounded.py FOLDER TIME_S MEMORY_BYTES DISK_BYTES PROCESSES COMMAND...`.

A build runs code of others. The host's kernel bounds its single files and the processes of a user; what all of them
take together is looked at, a few times a second. FOLDER is the only one in which the command can write what lasts.

Root has no bound of its processes in the kernel, so as root this looks before all others get a processor.

Prints a sentence that names what took most and exits with 1 if the command was ended; else its exit status.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

_LOOK_S = 0.2
_WALKS = 0.02  # of the time at most for looks at the disk
_LEAST_FREE_BYTES = 256 << 20
_MIB = 1 << 20
_SAMPLE = 50  # processes


@dataclass(frozen=True)
class Bounds:
    """What all processes of a command may take together."""

    time_s: int = 3 * 3600
    """Wall time. The kernel takes half an hour on one processor."""
    memory_bytes: int = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
    disk_bytes: int = 16 << 30
    processes: int = 4096

    def command(self, folder: Path, words: Sequence[str]) -> list[str]:
        """Return the command that runs `words` within these bounds; the folder is where they write."""
        return [sys.executable, "-I", __file__, str(folder), *map(str, astuple(self)), *words]


def run(folder: Path, bounds: Bounds, words: Sequence[str]) -> int:
    """Do what this module's description says."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (bounds.disk_bytes, bounds.disk_bytes))
    if os.geteuid() != 0:
        _, most = resource.getrlimit(resource.RLIMIT_NPROC)
        wanted = _of_user() + bounds.processes
        if most == resource.RLIM_INFINITY or wanted < most:
            resource.setrlimit(resource.RLIMIT_NPROC, (wanted, wanted))
    started_s = time.monotonic()
    next_walk_s = started_s
    with subprocess.Popen(words) as process:  # with this process's nice value
        if os.geteuid() == 0:
            with contextlib.suppress(OSError):  # a container may forbid it
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while True:
            try:
                status = process.wait(_LOOK_S)
                return status if status >= 0 else 128 - status
            except subprocess.TimeoutExpired:
                now_s = time.monotonic()
            wrong = _too_long(now_s - started_s, process.pid, bounds) or _too_many(process.pid, bounds)
            if not wrong and now_s >= next_walk_s:
                wrong = _too_large(folder, bounds)
                next_walk_s = now_s + (time.monotonic() - now_s) / _WALKS
            if wrong:
                _end(process)
                print(f"It was ended: {wrong}", flush=True)
                return 1


def _end(process: subprocess.Popen[bytes]) -> None:
    """End bubblewrap with all inside: its child is the first process of their namespace, and ends after them."""
    for first in _below(process.pid, 1)[:1] or [process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
    process.wait()


def _of_user() -> int:
    """Return how many threads this user has, which the kernel counts together."""
    count = 0
    for path in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            count += path.stat().st_uid == os.getuid()
    return count


def _too_long(took_s: float, top: int, bounds: Bounds) -> str | None:
    if took_s <= bounds.time_s:
        return None
    return f"after {took_s:.0f} s `{busiest(top)}` still ran; allowed are {bounds.time_s} s"


def _too_many(top: int, bounds: Bounds) -> str | None:
    inside = _below(top, bounds.processes)
    if len(inside) > bounds.processes:
        name = Counter(map(_name, inside[-_SAMPLE:])).most_common(1)[0][0]
        return f"it had more than {bounds.processes} processes, most of them `{name}`; allowed are {bounds.processes}"
    memory = {process: _memory_bytes(process) for process in inside}
    if sum(memory.values()) > bounds.memory_bytes:
        most = _name(max(memory, key=memory.__getitem__))
        took_mib, allowed_mib = sum(memory.values()) // _MIB, bounds.memory_bytes // _MIB
        return f"it took {took_mib} MiB of memory, most of it `{most}`; allowed are {allowed_mib} MiB"
    return None


def _too_large(folder: Path, bounds: Bounds) -> str | None:
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < _LEAST_FREE_BYTES:
        return f"the disk of {folder} has only {free_bytes // _MIB} MiB left"
    used_bytes, largest = 0, (0, "")
    for parent, _, names in os.walk(folder):
        for entry in names:
            path = os.path.join(parent, entry)  # noqa: PTH118  a hundred thousand files of a kernel
            try:
                bytes_here = os.lstat(path).st_blocks * 512
            except FileNotFoundError:  # removed meanwhile
                continue
            used_bytes += bytes_here
            largest = max(largest, (bytes_here, path))
    if used_bytes <= bounds.disk_bytes:
        return None
    name = Path(largest[1]).relative_to(folder)
    allowed_mib = bounds.disk_bytes // _MIB
    return f"it took {used_bytes // _MIB} MiB of disk, most of it `{name}`; allowed are {allowed_mib} MiB"


def _below(top: int, most: int = 1 << 22) -> list[int]:
    """Return the processes below `top`, or somewhat more than `most` of them."""
    inside = [top]
    for process in inside:
        inside += map(int, _read(process, f"task/{process}/children").split())
        if len(inside) > most + 1:
            break
    return inside[1:]


def busiest(top: int) -> str:
    """Return the name of that process below `top` which took most CPU time."""
    return max(((_cpu_ticks(process), _name(process)) for process in _below(top)), default=(0, "nothing"))[1]


def _cpu_ticks(process: int) -> int:
    return sum(map(int, _read(process, "stat").rpartition(b")")[2].split()[11:13]))


def _memory_bytes(process: int) -> int:
    for line in _read(process, "status").splitlines():
        if line.startswith(b"RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


def _name(process: int) -> str:
    return _read(process, "comm").decode(errors="replace").strip()


def _read(process: int, name: str) -> bytes:
    """Read a file of /proc; return nothing if the process has ended."""
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), Bounds(*map(int, sys.argv[2:6])), sys.argv[6:]))
