"""Whether a policer drops a sender's packets: a bucket of tokens that lets a rate pass, and no queue.

When its bucket is empty, a policer lets exactly its rate pass and drops the rest, until the sender slows down. So
losses come in bunches, in each of which the same rate gets through, while nothing waits. Losses of a queue come while
packets wait; losses at random come alone, or let any rate through.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.observer import delay
from analysis.observer.conversation import Samples
from analysis.observer.flight import Flight
from analysis.series import Floats
from analysis.units import three_digits

FEWEST_BUNCHES: Final = 3
FEWEST_IN_ONE: Final = 5
"""Losses of a bunch: fewer do not give a rate."""
IN_BUNCHES: Final = 0.5
"""Of all losses, at least."""
LOST: Final = 0.1
"""Of the packets of a bunch, at least; queues that drop early drop fewer."""
APART: Final = 0.2
"""Of the rate: half of the bunches have rates as close as that."""
MOST_WAITING_PKTS: Final = 3
"""Before a loss, at the rate that passes; queues are longer when they drop."""


@dataclass(frozen=True)
class Policer:
    """The rate of payload that passes, bit/s, and how many bunches of losses agree on it."""

    rate_bps: float
    bunches: int


def find(flight: Flight) -> Policer | None:
    """Return the policer that drops a flow's packets, if one does."""
    lost = np.flatnonzero(flight.lost)
    if len(lost) < FEWEST_BUNCHES * FEWEST_IN_ONE or not len(flight.round_trips.values):
        return None
    times = flight.times[lost]
    breaks = np.flatnonzero(np.diff(times) > float(np.median(flight.round_trips.values))) + 1
    bunches = [bunch for bunch in np.split(lost, breaks) if len(bunch) >= FEWEST_IN_ONE]
    lasts = [float(flight.times[bunch[-1]] - flight.times[bunch[0]]) for bunch in bunches]
    if len(bunches) < FEWEST_BUNCHES or min(lasts) <= 0 or sum(map(len, bunches)) < IN_BUNCHES * len(lost):
        return None
    passed = np.append(0, np.cumsum(np.where(flight.lost, 0, flight.payload)))
    rates = [8 * float(passed[bunch[-1]] - passed[bunch[0]]) / s for bunch, s in zip(bunches, lasts, strict=True)]
    low, rate, high = np.percentile(rates, [25, 50, 75])
    share = float(np.median([len(bunch) / (bunch[-1] - bunch[0] + 1) for bunch in bunches]))
    waited_s = _waited_s(flight, times)
    is_one = rate > 0 and high - low <= APART * rate and share >= LOST and len(waited_s) > 0
    if not is_one or float(np.median(waited_s)) * rate / 8 > MOST_WAITING_PKTS * flight.full_bytes:
        return None
    return Policer(float(rate), len(bunches))


def says(found: Policer) -> str:
    """Say of a policer what packets show of it."""
    return (
        f"a policer lets {three_digits(found.rate_bps / 1e6)} Mbit/s of payload pass: so much got through in each of "
        f"{found.bunches} bunches of losses, while hardly a packet waited"
    )


def _waited_s(flight: Flight, at: Floats) -> Floats:
    """The queuing delay that was last seen before each instant, s; nothing where no delay is seen."""
    queuing = delay.queuing(flight.conversation.forward)
    if not len(queuing.values):  # without timestamps, round trips, which hold the queue of the answers, too
        trips = flight.round_trips
        queuing = Samples(trips.times, trips.values - trips.values.min())
    index = np.searchsorted(queuing.times, at, side="right") - 1
    return queuing.values[index[index >= 0]]
