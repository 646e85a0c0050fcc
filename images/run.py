# SPDX-License-Identifier: MIT
"""Run a build command with its output in a log file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from images import bounded
from images.errors import ImageError

Say = Callable[[str], None]
"""Tells the waiting user what is happening."""
Tell = Callable[[str, str, float], None]
"""Gets, now and then, what a command has printed, which of its programs works, and for how many seconds it has run."""

TELL_S = 15
TAIL_LINES = 15
TAIL_WIDTH = 200
MOST_ERROR_LINES = 400

_GO_STOPPED = ": too many errors"
_ERROR = re.compile(
    r"error(\[\w+\])?: |[^\s:]+:\d+(:\d+)?: (fatal )?error: |[^\s:]+\.go:\d+:\d+: |.*: undefined reference to |"
    "It was ended: "
)
"""How Rust's, C's and Go's compilers, the linker and images/bounded.py begin an error."""
_EXPLAINS = re.compile(r"\s|\d+ +\||\.\.\.")
"""How lines begin that belong to the error before them."""

_running: set[subprocess.Popen[bytes]] = set()
_starting = threading.Lock()
_ending = threading.Event()


def logged(
    command: Sequence[str],
    log: Path,
    what: str,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    text: str | None = None,
    tell: Tell | None = None,
    limit_s: float | None = None,
) -> None:
    """Run `command`, appending its output to `log`.

    `what` names the step in the error, `environment` is added to this process's own, `text` goes to standard input.
    After `limit_s` the command is ended.

    Raises ImageError with the errors that compilers gave, or else the last lines of the output, if the command cannot
    be started or fails; KeyboardInterrupt if it was ended because the user interrupts or another step has failed.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab+") as stream, ExitStack() as ends:
        start = stream.seek(0, os.SEEK_END)
        with _interruption_held(), _starting:
            if _ending.is_set():
                raise KeyboardInterrupt
            try:
                process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env={**os.environ, "LC_ALL": "C", **(environment or {})},
                    stdin=subprocess.PIPE,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    process_group=0,
                )
            except FileNotFoundError as error:
                hint = "is not installed (`testbed doctor` tells how to get it)"
                raise ImageError(f"{what}: {command[0]} {hint}") from error
            except PermissionError as error:
                raise ImageError(f"{what}: the file `{Path(command[0]).name}` is not executable (chmod +x)") from error
            ends.enter_context(_ended_with_us(process))
        if not _wait(process, text, tell, lambda: _since(log, start), limit_s):
            raise ImageError(f"{what}: {_still_ran(command, limit_s)}; the whole log is {log}")
        if _ending.is_set():
            raise KeyboardInterrupt
        if process.returncode == 0:
            return
    lines = "".join(f"\n    {line[:TAIL_WIDTH]}" for line in _telling(_since(log, start).splitlines()))
    raise ImageError(f"{what} failed (exit status {process.returncode}); the whole log is {log}{lines}")


def asked(
    command: Sequence[str], *, environment: Mapping[str, str], limit_s: float, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Return what a command answers; one that still runs after `limit_s` is ended, with all that it has started.

    Raises ImageError then, and FileNotFoundError if there is no such program.
    """
    with (
        subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        ) as process,
        _ended_with_us(process),
    ):
        try:
            out, said = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise ImageError(_still_ran(command, limit_s)) from None
    return subprocess.CompletedProcess(command, process.returncode, out, said)


def _still_ran(command: Sequence[str], limit_s: float | None) -> str:
    return f"after {limit_s:g} s `{' '.join(command[:2])}` still ran, so it was ended"


@contextmanager
def ending() -> Iterator[None]:
    """End the commands of all threads; until the block ends, none starts another."""
    with _starting:
        _ending.set()
        for process in _running:
            _kill(process)
    try:
        yield
    finally:
        _ending.clear()


def _wait(
    process: subprocess.Popen[bytes],
    text: str | None,
    tell: Tell | None,
    said: Callable[[], str],
    limit_s: float | None,
) -> bool:
    """Wait until a command ends; end it after `limit_s`, and return False then."""
    started_s = time.monotonic()
    while True:
        left_s = None if limit_s is None else max(0, limit_s - (time.monotonic() - started_s))
        waits_s = [each for each in (TELL_S if tell else None, left_s) if each is not None]
        with suppress(subprocess.TimeoutExpired):
            process.communicate((text or "").encode(), timeout=min(waits_s, default=None))
            return True
        took_s = time.monotonic() - started_s
        if limit_s is not None and took_s >= limit_s:
            _kill(process)
            process.wait()
            return False
        if tell:
            tell(said(), bounded.busiest(process.pid), took_s)


def _since(log: Path, start: int) -> str:
    with log.open("rb") as stream:
        stream.seek(start)
        return stream.read().decode(errors="replace")


def _telling(lines: Sequence[str]) -> list[str]:
    """Return all errors of compilers, each with the lines that explain it, or else the last lines."""
    errors, inside = [], False
    for line in lines:
        inside = bool(_ERROR.match(line) or (inside and _EXPLAINS.match(line)))
        if inside:
            errors.append(line)
    if errors and errors[-1].endswith(_GO_STOPPED):
        errors.append("(Go stops at ten; in the client's folder, `go build -gcflags=-e` tells all)")
    return errors[:MOST_ERROR_LINES] or list(lines[-TAIL_LINES:])


@contextmanager
def _interruption_held() -> Iterator[None]:
    """Delay Ctrl-C until the block ends: within Popen, a process has started that nobody could end yet."""
    if threading.current_thread() is not threading.main_thread():  # only that gets it
        yield
        return
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        raise KeyboardInterrupt


@contextmanager
def _ended_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the whole process group if this process is interrupted: `make` alone would leave its compilers running."""
    _running.add(process)
    try:
        yield
    except BaseException:
        _kill(process)
        process.wait()
        raise
    finally:
        with _starting:
            _running.discard(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
