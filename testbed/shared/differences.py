"""Tests whether two samples differ: an exact rank test."""

from collections.abc import Sequence
from typing import Final

import numpy as np

LEVEL: Final = 0.05


def rank_test(sample: Sequence[float], beside: Sequence[float], level: float = 1.0) -> float | None:
    """Return the two-sided p-value of the Mann-Whitney test, exact even with ties.

    None without numbers, and where no way of dealing them has a p-value of at most `level`: nothing can be shown then.

    Mann and Whitney, Annals of Mathematical Statistics 18 (1947); with ties, the sum of mid-ranks over all ways of
    dealing the numbers to the two samples (Streitberg and Roehmel's shift algorithm, Statistical Software Newsletter
    12, 1986). Infinity, an event that never came, is the largest rank. Nothing is assumed about distributions.
    """
    if not sample or not beside:
        return None
    values = np.array([*sample, *beside], float)
    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (2 * np.cumsum(count) - count + 1)[group]  # mid-ranks, doubled: whole numbers
    # ways[k][s]: choices of k numbers whose doubled ranks sum up to s
    ways = np.zeros((len(sample) + 1, int(ranks.sum()) + 1), object)  # Python integers, since they become large
    ways[0, 0] = 1
    for rank in map(int, ranks):
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    off = np.abs(np.arange(ways.shape[1]) - len(sample) * (len(values) + 1))
    possible = ways[-1] > 0
    if ways[-1, off >= off[possible].max()].sum() / ways[-1].sum() > level:
        return None
    return float(ways[-1, off >= off[ranks[: len(sample)].sum()]].sum() / ways[-1].sum())


def smallest_p(size: int, size_beside: int) -> float:
    """Return the smallest p-value that samples of these sizes can have."""
    p = rank_test(range(size), range(size, size + size_beside))
    return 1.0 if p is None else p
