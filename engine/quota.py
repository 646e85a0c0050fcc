"""What this process may use of its host: the limits of its control groups, and the memory that is free.

Batch schedulers and container runtimes set these limits; neither the number of CPUs nor /proc/meminfo shows them.
Standard library only: `engine.doctor` runs on a bare Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT_BYTES = 1 << 60
"""Version 1 writes "no limit" as a number close to 2^63."""
_V1 = {"cpu", "memory"}


@dataclass(frozen=True)
class Group:
    """A control group that limits this process, with all groups below it.

    `cpus` is the quota in CPUs; `memory_bytes` the limit, of which `free_bytes` are left. None: not limited.
    """

    folder: Path
    cpus: float | None = None
    memory_bytes: int | None = None
    free_bytes: int | None = None

    @property
    def name(self) -> str:
        """The same in every process of the host, whatever path its mount namespace shows the group at."""
        return f"group{self.folder.stat().st_ino}"

    @property
    def guests_by_quota(self) -> int | None:
        """How many guests may run at once by the quota; one below a CPU still runs one."""
        return None if self.cpus is None else max(1, int(self.cpus))

    def guests(self, guest_bytes: int) -> int | None:
        """How many guests of this size may run in the group at once."""
        most = [] if self.guests_by_quota is None else [self.guests_by_quota]
        if self.memory_bytes is not None:
            most.append(self.memory_bytes // guest_bytes)
        return min(most, default=None)


def groups(proc: Path = Path("/proc")) -> list[Group]:
    """List the groups with limits that this process is in, outermost first."""
    limits = map(_read, dict.fromkeys(_folders(proc)))
    return [group for group in limits if group.cpus is not None or group.memory_bytes is not None]


def free_bytes(limited: list[Group], proc: Path = Path("/proc")) -> int:
    """Memory that a new program can have: of the host and of every group in `limited`."""
    lines = (proc / "meminfo").read_text().splitlines()
    host = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    return min(host, *(group.free_bytes for group in limited if group.free_bytes is not None), host)


def _folders(proc: Path) -> Iterator[Path]:
    """Folders of this process's groups and all above them, as far as they are mounted; see cgroups(7)."""
    mounts = [line.partition(" - ") for line in (proc / "self" / "mountinfo").read_text().splitlines()]
    for line in (proc / "self" / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        wanted = _V1.intersection(controllers.split(","))  # none in a line of version 2
        for mount, _, kind in mounts:
            _, _, _, root, place, *_ = mount.split()
            version_2 = not controllers and kind.startswith("cgroup2 ")
            if version_2 or wanted.intersection(kind.split()[-1].split(",")):
                top = Path(_unescaped(place))
                inside = Path(path).relative_to(root) if Path(path).is_relative_to(root) else Path()
                chain = [top / inside, *(top / above for above in inside.parents)]
                yield from (folder for folder in reversed(chain) if folder.is_dir())
                break


def _unescaped(place: str) -> str:
    """Decode a path of mountinfo, which writes a space as its octal number."""
    return place.encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")


def _read(folder: Path) -> Group:
    limit, free = _memory(folder)
    return Group(folder, _cpus(folder), limit, free)


def _cpus(folder: Path) -> float | None:
    words = _words(folder / "cpu.max") or [
        word for name in ("quota", "period") for word in _words(folder / f"cpu.cfs_{name}_us")
    ]
    return None if len(words) < 2 or words[0] in ("max", "-1") else int(words[0]) / int(words[1])


def _memory(folder: Path) -> tuple[int | None, int | None]:
    """Limit and what is left of it; files that the kernel can drop are no use of memory."""
    for maximum, current, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, used = _words(folder / maximum), _words(folder / current)
        if limit and used and limit[0] != "max" and int(limit[0]) < _NO_LIMIT_BYTES:
            words = _words(folder / "memory.stat")
            statistics = dict(zip(words[::2], words[1::2], strict=False))
            return int(limit[0]), max(0, int(limit[0]) - int(used[0]) + int(statistics.get(cache, 0)))
    return None, None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
