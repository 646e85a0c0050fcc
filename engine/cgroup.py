"""Bounds a guest's memory and processes by a control group, where the host grants this user one.

There are two ways: a scope of systemd (the user's, or the system's for root), or a folder of the cgroup hierarchy
(version 2) that was delegated to this user. Where neither is available, `engine.usage` counts by polling.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from engine.errors import EngineError
from engine.sandbox import Limits

_REMEDY = (
    "`sudo loginctl enable-linger $USER` brings a systemd of this user; a container needs a writable /sys/fs/cgroup of "
    "its own (docs/explanation/trust.md)"
)
_PREFIX = "testbed-"  # of a group's name
_CONTROLLERS = {"memory", "pids"}
_ENTER = 'echo $$ >"$0" && exec "$@"'
_SPARE_BYTES = 64 << 20  # what the kernel itself holds for a guest: page tables, descriptors
_TRIAL = Limits()
_PATIENCE_S = 10.0


class GuestGroup:
    """The group of a guest; `prefix` goes before its command. Without a cgroup it bounds nothing."""

    prefix: tuple[str, ...] = ()
    bounds = False

    def too_much(self, process: int) -> str | None:  # noqa: ARG002
        """Return a sentence if the guest's processes ran into a limit."""
        return None


class _Bounded(GuestGroup):
    bounds = True

    def __init__(self, prefix: tuple[str, ...], limits: Limits) -> None:
        self.prefix, self._limits = prefix, limits
        self._folder: Path | None = None

    def too_much(self, process: int) -> str | None:
        if self._folder is None:
            folder = _folder_of(process)
            if folder is None or not folder.name.startswith(_PREFIX):  # not there yet
                return None
            self._folder = folder
        memory = _events(self._folder / "memory.events")
        if memory.get("oom_kill") and not memory.get("oom"):  # this group had not reached its limit
            return "its host has no memory left, whose kernel ended one of its processes"
        if memory.get("oom_kill"):
            return f"its processes took more than the {self._limits.memory_bytes >> 20} MiB of memory it is allowed"
        if _events(self._folder / "pids.events").get("max"):
            return f"it wanted more than the {self._limits.processes} processes it is allowed"
        return None

    def wait_until_empty(self) -> None:
        """Wait for processes that the kernel or systemd is still ending: the one that was started may be the first."""
        if self._folder is not None:
            _wait_until_empty(self._folder)


@contextmanager
def entered(limits: Limits) -> Iterator[GuestGroup]:
    """Make a group for one guest with these limits; remove it afterwards."""
    way = _way()
    if way == "systemd":
        group = _Bounded(_scope(limits), limits)
        try:
            yield group
        finally:
            group.wait_until_empty()
    elif way:
        with _folder(Path(way), limits) as folder:
            yield _Bounded(("sh", "-c", _ENTER, str(folder / "cgroup.procs")), limits)
    else:
        yield GuestGroup()


def described() -> str:
    """Say which bound on memory and processes guests get on this host."""
    way = _way()
    if way == "systemd":
        return "the kernel's: each guest has a cgroup, a scope of systemd"
    if way:
        return f"the kernel's: each guest has a cgroup in {way}"
    why = "no cgroup can be had (no systemd of this user, no delegated cgroup v2)"
    return f"looked at up to four times a second: {why}; {_REMEDY}"


def missing() -> str | None:
    """Return a sentence where no cgroup bounds what guests take."""
    return None if _way() else "no cgroup bounds the memory of guests on this host: see `testbed doctor`"


@cache
def _way() -> str | None:
    """Return ``systemd``, the folder in which groups can be made, or None; tried, since what looks right may fail."""
    if shutil.which("systemd-run") and Path("/run/systemd/system").is_dir() and _works(_scope(_TRIAL)):
        return "systemd"
    for parent in _delegated():
        with contextlib.suppress(OSError), _folder(parent, _TRIAL) as folder:
            if _works(("sh", "-c", _ENTER, str(folder / "cgroup.procs"))):
                return str(parent)
    return None


def _works(prefix: tuple[str, ...]) -> bool:
    """Tell whether a process started this way has both limits; systemd silently ignores what it cannot set."""
    mounted = _mounted()
    if mounted is None:
        return False
    script = 'cd "$0/$(sed -n s/^0:://p /proc/self/cgroup)" && cat memory.max pids.max'
    words = [*prefix, "sh", "-c", script, str(mounted[0])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.stdout.split() == [str(limit) for limit in _limits_of(_TRIAL)]


def _limits_of(limits: Limits) -> tuple[int, int]:
    """Return the limits in bytes, with the guest's own memory (a file in memory, which counts), and in processes."""
    return limits.memory_bytes + limits.memory_folder_bytes + _SPARE_BYTES, limits.processes


def _name() -> str:
    return f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"


def _scope(limits: Limits) -> tuple[str, ...]:
    memory_bytes, processes = _limits_of(limits)
    whose = () if os.geteuid() == 0 else ("--user",)
    words = ("systemd-run", *whose, "--scope", "--quiet", "--collect", f"--unit={_name()}.scope")
    values = (f"MemoryMax={memory_bytes}", "MemorySwapMax=0", f"TasksMax={processes}")
    return (*words, *(f"--property={value}" for value in values), "--")


@contextmanager
def _folder(parent: Path, limits: Limits) -> Iterator[Path]:
    memory_bytes, processes = _limits_of(limits)
    folder = parent / _name()
    folder.mkdir()
    try:
        (folder / "memory.max").write_text(str(memory_bytes))
        (folder / "pids.max").write_text(str(processes))
        with contextlib.suppress(OSError):  # a kernel without swap has no such file
            (folder / "memory.swap.max").write_text("0")
        yield folder
    finally:
        _wait_until_empty(folder)
        folder.rmdir()


def _wait_until_empty(group: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while _events(group / "cgroup.events").get("populated"):
        if time.monotonic() > deadline:
            raise EngineError(f"processes of the guest do not end: those that {group}/cgroup.procs lists")
        time.sleep(0.01)


def _delegated() -> list[Path]:
    """Return the folders from this process's group upwards where this user may make groups with both controllers."""
    own = _folder_of(os.getpid())
    if own is None:
        return []
    return [
        folder
        for folder in (own, *own.parents)
        if set(_text(folder / "cgroup.subtree_control").split()) >= _CONTROLLERS
        and os.access(folder, os.W_OK)
        and os.access(folder / "cgroup.procs", os.W_OK)
    ]


def _folder_of(process: int) -> Path | None:
    """Return the folder of a process's group in the unified hierarchy, as this process sees it."""
    lines = _text(Path(f"/proc/{process}/cgroup")).splitlines()
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    mounted = _mounted()
    return mounted[0] / os.path.relpath(path, mounted[1]) if path and mounted else None


def _mounted() -> tuple[Path, str] | None:
    """Return where the unified hierarchy is mounted, and which of its folders that is."""
    for line in _text(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            root, place = before.split()[3:5]
            return Path(place), root
    return None


def _events(file: Path) -> dict[str, int]:
    return {name: int(count) for name, count in map(str.split, _text(file).splitlines())}


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
