"""Flows over a dumbbell in ns-3, where Debian's libns3-dev is installed."""

import statistics
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

_SOURCE = Path(__file__).with_name("ns3_ledbat.cc")
_HEADER = Path("/usr/include/ns3/tcp-ledbat.h")
_LIBRARIES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core")
_SAMPLE_S = 0.01


class Sample(NamedTuple):
    """What the program tells of an instant; the last two of each flow."""

    at_s: float
    queue_pkts: int
    received_bytes: tuple[int, ...]
    window_bytes: tuple[int, ...]


def is_installed() -> bool:
    """Whether ns-3 with its LEDBAT can be compiled against."""
    return _HEADER.exists()


def build(folder: Path) -> Path:
    """Compile the flows' program into `folder`."""
    program = folder / "ns3_ledbat"
    flags = ["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    libraries = [f"-lns3-{name}" for name in _LIBRARIES]
    subprocess.run(["g++", *flags, str(_SOURCE), "-o", str(program), *libraries], check=True)
    return program


def samples(program: Path, *settings: str) -> list[Sample]:
    """Run the program; `settings` are its arguments, such as ``--buffer=40``."""
    lines = subprocess.check_output([str(program), *settings], text=True).splitlines()
    rows = (line.split(",") for line in lines)
    return [
        Sample(float(at), int(queue), tuple(map(int, flows[::2])), tuple(map(int, flows[1::2])))
        for at, queue, *flows in rows
    ]


def wall_s(program: Path, virtual_s: float) -> tuple[float, float]:
    """Wall seconds without and with a capture of the bottleneck, simulation of `virtual_s` seconds of flow.yaml."""
    command = [str(program), f"--seconds={virtual_s}", f"--sampleS={virtual_s}"]
    return _timed(command), _timed([*command, f"--pcap={program.with_suffix('.pcap')}"])


def steady(program: Path, virtual_s: float, target_ms: int, buffer_pkts: int) -> tuple[float, float]:
    """Mean queue in packets and payload in bit/s, over the last third of `virtual_s` seconds."""
    settings = (f"--seconds={virtual_s}", f"--targetMs={target_ms}", f"--buffer={buffer_pkts}")
    last = [
        sample for sample in samples(program, *settings, f"--sampleS={_SAMPLE_S}") if sample.at_s >= virtual_s * 2 / 3
    ]
    received = last[-1].received_bytes[0] - last[0].received_bytes[0]
    return statistics.fmean(sample.queue_pkts for sample in last), received * 8 / (last[-1].at_s - last[0].at_s)


def _timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started
