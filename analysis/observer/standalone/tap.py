"""Where a capture was taken: at the sender, at the receiver, or between, and how far from each.

Two loops are timed at the tap. Data goes on to the receiver and its answer comes back: that is the far side of the
path, and the quickest counts. An answer goes on to the sender and what it sends next comes back: the near side.
Timestamps cut that loop in two at the sender, so that what each half waited in queues can be left out, and with it the
skew of the sender's clock. At the sender's own interface the near loop takes no time, at the receiver's the far one.

Beside the loops, hops left of 64, 128 or 255 say that no router was passed yet, and a cooked capture says what its host
sent itself.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
import polars as pl

from analysis.observer.conversation import Ints, ticks, unwrapped
from analysis.observer.flight import Flight
from analysis.observer.standalone import clocks
from analysis.observer.standalone.captures import OUTGOING
from analysis.observer.standalone.flows import CapturedFlow
from analysis.series import Floats
from common.counts import plural

INITIAL_HOPS: Final = (64, 128, 255)  # of Linux and macOS, Windows, and others
FINEST_TICKS: Final = 1000  # a second; coarser timestamps of TCP do not tell when data was sent
SHORTEST_S: Final = 1e-3  # a shorter round-trip time is no longer told from what programs take
END: Final = 0.1  # part of the round-trip time that still counts as one end

Half = tuple[Floats, Floats]  # instants, by the clock of where it begins, and times from there to the other end


class TapPlace(StrEnum):
    """Where the tap seems to be."""

    SENDER = "sender"
    RECEIVER = "receiver"
    BETWEEN = "between"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class TapGuess:
    """The place, and what speaks for it; times of the two loops in seconds, None where nothing tells."""

    place: TapPlace
    to_sender_s: float | None  # tap, sender, tap
    to_receiver_s: float | None
    because: list[str]
    skew: float | None  # of the tap's clock against the sender's

    def as_json(self) -> dict[str, Any]:
        """Give what goes into JSON."""
        ms = {"to_sender_and_back_ms": self.to_sender_s, "to_receiver_and_back_ms": self.to_receiver_s}
        return {
            "place": self.place.value,
            **{name: None if value is None else round(1e3 * value, 4) for name, value in ms.items()},
            "because": self.because,
        }


def locate(flow: CapturedFlow, flight: Flight) -> TapGuess:
    """Judge where a flow was captured; `flight` is the flow as its packets passed the tap."""
    far = float(flight.round_trips.values.min()) if len(flight.round_trips.values) else None
    near, skew = _near_of_utp(flow) if flow.transport == "utp" else _near_of_tcp(flow)
    because = []
    own = _own(flow)
    data_hops, answer_hops = (_routers(side) for side in (flow.there, flow.back))
    for what, routers in (("data", data_hops), ("answers", answer_hops)):
        if routers is not None:
            because.append(
                f"{what} passed {plural(routers, 'router')} before" if routers else f"{what} passed no router before"
            )
    if own:
        because.append(f"a cooked capture of the host that sent {own}")
        place = TapPlace.SENDER if own == "the data" else TapPlace.RECEIVER
    elif near is None or far is None:
        because.append(
            "the loop over the sender cannot be timed: no timestamps of use, nor the connection's first packets, "
            "or a sender that sends so seldom that waiting for its application looks like a long path"
        )
        place = _by_hops(data_hops, answer_hops)
    elif near + far < SHORTEST_S:
        because.append(f"the round-trip time, {1e3 * (near + far):.3f} ms, is too short to tell one end from the other")
        place = _by_hops(data_hops, answer_hops)
    else:
        because.append(f"{1e3 * near:.2f} ms to the sender and back, {1e3 * far:.2f} ms to the receiver and back")
        part = near / (near + far)
        place = TapPlace.SENDER if part < END else TapPlace.RECEIVER if part > 1 - END else TapPlace.BETWEEN
    return TapGuess(place, near, far, because, skew)


def _by_hops(data: int | None, answers: int | None) -> TapPlace:
    """Where hops alone say it: one side passed routers and the other did not."""
    if data == 0 and answers:
        return TapPlace.SENDER
    if answers == 0 and data:
        return TapPlace.RECEIVER
    return TapPlace.BETWEEN if data and answers else TapPlace.UNDECIDED


def _routers(side: pl.DataFrame) -> int | None:
    """Routers passed, from the hops left, when all packets say the same."""
    hops = [int(left) for left in side["hops"].unique()]
    if len(hops) != 1 or not hops[0]:
        return None
    return min(initial - hops[0] for initial in INITIAL_HOPS if initial >= hops[0])


def _own(flow: CapturedFlow) -> str | None:
    """What the capture's own host sent, if a cooked capture says so, and nothing came in that goes the same way."""
    sides = {"the data": flow.there, "the answers": flow.back}
    own = [what for what, side in sides.items() if len(side) and (side["direction"] == OUTGOING).all()]
    return own[0] if len(own) == 1 else None


def _near_of_utp(flow: CapturedFlow) -> tuple[float | None, float | None]:
    """Time of the loop over the sender without queues, s, and the skew of the tap's clock against the sender's."""
    halves = _halves_of_utp(flow)
    return (None, None) if halves is None else _joined(halves)


def _near_of_tcp(flow: CapturedFlow) -> tuple[float | None, float | None]:
    """The same. What the sender waited is in it: that is nothing, at the quickest, when answers make it send."""
    opening = _opening(flow)
    rate = ticks(flow.there)
    if rate is None or rate < FINEST_TICKS or (halves := _halves_of_tcp(flow, rate)) is None:
        return opening, None
    near, skew = _joined(halves)
    if opening is not None:
        return min(opening, near), skew
    return (near if near < SHORTEST_S or _is_busy(flow) else None), skew


def _joined(halves: tuple[Half, Half]) -> tuple[float, float]:
    base, skew = clocks.skew(*(clocks.ordered(*half) for half in halves))
    return max(0.0, base), skew


def _is_busy(flow: CapturedFlow) -> bool:
    """Whether other data passes between an answer and the first data that echoes it, as a rule.

    Then the way to the sender and back holds packets. Without such, a sender that waits for its application for long
    looks like one that is far away.
    """
    data = flow.there.filter((pl.col("tsecr") > 0) & (pl.col("payload_bytes") > 0))
    stamps = np.maximum.accumulate(unwrapped(_ints(flow.back, "tsval"), 32))
    echoes = _beside(_ints(data, "tsecr"), int(stamps[0]))
    fresh = np.flatnonzero(np.diff(np.maximum.accumulate(echoes), prepend=echoes[0] - 1) > 0)
    first = np.searchsorted(stamps, echoes[fresh], side="left")
    inside = first < len(stamps)
    before = np.searchsorted(_ints(data, "time_ns"), _ints(flow.back, "time_ns")[first[inside]], side="right")
    return bool(len(before)) and float(np.median(fresh[inside] - before)) >= 1


def _opening(flow: CapturedFlow) -> float | None:
    """Time of the loop when the connection opens, s: who opens it answers the other's SYN at once."""
    opening = flow.back.filter(pl.col("flags") & 0x02 > 0)
    if not len(opening) or not len(flow.there.filter(pl.col("flags") & 0x02 > 0)):
        return None
    answered = int(opening["time_ns"][0])
    next_ns = flow.there.filter(pl.col("time_ns") > answered)["time_ns"]
    return (int(next_ns[0]) - answered) / 1e9 if len(next_ns) else None


def _halves_of_tcp(flow: CapturedFlow, rate: int) -> tuple[Half, Half] | None:
    """From the sender to the tap and from the tap to the sender; the latter with what the sender waited.

    Data echoes the timestamp of the last answer that came: the first with that timestamp.
    """
    answers = flow.back.filter(pl.col("tsval") > 0)
    data = flow.there.filter((pl.col("tsecr") > 0) & (pl.col("payload_bytes") > 0))
    if not (len(answers) and len(data)):
        return None
    stamps = np.maximum.accumulate(unwrapped(_ints(answers, "tsval"), 32))
    echoes = _beside(_ints(data, "tsecr"), int(stamps[0]))
    first = np.minimum(np.searchsorted(stamps, echoes, side="left"), len(stamps) - 1)
    same = stamps[first] == echoes
    if not same.any():
        return None
    sent_s = _since(unwrapped(_ints(data, "tsval"), 32)) / rate
    origin = int(data["time_ns"][0])
    passed_s = (_ints(data, "time_ns") - origin) / 1e9
    answered_s = (_ints(answers, "time_ns")[first[same]] - origin) / 1e9
    return (sent_s, passed_s - sent_s), (answered_s, sent_s[same] - answered_s)


def _halves_of_utp(flow: CapturedFlow) -> tuple[Half, Half] | None:
    """From the sender to the tap, and from the tap to the sender.

    Data says how long the last answer was on its way, in the two ends' clocks: sent at its timestamp plus that, it had
    reached the sender. Which answer it was: the last one that fits. Taking its neighbour does little harm, as both
    instants move together.
    """
    answers = flow.back
    data = flow.there.filter((pl.col("utp_difference_us") > 0) & (pl.col("payload_bytes") > 0))
    if not (len(answers) and len(data)):
        return None
    stamps_us = np.maximum.accumulate(unwrapped(_ints(answers, "tsval"), 32))
    on_its_way_us = _ints(data, "utp_difference_us")
    # the receiver's clock when the answer would have been sent, had the sender gone on at once
    latest_us = _beside((_ints(data, "tsval") - on_its_way_us) % 2**32, int(stamps_us[0]))
    last = np.searchsorted(stamps_us, latest_us, side="right") - 1
    fits = last >= 0
    if not fits.any():
        return None
    clock_us = unwrapped(_ints(data, "tsval"), 32)
    sent_s = _since(clock_us) / 1e6
    origin = int(data["time_ns"][0])
    passed_s = (_ints(data, "time_ns") - origin) / 1e9
    answered_s = (_ints(answers, "time_ns")[last[fits]] - origin) / 1e9
    held_s = (latest_us[fits] - stamps_us[last[fits]]) / 1e6
    return (sent_s, passed_s - sent_s), (answered_s, sent_s[fits] - held_s - answered_s)


def _since(values: Ints) -> Ints:
    result: Ints = values - values[0]
    return result


def _beside(values: Ints, reference: int) -> Ints:
    """Readings of a clock of 32 bits without wrapping, the first one within half its circle of a reference."""
    if not len(values):
        return values
    first = reference + (int(values[0]) - reference + 2**31) % 2**32 - 2**31
    return unwrapped(values, 32, first)


def _ints(table: pl.DataFrame, column: str) -> Ints:
    return table[column].cast(pl.Int64).to_numpy()
