"""How long a TCP sender had nothing to send, and how long the receiver's window was full; both hold at any tap.

If all that passed is acknowledged and the window is open, a sender sends what it has: until more passes it had nothing,
or what it sent was lost before the tap. The way from the tap to the sender and back is no pause. Acknowledgements pass
the tap before the sender sees them, so data that fill the window as the tap knows it fill it for the sender, too.
"""

import numpy as np

from analysis.observer.conversation import Conversation
from analysis.observer.flight import Flight
from analysis.series import Floats


def without_data(flight: Flight, loop_s: float) -> float:
    """Return the part of the time, from its first data to its last, in which the sender had nothing to send.

    `loop_s` is the most that the way from the tap to the sender and back takes.
    """
    seen = flight.conversation
    times, sent, answers = seen.sent.times, seen.sent, seen.answers
    data = np.flatnonzero(sent.payload_bytes > 0)
    lasts = times[data[-1]] - times[data[0]]
    if seen.protocol != "tcp" or lasts <= 0 or not len(answers.times):
        return 0.0
    before = np.maximum.accumulate(sent.behind)
    new = data[1:][sent.first[data[1:]] >= before[data[1:] - 1]]
    furthest = np.maximum.accumulate(answers.acked)
    answered = np.searchsorted(furthest, before[new - 1], side="left")
    last = np.searchsorted(answers.times, times[new], side="left") - 1  # that came before the data
    is_open = answers.window_bytes[last] >= flight.full_bytes
    if answers.is_closed is not None:
        is_open &= ~answers.is_closed[last]
    done = (answered <= last) & is_open
    since = np.maximum(answers.times[answered[done]], times[new[done] - 1])
    return float(np.maximum(times[new[done]] - since - loop_s, 0).sum() / lasts)


def with_a_full_window(flight: Flight) -> float:
    """Return the part of the same time in which another packet would not have fit into the receiver's window."""
    seen = flight.conversation
    sent, answers = seen.sent, seen.answers
    times = sent.times[sent.payload_bytes > 0]
    known = len(answers.times) and np.isfinite(answers.window_bytes).all()
    if seen.protocol != "tcp" or times[-1] <= times[0] or not known:
        return 0.0
    instants = np.unique(np.concatenate([sent.times, answers.times]))
    instants = instants[(instants >= times[0]) & (instants <= times[-1])]
    reached = _latest(instants, sent.times, np.maximum.accumulate(sent.behind).astype(float), 0.0)
    edge = _latest(instants, answers.times, np.maximum.accumulate(answers.acked + answers.window_bytes), np.inf)
    if (reached > edge).any():  # answers are missing in the capture
        return 0.0
    full = (reached + flight.full_bytes > edge)[:-1]
    return float(np.diff(instants)[full].sum() / (times[-1] - times[0]))


def first_round_trip_s(seen: Conversation, to_sender_s: float | None) -> float | None:
    """Return how long a connection's first packets took there and back, s; None if they were not captured."""
    opens = seen.sent.payload_bytes == 0
    if seen.protocol != "tcp" or to_sender_s is None or not opens[0] or not len(seen.answers.times):
        return None
    answered = seen.answers.acked >= seen.sent.behind[0]
    return float(seen.answers.times[np.argmax(answered)] - seen.sent.times[0]) + to_sender_s if answered.any() else None


def _latest(at: Floats, times: Floats, values: Floats, none: float) -> Floats:
    """Return the latest of `values` at each instant; `none` before the first."""
    result: Floats = np.append(none, values)[np.searchsorted(times, at, side="right")]
    return result
