"""Queuing delay as RFC 6817 has a sender compute it from one-way delays: the sample less the smallest one known."""

from typing import Final

import numpy as np
import polars as pl

from analysis.observer.conversation import Samples
from analysis.series import Floats

BASE_HISTORY_MINUTES: Final = 10  # RFC 6817, section 4.2


def base(samples: Samples) -> Floats:
    """Smallest delay of the current minute and the nine before it, s, at each sample."""
    if not len(samples.values):
        return np.zeros(0)
    minute = np.floor_divide(samples.times, 60).astype(int)
    table = pl.DataFrame({"minute": minute, "delay": samples.values})
    lowest = table.select(pl.col("delay").cum_min().over("minute"))["delay"].to_numpy()
    minima = table.group_by("minute").agg(pl.col("delay").min()).sort("minute")
    minutes, least = minima["minute"].to_numpy(), minima["delay"].to_numpy()
    kept = np.full(len(minutes), np.inf)  # smallest of the minutes before that still count
    for back in range(1, min(BASE_HISTORY_MINUTES, len(minutes))):
        counts = minutes[back:] - minutes[:-back] < BASE_HISTORY_MINUTES
        kept[back:] = np.where(counts, np.minimum(kept[back:], least[:-back]), kept[back:])
    result: Floats = np.minimum(lowest, kept[np.searchsorted(minutes, minute)])
    return result


def queuing(samples: Samples) -> Samples:
    """Sample less base, s."""
    return Samples(samples.times, samples.values - base(samples))
