"""A capture (pcap or pcapng, packed or not) to tables: a row a packet, tens of millions a second, some at a time.

The record walk is in C (``_dissect.c``); this module opens the file, makes the columns and words what is wrong.
"""

import bz2
import gzip
import lzma
import mmap
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from analysis.capture import _dissect, foreign
from analysis.errors import BadInputError
from common.counts import plural

FILE_HEADER_BYTES: Final = 24
# `readable` in packets.h
LINK_TYPES: Final = {
    0: "loopback", 1: "Ethernet", 9: "PPP", 12: "raw IP", 14: "raw IP", 50: "PPP", 51: "PPPoE", 101: "raw IP",
    104: "Cisco HDLC", 105: "IEEE 802.11", 108: "OpenBSD's loopback", 113: "Linux cooked", 127: "radiotap", 228: "IPv4",
    229: "IPv6", 276: "Linux cooked v2",
}  # fmt: skip
OTHER_LINKS: Final = {
    117: "OpenBSD's packet filter", 119: "IEEE 802.11 with Prism's header", 163: "IEEE 802.11 with AVS' header",
    187: "Bluetooth", 189: "USB", 192: "per-packet information", 195: "IEEE 802.15.4", 201: "Bluetooth", 220: "USB",
    227: "CAN bus", 249: "USB", 251: "Bluetooth", 253: "netlink", 272: "nordic BLE",
}  # fmt: skip  # that are not read, for messages

MICROSECOND_TICKS: Final = 1_000_000
NANOSECOND_TICKS: Final = 1_000_000_000
TICKS_OF_MAGIC: Final = {0xA1B2C3D4: MICROSECOND_TICKS, 0xA1B23C4D: NANOSECOND_TICKS}

# Order and width as in `enum column` of packets.h.
COLUMNS: Final[dict[str, type[np.generic]]] = {
    "time_ns": np.int64,  # since the epoch
    "ip_length": np.uint32,  # total length, bytes, also of what a host cuts up later; 0 marks what is not IPv4
    "src": np.uint32,
    "dst": np.uint32,
    "sport": np.uint16,
    "dport": np.uint16,
    "proto": np.uint8,
    "ip_id": np.uint16,
    "seq": np.uint32,  # of TCP; of uTP the packet's number, 16 bits; of other UDP a digest of its first bytes
    "ack": np.uint32,  # of TCP; of uTP the number of the last packet that came without a gap, 16 bits
    "flags": np.uint8,
    "window": np.uint16,  # as on the wire, not scaled
    "window_scale": np.uint8,  # 1 + the option's shift, 0 without the option
    "payload_bytes": np.uint32,  # behind the TCP, UDP or uTP header; from length fields, so right for cut packets too
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

# Beside these, of captures from anywhere; without them IPv6 is not read.
MORE_COLUMNS: Final[dict[str, np.dtype[np.generic]]] = {
    "ip_version": np.dtype(np.uint8),  # 4 or 6; 0 marks what is neither
    "hops": np.dtype(np.uint8),  # time to live, or hop limit
    "direction": np.dtype(np.uint8),  # of Linux cooked captures: 1 came in, 2 went out; 0 not known
    "digest": np.dtype(np.uint64),  # of what translators of addresses leave as it is; 0 of neither TCP nor UDP
    "src6": np.dtype("V16"),
    "dst6": np.dtype("V16"),
}

PACKED: Final[dict[bytes, tuple[str, Callable[..., Any]]]] = {
    b"\x1f\x8b": ("gzip", gzip.open), b"BZh": ("bzip2", bz2.open), b"\xfd7zXZ\0": ("xz", lzma.open)
}  # fmt: skip
MOST_UNPACKED_BYTES: Final = 1 << 30  # a packed file of a megabyte may hold a gigabyte
PIECE_BYTES: Final = 1 << 20
BEGINNING_BYTES: Final = 4096  # that tell what a file is
PCAPNG_MAGIC: Final = b"\x0a\x0d\x0d\x0a"
COMPLETE, TRUNCATED, BAD_LENGTH, BAD_BLOCK = range(4)  # `enum ending` of records.h
WRONG: Final = {  # {found} is the number that was found
    BAD_LENGTH: "says that it holds {found} captured bytes, allowed are 262144: the file is damaged",
    BAD_BLOCK: "is a block of {found} bytes that cannot be one: the file is damaged",
}
NO_TIME, ODD_LINK, ODD_INTERFACE, ODD_BLOCK = range(4)  # `enum oddity` of records.h
ODD: Final = {
    NO_TIME: "no time, or one that cannot be",
    ODD_LINK: "link type {found}{name}, which is not read",
    ODD_INTERFACE: "interface {found}, which no block before describes",
    ODD_BLOCK: "a length that contradicts its block",
}


CHUNK_PKTS: Final = (
    1 << 17
)  # 9 MB of columns: much less costs time at each border, much more leaves the processor's cache


class CapturedPackets(NamedTuple):
    """Packets of a capture file, in file order, and whether a last record behind them is cut off."""

    packets: pl.DataFrame
    truncated: bool


class Arrays(NamedTuple):
    """The same as numpy's arrays by name, and what was left out so far, in sentences."""

    columns: dict[str, NDArray[Any]]
    truncated: bool
    left_out: list[str]


def read(path: Path) -> CapturedPackets:
    """Read one capture whole, as `read_chunks` does."""
    chunks = list(read_chunks(path))
    return CapturedPackets(pl.concat([chunk.packets for chunk in chunks]), chunks[-1].truncated)


def read_chunks(path: Path, most_pkts: int = CHUNK_PKTS) -> Iterator[CapturedPackets]:
    """Read one capture, at most `most_pkts` packets at a time; at least one table, if an empty one.

    Raises BadInputError, naming the file and the byte offset, for anything that is not a sane capture. A last record
    that is cut off (a writer that was killed) is no error: it is left out and reported.
    """
    for columns, truncated, left_out in _chunks(path, COLUMNS, most_pkts):
        if left_out:
            raise BadInputError(f"{path}: {left_out[0]}")
        yield CapturedPackets(pl.DataFrame(columns), truncated)


def read_wide(path: Path) -> Iterator[Arrays]:
    """Read one capture as `read_chunks` does, with MORE_COLUMNS and IPv6.

    What cannot be read of it is left out and said, if anything can be read.
    """
    return _chunks(path, {**COLUMNS, **MORE_COLUMNS}, CHUNK_PKTS)


def _chunks(path: Path, kinds: Mapping[str, DTypeLike], most_pkts: int) -> Iterator[Arrays]:
    with unpacked(path) as data:
        headers, offset = _begin(path, data)
        done, rows, ending, packets = 0, most_pkts, COMPLETE, 0
        while rows == most_pkts and ending == COMPLETE:
            columns = {name: np.empty(most_pkts, dtype) for name, dtype in kinds.items()}
            rows, offset, ending, value = _dissect.fill(data, offset, headers, tuple(columns.values()))
            packets += rows
            left_out = [_odd(*one) for one in _dissect.left_out(headers)]
            if ending in WRONG:
                broken = f"the record at byte {offset} {WRONG[ending].format(found=value)}"
                if not packets:
                    raise BadInputError(f"{path}: {broken}")
                left_out.append(f"{broken}, and what follows is not read")
            yield Arrays({name: column[:rows] for name, column in columns.items()}, ending == TRUNCATED, left_out)
            # pages that were read count as this process's memory until they are given back
            page = offset - offset % mmap.PAGESIZE
            data.madvise(mmap.MADV_DONTNEED, done, page - done)
            done = page


def _odd(kind: int, count: int, offset: int, found: int) -> str:
    """Say how many records were left out, and why."""
    named = LINK_TYPES | OTHER_LINKS
    why = ODD[kind].format(found=found, name=f" ({named[found]})" if found in named else "")
    return f"{plural(count, 'packet')} left out: {why} (the first at byte {offset})"


def no_packets() -> pl.DataFrame:
    """Make the table of a capture without packets."""
    return pl.DataFrame({name: np.empty(0, dtype) for name, dtype in COLUMNS.items()})


def beginning(path: Path) -> bytes:
    """First bytes of a file, unpacked; nothing of what is no file, or cannot be unpacked."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        begins = file.read(BEGINNING_BYTES)
    packer = _packer(begins)
    if not packer:
        return begins
    try:
        with packer[1](path) as packed:
            return bytes(packed.read(BEGINNING_BYTES))
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return b""


def _packer(begins: bytes) -> tuple[str, Callable[..., Any]] | None:
    return next((packer for magic, packer in PACKED.items() if begins.startswith(magic)), None)


@contextmanager
def unpacked(path: Path) -> Iterator[mmap.mmap]:
    """A file's bytes, unpacked if they are packed; a packed file that breaks off gives what comes before.

    Raises BadInputError for a pipe, for what cannot be unpacked, and for less than a capture's header.
    """
    with path.open("rb") as file, tempfile.TemporaryFile() as holder:
        packer = _packer(file.read(max(map(len, PACKED))))
        if not file.seekable():
            raise BadInputError(f"{path}: found a pipe; allowed: a file, or -i and an interface")
        if packer:
            _unpack(path, packer, holder)
        holds = holder if packer else file
        size = holds.seek(0, 2)
        if size < FILE_HEADER_BYTES:
            holds.seek(0)
            of = "unpacked, " if packer else ""
            few = f"{of}{size} bytes are too few for a capture, whose header alone has 24"
            raise BadInputError(f"{path}: {foreign.named(holds.read()) or few}")
        with mmap.mmap(holds.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def _unpack(path: Path, packer: tuple[str, Callable[..., Any]], into: IO[bytes]) -> None:
    """Unpack a file, piece by piece; raises BadInputError for more than MOST_UNPACKED_BYTES."""
    name, opened = packer
    try:
        with opened(path) as packed:
            while piece := packed.read1(PIECE_BYTES):
                into.write(piece)
                if into.tell() > MOST_UNPACKED_BYTES:
                    allowed = f"{MOST_UNPACKED_BYTES} bytes; unpack it yourself"
                    raise BadInputError(f"{path}: found more bytes when unpacked; allowed: {allowed}")
    except EOFError:
        pass  # a writer that was killed
    except (OSError, zlib.error, lzma.LZMAError) as error:
        raise BadInputError(f"{path}: {name} cannot unpack it: {error}") from None
    into.flush()


def _begin(path: Path, data: mmap.mmap) -> tuple[bytearray, int]:
    """What the C code has to know of the file, and where its records begin."""
    if data[:4] == PCAPNG_MAGIC:
        return _dissect.headers(True, False, 0, 0), 0
    for swapped in (False, True):
        ticks = TICKS_OF_MAGIC.get(_word(data, 0, swapped))
        if ticks is not None:
            break
    else:
        odd = (
            f"the magic number at byte 0 is {data[:4].hex()}, allowed are those of a pcap file "
            "(a1b2c3d4 or a1b23c4d, in either byte order) and of pcapng (0a0d0d0a)"
        )
        raise BadInputError(f"{path}: {foreign.told(data[:BEGINNING_BYTES]) or odd}")
    link_type = _word(data, 20, swapped) & 0xFFFF
    if link_type not in LINK_TYPES:
        name = f" ({OTHER_LINKS[link_type]})" if link_type in OTHER_LINKS else ""
        raise BadInputError(f"{path}: the link type at byte 20 is {link_type}{name}, allowed are {_links()}")
    return _dissect.headers(False, swapped, ticks, link_type), FILE_HEADER_BYTES


def _links() -> str:
    return ", ".join(f"{number} ({name})" for number, name in LINK_TYPES.items())


def _word(data: mmap.mmap, offset: int, swapped: bool) -> int:
    word = np.frombuffer(data[offset : offset + 4], np.uint32)
    return int((word.byteswap() if swapped else word)[0])
