"""The queueing disciplines that can hold a bottleneck's waiting packets: their words for ``tc``, and how to read them.

Each takes from a scenario what its kernel module takes; times that the kernel rounds are compared as it reports them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from topologies.links.base import Bottleneck
from topologies.links.tc import Answer, attributes_of
from topologies.packets import PACKET_BYTES

_MEMORY_BYTES = 4096  # for a packet in CAKE's account: more than any takes
_STATISTICS, _OWN_STATISTICS = 3, 4
_ALL = 2**32 - 1


@dataclass(frozen=True)
class Parameter:
    """A parameter: tc's word, the netlink attribute with its value, the default (None: the scenario must say it)."""

    word: str
    attribute: int
    default: int | bool | None
    kernel: Callable[[int], int] = int  # the value as the kernel reports it

    def words(self, value: int) -> str:
        """Return the words for ``tc``."""
        if isinstance(value, bool):
            return self.word if value else f"no{self.word}"
        return f"{self.word} {value}" if self.kernel is int else f"{self.word} {value / 1000:g}us"


@dataclass(frozen=True)
class QueueKind:
    """A queueing discipline whose settings are netlink attributes of 32 bits each.

    `limit` is the attribute of its limit in packets, `marked` and `overflowed` the places of these counters in the
    statistics of its own, in words of 32 bits (None: not there). `only_pkts` is the one buffer that it can have.
    """

    kernel_name: str
    limit: int
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    marked: int | None = None
    overflowed: tuple[int, ...] = ()
    only_pkts: int | None = None

    def words(self, link: ManagedBottleneck) -> str:
        """Return the words for ``tc qdisc``."""
        own = "".join(f" {self.parameters[name].words(value)}" for name, value in link.params.items())
        return f"{self.kernel_name} limit {link.buffer_pkts}{own}"

    def values(self, link: ManagedBottleneck) -> dict[str, int]:
        """Return what `read` must find when this is in force."""
        own = {name: self.parameters[name].kernel(value) for name, value in link.params.items()}
        return {"buffer_pkts": link.buffer_pkts, **own}

    def read(self, options: bytes, own: bytes, _queue: bytes) -> dict[str, int]:
        """Return settings and `COUNTS` from the kernel's answer: options, own statistics, those of any queue."""
        given = attributes_of(options)
        values = {name: _number(given[parameter.attribute]) for name, parameter in self.parameters.items()}
        counts = {}
        if self.marked is not None:
            counts["marked_pkts"] = _word(own, self.marked)
        if self.overflowed:
            counts["overflowed_pkts"] = sum(_word(own, place) for place in self.overflowed)
        return {"buffer_pkts": _number(given[self.limit]), **values, **counts}


class _Red(QueueKind):
    """RED counts bytes; a packet of a scenario is a full one. The average's weight follows from the thresholds.

    That is Floyd's rule as in tc-red(8): bursts of (2 min + max) / 3 packets pass.
    """

    def words(self, link: ManagedBottleneck) -> str:
        full_bytes, given = PACKET_BYTES + link.overhead_bytes, link.params
        burst = (2 * given["min_pkts"] + given["max_pkts"]) // 3 + 1
        return (
            f"red limit {link.buffer_pkts * full_bytes} min {given['min_pkts'] * full_bytes} "
            f"max {given['max_pkts'] * full_bytes} avpkt {full_bytes} burst {burst} "
            f"probability {given['probability_ppm'] / 1e6:g} bandwidth {link.rate_bps}bit{' ecn' * given['ecn']}"
        )

    def values(self, link: ManagedBottleneck) -> dict[str, int]:
        full_bytes, given = PACKET_BYTES + link.overhead_bytes, link.params
        sizes = {"limit": link.buffer_pkts, "min": given["min_pkts"], "max": given["max_pkts"]}
        in_bytes = {f"{name}_bytes": count * full_bytes for name, count in sizes.items()}
        return {**in_bytes, "probability_ppm": given["probability_ppm"], "ecn": int(given["ecn"])}

    def read(self, options: bytes, own: bytes, _queue: bytes) -> dict[str, int]:
        given = attributes_of(options)
        limit, least, most, *_, flags = struct.unpack_from("=3I4B", given[1])
        probability = round(_number(given[3]) * 1e6 / _ALL)
        values = {"limit_bytes": limit, "min_bytes": least, "max_bytes": most, "probability_ppm": probability}
        return {**values, "ecn": flags & 1, "marked_pkts": _word(own, 3), "overflowed_pkts": _word(own, 1)}


class _Bytes(QueueKind):
    """A drop-tail FIFO that counts bytes. A packet of a scenario is a full one, so more small ones fit."""

    def words(self, link: ManagedBottleneck) -> str:
        return f"bfifo limit {self._limit_bytes(link)}"

    def values(self, link: ManagedBottleneck) -> dict[str, int]:
        return {"limit_bytes": self._limit_bytes(link)}

    def read(self, options: bytes, _own: bytes, _queue: bytes) -> dict[str, int]:
        return {"limit_bytes": _number(options)}

    def _limit_bytes(self, link: ManagedBottleneck) -> int:
        return link.buffer_pkts * (PACKET_BYTES + link.overhead_bytes)


class _Cake(QueueKind):
    """CAKE below the limiter, its own shaper off. It limits memory, of which a packet of `buffer` gets 4 KiB."""

    _TINS, _MARKED = 10, 8

    def words(self, link: ManagedBottleneck) -> str:
        interval_us = link.params["interval_ns"] / 1000
        return f"cake unlimited rtt {interval_us:g}us memlimit {link.buffer_pkts * _MEMORY_BYTES}"

    def values(self, link: ManagedBottleneck) -> dict[str, int]:
        return {"interval_ns": link.params["interval_ns"] // 1000, "memory_bytes": link.buffer_pkts * _MEMORY_BYTES}

    def read(self, options: bytes, own: bytes, _queue: bytes) -> dict[str, int]:
        given = attributes_of(options)
        tins = attributes_of(attributes_of(own)[self._TINS])
        marked = sum(_number(attributes_of(tin)[self._MARKED]) for tin in tins.values())
        return {"interval_ns": _number(given[7]), "memory_bytes": _number(given[10]), "marked_pkts": marked}


class _DualPi2(QueueKind):
    """DualPI2 as the kernel makes it: the guest's ``tc`` knows none of its parameters, and `buffer` is the kernel's."""

    def words(self, _link: ManagedBottleneck) -> str:
        return self.kernel_name

    def read(self, options: bytes, own: bytes, queue: bytes) -> dict[str, int]:
        return {**super().read(options, own, queue), "overflowed_pkts": _word(queue, 4)}


def _codel_us(time_ns: int) -> int:
    """Return a time as CoDel keeps and reports it: in steps of 1024 ns, then in us."""
    return (time_ns >> 10 << 10) // 1000


def _pie_us(time_ns: int) -> int:
    """Return a time as PIE keeps and reports it: in steps of 64 ns, then in us."""
    return (time_ns >> 6 << 6) // 1000


def _us(time_ns: int) -> int:
    return time_ns // 1000


def _codel(ecn: bool) -> dict[str, Parameter]:
    return {
        "target_ns": Parameter("target", 1, 5_000_000, _codel_us),
        "interval_ns": Parameter("interval", 3, 100_000_000, _codel_us),
        "ecn": Parameter("ecn", 4, ecn),
    }


def _pie(target: int, tupdate: int, ecn: int) -> dict[str, Parameter]:
    return {
        "target_ns": Parameter("target", target, 15_000_000, _pie_us),
        "tupdate_ns": Parameter("tupdate", tupdate, 15_000_000, _us),
        "ecn": Parameter("ecn", ecn, False),
    }


RED_PARAMETERS = {
    "min_pkts": Parameter("min", 1, None),
    "max_pkts": Parameter("max", 1, None),
    "probability_ppm": Parameter("probability", 3, 20_000),
    "ecn": Parameter("ecn", 1, False),
}
# attributes and statistics: linux/pkt_sched.h; defaults: the kernel's, and tc's for RED
QUEUES: dict[str, QueueKind] = {
    "bfifo": _Bytes("bfifo", 0),
    "red": _Red("red", 1, RED_PARAMETERS),
    "codel": QueueKind("codel", 2, _codel(ecn=False), marked=6, overflowed=(5,)),
    "fq_codel": QueueKind("fq_codel", 2, _codel(ecn=True), marked=3, overflowed=(2,)),
    "pie": QueueKind("pie", 2, _pie(1, 3, 6), marked=9, overflowed=(7,)),
    "fq_pie": QueueKind("fq_pie", 1, _pie(3, 4, 11), marked=4, overflowed=(2, 3)),
    "cake": _Cake("cake", 0, {"interval_ns": Parameter("rtt", 7, 100_000_000, _us)}),
    "dualpi2": _DualPi2("dualpi2", 1, marked=6, only_pkts=10_000),
    "fq": QueueKind("fq", 1, {"flow_limit_pkts": Parameter("flow_limit", 2, 100)}),
}


@dataclass(frozen=True)
class ManagedBottleneck(Bottleneck):
    """A bottleneck whose packets wait in one of `QUEUES` instead of a drop-tail FIFO.

    All of them sit below the same limiter, CAKE included, so they share one capacity and one notion of a packet's size.
    """

    queue: str = "codel"
    params: Mapping[str, Any] = field(default_factory=dict)

    COUNTS: ClassVar = ("marked_pkts", "overflowed_pkts")
    """Where the kernel tells: packets marked with Congestion Experienced, and dropped packets for which there was no
    room, as opposed to those that were dropped early."""

    def values(self) -> dict[str, int]:
        """Return what `read` must find when this is in force."""
        return {"rate_bps": self.htb_rate_bps, **QUEUES[self.queue].values(self)}

    def queue_words(self) -> str:
        """Return what ``tc`` calls the queueing discipline, with its settings."""
        return QUEUES[self.queue].words(self)

    def queue_parts(self, answer: Answer) -> dict[str, int]:
        """Return settings and counts of the queueing discipline from the kernel's answer.

        Raises:
            OSError: it is another one.
        """
        kind, told = QUEUES[self.queue], answer.statistics
        if answer.kind != kind.kernel_name:
            raise OSError(0, f"found a qdisc {answer.kind}, which is not this link's {kind.kernel_name}")
        return kind.read(answer.options, told.get(_OWN_STATISTICS, b""), told[_STATISTICS])


def _number(value: bytes) -> int:
    return int(struct.unpack_from("=I", value)[0])


def _word(statistics: bytes, place: int) -> int:
    return _number(statistics[4 * place :])
