"""Shapes the packets that an interface sends: a rate with a queue, or a delay, never both on one interface.

A netem qdisc with both rate and delay (Mininet's ``TCLink``) keeps waiting and travelling packets in one queue. Its
limit is then neither a buffer nor a bandwidth-delay product, and jitter cannot reorder.
"""

import math
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from topologies.batch import entered

Parts = dict[str, int]
"""Settings of a qdisc or class, by the names of the fields of `Bottleneck` and `Propagation`."""

# linux/rtnetlink.h
QDISC, CLASS, FILTER = 38, 42, 46
"""What `read` can ask for by a handle; a filter by its priority, at the egress of the interface."""
_CLASS_CHANGE = 40
_REQUEST_ECHO, _REQUEST_ACK, _ERROR = 0x9, 0x5, 2
_HEADER, _TC_MESSAGE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxxxiIII"), struct.Struct("=HH")
_KIND, _OPTIONS, _STATISTICS, _QUEUE_STATISTICS = 1, 2, 7, 3
_EGRESS, _ALL_PROTOCOLS = 0xFFFFFFF3, socket.htons(3)
_HTB_HANDLE = 0x10001  # 1:1
# linux/pkt_sched.h
_HTB_PARAMETERS, _HTB_RATE64 = 1, 6
_HTB_CLASS = struct.Struct("=8sI8s3I12s")  # struct tc_htb_opt: rate and ceiling, each after 8 bytes, then both buckets
_TICK_NS = 64
_NETEM_BYTES, _NETEM_LATENCY, _NETEM_JITTER, _NETEM_CORRUPT, _NETEM_RATE, _NETEM_FORMS = 24, 10, 11, 4, 6, {5, 12}
_ALL = 2**32 - 1

_ANSWER_BYTES = 1 << 16

LATENESS_NS = 1000
"""How late HTB can wake up in virtual time, with room: the guest's shortest timer is 500 ns."""

QUEUE_HANDLE = "10"
"""Major number of the qdisc that holds the waiting packets of a `Bottleneck`."""

_ETHERNET_HEADER_BYTES = 14
_PACKET_BYTES = 1500
_BYTE_SUFFICES_BPS = 20_000_000
_FAST_BPS = 1_000_000_000


@dataclass(frozen=True)
class Bottleneck:
    """A link of `rate_bps` behind a drop-tail FIFO of `buffer_pkts` waiting packets.

    The rate counts IP bytes, as papers do, and `overhead_bytes` for each packet: a size table subtracts the Ethernet
    header and adds the overhead. With `cells` it then counts whole ATM cells, 53 bytes for each 48. HTB hands a packet
    to the wire at the start of its transmission, so the packet under transmission does not count as waiting (as in
    ns-2).

    HTB wakes up late and makes up for it with the tokens in its buckets; it loses time that they do not cover. Up to
    20 Mbit/s one byte covers it (400 ns or more); above, the buckets hold what the link carries in `LATENESS_NS`. Both
    are less than a full packet, so an idle link lets one packet pass at once, not two.
    """

    rate_bps: int
    buffer_pkts: int
    overhead_bytes: int = 0
    cells: bool = field(default=False, kw_only=True)

    CHANGEABLE: ClassVar = ("rate", "buffer")
    """Fields that an event may change in place, without their units."""
    ASKED: ClassVar = ((CLASS, _HTB_HANDLE), (QDISC, 0x100000))  # 10:
    COUNTS: ClassVar[tuple[str, ...]] = ()
    """What the queue counts of its own, besides packets sent and dropped."""

    def add(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that put it on `interface`."""
        size = f"overhead {self.overhead_bytes - _ETHERNET_HEADER_BYTES}{' linklayer atm' if self.cells else ''}"
        return [
            f"qdisc add dev {interface} root handle 1: stab {size} htb default 1",
            f"class add dev {interface} {self._htb_class()}",
            f"qdisc add dev {interface} parent 1:1 handle {QUEUE_HANDLE}: {self.queue_words()}",
        ]

    def change(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that turn another `Bottleneck` on `interface` into this one, in place."""
        change = f"qdisc change dev {interface} handle {QUEUE_HANDLE}: {self.queue_words()}"
        return [f"class change dev {interface} {self._htb_class()}", change]

    def values(self) -> Parts:
        """Return what the kernel must answer to `ASKED` when this is in force."""
        return {"rate_bps": self.htb_rate_bps, "buffer_pkts": self.buffer_pkts}

    @property
    def htb_rate_bps(self) -> int:
        """The rate that HTB is given, in whole bytes per second.

        HTB rounds a packet's time down to whole ns, which matters on fast links. There a time that should be a whole
        number falls just short of it; one byte per second less lifts it above.
        """
        return self.rate_bps // 8 * 8 - (8 if self.rate_bps > _FAST_BPS else 0)

    @property
    def rate_error(self) -> float:
        """The relative error of the rate of full packets; positive: above `rate_bps`.

        Computed like psched_ratecfg_precompute() in net/sched/sch_generic.c and psched_l2t_ns().
        """
        factor, shift = 1_000_000_000, 0
        while not (factor // (self.htb_rate_bps // 8)) >> 31 and not factor >> 63:
            factor, shift = factor << 1, shift + 1
        packet_ns = _PACKET_BYTES * (factor // (self.htb_rate_bps // 8)) >> shift
        return 8e9 * _PACKET_BYTES / packet_ns / self.rate_bps - 1

    @property
    def bucket_bytes(self) -> int:
        """What each of HTB's two buckets holds."""
        return 1 if self.rate_bps <= _BYTE_SUFFICES_BPS else math.ceil(self.rate_bps * LATENESS_NS / 8e9)

    def _htb_class(self) -> str:
        buckets = f"burst {self.bucket_bytes}b cburst {self.bucket_bytes}b"
        return f"parent 1: classid 1:1 htb rate {self.htb_rate_bps}bit {buckets} quantum 1514"

    def queue_words(self) -> str:
        """Return what ``tc`` calls the queueing discipline, with its settings."""
        return f"pfifo limit {self.buffer_pkts}"


@dataclass(frozen=True)
class Propagation:
    """The travel time of a link. Jitter (uniform, plus or minus) may reorder, as on a path of parallel queues."""

    delay_ns: int
    jitter_ns: int = 0
    loss_ppm: int = 0

    # packets under way, not a buffer: so large that it never drops
    _LIMIT_PKTS = 1_000_000

    CHANGEABLE: ClassVar = (
        *("delay", "jitter", "distribution", "keep_order", "burst", "loss"),
        *("duplicate", "corrupt", "aggregation", "suspension"),
        *("black_hole", "policed", "policed_burst"),
    )
    ASKED: ClassVar[tuple[tuple[int, int], ...]] = ((QDISC, 0x200000),)  # 20:

    def add(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that put it on `interface`."""
        return [f"qdisc add dev {interface} root handle 20: {self._netem()}"]

    def change(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that turn another `Propagation` on `interface` into this one, in place."""
        return [f"qdisc change dev {interface} root handle 20: {self._netem()}"]

    def values(self) -> Parts:
        """Return what the kernel must answer to `ASKED` when this is in force."""
        values = {"delay_ns": self.delay_ns, "jitter_ns": self.jitter_ns, "loss_ppm": self.loss_ppm}
        return {**values, "limit_pkts": self._LIMIT_PKTS}

    def _netem(self) -> str:
        jitter = f" {self.jitter_ns}ns" if self.jitter_ns else ""
        loss = f" loss {self.loss_ppm / 10_000:.4f}%" if self.loss_ppm else ""
        return f"netem limit {self._LIMIT_PKTS} delay {self.delay_ns}ns{jitter}{loss}"


Shaping = Bottleneck | Propagation


def bottleneck(values: Mapping[str, Any]) -> Bottleneck:
    """Return the bottleneck that has these fields."""
    if values.get("queue", "fifo") == "fifo":
        own = {name: values[name] for name in ("overhead_bytes", "cells") if name in values}
        return Bottleneck(values["rate_bps"], values["buffer_pkts"], **own)
    from topologies import queues  # late: only runs that use it load it in the guest

    return queues.ManagedBottleneck(**values)


def tightest(*limits: Bottleneck) -> Bottleneck:
    """Return what limits packets that pass several bottlenecks: the slowest, with the smallest buffer."""
    slowest = min(limits, key=lambda limit: limit.rate_bps)
    return replace(slowest, buffer_pkts=min(limit.buffer_pkts for limit in limits))


def shaping(values: Mapping[str, Any]) -> Shaping:
    """Return the shaping that has these fields."""
    return bottleneck(values) if "rate_bps" in values else Propagation(**values)


def changed(now: Any, values: Mapping[str, Any]) -> Any:
    """Return a shaping with other values of some fields, which a plain link may lack."""
    if set(values) <= vars(now).keys():
        return replace(now, **values)
    from topologies import impairments  # late: see `bottleneck`

    known = {**vars(now), **values}
    if known.keys() <= {one.name for one in fields(impairments.ImpairedLink)}:
        return impairments.ImpairedLink(**known)
    from topologies import filters  # late, too

    return filters.FilteredLink(**known)


def read(namespace: int | None, interface: str, asked: tuple[tuple[int, int], ...]) -> Parts:
    """Ask the kernel what is in force on an interface of the namespace behind a descriptor (None: the first one).

    This starts no process. It closes its socket at once and never opens a second one beside it, for which the kernel
    would draw a random number that other draws would then lack.

    `asked` are pairs of `QDISC` or `CLASS` and a handle, or `FILTER` and a priority; HTB's classes, netem, pfifo, the
    queueing disciplines of `topologies.queues` and the filters of `topologies.filters` are understood. For netem the
    answer includes `lost_pkts`, the packets that it has dropped so far, for queues what their `COUNTS` name, for
    filters `refused_pkts`.

    Raises:
        OSError: there is no such qdisc or class.
    """
    found: Parts = {}
    index, netlink = _connect(namespace, interface)
    with netlink:
        for kind, handle in asked:
            parent, which = (_EGRESS, handle << 16 | _ALL_PROTOCOLS) if kind == FILTER else (0, 0)
            message = _TC_MESSAGE.pack(0, index, handle, parent, which)
            found |= _parts(_answer(netlink, kind, _REQUEST_ECHO, message), interface, handle)
    return found


def set_rate(namespace: int | None, interface: str, link: Bottleneck) -> None:
    """Give the limiter of an interface the rate of `link`, as ``tc class change`` does, without starting a process.

    Raises:
        OSError: the kernel refuses.
    """
    index, netlink = _connect(namespace, interface)
    with netlink:
        message = _TC_MESSAGE.pack(0, index, _HTB_HANDLE, _HTB_HANDLE & 0xFFFF0000, 0)
        now = attributes_of(_answer(netlink, CLASS, _REQUEST_ECHO, message)[_HEADER.size + _TC_MESSAGE.size :])
        rate, _, ceiling, _, _, _, rest = _HTB_CLASS.unpack(attributes_of(now[_OPTIONS])[_HTB_PARAMETERS])
        bytes_ps = link.htb_rate_bps // 8
        ticks = bucket_ticks(link.bucket_bytes, link.htb_rate_bps)
        new = _HTB_CLASS.pack(rate, bytes_ps, ceiling, bytes_ps, ticks, ticks, rest)
        options = _attribute(_OPTIONS, _attribute(_HTB_PARAMETERS, new))
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


def _parts(answer: bytes, interface: str, handle: int) -> Parts:
    length, answered, *_ = _HEADER.unpack_from(answer)
    message = answer[_HEADER.size : length]
    if answered == _ERROR:
        raise OSError(-struct.unpack_from("=i", message)[0], f"a qdisc of {interface} cannot be read")
    attributes = attributes_of(message[_TC_MESSAGE.size :])
    kind, options = attributes[_KIND].rstrip(b"\0"), attributes.get(_OPTIONS, b"")
    if kind == b"htb":
        inner = attributes_of(options)
        (bytes_ps,) = struct.unpack_from("=I", inner[_HTB_PARAMETERS], 8)
        if _HTB_RATE64 in inner:
            (bytes_ps,) = struct.unpack("=Q", inner[_HTB_RATE64])
        return {"rate_bps": 8 * bytes_ps}
    if kind == b"pfifo":
        return {"buffer_pkts": struct.unpack_from("=I", options)[0]}
    if kind == b"clsact":
        return {"refused_pkts": _dropped(attributes)}
    if kind == b"matchall":
        from topologies import filters  # late: see `bottleneck`

        return filters.read(handle, options)
    if kind == b"netem":
        _, limit_pkts, loss, _, duplicate, _ = struct.unpack_from("=6I", options)
        inner = attributes_of(options[_NETEM_BYTES:])
        delay_ns, jitter_ns = (struct.unpack("=q", inner[what])[0] for what in (_NETEM_LATENCY, _NETEM_JITTER))
        more: Parts = {}
        if duplicate or inner.keys() & _NETEM_FORMS or any(inner[_NETEM_CORRUPT] + inner[_NETEM_RATE]):
            from topologies import impairments  # late: see `bottleneck`

            more = impairments.read(inner, duplicate)
        return {
            **more,
            "delay_ns": delay_ns,
            "jitter_ns": jitter_ns,
            "loss_ppm": round(loss * 1e6 / _ALL),
            "limit_pkts": limit_pkts,
            "lost_pkts": _dropped(attributes),
        }
    from topologies import queues  # late: only runs that use it load it in the guest

    return queues.read(kind.decode(), attributes_of(attributes[_STATISTICS]), options)


def _dropped(attributes: Mapping[int, bytes]) -> int:
    """Return the packets that a qdisc has dropped so far."""
    statistics = attributes_of(attributes[_STATISTICS])
    return int(struct.unpack_from("=5I", statistics[_QUEUE_STATISTICS])[2])


def attributes_of(data: bytes) -> dict[int, bytes]:
    """Return the values of netlink attributes by their kind."""
    found, at = {}, 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        found[kind & 0x3FFF] = data[at + _ATTRIBUTE.size : at + length]
        at += -(-max(length, _ATTRIBUTE.size) // 4) * 4
    return found
