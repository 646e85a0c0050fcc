"""The travel of packets along a path, by netem: delay, jitter and losses, and what else a path can do to packets."""

import struct
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import ClassVar

from topologies.links.base import Parts, Shaped
from topologies.links.tc import QDISC, Answer, attributes_of

CHANGEABLE = (
    *("delay", "jitter", "distribution", "keep_order", "burst", "loss"),
    *("duplicate", "corrupt", "aggregation", "suspension"),
    *("reorder", "reorder_correlation"),
)
"""Fields that an event may change in place, without their units."""

_NETEM_BYTES, _LATENCY, _JITTER = 24, 10, 11  # linux/pkt_sched.h
_REORDER, _CORRUPT, _LOSS, _RATE, _SLOT, _GILBERT = 3, 4, 5, 6, 12, 2
_ALL = 2**32 - 1


@dataclass(frozen=True)
class Propagation(Shaped):
    """The travel time of a link. Jitter (uniform, plus or minus) may reorder, as on a path of parallel queues."""

    delay_ns: int
    jitter_ns: int = 0
    loss_ppm: int = 0

    # packets under way, not a buffer: so large that it never drops
    _LIMIT_PKTS = 1_000_000

    ASKED: ClassVar[tuple[tuple[int, int], ...]] = ((QDISC, 0x200000),)  # 20:

    def add(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that put it on `interface`."""
        return [f"qdisc add dev {interface} root handle 20: {self._netem()}"]

    def change(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that turn another `Propagation` on `interface` into this one, in place."""
        return [f"qdisc change dev {interface} root handle 20: {self._netem()}"]

    def values(self) -> Parts:
        """Return what `read` must find when this is in force."""
        values = {"delay_ns": self.delay_ns, "jitter_ns": self.jitter_ns, "loss_ppm": self.loss_ppm}
        return {**values, "limit_pkts": self._LIMIT_PKTS}

    def parts(self, answer: Answer) -> Parts:
        """Return what an answer to `ASKED` tells, and `lost_pkts`, the packets that netem has dropped so far."""
        _, limit_pkts, loss, *_ = struct.unpack_from("=6I", answer.options)
        inner = attributes_of(answer.options[_NETEM_BYTES:])
        delay_ns, jitter_ns = (struct.unpack("=q", inner[what])[0] for what in (_LATENCY, _JITTER))
        times = {"delay_ns": delay_ns, "jitter_ns": jitter_ns}
        return {**times, "loss_ppm": _ppm(loss), "limit_pkts": limit_pkts, "lost_pkts": answer.dropped_pkts}

    def _netem(self) -> str:
        jitter = f" {self.jitter_ns}ns" if self.jitter_ns else ""
        loss = f" loss {self.loss_ppm / 10_000:.4f}%" if self.loss_ppm else ""
        return f"netem limit {self._LIMIT_PKTS} delay {self.delay_ns}ns{jitter}{loss}"


@dataclass(frozen=True)
class ImpairedLink(Propagation):
    """A link whose jitter and losses have a form, or that repeats, corrupts or gathers packets.

    Jitter is uniform, plus or minus, unless netem has a table of the `distribution`, of which it is the standard
    deviation then. It may reorder, as on a path of parallel queues, unless packets `keep_order`, as on one whose queue
    grows and shrinks. netem's correlation of jitter is left out: a trial with 80 % showed none on packets.

    With `burst_pkts` losses come in bursts of so many packets on average (Gilbert's model); `loss_ppm` stays the share
    of all.

    `duplicate_ppm` of all packets arrive twice. One bit of `corrupt_ppm` of all is wrong, Ethernet header included.
    `reorder_ppm` of all skip the delay and so overtake those under way. netem draws for each a number that holds
    `reorder_correlation_ppm` of the one before; `reorder_ppm` stays the share of all.
    Packets gather for `aggregation_ns`, or for `suspension_ns` while that is above zero, and go on together (netem's
    slots). What is zero may be so after an event, so ``tc`` gets it, which would keep the former value.
    """

    distribution: str = "uniform"
    keep_order: bool = False
    burst_pkts: int = 0
    duplicate_ppm: int = 0
    corrupt_ppm: int = 0
    aggregation_ns: int = 0
    suspension_ns: int = 0
    reorder_ppm: int = 0
    reorder_correlation_ppm: int = 0

    # with a rate netem sends packets in their order; at this one a full packet takes 12 ns
    _IN_ORDER_BPS = 10**12

    def values(self) -> Parts:
        """Return what `read` must find when this is in force."""
        begins, ends = self._bursts()
        bursts = {"loss_ppm": 0, "burst_begins_ppm": begins, "burst_ends_ppm": ends} if ends else {}
        shares = {"duplicate_ppm": self.duplicate_ppm, "corrupt_ppm": self.corrupt_ppm}
        forms = {"keep_order": int(self.keep_order), "slot_ns": self._slot_ns}
        correlation = self.reorder_correlation_ppm if self.reorder_ppm else 0
        reordering = {"reorder_below_ppm": self._reorder_below_ppm, "reorder_correlation_ppm": correlation}
        return {**super().values(), **shares, **forms, **bursts, **reordering}

    def parts(self, answer: Answer) -> Parts:
        """Return what an answer to `ASKED` tells."""
        inner = attributes_of(answer.options[_NETEM_BYTES:])
        bursts = attributes_of(inner.get(_LOSS, b"")).get(_GILBERT, bytes(8))
        begins, ends = (_ppm(part) for part in struct.unpack_from("=2I", bursts))
        (slot_ns,) = struct.unpack_from("=q", inner.get(_SLOT, bytes(8)))
        (corrupt,) = struct.unpack_from("=I", inner[_CORRUPT])
        _, _, _, gap, duplicate, _ = struct.unpack_from("=6I", answer.options)
        below, correlation = (_ppm(part) for part in struct.unpack_from("=2I", inner[_REORDER]))
        # without a gap, netem reorders nothing and tells what it did before
        reordering = {"reorder_below_ppm": below, "reorder_correlation_ppm": correlation} if gap else {}
        shares = {"duplicate_ppm": _ppm(duplicate), "corrupt_ppm": _ppm(corrupt)}
        forms = {"keep_order": int(any(inner[_RATE])), "slot_ns": slot_ns}
        shape = {**shares, **forms, "burst_begins_ppm": begins, "burst_ends_ppm": ends}
        return {**super().parts(answer), **shape, **reordering}

    @property
    def _slot_ns(self) -> int:
        return self.suspension_ns or self.aggregation_ns

    @property
    def _reorder_below_ppm(self) -> int:
        """The number below which a packet's has to be to overtake."""
        return round(1e6 * _quantile(self.reorder_ppm / 1e6, self.reorder_correlation_ppm / 1e6))

    def _bursts(self) -> tuple[int, int]:
        """Return how likely a packet begins and ends a burst of losses, in ppm (0: there are no bursts)."""
        if not (self.burst_pkts and self.loss_ppm):
            return 0, 0
        ends = 1 / self.burst_pkts
        return round(1e6 * ends * self.loss_ppm / (1e6 - self.loss_ppm)), round(1e6 * ends)

    def _netem(self) -> str:
        jitter = f" {self.jitter_ns}ns" if self.jitter_ns else ""
        if jitter and self.distribution != "uniform":
            jitter += f" distribution {self.distribution}"
        loss = f" loss {self.loss_ppm / 10_000:.4f}%" if self.loss_ppm else ""
        if begins_and_ends := [ppm for ppm in self._bursts() if ppm]:
            loss = " loss gemodel" + "".join(f" {ppm / 10_000:.4f}%" for ppm in begins_and_ends)
        shares = f" duplicate {self.duplicate_ppm / 10_000:.4f}% corrupt {self.corrupt_ppm / 10_000:.4f}%"
        order = f" rate {self._IN_ORDER_BPS}bit" if self.keep_order else ""
        slot = f" slot {self._slot_ns}ns {self._slot_ns}ns"
        early = [ppm for ppm in (self._reorder_below_ppm, self.reorder_correlation_ppm) if ppm]
        reorder = " reorder" + "".join(f" {ppm / 10_000:.4f}%" for ppm in early) if self.reorder_ppm else ""
        return f"netem limit {self._LIMIT_PKTS} delay {self.delay_ns}ns{jitter}{loss}{shares}{order}{slot}{reorder}"


def _ppm(part: int) -> int:
    return round(part * 1e6 / _ALL)


@cache
def _quantile(share: float, correlation: float) -> float:
    """Return the number below which a share of netem's correlated random numbers lies.

    Each is a part `correlation` of the one before, and for the rest an even one. What lies below x is therefore the
    mean of what lies below (x - (1 - correlation) * u) / correlation over all u from 0 to 1: a fixed point.
    """
    if not (share and correlation):
        return share
    cells = 1000
    grid = [cell / cells for cell in range(cells + 1)]
    below = grid
    for _ in range(round(12 / (1 - correlation))):  # each brings it nearer by the correlation
        areas = [0.0, *accumulate((a + b) / 2 / cells for a, b in pairwise(below))]
        below = [
            (_at(areas, x / correlation) - _at(areas, (x - 1) / correlation + 1)) * correlation / (1 - correlation)
            for x in grid
        ]
    cell = next(cell for cell, part in enumerate(below) if part >= share)
    return grid[cell] - (below[cell] - share) / (below[cell] - below[cell - 1]) / cells


def _at(areas: list[float], x: float) -> float:
    """The area up to x of a function from 0 at 0 to 1 at 1, by its areas up to even steps."""
    cells = len(areas) - 1
    if x <= 0:
        return 0.0
    if x >= 1:
        return areas[-1] + x - 1
    cell = int(x * cells)
    return areas[cell] + (areas[cell + 1] - areas[cell]) * (x * cells - cell)
