"""A classic pcap file to tables: a row a packet, at tens of millions of packets a second, some packets at a time.

The record walk is in C (``_dissect.c``); this module opens the file, makes the columns and words what is wrong.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from analysis.capture import _dissect
from analysis.errors import BadInputError

FILE_HEADER_BYTES: Final = 24
LINK_TYPE_ETHERNET: Final = 1

MICROSECOND_TICKS: Final = 1_000_000
NANOSECOND_TICKS: Final = 1_000_000_000
TICKS_OF_MAGIC: Final = {0xA1B2C3D4: MICROSECOND_TICKS, 0xA1B23C4D: NANOSECOND_TICKS}

# Order and width as in `enum column` of _dissect.c.
COLUMNS: Final[dict[str, type[np.generic]]] = {
    "time_ns": np.int64,  # since the epoch
    "ip_length": np.uint16,  # total length field, bytes; 0 marks what is not IPv4
    "src": np.uint32,
    "dst": np.uint32,
    "sport": np.uint16,
    "dport": np.uint16,
    "proto": np.uint8,
    "ip_id": np.uint16,
    "seq": np.uint32,  # of TCP; of uTP the packet's number, 16 bits
    "ack": np.uint32,  # of TCP; of uTP the number of the last packet that came without a gap, 16 bits
    "flags": np.uint8,
    "window": np.uint16,  # as on the wire, not scaled
    "window_scale": np.uint8,  # 1 + the option's shift, 0 without the option
    "payload_bytes": np.uint16,  # behind the TCP, UDP or uTP header; from length fields, so right for cut packets too
    "tsval": np.uint32,  # of TCP; of uTP the sender's clock, us
    "tsecr": np.uint32,
    "utp_header_bytes": np.uint16,  # with extensions; 0 marks what is not uTP
    "utp_version": np.uint8,  # 1 is BEP 29's header, 0 the older one
    "utp_type": np.uint8,  # data, fin, state, reset, syn
    "utp_extensions": np.uint8,  # bits: 0 selective acknowledgement, 1 extension bits, 2 close reason
    "utp_connection": np.uint32,
    "utp_difference_us": np.uint32,  # receiver's clock less the sender's at the last packet that came; 0: none came
    "utp_window_bytes": np.uint32,
    "utp_sack": np.uint64,  # bit i: packet ack + 2 + i has come; only the first 64 packets
}

COMPLETE, TRUNCATED, BAD_LENGTH, BAD_FRACTION = range(4)  # `enum ending` of _dissect.c


CHUNK_PKTS: Final = (
    1 << 17
)  # 9 MB of columns: much less costs time at each border, much more leaves the processor's cache


class Capture(NamedTuple):
    """Packets of a pcap file, in file order, and whether a last record behind them is cut off."""

    packets: pl.DataFrame
    truncated: bool


def read(path: Path) -> Capture:
    """Read one capture of Ethernet frames whole, as `read_chunks` does."""
    chunks = list(read_chunks(path))
    return Capture(pl.concat([chunk.packets for chunk in chunks]), chunks[-1].truncated)


def read_chunks(path: Path, most_pkts: int = CHUNK_PKTS) -> Iterator[Capture]:
    """Read one capture of Ethernet frames, at most `most_pkts` packets at a time; at least one table, if an empty one.

    Raises BadInputError, naming the file and the byte offset, for anything that is not a sane pcap file. A last record
    that is cut off (a writer that was killed) is no error: it is left out and reported.
    """
    size = path.stat().st_size
    if size < FILE_HEADER_BYTES:
        raise BadInputError(f"{path}: {size} bytes are too few for a pcap file, its header alone has 24")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        swapped, ticks = _header(path, data)
        done, offset, rows, ending = 0, FILE_HEADER_BYTES, most_pkts, COMPLETE
        while rows == most_pkts and ending == COMPLETE:
            columns = {name: np.empty(most_pkts, dtype) for name, dtype in COLUMNS.items()}
            rows, offset, ending = _dissect.fill(data, offset, swapped, ticks, tuple(columns.values()))
            if ending == BAD_LENGTH:
                raise BadInputError(
                    f"{path}: the record at byte {offset} says that it holds {_word(data, offset + 8, swapped)} "
                    "captured bytes, allowed are 262144: the file is damaged"
                )
            if ending == BAD_FRACTION:
                raise BadInputError(
                    f"{path}: the record at byte {offset} has the fraction of a second "
                    f"{_word(data, offset + 4, swapped)}, allowed is less than {ticks}: the file is damaged"
                )
            yield Capture(pl.DataFrame({name: column[:rows] for name, column in columns.items()}), ending == TRUNCATED)
            # pages that were read count as this process's memory until they are given back
            page = offset - offset % mmap.PAGESIZE
            data.madvise(mmap.MADV_DONTNEED, done, page - done)
            done = page


def no_packets() -> pl.DataFrame:
    """Make the table of a capture without packets."""
    return pl.DataFrame({name: np.empty(0, dtype) for name, dtype in COLUMNS.items()})


def _header(path: Path, data: mmap.mmap) -> tuple[bool, int]:
    """Whether the writer's byte order differs from this machine's, and ticks a second."""
    for swapped in (False, True):
        ticks = TICKS_OF_MAGIC.get(_word(data, 0, swapped))
        if ticks is not None:
            break
    else:
        raise BadInputError(
            f"{path}: the magic number at byte 0 is {data[:4].hex()}, allowed are those of a pcap file "
            "(a1b2c3d4 or a1b23c4d, in either byte order)"
        )
    link_type = _word(data, 20, swapped) & 0xFFFF
    if link_type != LINK_TYPE_ETHERNET:
        raise BadInputError(f"{path}: the link type at byte 20 is {link_type}, allowed is 1 (Ethernet)")
    return swapped, ticks


def _word(data: mmap.mmap, offset: int, swapped: bool) -> int:
    word = np.frombuffer(data[offset : offset + 4], np.uint32)
    return int((word.byteswap() if swapped else word)[0])
