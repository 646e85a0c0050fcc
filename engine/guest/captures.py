"""Captures: one tcpdump per interface of the taps that the scenario asks for."""

import os
import re
import signal
from dataclasses import dataclass
from typing import Any

_SNAP_BYTES = "96"  # Ethernet, IP and TCP with all options
_BUFFER_KIB = "16384"
# tcpdump writes through stdio: with a buffer of a page, captures would be half of all system calls of a run
_TCPDUMP = ("stdbuf", "-o1M", "tcpdump", "-w", "-", "-s", _SNAP_BYTES, "-B", _BUFFER_KIB)
_OPTIONS = ("--time-stamp-precision=nano", "-p", "-n", "-Z", "root")


class CaptureError(Exception):
    """A capture did not start or lost packets."""


@dataclass(frozen=True)
class Capture:
    """A running capture; `direction` as in tcpdump -Q."""

    tap: str
    node: str
    interface: str
    direction: str
    process: int
    log: str


def start(net: Any, taps: list[str], results: str) -> list[Capture]:
    """Start the captures of `taps`; files are ``pcap/<tap>.pcap``, or with the interface in the name if several."""
    captures = []
    for tap in taps:
        places = net.topo.taps()[tap]
        for node, interface, direction in places:
            name = tap if len(places) == 1 else f"{tap}.{interface}"
            log = f"{results}/logs/tcpdump.{name}"
            with open(f"{results}/pcap/{name}.pcap", "wb") as packets, open(log, "w") as words:
                process = net[node].spawn(
                    [*_TCPDUMP, "-i", interface, "-Q", direction, *_OPTIONS], packets.fileno(), words.fileno()
                )
            captures.append(Capture(tap, node, interface, direction, process, log))
    return captures


def stop(captures: list[Capture]) -> dict[str, int]:
    """End the captures; returns the number of packets written, by interface.

    Raises:
        CaptureError: tcpdump failed or the kernel dropped packets before it could write them.
    """
    for capture in captures:
        os.kill(capture.process, signal.SIGINT)
    written = {}
    for capture in captures:
        os.waitpid(capture.process, 0)
        with open(capture.log) as file:
            words = file.read()
        captured, dropped = (_count(words, what) for what in ("captured", "dropped by kernel"))
        if captured is None or dropped:
            raise CaptureError(f"capture at {capture.tap} ({capture.interface}): {words.strip()}")
        written[capture.interface] = captured
    return written


def _count(words: str, what: str) -> int | None:
    found = re.search(rf"(\d+) packets? {what}", words)
    return int(found[1]) if found else None
