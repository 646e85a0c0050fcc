"""Thinning long series for drawing without losing what the eye would see."""

import numpy as np
from numpy.typing import NDArray

from analysis.series import Series


def thin(series: Series, t0: float, t1: float, buckets: int) -> list[tuple[float, float]]:
    """Points (s, value) of the interval: of each bucket the first, smallest, largest and last value, in their order.

    So neither a short dip nor a short peak disappears, whatever the number of samples; what stands within a
    stretch of equal values is left out. The last value is repeated at the end, where the step function still holds it.
    """
    part = series.window(t0, t1)
    index = np.minimum(((part.times - t0) / (t1 - t0) * buckets).astype(int), buckets - 1)
    edges = np.flatnonzero(np.diff(index, prepend=-1))
    kept: list[int] = []
    for first, last in zip(edges, [*edges[1:], len(index)], strict=True):
        values = part.values[first:last]
        kept += sorted({int(first), int(first + values.argmin()), int(first + values.argmax()), int(last) - 1})
    chosen = np.array(kept)
    changes: NDArray[np.bool_] = np.diff(part.values[chosen]) != 0
    chosen = chosen[np.append(True, changes) | np.append(changes, True)]
    drawn = zip(part.times[chosen], part.values[chosen], strict=True)
    points = [(round(float(t), 4), round(float(value), 3)) for t, value in drawn]
    return [*points, (round(t1, 4), points[-1][1])]
