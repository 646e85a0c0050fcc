"""Captures of an interface while they grow, taken by dumpcap."""

import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError
from analysis.observer.standalone.report import observe

SNAP_BYTES: Final = 160  # headers, with IPv6's and uTP's longest selective acknowledgements
EVERY_S: Final = 5.0  # the page is written anew


def follow(interface: str, into: Path, seconds: float | None) -> Path:
    """Capture until `seconds` are over or Ctrl-C, and describe what there is every few seconds; returns the page.

    Raises BadInputError when dumpcap is not there, may not capture, or captures nothing of TCP and UDP.
    """
    if not shutil.which("dumpcap"):
        raise BadInputError("-i: needs dumpcap, which comes with Wireshark (Debian: wireshark-common)")
    into.mkdir(parents=True, exist_ok=True)
    capture = into / "capture.pcapng"
    capture.unlink(missing_ok=True)
    command = ["dumpcap", "-q", "-i", interface, "-s", str(SNAP_BYTES), "-w", str(capture)]
    if seconds is not None:
        command += ["-a", f"duration:{seconds:f}"]
    # in a session of its own: Ctrl-C is for this program, which ends dumpcap and describes what it left
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as dumpcap:
        try:
            while dumpcap.poll() is None:
                _wait(dumpcap)
                _while_it_grows(capture, into)
        except KeyboardInterrupt:
            pass
        finally:
            dumpcap.terminate()
            _, errors = dumpcap.communicate()
    if not capture.exists():
        raise BadInputError(f"-i {interface}: dumpcap: {errors.strip()}")
    return observe([capture], into)


def _wait(dumpcap: subprocess.Popen[str]) -> None:
    until = time.monotonic() + EVERY_S
    while dumpcap.poll() is None and time.monotonic() < until:
        time.sleep(0.2)


def _while_it_grows(capture: Path, into: Path) -> None:
    with suppress(BadInputError, FileNotFoundError):  # nothing yet
        observe([capture], into, refresh_s=int(EVERY_S))
