"""Watches a guest from outside: virtual time has no meaning for a program that never sleeps, wall time has."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from engine.errors import EngineError

STANDSTILL_S = 60.0
"""Wall seconds without a sign of life after which a guest counts as hung. A sign comes each hundredth of a scenario,
which takes the slowest kind of endpoint some seconds."""

_ANSWER_S = 2.0


def run(command: list[str], folder: Path) -> int:
    """Run a guest to its end with its console in logs/console.log; returns the exit status.

    Raises:
        EngineError: no progress for `STANDSTILL_S`; the sentence names the guest's running process.
    """
    console = folder / "logs" / "console.log"
    with console.open("wb") as output:
        guest = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        return _wait(guest, folder, console)
    finally:
        _kill(guest)


def _wait(guest: subprocess.Popen[bytes], folder: Path, console: Path) -> int:
    last_sign, since = None, time.monotonic()
    while True:
        try:
            return guest.wait(timeout=1)
        except subprocess.TimeoutExpired:
            sign = _sign_of_life(folder)
            if sign != last_sign:
                last_sign, since = sign, time.monotonic()
            elif time.monotonic() - since > STANDSTILL_S:
                at = f"at {int(sign) / 1e9:.1f} s of the scenario" if sign else "before the scenario started"
                who = _running_process(guest.pid, console)
                raise EngineError(f"the guest made no progress for {STANDSTILL_S:.0f} s {at}: {who}") from None


def _sign_of_life(folder: Path) -> str | None:
    try:
        return (folder / "heartbeat").read_text() or None
    except FileNotFoundError:
        return None


def _running_process(top: int, console: Path) -> str:
    """Ask the guest kernel which process runs (SIGUSR2 makes it print the name) and say what that means."""
    for process in _descendants(top):
        if _name(process) == "linux":
            os.kill(process, signal.SIGUSR2)
            break
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline:
        found = re.findall(rb"running: (.*)", console.read_bytes())
        if found:
            name = found[-1].decode(errors="replace").strip()
            if name.startswith("swapper"):
                return "all its programs wait for something that never comes"
            return f"{name} computes without ever sleeping, so virtual time stands still"
        time.sleep(0.05)
    return "its kernel does not answer"


def _descendants(top: int) -> list[int]:
    found = [top]
    for process in found:
        try:
            found += [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
        except FileNotFoundError:
            continue
    return found


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except FileNotFoundError:
        return ""


def _kill(guest: subprocess.Popen[bytes]) -> None:
    """The sandbox's first process takes everything inside it along (own pid namespace)."""
    if guest.poll() is None:
        os.killpg(guest.pid, signal.SIGKILL)
        guest.wait()
