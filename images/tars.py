# SPDX-License-Identifier: MIT
"""Reads tar archives that may be a stranger's, so that a small one takes neither the host's disk nor its memory."""

from __future__ import annotations

import lzma
import tarfile
from collections.abc import Iterator
from typing import IO, Self

from images.errors import ImageError

MOST_BYTES = 16 << 30
MOST_MEMBERS = 500_000
_LONGEST_HEADER_BYTES = 1 << 20
# long names and extended headers, which tarfile reads whole
_HEADERS = {
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
}
_PIECE_BYTES = 1 << 20
_MOST_MEMORY_BYTES = 64 << 20
"""Of xz: its presets up to 6 need 9 MiB to decompress, and a stranger's file may ask for 4 GiB."""


class _Member(tarfile.TarInfo):
    """A member whose headers are short."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _HEADERS and member.size > _LONGEST_HEADER_BYTES:
            raise ImageError(f"found a name or header of {member.size} bytes; allowed: {_LONGEST_HEADER_BYTES}")
        return member


def opened(stream: IO[bytes], *, compressed: bool = False) -> tarfile.TarFile:
    """Open an archive, plain or compressed by gzip."""
    mode = "r:gz" if compressed else "r:"
    return tarfile.open(fileobj=stream, mode=mode, tarinfo=_Member)  # type: ignore[call-overload,no-any-return]


def opened_xz(stream: IO[bytes]) -> tarfile.TarFile:
    """Open an archive compressed by xz, whose members are read in their order. LZMAError if it needs much memory."""
    return tarfile.open(fileobj=_Xz(stream), mode="r|", tarinfo=_Member)  # type: ignore[call-overload,no-any-return]


class _Xz:
    """What a stream compressed by xz holds."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY_BYTES)

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, none at the end. Raises EOFError if the stream ends before."""
        while not self._decompressor.eof:
            more = self._stream.read(_PIECE_BYTES) if self._decompressor.needs_input else b""
            if self._decompressor.needs_input and not more:
                raise EOFError("it ends too early")
            if data := self._decompressor.decompress(more, size):
                return data
        return b""


class Budget:
    """What the archives of one image, pack or package may take together; ImageError when they take more."""

    def __init__(self) -> None:
        self._bytes, self._members = MOST_BYTES, MOST_MEMBERS

    def members(self, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
        """Yield the members of an archive."""
        for member in archive:
            self.take(member.size, 1)
            yield member

    def copy(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copy a stream, such as a compressed layer, whose length is not known before."""
        while piece := source.read(_PIECE_BYTES):
            self.take(len(piece), 0)
            target.write(piece)

    def take(self, size_bytes: int, members: int) -> None:
        """Count bytes and members; ImageError when they are too many."""
        self._bytes -= size_bytes
        self._members -= members
        if self._bytes < 0 or self._members < 0:
            allowed = f"{MOST_BYTES >> 30} GiB in {MOST_MEMBERS:,} files and folders"
            raise ImageError(f"unpacked it takes more than is allowed: {allowed}")
