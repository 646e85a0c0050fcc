# SPDX-License-Identifier: MIT
"""Run a build command with its output in a log file."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from images.errors import ImageError

Say = Callable[[str], None]
"""Tells the waiting user what is happening."""

TAIL_LINES = 15
TAIL_WIDTH = 200


def logged(
    command: Sequence[str],
    log: Path,
    what: str,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    text: str | None = None,
) -> None:
    """Run `command`, appending its output to `log`.

    `what` names the step in the error, `environment` is added to this process's own, `text` goes to standard input.
    Raises ImageError with the last lines of the output if the command cannot be started or fails.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab+") as stream, ExitStack() as ends:
        start = stream.seek(0, os.SEEK_END)
        with _interruption_held():
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
        process.communicate((text or "").encode())
        if process.returncode == 0:
            return
        stream.seek(start)
        tail = stream.read().decode(errors="replace").splitlines()[-TAIL_LINES:]
    lines = "".join(f"\n    {line[:TAIL_WIDTH]}" for line in tail)
    raise ImageError(f"{what} failed (exit status {process.returncode}); the whole log is {log}{lines}")


@contextmanager
def _interruption_held() -> Iterator[None]:
    """Delay Ctrl-C until the block ends: within Popen, a process has started that nobody could end yet."""
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
    try:
        yield
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
