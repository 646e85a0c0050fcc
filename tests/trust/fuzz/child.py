"""Reads one input in a process of its own, with bounds on memory, time and files, and judges how that ended."""

import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEMORY_BYTES: Final = 1 << 30  # that it may write to; address space is no measure, as V8 reserves much of it
CPU_S: Final = 30
FILE_BYTES: Final = 64 << 20
ALL_BYTES: Final = 100 << 20
LONGEST_TEXT: Final = 20_000
CRASHED: Final = 70  # exit status of an exception that nobody caught


@dataclass(frozen=True)
class Ended:
    """How a reader ended: its exit status (negative: the signal), what it said, and what it took."""

    status: int
    said: str
    written_bytes: int
    cpu_s: float

    def fault(self) -> str | None:
        """Say what is wrong; None when the input was read, or refused with a sentence."""
        if self.status == -signal.SIGXCPU:
            return f"it took more than {CPU_S} s"
        if self.status < 0:
            return f"it was ended by {signal.Signals(-self.status).name}"
        if "Traceback" in self.said or self.status not in (0, 2):
            return f"exit status {self.status}, {self.said.strip().splitlines()[-1:]}"
        if self.status == 2 and not self.said.strip():
            return "refused without a word"
        if len(self.said) > LONGEST_TEXT:
            return f"{len(self.said)} characters were said"
        if self.written_bytes > ALL_BYTES:
            return f"{self.written_bytes} bytes were written"
        return None


def ended(read: Callable[[Path], int], path: Path, work: Path) -> Ended:
    """Read an input; the process works in `work`, and what it says is kept there."""
    said = work / "said.txt"
    sys.stdout.flush()
    if not (child := os.fork()):
        _be_the_child(read, path, work, said)
    _, status, usage = os.wait4(child, 0)
    written = sum(file.lstat().st_size for file in work.rglob("*"))
    text = said.read_text(errors="replace") if said.exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), text, written, usage.ru_utime + usage.ru_stime)


def _be_the_child(read: Callable[[Path], int], path: Path, work: Path, said: Path) -> None:
    status = CRASHED
    try:
        descriptor = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.chdir(work)
        tempfile.tempdir = str(work)
        for bound, value in (
            (resource.RLIMIT_DATA, MEMORY_BYTES),
            (resource.RLIMIT_CPU, CPU_S),
            (resource.RLIMIT_FSIZE, FILE_BYTES),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(bound, (value, value))
        status = read(path)
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
