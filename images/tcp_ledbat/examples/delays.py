#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The LEDBAT testbed developers
"""Print the delays that connections with tcp_ledbat see now, in milliseconds.

A line for each: local and remote address, congestion control, queuing delay and target. Connections whose control is
of another module have no line. Any user may ask; the kernel answers for the network namespace of the program.
"""

import ipaddress
import socket
import struct
from collections.abc import Iterator

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
INET_DIAG_VEGASINFO, INET_DIAG_CONG = 3, 4
ESTABLISHED = 1 << 1
HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBBxI48x")
ATTRIBUTE = struct.Struct("=HH")
WORDS = struct.Struct("=5I")
SOCKET_BYTES = 72


def messages(family: int) -> Iterator[tuple[bytes, dict[int, bytes]]]:
    """Yield what the kernel says of each connection: the fixed part, and the attributes by their number."""
    ask = (1 << (INET_DIAG_VEGASINFO - 1)) | (1 << (INET_DIAG_CONG - 1))
    body = REQUEST.pack(family, socket.IPPROTO_TCP, ask, ESTABLISHED)
    head = HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
        link.send(head + body)
        while True:
            data = link.recv(1 << 16)
            while data:
                length, kind, *_ = HEADER.unpack_from(data)
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    raise OSError("the kernel refused; it needs CONFIG_INET_DIAG and CONFIG_INET_TCP_DIAG")
                message, data = data[HEADER.size : length], data[length + 3 & ~3 :]
                yield message[:SOCKET_BYTES], attributes(message[SOCKET_BYTES:])


def attributes(data: bytes) -> dict[int, bytes]:
    """Return the attributes by their number."""
    found: dict[int, bytes] = {}
    while data:
        length, number = ATTRIBUTE.unpack_from(data)
        found[number] = data[ATTRIBUTE.size : length]
        data = data[length + 3 & ~3 :]
    return found


def address(family: int, port: int, words: bytes) -> str:
    """Return an address as ss does."""
    if family == socket.AF_INET:
        return f"{ipaddress.IPv4Address(words[:4])}:{port}"
    return f"[{ipaddress.IPv6Address(words)}]:{port}"


def main() -> None:
    """Print a line for each connection."""
    for family in (socket.AF_INET, socket.AF_INET6):
        for fixed, said in messages(family):
            words = said.get(INET_DIAG_VEGASINFO, b"")
            if len(words) != WORDS.size:
                continue
            zero, _, _, queuing_us, last = WORDS.unpack(words)
            if zero:
                continue
            source, target_us = last >> 24, last & 0xFFFFFF
            ports = struct.unpack_from(">HH", fixed, 4)
            local, remote = address(family, ports[0], fixed[8:24]), address(family, ports[1], fixed[24:40])
            control = said[INET_DIAG_CONG].rstrip(b"\0").decode()
            how = "round trip" if source else "one way"
            print(f"{local} {remote} {control} {queuing_us / 1000:.1f} of {target_us / 1000:.1f} ms, {how}")


if __name__ == "__main__":
    main()
