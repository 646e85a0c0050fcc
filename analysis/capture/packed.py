"""The captures that a run folder keeps: as the run left them, or packed by gzip, which Wireshark opens directly."""

import gzip
from pathlib import Path
from typing import Final

FOLDER: Final = "pcap"
SUFFIX: Final = ".pcap"
PACKED: Final = ".pcap.gz"


def kept(run: Path) -> list[Path]:
    """List the captures that a run folder has, packed ones too, by their names."""
    return sorted(file for suffix in (SUFFIX, PACKED) for file in run.glob(f"{FOLDER}/*{suffix}"))


def place(capture: Path) -> str:
    """Give the tap of a capture, and its interface where the tap has several: `bottleneck-out`, `sender.s1-eth0`."""
    return capture.name.removesuffix(PACKED).removesuffix(SUFFIX)


def content(capture: Path) -> bytes:
    """Return the bytes of a capture, unpacked."""
    return gzip.decompress(capture.read_bytes()) if capture.name.endswith(PACKED) else capture.read_bytes()
