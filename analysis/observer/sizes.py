"""Sizes of the packets that a sender makes of its data, bytes of IP packets (retransmissions apart)."""

import numpy as np

from analysis.observer.conversation import Bools, Conversation
from analysis.series import Series


def sizes(conversation: Conversation) -> Series:
    """IP length of each packet with new data, at the instants they were sent."""
    sent = conversation.sent
    fresh = _with_new_data(conversation)
    return Series(sent.times[fresh], sent.ip_bytes[fresh].astype(float), conversation.end)


def ladder(conversation: Conversation) -> list[tuple[float, int]]:
    """Instants at which packets became larger than all before, with that size."""
    series = sizes(conversation)
    highest = np.maximum.accumulate(series.values)
    steps = np.flatnonzero(np.diff(highest, prepend=0) > 0)
    return [(float(series.times[i]), int(highest[i])) for i in steps]


def counts(series: Series, t0: float, t1: float) -> dict[int, int]:
    """How many packets there were of each size in [t0, t1), the smallest first; `series` is that of `sizes`."""
    inside = series.values[(series.times >= t0) & (series.times < t1)]
    values, numbers = np.unique(inside.astype(int), return_counts=True)
    return {int(value): int(number) for value, number in zip(values, numbers, strict=True)}


def header_share(conversation: Conversation) -> float:
    """Part of the sent IP bytes that is no data of the application, retransmissions included."""
    sent = conversation.sent
    return 1 - float(sent.payload_bytes.sum() / sent.ip_bytes.sum())


def _with_new_data(conversation: Conversation) -> Bools:
    sent = conversation.sent
    reached = np.maximum.accumulate(np.append(sent.first[0], sent.behind))[:-1]
    fresh: Bools = (sent.first >= reached) & (sent.payload_bytes > 0)
    return fresh
