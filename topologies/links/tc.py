"""Asks the kernel for qdiscs, classes and filters, and changes a rate, over netlink.

This starts no process. Each call closes its socket at once and never opens a second one beside it, for which the kernel
would draw a random number that other draws would then lack.
"""

import math
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from topologies.batch import entered

# linux/rtnetlink.h
QDISC, CLASS, FILTER = 38, 42, 46
"""What `ask` can ask for by a handle; a filter by its priority, at the egress of the interface."""
_CLASS_CHANGE = 40
_REQUEST_ECHO, _REQUEST_ACK, _ERROR = 0x9, 0x5, 2
_HEADER, _TC_MESSAGE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxxxiIII"), struct.Struct("=HH")
_KIND, _OPTIONS, _STATISTICS, _QUEUE_STATISTICS = 1, 2, 7, 3
_EGRESS, _ALL_PROTOCOLS = 0xFFFFFFF3, socket.htons(3)
HTB_HANDLE = 0x10001  # 1:1
# linux/pkt_sched.h
HTB_PARAMETERS = 1
_HTB_CLASS = struct.Struct("=8sI8s3I12s")  # struct tc_htb_opt: rate and ceiling, each after 8 bytes, then both buckets
_TICK_NS = 64
_ANSWER_BYTES = 1 << 16


@dataclass(frozen=True)
class Answer:
    """What the kernel tells of a qdisc, class or filter: its kind, its own options, and statistics by attribute."""

    kind: str
    handle: int
    options: bytes
    statistics: Mapping[int, bytes]

    @property
    def dropped_pkts(self) -> int:
        """The packets that it has dropped so far."""
        return int(struct.unpack_from("=5I", self.statistics[_QUEUE_STATISTICS])[2])


def ask(namespace: int | None, interface: str, asked: Sequence[tuple[int, int]]) -> Iterator[Answer]:
    """Ask the kernel what is in force on an interface of the namespace behind a descriptor (None: the first one).

    `asked` are pairs of `QDISC` or `CLASS` and a handle, or `FILTER` and a priority.

    Raises:
        OSError: there is no such qdisc or class.
    """
    index, netlink = _connect(namespace, interface)
    with netlink:
        for kind, handle in asked:
            parent, which = (_EGRESS, handle << 16 | _ALL_PROTOCOLS) if kind == FILTER else (0, 0)
            message = _TC_MESSAGE.pack(0, index, handle, parent, which)
            yield _told(_answer(netlink, kind, _REQUEST_ECHO, message), interface, handle)


def set_rate(namespace: int | None, interface: str, rate_bps: int, bucket_bytes: int) -> None:
    """Give the HTB limiter of an interface a rate, as ``tc class change`` does, without starting a process.

    Raises:
        OSError: the kernel refuses.
    """
    index, netlink = _connect(namespace, interface)
    with netlink:
        message = _TC_MESSAGE.pack(0, index, HTB_HANDLE, HTB_HANDLE & 0xFFFF0000, 0)
        now = attributes_of(_answer(netlink, CLASS, _REQUEST_ECHO, message)[_HEADER.size + _TC_MESSAGE.size :])
        rate, _, ceiling, _, _, _, rest = _HTB_CLASS.unpack(attributes_of(now[_OPTIONS])[HTB_PARAMETERS])
        ticks = bucket_ticks(bucket_bytes, rate_bps)
        new = _HTB_CLASS.pack(rate, rate_bps // 8, ceiling, rate_bps // 8, ticks, ticks, rest)
        options = _attribute(_OPTIONS, _attribute(HTB_PARAMETERS, new))
        answer = _answer(netlink, _CLASS_CHANGE, _REQUEST_ACK, message + _attribute(_KIND, b"htb\0") + options)
        if error := struct.unpack_from("=i", answer, _HEADER.size)[0]:
            raise OSError(-error, f"the rate of {interface} cannot be changed")


def bucket_ticks(size_bytes: int, rate_bps: int) -> int:
    """Return the time in which a token bucket fills, in the kernel's ticks, as ``tc`` computes it."""
    return math.floor(1e9 * size_bytes / (rate_bps // 8) / _TICK_NS)


def _connect(namespace: int | None, interface: str) -> tuple[int, socket.socket]:
    """Return the number of an interface, and a socket to the kernel's network configuration of its namespace."""
    with entered(namespace):
        index = socket.if_nametoindex(interface)
        return index, socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)


def _answer(netlink: socket.socket, kind: int, flags: int, message: bytes) -> bytes:
    netlink.send(_HEADER.pack(_HEADER.size + len(message), kind, flags, 0, 0) + message)
    return netlink.recv(_ANSWER_BYTES)


def _attribute(kind: int, value: bytes) -> bytes:
    """Return a netlink attribute; its value is whole words."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value


def _told(answer: bytes, interface: str, handle: int) -> Answer:
    length, answered, *_ = _HEADER.unpack_from(answer)
    message = answer[_HEADER.size : length]
    if answered == _ERROR:
        raise OSError(-struct.unpack_from("=i", message)[0], f"a qdisc of {interface} cannot be read")
    attributes = attributes_of(message[_TC_MESSAGE.size :])
    kind = attributes[_KIND].rstrip(b"\0").decode()
    statistics = attributes_of(attributes.get(_STATISTICS, b""))
    return Answer(kind, handle, attributes.get(_OPTIONS, b""), statistics)


def attributes_of(data: bytes) -> dict[int, bytes]:
    """Return the values of netlink attributes by their kind."""
    values, at = {}, 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        values[kind & 0x3FFF] = data[at + _ATTRIBUTE.size : at + length]
        at += -(-max(length, _ATTRIBUTE.size) // 4) * 4
    return values
