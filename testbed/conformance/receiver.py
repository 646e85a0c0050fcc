"""What RFC 9840 says of the window that a receiver offers, from the packets of the flow called `client`."""

from collections.abc import Callable
from typing import Final

import numpy as np

from analysis.observer.limits import Limit, limits
from analysis.run import Run
from analysis.series import NotMeasuredError
from testbed.shared.panel import CLIENT

FOLLOWS: Final = 0.5  # share of the time from which on the receiver's window governs a flow
APART_RTTS: Final = 4  # between losses that are judged one by one


def window_limited(run: Run, since: float) -> float:
    """Share of the time in which the window that the receiver offers limits the sender."""
    return limits(run.flight(CLIENT)).share(Limit.RECEIVE_WINDOW, since)


def taken_back_bytes(run: Run) -> float:
    """Most bytes by which an answer allows less than an earlier one did."""
    answers = run.flight(CLIENT).conversation.answers
    known = np.isfinite(answers.window_bytes) & (answers.window_bytes > 0)
    edges = answers.acked[known] + answers.window_bytes[known]
    return float((np.maximum.accumulate(edges) - edges).max())


def offered_after_loss(run: Run, since: float) -> float:
    """Part of the offered window that is left two round-trip times after a packet that was sent again: the median."""
    flight = run.flight(CLIENT)
    again = flight.retransmissions.times
    kept, last = [], since
    for at in again[again >= since]:
        rtt = float(flight.round_trips.values[np.searchsorted(flight.round_trips.times, at) - 1])
        alone = at - last > APART_RTTS * rtt
        last = at
        if not alone or at + 4 * rtt > run.duration or ((again > at) & (again < at + 4 * rtt)).any():
            continue
        window = flight.receive_window
        kept.append(window.max(at + 2 * rtt, at + 2.5 * rtt) / window.max(at - rtt, at))
    if len(kept) < 3:
        raise NotMeasuredError(f"only {len(kept)} losses stood alone")
    return float(np.median(kept))


MEASURES: Final[tuple[Callable[..., float], ...]] = (window_limited, taken_back_bytes, offered_after_loss)
