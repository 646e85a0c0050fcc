"""Gives each guest a CPU of its own. Without one, each system call of a guest wakes another CPU: five times slower.

A run in real time gets all CPUs, because any other run would disturb it.

A process claims a CPU by listening at an abstract Unix socket that is named after it. All users of the host see the
same names, no file or permission is involved, and a claim ends with its process, however that ends. A waiting process
connects to the holders; the kernel then tells who they are and when they end. Containers with their own networks do not
share names. There a process takes the CPU that is idlest when it starts its first guest.
"""

import errno
import hashlib
import math
import os
import random
import select
import shlex
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from engine import quota
from engine.errors import EngineError, printable
from scenarios.plan.sizes import MEMORY_MIB

_NAMES = "ledbat-testbed"
_SHARE_MIB = MEMORY_MIB  # most guests take one share of a limited memory, large ones several
_MOST_WAITING = 4096
_LOOK_S = 0.02  # two ticks of /proc/stat
_MOST_TOLD = 4
_LONGEST_COMMAND = 60
_LONGEST_NAME = 64

_had: int | None = None  # the CPU of this process's last guest


@contextmanager
def free_cpu(memory_mib: int = MEMORY_MIB) -> Iterator[int]:
    """Hold a CPU of this process's allowed set that no other guest on this host holds. Says so when it must wait.

    It holds no more CPUs than the quota and the memory limit of this process's control groups allow; this one is for a
    guest that takes up to `memory_mib`.

    Raises:
        EngineError: there is too little memory for a guest, and no other guest runs that could free some.
    """
    global _had
    groups = quota.groups()
    _wait_for_memory(groups, memory_mib)
    with ExitStack() as held:
        for group in groups:
            for what, most, needed, why in _shares(group, memory_mib):
                names = [f"{group.name}-{what}-{number}" for number in range(most)]
                held.enter_context(_first_free(names, f"{group.folder} allows {why}", needed))
        (name,) = held.enter_context(_first_free([_name(cpu) for cpu in _best_first()], "all are taken"))
        _had = int(name.removeprefix("cpu"))
        yield _had


def _shares(group: quota.Group, memory_mib: int) -> Iterator[tuple[str, int, int, str]]:
    """What of a group's a guest has to hold: its name, how many there are, how many it needs, what is allowed."""
    if (guests := group.guests_by_quota) is not None:
        yield "cpu", guests, 1, f"{guests} at once"
    if group.memory_bytes is not None:
        limit_mib = group.memory_bytes >> 20
        most = limit_mib // _SHARE_MIB
        yield "memory", most, min(most, math.ceil(memory_mib / _SHARE_MIB)), f"{limit_mib} MiB for all"


@contextmanager
def all_cpus() -> Iterator[int]:
    """Hold every CPU of this host, for a run beside which nothing of the testbed may run; wait for what does.

    CPUs are claimed in order, so two such runs cannot wait for each other. The yielded number means no CPU in
    particular.
    """
    with ExitStack() as held:
        for cpu in _online():
            held.enter_context(_first_free([_name(cpu)], "this run needs all of them"))
        yield 0


def _name(cpu: int) -> str:
    return f"cpu{cpu}"


def _online(file: Path = Path("/sys/devices/system/cpu/online")) -> list[int]:
    """Return the numbers of the host's CPUs; an offline CPU leaves a gap."""
    ranges = [part.split("-") for part in file.read_text().strip().split(",")]
    return [cpu for ends in ranges for cpu in range(int(ends[0]), int(ends[-1]) + 1)]


def _best_first() -> list[int]:
    """Return the CPUs of this process's allowed set, which has no offline ones, best first.

    A process's first guest gets the idlest CPU, at random if several are idle. Later guests stay on the last CPU,
    because looking again would lengthen short runs.
    """
    allowed = sorted(os.sched_getaffinity(0))
    random.shuffle(allowed)
    if _had in allowed:
        allowed.sort(key=lambda cpu: cpu != _had)
    elif len(allowed) > 1:
        before = _idle_ticks()
        time.sleep(_LOOK_S)
        after = _idle_ticks()
        allowed.sort(key=lambda cpu: before.get(cpu, 0) - after.get(cpu, 0))
    return allowed


def _idle_ticks() -> dict[int, int]:
    """Return how long each CPU has been idle, in ticks of 10 ms; see proc(5)."""
    lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    return {int(words[0][3:]): int(words[4]) for words in lines if words[0].startswith("cpu") and words[0] != "cpu"}


@contextmanager
def _first_free(names: Sequence[str], why: str, needed: int = 1) -> Iterator[list[str]]:
    """Claim the first names that are free, as many as `needed`, waiting for them together.

    `why` completes "waiting for a CPU:".
    """
    told = False
    while True:
        with ExitStack() as held:
            claimed: list[str] = []
            for name in names:
                if len(claimed) < needed and held.enter_context(_claimed(name)):
                    claimed.append(name)
            if len(claimed) == needed:
                yield claimed
                return
        with _holders(names) as holders:
            if len(names) - len(holders) < needed:  # otherwise one has ended meanwhile
                if not told:
                    _tell(f"waiting for a CPU: {why}", holders)
                    told = True
                _wait_for_one(holders)


@contextmanager
def _claimed(name: str) -> Iterator[bool]:
    """Try to hold a name; yield whether this process holds it, since another one may."""
    with socket.socket(socket.AF_UNIX) as claim:
        try:
            claim.bind(_address(name))
            claim.listen(_MOST_WAITING)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            yield False
        else:
            yield True


def _wait_for_memory(groups: list[quota.Group], memory_mib: int) -> None:
    takes = f"this guest takes up to {memory_mib} MiB"
    for group in groups:
        if group.memory_bytes is not None and group.memory_bytes >> 20 < memory_mib:
            raise EngineError(f"{group.folder} limits memory to {group.memory_bytes >> 20} MiB; {takes}")
    told = False
    while (free := quota.free_bytes(groups)) < memory_mib << 20:
        few = f"{free >> 20} MiB are free, and {takes}"
        with _holders(list(map(_name, _online()))) as holders:
            if not holders:
                raise EngineError(f"too little memory: {few}; end other programs")
            if not told:
                _tell(f"waiting for memory: {few}", holders)
                told = True
            _wait_for_one(holders)
        groups = quota.groups()


def _address(name: str) -> str:
    """Return the name of an abstract socket, which has 107 bytes at most; a control group's may be longer."""
    if len(name) > _LONGEST_NAME:
        name = hashlib.sha256(name.encode()).hexdigest()
    return f"\0{_NAMES}/{name}"


@contextmanager
def _holders(names: Sequence[str]) -> Iterator[list[socket.socket]]:
    """Connect to the holders of names; the kernel closes a connection when its claim ends."""
    with ExitStack() as opened:
        connected = []
        for name in names:
            connection = opened.enter_context(socket.socket(socket.AF_UNIX))
            try:
                connection.connect(_address(name))
            except ConnectionRefusedError:
                continue
            connected.append(connection)
        yield connected


def _wait_for_one(holders: list[socket.socket]) -> None:
    """Wait until a holder ends its claim. A signal's handler may end the wait."""
    ended = select.poll()
    for holder in holders:
        ended.register(holder, 0)
    ended.poll()


def _tell(words: str, holders: list[socket.socket]) -> None:
    who = list(dict.fromkeys(map(_who, holders)))
    more = f", and {len(who) - _MOST_TOLD} more" if len(who) > _MOST_TOLD else ""
    print(f"{words}; at work: {', '.join(who[:_MOST_TOLD])}{more}", file=sys.stderr, flush=True)


def _who(holder: socket.socket) -> str:
    """Describe the process at the other end: number, command and start; see unix(7), SO_PEERCRED."""
    process, user, _ = struct.unpack("3i", holder.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    folder = Path("/proc", str(process))
    try:
        words = (folder / "cmdline").read_text(errors="replace").rstrip("\0").split("\0")
        start_ticks = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except OSError:  # in another container, or hidden from other users
        return f"a process of user {user}"
    command = printable(" ".join(shlex.join([Path(words[0]).name, *words[1:]]).split()))
    short = command if len(command) <= _LONGEST_COMMAND else f"{command[:_LONGEST_COMMAND]}..."
    start_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + start_ticks / os.sysconf("SC_CLK_TCK")
    return f"{process} ({short}, since {datetime.fromtimestamp(start_s):%Y-%m-%d %H:%M:%S})"
