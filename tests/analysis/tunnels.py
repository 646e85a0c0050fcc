"""One packet of TCP behind each header and tunnel that is taken off: TUNNELS in Ethernet, LINKS in other frames."""

import struct
from typing import Final

from tests.analysis.synthetic import frame, over_ipv6

TCP: Final = frame(0x0A000001, 0x0A000002, 1111, 2222, 3, 4, length=66)[:66] + bytes(14)
SIX: Final = over_ipv6(TCP)
_IP, _IP6, _ENDS = TCP[14:], SIX[14:], bytes(range(12))
_RADIOTAP: Final = b"\0\0\x09\0\x02\0\0\0"  # one field: flags
_WIFI: Final = b"\x88\x01" + bytes(22) + b"\0\0"  # data with quality of service, to the access point
_SNAP: Final = b"\xaa\xaa\x03\0\0\0\x08\0"


def _ipv4(protocol: int, body: bytes) -> bytes:
    header = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(body), 9, 0, 64, protocol, 0, 0xC0000201, 0xC0000202)
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack(">H", ~total & 0xFFFF) + header[12:] + body


def _ipv6(protocol: int, body: bytes) -> bytes:
    return struct.pack(">IHBB", 6 << 28, len(body), protocol, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + body


def _udp(port: int, body: bytes) -> bytes:
    return _ipv4(17, struct.pack(">HHHH", 50000, port, 8 + len(body), 0) + body)


def _gre(kind: int, body: bytes, flags: int = 0, more: bytes = b"") -> bytes:
    return _ipv4(47, struct.pack(">HH", flags, kind) + more + body)


def _ethernet(kind: int, body: bytes) -> bytes:
    return _ENDS + struct.pack(">H", kind) + body


def _without_length(data: bytes, at: int) -> bytes:
    return data[:at] + b"\0\0" + data[at + 2 :]


PPP: Final = b"\0\x21" + _IP
PPPOE: Final = b"\x11\0\0\x07" + struct.pack(">H", len(PPP)) + PPP

TUNNELS: Final[dict[str, bytes]] = {
    "plain": TCP,
    "length 0": _without_length(TCP, 16),
    "length 0 of IPv6": _without_length(SIX, 18),
    "three tags": _ENDS + b"\x88\xa8\0\1\x81\0\0\2\x81\0\0\3" + TCP[12:],
    "old tags": _ENDS + b"\x91\0\0\1\x81\0\0\2" + TCP[12:],
    "802.1ah": _ethernet(0x88E7, bytes(4) + TCP),
    "VN-Tag": _ethernet(0x8926, bytes(4) + TCP[12:]),
    "PPPoE": _ethernet(0x8864, PPPOE),
    "PPPoE in tags": _ENDS + b"\x88\xa8\0\1\x81\0\0\2" + b"\x88\x64" + PPPOE,
    "MPLS": _ethernet(0x8847, b"\0\x01\x00\x40\0\x02\x01\x40" + _IP),
    "MPLS with a frame": _ethernet(0x8847, b"\0\x01\x01\x40" + bytes(4) + TCP),
    "SNAP": _ethernet(len(_IP) + 8, _SNAP + _IP),
    "IP in IP": _ethernet(0x0800, _ipv4(4, _IP)),
    "IPv6 in IPv4": _ethernet(0x0800, _ipv4(41, _IP6)),
    "IPv4 in IPv6": _ethernet(0x86DD, _ipv6(4, _IP)),
    "GRE": _ethernet(0x0800, _gre(0x0800, _IP)),
    "GRE with all fields": _ethernet(0x0800, _gre(0x0800, _IP, 0xB000, bytes(12))),
    "GRE with a frame": _ethernet(0x0800, _gre(0x6558, TCP)),
    "GRE of PPTP": _ethernet(0x0800, _gre(0x880B, PPP, 0x3081, struct.pack(">HHII", len(PPP), 1, 1, 1))),
    "ERSPAN II": _ethernet(0x0800, _gre(0x88BE, b"\x10\x01" + bytes(6) + TCP, 0x1000, bytes(4))),
    "ERSPAN III": _ethernet(0x0800, _gre(0x22EB, b"\x20\x01" + bytes(10) + TCP, 0x1000, bytes(4))),
    "EtherIP": _ethernet(0x0800, _ipv4(97, b"\x30\0" + TCP)),
    "MPLS in IP": _ethernet(0x0800, _ipv4(137, b"\0\x01\x01\x40" + _IP)),
    "VXLAN": _ethernet(0x0800, _udp(4789, b"\x08\0\0\0\0\0\1\0" + TCP)),
    "VXLAN at Linux's port": _ethernet(0x0800, _udp(8472, b"\x08\0\0\0\0\0\1\0" + TCP)),
    "VXLAN with a group": _ethernet(0x0800, _udp(4789, b"\x88\0\0\7\0\0\1\0" + TCP)),
    "VXLAN-GPE": _ethernet(0x0800, _udp(4790, b"\x0c\0\0\1\0\0\1\0" + _IP)),
    "AH": _ethernet(0x0800, _ipv4(51, b"\4\4\0\0" + bytes(20) + _IP)),
    "HSR": _ENDS + b"\x89\x2f" + struct.pack(">HH", 1 << 12 | len(_IP) + 6, 5) + TCP[12:],
    "group's tag": _ENDS + b"\x89\x09\1\1\0\1\0\5" + TCP[12:],
    "MACsec": _ENDS + b"\x88\xe5\0\0\0\0\0\1" + TCP[12:] + bytes(16),
    "TRILL": _ethernet(0x22F3, b"\0\x10\0\1\0\2" + TCP),
    "FabricPath": _ethernet(0x8903, b"\0\x60" + TCP + bytes(4)),
    "NSH with a frame": _ethernet(0x894F, b"\x0f\xc6\1\3\0\0\xaa\xff" + bytes(16) + TCP),
    "NSH": _ethernet(0x894F, b"\x0f\xc2\2\1\0\0\xaa\xff" + _IP),
    "WCCP": _ethernet(0x0800, _gre(0x883E, bytes(4) + _IP)),
    "L2TP": _ethernet(0x0800, _udp(1701, b"\0\2\0\1\0\1\xff\3" + PPP)),
    "L2TP with all fields": _ethernet(
        0x0800, _udp(1701, b"\x4a\2" + struct.pack(">H", len(PPP) + 16) + bytes(10) + b"\xff\3" + PPP)
    ),
    "MPLS in UDP": _ethernet(0x0800, _udp(6635, b"\0\x01\x01\x40" + _IP)),
    "LISP": _ethernet(0x0800, _udp(4341, b"\x80\0\0\1\0\0\0\0" + _IP)),
    "CAPWAP": _ethernet(0x0800, _udp(5247, b"\0\x10\0\0\0\0\0\0" + TCP)),
    "Geneve": _ethernet(0x0800, _udp(6081, b"\x01\0\x65\x58\0\0\1\0" + bytes(4) + TCP)),
    "Teredo": _ethernet(0x0800, _udp(3544, _IP6)),
    "GTP": _ethernet(0x0800, _udp(2152, b"\x30\xff" + struct.pack(">HI", len(_IP), 1) + _IP)),
    "GTP with an extension": _ethernet(
        0x0800, _udp(2152, b"\x34\xff" + struct.pack(">HI", len(_IP) + 8, 1) + b"\0\0\0\x85\1\0\0\0" + _IP)
    ),
}
LINKS: Final[dict[int, bytes]] = {
    9: PPP,
    50: b"\xff\x03" + PPP,
    51: PPPOE,
    104: b"\x0f\0\x08\0" + _IP,
    105: _WIFI + _SNAP + _IP,
    127: _RADIOTAP + b"\0" + _WIFI + _SNAP + _IP,
}
PADDED_WIFI: Final = _RADIOTAP + b"\x20" + _WIFI + b"\0\0" + _SNAP + _IP  # as some receivers pass it on
