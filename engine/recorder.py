"""Takes what the recorder of a guest's kernel writes, while the guest runs and where the guest cannot reach it.

The recorder (images/kernel/patches/0032-packet-recorder.patch) writes into a pipe, which no path in the guest leads to.
At its other end `recording` (engine/guest/recording.c) makes captures of what comes, in a folder beside the run's. So a
program that took over the guest's kernel could add packets, but change none that was recorded before.
"""

import contextlib
import fcntl
import gzip
import os
import struct
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.guest.captures import Written, files
from scenarios.errors import choices
from scenarios.plan.captures import recorded
from topologies.timeline import SECOND_NS

PROGRAM = "recording"  # of the guest's tools
BOTTLENECK = ("bottleneck-in", "bottleneck-out")
"""The taps, in each topology, whose packets are kept unless one says otherwise."""
PACKED = ".gz"
_DIRECTIONS = {"out": 1, "in": 2, "inout": 3}
_MOST_DEVICES = 4095
_PIPE_BYTES = 1 << 20  # as large as anyone's may be by default
_PATIENCE_S = 60.0
_PCAP = "pcap"
_FILE_HEAD, _RECORD = 24, struct.Struct("<IIII")  # of pcap, with ns


@dataclass(frozen=True)
class RecordedTap:
    """A capture that the host makes of the stream; `direction` as in tcpdump -Q."""

    name: str
    tap: str
    interface: str
    direction: str

    @property
    def packed(self) -> bool:
        """Whether its file is packed by gzip."""
        return self.name.endswith(PACKED)


def wanted(run: dict[str, Any], keep: Sequence[str]) -> list[RecordedTap]:
    """Return the captures of a run: at the taps that its scenario asks for, and at those to `keep` beside them.

    What the guest's kernel records is packed, unless the scenario keeps it. Elsewhere captures would change the run,
    and there are none beside the scenario's.

    Raises:
        EngineError: there is no such tap.
    """
    taps = run["network"]["taps"]
    if unknown := [tap for tap in keep if tap not in taps]:
        raise EngineError(f"found the tap {unknown[0]!r}; allowed: {choices(list(taps), unknown[0])}")
    more = keep if recorded(run) else ()
    return [
        RecordedTap(
            name + PACKED * (recorded(run) and not (run["keep_captures"] and tap in run["captures"])),
            tap,
            place["interface"],
            place["direction"],
        )
        for tap, place, name in files(run, dict.fromkeys([*run["captures"], *more]))
    ]


class Recording:
    """The recording of a run in the `folder` of its own, which must not exist; it may take `limit_bytes` there."""

    def __init__(self, captures: list[RecordedTap], from_ns: int, folder: Path, limit_bytes: int) -> None:
        """`from_ns`: the instant (CLOCK_REALTIME in the guest) before which nothing is recorded."""
        self.captured: dict[str, dict[str, int]] = {}  # what is in each capture, by its name
        self._captures, self._from_ns, self._folder, self._limit_bytes = captures, from_ns, folder, limit_bytes
        self._last_ns, self._broke_off = 0, ""

    @contextlib.contextmanager
    def started(self, tools: Path, cpu: int) -> Iterator[tuple[list[str], list[int]]]:
        """Yield what the guest's kernel is told, and the descriptors that it inherits; it must have ended then.

        Raises:
            EngineError: more interfaces are captured than the recorder can tell apart.
        """
        devices = list(dict.fromkeys(capture.interface for capture in self._captures))
        if len(devices) > _MOST_DEVICES:
            raise EngineError(f"found captures at {len(devices)} interfaces; allowed: at most {_MOST_DEVICES}")
        if not devices:
            yield [], []
            return
        self._folder.mkdir(mode=0o700)
        with contextlib.ExitStack() as opened:
            stream, into_stream = os.pipe()
            opened.callback(os.close, into_stream)
            with contextlib.suppress(OSError):  # this user has many pipes
                fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            process = self._follow(stream, tools / PROGRAM, devices, cpu)
            opened.callback(process.kill)
            directions = dict.fromkeys(devices, 0)
            for capture in self._captures:
                directions[capture.interface] |= _DIRECTIONS[capture.direction]
            places = [f"{device}:{ways}" for device, ways in directions.items()]
            try:
                yield [f"record={','.join([str(into_stream), str(self._from_ns), *places])}"], [into_stream]
            finally:
                opened.pop_all()
                os.close(into_stream)
                self._note(process)

    def _follow(self, stream: int, program: Path, devices: list[str], cpu: int) -> subprocess.Popen[str]:
        """Start the program that makes the captures of the stream."""
        words, descriptors = [], []
        with contextlib.ExitStack() as opened:
            opened.callback(os.close, stream)
            for capture in self._captures:
                file = opened.enter_context((self._folder / capture.name).open("xb"))
                place = f"{devices.index(capture.interface) + 1}:{_DIRECTIONS[capture.direction]}"
                words.append(f"{file.fileno()}:{place}:{'gz' if capture.packed else 'pcap'}")
                descriptors.append(file.fileno())
            return subprocess.Popen(
                ["taskset", "-c", str(cpu), program, str(self._limit_bytes), *words],
                stdin=stream,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                pass_fds=descriptors,
            )

    def _note(self, process: subprocess.Popen[str]) -> None:
        """Wait until all of the stream has been read, and note what the program reports."""
        try:
            said, _ = process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise EngineError(f"the recorder's stream did not end within {_PATIENCE_S:g} s of its guest") from None
        if process.returncode:
            raise EngineError(f"the captures could not be made: {said.strip()}")
        *counts, last = said.splitlines()
        for capture, count in zip(self._captures, counts, strict=True):
            self.captured[capture.name] = asdict(Written(*map(int, count.split())))
        last_ns, _, self._broke_off = last.partition(" ")
        self._last_ns = int(last_ns)

    def move(self, run: Path) -> None:
        """Move the captures into the folder of a run that has ended, into which its guest could write."""
        if not self._folder.exists():
            return
        with contextlib.suppress(FileExistsError):
            (run / _PCAP).mkdir()
        into = os.open(run / _PCAP, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for capture in self._captures:
                os.rename(self._folder / capture.name, capture.name, dst_dir_fd=into)
        finally:
            os.close(into)
        self._folder.rmdir()

    def until(self, instant_ns: int, run: Path) -> dict[str, dict[str, int]]:
        """Return `captured` without the packets after an instant, at which the guest read its counters.

        Raises:
            EngineError: the captures are not whole.
        """
        if self._broke_off:
            raise EngineError(f"audit: the captures break off: {self._broke_off}")
        if self._last_ns <= instant_ns:  # almost always: all is quiet then
            return self.captured
        late = {name: records_after(run / _PCAP / name, instant_ns) for name in self.captured}
        return {
            name: {what: count - late[name][what] for what, count in held.items()}
            for name, held in self.captured.items()
        }


def check(
    captures: Collection[RecordedTap], captured: dict[str, dict[str, int]], interfaces: dict[str, dict[str, int]]
) -> None:
    """Check that each capture holds exactly the packets that its interface counted, and as many bytes on the wire.

    Raises:
        EngineError: one does not.
    """
    counters = {"in": ("received",), "out": ("sent",), "inout": ("received", "sent")}
    for capture in captures:
        held, counts = captured.get(capture.name, {}), interfaces.get(capture.interface, {})
        for what, of_held, unit in (("packets", "pkts", "pkts"), ("bytes", "wire_bytes", "bytes")):
            expected = sum(counts.get(f"{way}_{unit}", 0) for way in counters[capture.direction])
            if held.get(of_held, 0) != expected:
                raise EngineError(
                    f"audit: the capture at {capture.tap} ({capture.interface}) has {held.get(of_held, 0)} {what}, "
                    f"the interface counted {expected}"
                )


def records_after(file: Path, instant_ns: int) -> dict[str, int]:
    """Count what a capture, packed or not, has of packets after an instant."""
    pkts, wire_bytes = 0, 0
    with gzip.open(file) if file.name.endswith(PACKED) else file.open("rb") as content:
        content.read(_FILE_HEAD)
        while head := content.read(_RECORD.size):
            seconds, nanoseconds, held_bytes, length_bytes = _RECORD.unpack(head)
            if seconds * SECOND_NS + nanoseconds > instant_ns:
                pkts, wire_bytes = pkts + 1, wire_bytes + length_bytes
            content.read(held_bytes)
    return asdict(Written(pkts, wire_bytes))
