"""Queuing delay as RFC 6817 has a sender compute it from one-way delays: the sample less the smallest one known."""

from typing import Final

import numpy as np

from analysis.observer.conversation import Samples
from analysis.series import Floats

BASE_HISTORY_MINUTES: Final = 10  # RFC 6817, section 4.2


def base(samples: Samples) -> Floats:
    """Smallest delay of the current minute and the nine before it, s, at each sample."""
    result = np.empty(len(samples.values))
    minutes = np.floor_divide(samples.times, 60).astype(int)
    minima: dict[int, float] = {}
    for minute in np.unique(minutes):
        rows = minutes == minute
        kept = [value for m, value in minima.items() if m > minute - BASE_HISTORY_MINUTES]
        lowest = np.minimum.accumulate(samples.values[rows])
        result[rows] = np.minimum(lowest, min(kept, default=np.inf))
        minima[minute] = float(lowest[-1])
    return result


def queuing(samples: Samples) -> Samples:
    """Sample less base, s."""
    return Samples(samples.times, samples.values - base(samples))
