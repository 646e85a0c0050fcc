"""The captures that a run folder keeps: as the run left them, or packed by gzip, which Wireshark opens directly."""

import gzip
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FOLDER: Final = "pcap"
SUFFIX: Final = ".pcap"
PACKED: Final = ".pcap.gz"
LEVEL: Final = 1
"""Of gzip: on 107 captures of 42 runs, 473 MB, level 1 takes 2.0 s for 92 MB, level 6 takes 9.3 s for 89 MB."""
_PIECE_BYTES: Final = 1 << 20


def kept(run: Path) -> list[Path]:
    """List the captures that a run folder has, packed ones too, by their names."""
    return sorted(file for suffix in (SUFFIX, PACKED) for file in run.glob(f"{FOLDER}/*{suffix}"))


def place(capture: Path) -> str:
    """Give the tap of a capture, and its interface where the tap has several: `bottleneck-out`, `sender.s1-eth0`."""
    return capture.name.removesuffix(PACKED).removesuffix(SUFFIX)


def pack(captures: Iterable[Path], into: Path) -> None:
    """Pack captures into a new folder. With the same zlib, equal captures give equal files: these hold no time."""
    into.mkdir()
    for capture in captures:
        packed = into / f"{place(capture)}{PACKED}"
        with capture.open("rb") as file, packed.open("wb") as out, gzip.GzipFile("", "wb", LEVEL, out, mtime=0) as pipe:
            shutil.copyfileobj(file, pipe, _PIECE_BYTES)
