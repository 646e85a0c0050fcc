"""Tells whether a guest makes progress, in wall time: virtual time means nothing to a program that never sleeps.

Virtual time advances when every program waits: it jumps to the next event. A program that computes without end stops
it. One that keeps making calls that never block makes it creep, by the price of a system call at a time, and the guest
never idles. A link of 10 Gbit/s is slow in wall time as well, but such a guest idles between packets. So time that
passes slower than `CREEP` for a minute is suspicious, and whether the guest ever idles decides.

A guest that has to share its CPU with others may seem to do so. It is judged once it has had enough CPU time.

While it builds a network of many hosts, a guest hardly idles, as it starts program after program. Before the zero of a
scenario, and in a script, each new program counts as progress; for so much CPU time, since a loop in a shell starts
programs as well.

All of this is read from the guest's memory: its kernel's clock, when it last idled, how many processes it has had.
"""

import os
import re
import signal
import struct
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from engine.usage import cpu_s, processes, read, state

STANDSTILL_S = 60.0
"""Wall seconds over which virtual time must pass; those of a stopped guest (SIGSTOP) do not count."""

CREEP = 1.0
"""Virtual seconds per wall second: slower than real time. With a program that polls, 0.02 to 0.6 of them pass."""

STARTING_CPU_S = 600.0
"""CPU time for which new programs count as progress while virtual time does not pass."""

_LEAST_CPU = 0.5  # of STANDSTILL_S: a guest that never idles takes a whole CPU, unless it has to share it
_LONGEST_LOOK_S = 1.0  # looks further apart do not count: this process, or the machine, was stopped
_ASK_EACH = 1 / 80  # of STANDSTILL_S, in its second half: 40 answers
_FEWEST_TIMES = 3  # if there were fewer, this process hardly ran
_LONGEST_SIGN = 32
_TAIL_BYTES = 64 << 10
_CLOCK = b"time_travel_time"  # arch/um/kernel/time.c
_IDLE = b"kernel_cpustat"  # include/linux/kernel_stat.h
_FORKS = b"total_forks"  # kernel/fork.c
_IDLE_PROCESS = "swapper"
_KERNEL_THREADS = ("ksoftirqd/", "kswapd", "kworker/", "rcu_")  # those that work for programs
_KERNEL = "linux"  # the name of its process on the host
_SYMTAB = 2  # elf(5)
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class Instant:
    """A guest's virtual time and the last time it began to idle, ns since boot; None: it cannot be read.

    `forks` is the number of processes that it has had so far.
    """

    now_ns: int | None = None
    idle_ns: int | None = None
    forks: int | None = None


@dataclass(frozen=True)
class Stage:
    """What a guest does until the virtual instant `until_ns`, ns since boot; `when` is the end of a sentence."""

    until_ns: int
    when: str


class Progress:
    """The progress of a guest: process `top` and those below it, with this run folder and console.

    `kernel` is User-Mode Linux as built; if it is None, only the guest's signs of life count. `before` are the stages
    in which new programs count as progress.
    """

    def __init__(
        self, top: int, folder: Path, console: BinaryIO, kernel: Path | None, before: Sequence[Stage] = ()
    ) -> None:
        self._top, self._folder, self._console, self._before = top, folder, console, before
        self._clock_at, self._idle_at, self._forks_at = find_addresses(kernel) if kernel else (None, None, None)
        self._asks = kernel is not None
        self._kernel: int | None = None
        self._looked_s = time.monotonic()
        self._moved_ns, self._moved_cpu_s = 0, 0.0
        self._begin(None, Instant())

    def _begin(self, sign_ns: int | None, at: Instant) -> None:
        self._sign_ns, self._began = sign_ns, at
        self._watched_s = 0.0
        self._cpu_s = cpu_s(self._top)
        self._computes = False
        self._asked_s = 0.0
        self._asked_first: Instant | None = None
        self._times_asked = 0
        self._answers_from = os.fstat(self._console.fileno()).st_size

    def standstill(self) -> str | None:
        """Return a sentence if the guest makes no progress; to be called often."""
        now_s = time.monotonic()
        kernel = self._kernel_process()
        if kernel is None or state(kernel) not in ("T", "t"):
            self._watched_s += min(now_s - self._looked_s, _LONGEST_LOOK_S)
        self._looked_s = now_s
        sign_ns, at = sign_of_life(self._folder), self._instant(kernel)
        passed_s = self._passed_s(sign_ns, at.now_ns)
        if passed_s is None or passed_s >= CREEP * STANDSTILL_S or self._starts_programs(at):
            self._begin(sign_ns, at)
            return None
        half = self._watched_s > STANDSTILL_S / 2
        if self._asks and half and self._watched_s - self._asked_s >= _ASK_EACH * STANDSTILL_S:
            if kernel:
                os.kill(kernel, signal.SIGUSR2)  # it prints who runs
            self._asked_first = self._asked_first or at
            self._times_asked += 1
            self._asked_s = self._watched_s
        if self._watched_s <= STANDSTILL_S or (self._asks and self._times_asked < _FEWEST_TIMES):
            return None
        wrong = self._judged(passed_s, at, sign_ns)
        if wrong and self._computes and cpu_s(self._top) - self._cpu_s < _LEAST_CPU * STANDSTILL_S:
            return None  # others have the CPU: it may get on, and is watched until it has had enough of it
        self._begin(sign_ns, at)
        return wrong

    def _starts_programs(self, at: Instant) -> bool:
        if at.now_ns is None or self._stage(at) is None or at.forks == self._began.forks:
            return False
        used_cpu_s = cpu_s(self._top)
        if (at.now_ns - self._moved_ns) / 1e9 >= CREEP * STANDSTILL_S:
            self._moved_ns, self._moved_cpu_s = at.now_ns, used_cpu_s
        return used_cpu_s - self._moved_cpu_s < STARTING_CPU_S

    def _passed_s(self, sign_ns: int | None, now_ns: int | None) -> float | None:
        """Return the virtual seconds since this minute of watching began; None: unknown, but something moved."""
        if now_ns is not None:
            return None if self._began.now_ns is None else (now_ns - self._began.now_ns) / 1e9
        return 0.0 if sign_ns == self._sign_ns else None

    def _stage(self, at: Instant) -> Stage | None:
        """Return its stage in which new programs count; None: these have passed, or it is unknown."""
        now_ns = at.now_ns
        return None if now_ns is None else next((stage for stage in self._before if now_ns < stage.until_ns), None)

    def _judged(self, passed_s: float, at: Instant, sign_ns: int | None) -> str | None:
        stage = self._stage(at)
        when = f"at {sign_ns / 1e9:.1f} s of the scenario" if sign_ns else "before the scenario started"
        when = stage.when if stage else when
        none = f"no progress for {STANDSTILL_S:.0f} s {when}"
        if not self._asks:
            return none
        answers, first = self._answers(), self._asked_first
        if first is None or at.idle_ns != first.idle_ns:
            return None
        if not answers:
            return f"{none}: its kernel does not answer"
        busy = Counter(name for name in answers if not name.startswith(_IDLE_PROCESS))
        stands_still = at.now_ns == first.now_ns
        if stands_still and not busy:
            return f"{none}: all its programs wait for something that never comes"
        if busy.total() < len(answers):
            return None
        self._computes = True
        name = culprit(busy)
        if stands_still:
            return f"{none}: {name} computes without ever sleeping, so virtual time stands still"
        return (
            f"hardly any progress for {STANDSTILL_S:.0f} s {when}: {name} keeps calling what never blocks, so virtual "
            f"time creeps: {passed_s:.1f} s have passed"
        )

    def _answers(self) -> list[str]:
        """Return the names of the processes that ran when the guest's kernel was asked."""
        end = os.fstat(self._console.fileno()).st_size
        said = os.pread(self._console.fileno(), _TAIL_BYTES, max(self._answers_from, end - _TAIL_BYTES))
        names = re.findall(rb"^running: (.{1,80})", said, re.MULTILINE)
        return [name.decode(errors="replace").strip() for name in names]

    def _kernel_process(self) -> int | None:
        if self._kernel is None or _name(self._kernel) != _KERNEL:
            self._kernel = next((process for process in processes(self._top) if _name(process) == _KERNEL), None)
        return self._kernel

    def _instant(self, kernel: int | None) -> Instant:
        if kernel is None or self._clock_at is None:
            return Instant()
        try:
            memory = os.open(f"/proc/{kernel}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return Instant()
        try:
            (now_ns,) = struct.unpack("<Q", os.pread(memory, 8, self._clock_at))
            if self._idle_at is None or self._forks_at is None:
                return Instant(now_ns)
            (forks,) = struct.unpack("<Q", os.pread(memory, 8, self._forks_at))
            # before the counters: two flags, the number of changes, the time; older kernels have the counters only
            flags, changes, idle_ns = struct.unpack("<IIQ", os.pread(memory, 16, self._idle_at))
            return Instant(now_ns, idle_ns if flags <= 0x0101 and changes and 0 < idle_ns <= now_ns else None, forks)
        except (OSError, struct.error):
            return Instant()
        finally:
            os.close(memory)


def culprit(busy: Counter[str]) -> str:
    """Return who ran most often: a program if one ran at all, since the kernel's threads work on what programs do."""
    programs = Counter({name: times for name, times in busy.items() if not name.startswith(_KERNEL_THREADS)})
    return (programs or busy).most_common(1)[0][0]


def sign_of_life(folder: Path) -> int | None:
    """Return the virtual instant that the guest has reached, ns. Its file may be anything, even a pipe."""
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


def find_addresses(kernel: Path) -> tuple[int | None, ...]:
    """Return where a kernel keeps its clock, the time of its last change to idle, and its count of processes."""
    return tuple(address_of(kernel, symbol) for symbol in (_CLOCK, _IDLE, _FORKS))


@cache
def address_of(program: Path, symbol: bytes) -> int | None:
    """Return the address of a variable in a program linked to fixed addresses (ELF, 64 bit); None: there is none."""
    data = program.read_bytes()
    sections_at, (entry_bytes, count) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQII", data, sections_at + entry_bytes * index) for index in range(count)]
    for _, kind, _, _, start, length, names, _ in sections:
        if kind != _SYMTAB:
            continue
        names_at, names_bytes = sections[names][4:6]
        for name in _places(symbol + b"\0", data, names_at, names_at + names_bytes):  # it may end another name
            for at in _places(struct.pack("<I", name - names_at), data, start, start + length):
                if (at - start) % _SYMBOL.size == 0:
                    return int(_SYMBOL.unpack_from(data, at)[4])
    return None


def _places(what: bytes, data: bytes, start: int, end: int) -> Iterator[int]:
    """Yield where bytes are found in a part of `data`."""
    at = data.find(what, start, end)
    while at >= 0:
        yield at
        at = data.find(what, at + 1, end)


def _name(process: int) -> str:
    return read(f"/proc/{process}/comm").decode(errors="replace").strip()
