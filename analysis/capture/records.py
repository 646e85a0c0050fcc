"""The records of a run's capture one by one, for who copies or compares their bytes; pcap.py reads what they say."""

import mmap
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from analysis.capture.pcap import FILE_HEADER_BYTES
from analysis.run_json import NS

Content = bytes | mmap.mmap

HEADER_BYTES: Final = 16
_FORMS: Final = {
    b"\x4d\x3c\xb2\xa1": ("<IIII", 1),
    b"\xa1\xb2\x3c\x4d": (">IIII", 1),
    b"\xd4\xc3\xb2\xa1": ("<IIII", 1000),
    b"\xa1\xb2\xc3\xd4": (">IIII", 1000),
}
"""By the first bytes of a capture: the form of a record's header, and the nanoseconds of its smaller unit."""


class Record(NamedTuple):
    """A packet: its time since the epoch, where its bytes begin, how many there are, and how many it had."""

    time_ns: int
    begins: int
    kept_bytes: int
    wire_bytes: int


def records(content: Content) -> Iterator[Record]:
    """Yield the records of a capture (pcap, unpacked) up to the first that is cut off."""
    form, unit_ns = _FORMS[content[:4]]
    at = FILE_HEADER_BYTES
    while at + HEADER_BYTES <= len(content):
        seconds, fraction, kept, wire = struct.unpack_from(form, content, at)
        at += HEADER_BYTES
        if at + kept > len(content):
            return
        yield Record(seconds * NS + fraction * unit_ns, at, kept, wire)
        at += kept
