"""Runs a guest from its first process to the end of its last one; ends it if it takes too much or hangs."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine import cgroup
from engine.errors import EngineError
from engine.progress import Progress, Stage
from engine.sandbox import Limits
from engine.usage import Usage, cpu_s, processes

_LOOK_S = 0.25  # a guest can overshoot its limits between two looks; each look costs milliseconds
_WORTH_A_LOOK = 0.5  # of this time the guest computed: others may have had its CPU
_LONGEST_S = 1.0  # without a look
_ANSWER_S = 2.0


def run(
    command: list[str],
    folder: Path,
    limits: Limits,
    descriptors: Sequence[int] = (),
    kernel: Path | None = None,
    before: Sequence[Stage] = (),
) -> int:
    """Run a guest to its end with its console in logs/console.log; return the exit status. It inherits `descriptors`.

    `kernel` and `before`: see `engine.progress.Progress`.

    Raises:
        EngineError: it made no progress (the sentence names the guest's running process), or took more than `limits`
            allow.
    """
    with (folder / "logs" / "console.log").open("w+b") as console:
        started = {"stdin": subprocess.DEVNULL, "stdout": console, "stderr": subprocess.STDOUT}
        with _started(command, folder, limits, start_new_session=True, pass_fds=descriptors, **started) as watched:
            progress = Progress(watched.process.pid, folder, console, kernel, before)
            return watched.wait(progress.standstill)


def run_at_terminal(command: list[str], folder: Path, limits: Limits) -> int:
    """Run a guest in real time at this terminal, with the same limits; it may idle as long as its user does."""
    with _own_terminal(), _started(command, folder, limits) as watched:
        return watched.wait(lambda: None)


class _Watched:
    """A running guest."""

    def __init__(self, process: subprocess.Popen[bytes], usage: Usage, group: cgroup.GuestGroup) -> None:
        self.process, self._usage, self._group = process, usage, group
        self._looked_s, self._worked_s = time.monotonic(), 0.0

    def wait(self, standstill: Callable[[], str | None]) -> int:
        ended = False
        while not ended:
            ended = self._has_ended()
            too_much = self._group.too_much(self.process.pid) or (None if ended else self._usage.too_much())
            if too_much:
                raise EngineError(f"the testbed ended the guest: {too_much}")
            wrong = None if ended else standstill()
            if wrong:
                raise EngineError(f"the guest made {wrong}")
        return self.process.wait()

    def _has_ended(self) -> bool:
        """Wait for the end, or for the next look.

        `Popen.wait` with a timeout polls every 50 ms; a descriptor reports the end at once.
        """
        descriptor = os.pidfd_open(self.process.pid)
        try:
            while not select.select([descriptor], [], [], _LOOK_S)[0]:
                now_s, worked_s = time.monotonic(), cpu_s(self.process.pid)
                if worked_s - self._worked_s >= _WORTH_A_LOOK * _LOOK_S or now_s - self._looked_s >= _LONGEST_S:
                    self._looked_s, self._worked_s = now_s, worked_s
                    return False
            return True
        finally:
            os.close(descriptor)

    def kill(self) -> None:
        """End everything inside and wait for it, so that nothing writes once the run folder is inspected.

        With the sandbox's first process all others end (pid namespace), and bwrap, its parent, ends after them.
        """
        if self.process.poll() is not None:
            return
        for first in processes(self.process.pid)[1:2]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)
        try:
            self.process.wait(timeout=_ANSWER_S)
        except subprocess.TimeoutExpired:
            for process in reversed(processes(self.process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self.process.wait()


@contextlib.contextmanager
def _started(command: list[str], folder: Path, limits: Limits, **how: Any) -> Iterator[_Watched]:
    with cgroup.entered(limits) as group:
        process = subprocess.Popen([*group.prefix, *command], **how)
        watched = _Watched(process, Usage(process.pid, folder, limits, group.bounds), group)
        try:
            yield watched
        finally:
            watched.kill()


@contextlib.contextmanager
def _own_terminal() -> Iterator[None]:
    """Restore this terminal, which a guest sets up for itself and leaves so when it is ended."""
    before = termios.tcgetattr(sys.stdin) if os.isatty(0) else None
    try:
        yield
    finally:
        if before:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
