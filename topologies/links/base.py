"""Shapes the packets that an interface sends: a rate with a queue, or a delay, never both on one interface.

A netem qdisc with both rate and delay (Mininet's ``TCLink``) keeps waiting and travelling packets in one queue. Its
limit is then neither a buffer nor a bandwidth-delay product, and jitter cannot reorder.
"""

import math
import struct
from dataclasses import dataclass, field
from typing import ClassVar

from topologies.links import tc
from topologies.links.tc import CLASS, HTB_HANDLE, HTB_PARAMETERS, QDISC, Answer, attributes_of
from topologies.packets import PACKET_BYTES

Parts = dict[str, int]
"""Settings of a qdisc or class, by the names of the fields of what shapes an interface."""

_HTB_RATE64 = 6  # linux/pkt_sched.h

LATENESS_NS = 1000
"""How late HTB can wake up in virtual time, with room: the guest's shortest timer is 500 ns."""

QUEUE_HANDLE = "10"
"""Major number of the qdisc that holds the waiting packets of a `Bottleneck`."""

ETHERNET_HEADER_BYTES = 14
_BYTE_SUFFICES_BPS = 20_000_000
_FAST_BPS = 1_000_000_000


class Shaped:
    """What shapes an interface: the lines for ``tc -batch`` that put it there, and what the kernel tells of it then."""

    ASKED: ClassVar[tuple[tuple[int, int], ...]]
    """What to ask the kernel for, as `tc.ask` takes it."""

    def add(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that put it on `interface`."""
        raise NotImplementedError

    def change(self, interface: str) -> list[str]:
        """Return the lines that turn another one of its kind on `interface` into this one, in place."""
        raise NotImplementedError

    def values(self) -> Parts:
        """Return what `read` must find when this is in force."""
        raise NotImplementedError

    def parts(self, answer: Answer) -> Parts:
        """Return the settings that an answer to `ASKED` tells, and the counts."""
        raise NotImplementedError

    def read(self, namespace: int | None, interface: str) -> Parts:
        """Ask the kernel what is in force on an interface of the namespace behind a descriptor (None: the first one).

        Raises:
            OSError: there is no such qdisc or class.
        """
        shaping: Parts = {}
        for answer in tc.ask(namespace, interface, self.ASKED):
            shaping |= self.parts(answer)
        return shaping


@dataclass(frozen=True)
class Bottleneck(Shaped):
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
    ASKED: ClassVar = ((CLASS, HTB_HANDLE), (QDISC, 0x100000))  # 10:
    COUNTS: ClassVar[tuple[str, ...]] = ()
    """What the queue counts of its own, besides packets sent and dropped."""

    def add(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that put it on `interface`."""
        size = f"overhead {self.overhead_bytes - ETHERNET_HEADER_BYTES}{' linklayer atm' if self.cells else ''}"
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
        """Return what `read` must find when this is in force."""
        return {"rate_bps": self.htb_rate_bps, "buffer_pkts": self.buffer_pkts}

    def parts(self, answer: Answer) -> Parts:
        """Return what an answer to `ASKED` tells: the limiter's rate, or what the queue is."""
        if answer.kind != "htb":
            return self.queue_parts(answer)
        inner = attributes_of(answer.options)
        (bytes_ps,) = struct.unpack_from("=I", inner[HTB_PARAMETERS], 8)
        if _HTB_RATE64 in inner:
            (bytes_ps,) = struct.unpack("=Q", inner[_HTB_RATE64])
        return {"rate_bps": 8 * bytes_ps}

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
        packet_ns = PACKET_BYTES * (factor // (self.htb_rate_bps // 8)) >> shift
        return 8e9 * PACKET_BYTES / packet_ns / self.rate_bps - 1

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

    def queue_parts(self, answer: Answer) -> Parts:
        """Return what an answer tells of the queueing discipline.

        Raises:
            OSError: it is another one.
        """
        if answer.kind != "pfifo":
            raise OSError(0, f"found a qdisc {answer.kind}, which is not this link's pfifo")
        return {"buffer_pkts": struct.unpack_from("=I", answer.options)[0]}
