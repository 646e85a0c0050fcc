"""A flow as its sender saw it, from a capture that was taken elsewhere.

Everything that the observer tells is about what the sender knew when it sent. At the sender's own interface the packets
pass at these instants. Elsewhere data passes later than it was sent, by as much as it waited in queues on its way, and
answers pass earlier than they arrive. uTP's timestamps, and TCP's of a millisecond or finer, say when data was sent, in
the sender's clock; answers are dated later by the shortest loop over the sender. What remains unknown is the waiting of
answers between tap and sender.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from analysis.observer.conversation import (
    DATA,
    FIN,
    FIN_FLAG,
    SYN,
    UTP_SYN,
    Answers,
    Conversation,
    Samples,
    converse,
    ticks,
    unwrapped,
)
from analysis.observer.standalone.flows import CapturedFlow
from analysis.observer.standalone.tap import TapGuess, TapPlace
from analysis.series import Floats, NotMeasuredError


def at_tap(flow: CapturedFlow) -> Conversation:
    """Give the flow as it passed the tap; times in seconds from the capture's first packet."""
    origin_ns = flow.captured.origin_ns
    there, back = (side.with_columns(pl.col("time_ns") - origin_ns) for side in (flow.there, flow.back))
    end = (flow.captured.end_ns - origin_ns) / 1e9
    return converse(there, back, place="tap", end=end, connections=1)


def as_sent(flow: CapturedFlow, passed: Conversation, tap: TapGuess) -> Conversation:
    """Give the flow as its sender saw it. Raises NotMeasuredError where the packets do not tell that."""
    if tap.place is TapPlace.SENDER:
        return replace(passed, place=tap.place.value)
    if tap.to_sender_s is None:
        raise NotMeasuredError(
            "the capture was not taken at the sender, and nothing in it shows how far away the sender is"
        )
    if tap.skew is None:
        raise NotMeasuredError(
            "the capture was not taken at the sender, and its packets carry no timestamps that tell when they were sent"
        )
    sent_at = _sent_at(flow, passed, tap.skew)
    order = np.argsort(sent_at, kind="stable")
    sent = passed.sent
    resorted = replace(
        sent,
        times=sent_at[order],
        first=sent.first[order],
        behind=sent.behind[order],
        payload_bytes=sent.payload_bytes[order],
        ip_bytes=sent.ip_bytes[order],
    )
    later = tap.to_sender_s
    answers = Answers(
        passed.answers.times + later, passed.answers.acked, passed.answers.sack, passed.answers.window_bytes
    )
    forward = Samples(passed.forward.times + later, passed.forward.values)
    end = max(passed.end + later, float(sent_at.max()))
    return replace(passed, place=tap.place.value, sent=resorted, answers=answers, forward=forward, end=end)


def _sent_at(flow: CapturedFlow, passed: Conversation, skew: float) -> Floats:
    """When each packet of `passed.sent` was sent, in the tap's clock, s.

    The shortest way to the tap counts as none; the loop over the sender holds it.
    """
    if flow.transport == "utp":
        rate = 1_000_000
        chosen = flow.there.filter(pl.col("utp_type").is_in([DATA, FIN, UTP_SYN]))
    else:
        rate = ticks(flow.there) or 1
        chosen = flow.there.filter((pl.col("payload_bytes") > 0) | (pl.col("flags") & (SYN | FIN_FLAG) > 0))
    stamped = unwrapped(chosen["tsval"].cast(pl.Int64).to_numpy(), 32) / rate
    stamped = (stamped - stamped[0]) * (1 + skew)
    result: Floats = stamped + (passed.sent.times - stamped).min()
    return result
