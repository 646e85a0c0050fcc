"""The benchmark's flows in ns-3, where Debian's libns3-dev is installed."""

import subprocess
import time
from pathlib import Path

_SOURCE = Path(__file__).with_name("ns3_ledbat.cc")
_HEADER = Path("/usr/include/ns3/tcp-ledbat.h")
_LIBRARIES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core")


def is_installed() -> bool:
    """Whether ns-3 with its LEDBAT can be compiled against."""
    return _HEADER.exists()


def build(folder: Path) -> Path:
    """Compile the flow's program into `folder`."""
    program = folder / "ns3_ledbat"
    flags = ["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    libraries = [f"-lns3-{name}" for name in _LIBRARIES]
    subprocess.run(["g++", *flags, str(_SOURCE), "-o", str(program), *libraries], check=True)
    return program


def wall_s(program: Path, virtual_s: float) -> tuple[float, float]:
    """Wall seconds without and with a capture of the bottleneck, simulation of `virtual_s` seconds of flow.yaml."""
    command = [str(program), str(virtual_s), "25", "60"]
    return _timed(command), _timed([*command, str(program.with_suffix(".pcap"))])


def steady(program: Path, virtual_s: float, target_ms: int, buffer_pkts: int) -> tuple[float, float]:
    """Mean queue in packets and payload in bit/s, over the last third of `virtual_s` seconds."""
    command = [str(program), str(virtual_s), str(target_ms), str(buffer_pkts)]
    queue_pkts, payload_bps = subprocess.check_output(command, text=True).split()
    return float(queue_pkts), float(payload_bps)


def _timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started
