"""Captures packets: one tcpdump per interface of each tap that the scenario asks for."""

import os
import re
import signal
import subprocess
from dataclasses import dataclass
from typing import Any

_RECORDS = "/opt/tools/records"
_SNAP_BYTES = "96"  # Ethernet, IP and TCP with all options
# tcpdump writes through stdio. With a buffer of one page, captures would make half of all system calls of a run.
_TCPDUMP = ("stdbuf", "-o1M", "tcpdump", "-w", "-", "-s", _SNAP_BYTES, "-B")
_OPTIONS = ("--time-stamp-precision=nano", "-p", "-n", "-Z", "root")


class CaptureError(Exception):
    """A capture did not start, failed or lost packets."""


@dataclass(frozen=True)
class Capture:
    """A running capture; `direction` as in tcpdump -Q."""

    tap: str
    node: str
    interface: str
    direction: str
    process: int
    file: str
    log: str


def start(net: Any, taps: dict[str, list[dict[str, str]]], buffer_kib: int, results: str) -> list[Capture]:
    """Start captures at taps, into ``pcap/<tap>.pcap``, or ``pcap/<tap>.<interface>.pcap`` if a tap has several."""
    captures = []
    for tap, places in taps.items():
        for place in places:
            node, interface, direction = place["node"], place["interface"], place["direction"]
            name = tap if len(places) == 1 else f"{tap}.{interface}"
            path, log = f"{results}/pcap/{name}.pcap", f"{results}/logs/tcpdump.{name}"
            command = [*_TCPDUMP, str(buffer_kib), "-i", interface, "-Q", direction, *_OPTIONS]
            with open(path, "wb") as packets, open(log, "w") as words:
                process = net[node].spawn(command, packets.fileno(), words.fileno())
            captures.append(Capture(tap, node, interface, direction, process, path, log))
    return captures


def stop(captures: list[Capture]) -> dict[str, int]:
    """End the captures; returns the number of packets in their files, by interface.

    Raises:
        CaptureError: tcpdump failed, the kernel dropped packets before it could write them, or a file is not a capture.
    """
    for capture in captures:
        os.kill(capture.process, signal.SIGINT)
    for capture in captures:
        _, status = os.waitpid(capture.process, 0)
        with open(capture.log, errors="replace") as file:
            words = file.read()
        dropped = re.search(r"(\d+) packets? dropped by kernel", words)
        if status or not dropped or int(dropped[1]):
            raise CaptureError(
                f"capture at {capture.tap} ({capture.interface}): tcpdump ended with "
                f"{os.waitstatus_to_exitcode(status)}: {words.strip()}"
            )
    return dict(zip((capture.interface for capture in captures), _records(captures), strict=True))


def _records(captures: list[Capture]) -> list[int]:
    """Count the packets in each file: what tcpdump reports need not have reached the disk."""
    words = [_RECORDS, *(capture.file for capture in captures)]
    counted = subprocess.run(words, capture_output=True, text=True, check=False)
    if counted.returncode:
        raise CaptureError(f"capture: {counted.stderr.strip()}")
    return [int(line) for line in counted.stdout.split()]
