"""Where programs of a host listen."""

import socket
import struct

from topologies.batch import entered

# states in /proc/net/tcp and /proc/net/udp: TCP_LISTEN; not connected, and connected
_LISTENS = {"tcp": ("0A",), "udp": ("07", "01")}


def listening(namespace: int | None, protocol: str, port: int) -> tuple[bool, list[str]]:
    """Tell whether a program of a host listens at a port for other hosts, and where its programs listen.

    `protocol` is tcp or udp; the kernel's tables are those of proc_net_tcp.txt.
    """
    found = []
    with entered(namespace):
        for family, table in ((socket.AF_INET, protocol), (socket.AF_INET6, f"{protocol}6")):
            try:
                with open(f"/proc/thread-self/net/{table}") as file:
                    rows = [line.split() for line in file][1:]
            except FileNotFoundError:  # a kernel without IPv6
                continue
            found += [_address(family, row[1]) for row in rows if row[3] in _LISTENS[protocol]]
    heard = any(at == port and address != "::1" and not address.startswith("127.") for address, at in found)
    return heard, [f"{address} port {at}" for address, at in sorted(set(found))]


def _address(family: int, text: str) -> tuple[str, int]:
    """Read 0100007F:1F90, whose address is words of the processor's order."""
    address, _, port = text.partition(":")
    words = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    return socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words)), int(port, 16)
