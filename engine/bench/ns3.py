"""The benchmark's flow in ns-3, where Debian's libns3-dev is installed."""

import subprocess
import time
from pathlib import Path

_SOURCE = Path(__file__).with_name("ns3_ledbat.cc")
_HEADER = Path("/usr/include/ns3/tcp-ledbat.h")
_LIBRARIES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core")


def is_installed() -> bool:
    """Whether ns-3 with its LEDBAT can be compiled against."""
    return _HEADER.exists()


def wall_s(virtual_s: float, folder: Path) -> tuple[float, float]:
    """Wall seconds without and with a capture of the bottleneck, simulation of `virtual_s` seconds."""
    program = folder / "ns3_ledbat"
    flags = ["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    libraries = [f"-lns3-{name}" for name in _LIBRARIES]
    subprocess.run(["g++", *flags, str(_SOURCE), "-o", str(program), *libraries], check=True)
    alone_s = _timed([str(program), str(virtual_s)])
    return alone_s, _timed([str(program), str(virtual_s), str(folder / "ns3.pcap")])


def _timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started
