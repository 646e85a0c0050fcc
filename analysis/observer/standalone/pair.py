"""One flow in two captures: its packets recognised on both sides, and what happened between the two taps.

A packet is recognised by its digest: TCP's header from the sequence number on without the checksum, or the first bytes
of the datagram, which for uTP hold its timestamp; translators of addresses and ports leave both. A digest that a flow
has twice at a tap (a retransmission within a tick of the timestamp) belongs to no pair.

The clock of the second tap counts as the first's, plus an offset, plus a skew. The skew is found (see clocks.py). Of
the offset, delays both ways tell that it makes no base delay negative; in the middle of what is left the two base
delays are equal, and that is what is assumed. With packets of one direction alone neither is known.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from analysis.observer.conversation import FEWEST_PKTS, Samples
from analysis.observer.description import spread
from analysis.observer.standalone import clocks
from analysis.observer.standalone.captures import Captured
from analysis.observer.standalone.flows import CapturedFlow
from analysis.series import Floats

LEAST_PART: Final = 0.1  # of the smaller side's packets

Way = tuple[Floats, Floats]  # instants of the same packets at the first and at the second tap, each by its own clock


@dataclass(frozen=True, eq=False)
class Pair:
    """What two captures tell together; `near` is the sender's side. Delays are queuing delays between the taps, s."""

    near: CapturedFlow
    far: CapturedFlow
    matched_pkts: int
    base_s: float | None  # of the way from tap to tap and back; None: answers were not captured twice
    offset_s: float  # clock of `far` less that of `near`, at the first packet; `base_s` / 2 more or less
    skew: float
    forward: Samples
    backward: Samples
    sent_pkts: int  # data packets at `near` between the first and the last that both have
    lost_pkts: int  # those of them that `far` never saw
    lost_answers: int
    appeared_pkts: int  # data packets at `far` that `near` never saw
    reordered_pkts: int

    def as_json(self) -> dict[str, Any]:
        """Give what goes into JSON."""
        base_ms = None if self.base_s is None else round(1e3 * self.base_s, 4)
        return {
            "near_sender": str(self.near.captured.path),
            "near_receiver": str(self.far.captured.path),
            "matched_pkts": self.matched_pkts,
            "base_round_trip_between_ms": base_ms,
            "clock_offset_ms": round(1e3 * self.offset_s, 4),
            "clock_offset_uncertainty_ms": None if base_ms is None else round(base_ms / 2, 4),
            "clock_skew_ppm": None if base_ms is None else round(1e6 * self.skew, 3),
            "queuing_ms": {
                "forward": spread(1e3 * self.forward.values),
                "backward": spread(1e3 * self.backward.values),
            },
            "sent_pkts": self.sent_pkts,
            "lost_pkts": self.lost_pkts,
            "lost_answers": self.lost_answers,
            "appeared_pkts": self.appeared_pkts,
            "reordered_pkts": self.reordered_pkts,
        }


def pairs(near: list[CapturedFlow], far: list[CapturedFlow]) -> list[Pair]:
    """Find the flows that two captures share."""
    both = _digests(near).join(_digests(far), on=("digest", "way"), suffix="_other")
    result = []
    for (a, b), matched in both.group_by("flow", "flow_other", maintain_order=True):
        first, second = near[int(str(a))], far[int(str(b))]
        smaller = min(len(first.there) + len(first.back), len(second.there) + len(second.back))
        if len(matched) >= max(FEWEST_PKTS, LEAST_PART * smaller):
            result.append(_pair(first, second, matched))
    return result


def _digests(flows: list[CapturedFlow]) -> pl.DataFrame:
    """Digests that a flow has once in a direction, with their instants."""
    sides = [
        side.select("digest", "time_ns", flow=pl.lit(number), way=pl.lit(way))
        for number, flow in enumerate(flows)
        for way, side in (("there", flow.there), ("back", flow.back))
    ]
    if not sides:
        return pl.DataFrame(schema={"digest": pl.UInt64, "time_ns": pl.Int64, "flow": pl.Int32, "way": pl.String})
    together = pl.concat(sides)
    return together.filter(pl.len().over("flow", "way", "digest") == 1)


def _pair(first: CapturedFlow, second: CapturedFlow, matched: pl.DataFrame) -> Pair:
    """Bring the two into the order of the path: data needs time from the first tap to the second."""
    captures = first.captured, second.captured
    there, back = _instants(matched, "there", captures), _instants(matched, "back", captures)
    if _base(there, back)[0] < 0:
        first, second = second, first
        there, back = there[::-1], back[::-1]
    base, skew = _base(there, back)
    begin = min(float(way[0][0]) for way in (there, back) if len(way[0]))
    near_there, forward = clocks.ordered(there[0], there[1] - there[0] - skew * (there[0] - begin))
    near_back, backward = clocks.ordered(back[0], back[0] - back[1] + skew * (back[0] - begin))
    least = [float(way.min()) if len(way) else 0.0 for way in (forward, backward)]
    known = bool(len(forward)) and bool(len(backward))
    offset = (least[0] - least[1]) / (2 if known else 1)
    apart_s = (second.captured.origin_ns - first.captured.origin_ns) / 1e9  # of the instants' origins
    sent, lost = _lost(first.there, second.there, matched, "there")
    _, lost_answers = _lost(second.back, first.back, matched, "back")
    _, appeared = _lost(second.there, first.there, matched, "there")
    _, arrivals = clocks.ordered(*there)
    return Pair(
        near=first,
        far=second,
        matched_pkts=len(matched),
        base_s=base if known else None,
        offset_s=offset + apart_s,
        skew=skew,
        forward=Samples(near_there, forward - least[0]),
        backward=Samples(near_back, backward - least[1]),
        sent_pkts=sent,
        lost_pkts=lost,
        lost_answers=lost_answers,
        appeared_pkts=appeared,
        reordered_pkts=int((arrivals[1:] < np.maximum.accumulate(arrivals)[:-1]).sum()),
    )


def _base(there: Way, back: Way) -> tuple[float, float]:
    """Base delay from tap to tap and back, s (negative in the wrong order), and the skew of the second clock.

    Of one direction alone a skew cannot be told from a queue that grows: none is assumed.
    """
    if not (len(there[0]) and len(back[0])):
        return 0.0, 0.0
    return clocks.skew(clocks.ordered(there[0], there[1] - there[0]), clocks.ordered(back[0], back[0] - back[1]))


def _instants(matched: pl.DataFrame, way: str, captures: tuple[Captured, Captured]) -> Way:
    rows = matched.filter(pl.col("way") == way)
    first, second = (
        (rows[column].to_numpy() - capture.origin_ns) / 1e9
        for column, capture in zip(("time_ns", "time_ns_other"), captures, strict=True)
    )
    return first, second


def _lost(before: pl.DataFrame, behind: pl.DataFrame, matched: pl.DataFrame, way: str) -> tuple[int, int]:
    """Packets of `before` between its first and its last that both taps have, and those that `behind` lacks."""
    digests = matched.filter(pl.col("way") == way)["digest"].implode()
    both = before.filter(pl.col("digest").is_in(digests))
    if not len(both):
        return 0, 0
    inside = before.filter(pl.col("time_ns").is_between(both["time_ns"].min(), both["time_ns"].max()))
    missing = inside.filter(pl.col("digest").is_in(behind["digest"].implode()).not_())
    return len(inside), len(missing)
