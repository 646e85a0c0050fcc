"""Captures packets where the guest's kernel has no recorder: one tcpdump per interface of each tap."""

import os
import re
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_RECORDS = "/opt/tools/records"
SNAP_BYTES = 116  # Ethernet, IPv6 and TCP with all options
# tcpdump writes through stdio. With a buffer of one page, captures would make half of all system calls of a run.
_TCPDUMP = ("stdbuf", "-o1M", "tcpdump", "-w", "-", "-s", str(SNAP_BYTES), "-B")
# tcpdump may read a packet a second late, and loses what it has not read when it ends
HELD_NS = 1_100_000_000
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


def files(run: dict[str, Any], taps: Iterable[str]) -> list[tuple[str, dict[str, str], str]]:
    """Return each place of these taps: tap, place and the name of its file.

    That is ``<tap>.pcap``, or ``<tap>.<interface>.pcap`` if a tap has several places.
    """
    places_of = {tap: run["network"]["taps"][tap] for tap in taps}
    return [
        (tap, place, f"{tap}.pcap" if len(places) == 1 else f"{tap}.{place['interface']}.pcap")
        for tap, places in places_of.items()
        for place in places
    ]


def start(net: Any, run: dict[str, Any], results: str) -> list[Capture]:
    """Start the captures that the agent makes, into files of pcap/."""
    captures = []
    for tap, place, name in files(run, run["agent"]["captures"]):
        node, interface, direction = place["node"], place["interface"], place["direction"]
        path, log = f"{results}/pcap/{name}", f"{results}/logs/tcpdump.{name.removesuffix('.pcap')}"
        buffer_kib = str(run["sizes"]["capture_buffer_kib"])
        command = [*_TCPDUMP, buffer_kib, "-i", interface, "-Q", direction, *_OPTIONS]
        with open(path, "wb") as packets, open(log, "w") as words:
            process = net[node].spawn(command, packets.fileno(), words.fileno())
        captures.append(Capture(tap, node, interface, direction, process, path, log))
    return captures


@dataclass(frozen=True)
class Written:
    """What is in a capture: packets, and the bytes that they had on the wire."""

    pkts: int
    wire_bytes: int


def stop(captures: list[Capture]) -> dict[str, Written]:
    """End the captures; returns what is in their files, by name.

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
    names = (os.path.basename(capture.file) for capture in captures)
    return dict(zip(names, _records(captures), strict=True))


def _records(captures: list[Capture]) -> list[Written]:
    """Count what is in each file: what tcpdump reports need not have reached the disk."""
    words = [_RECORDS, *(capture.file for capture in captures)]
    counted = subprocess.run(words, capture_output=True, text=True, check=False)
    if counted.returncode:
        raise CaptureError(f"capture: {counted.stderr.strip()}")
    return [Written(*map(int, line.split())) for line in counted.stdout.splitlines()]
