"""Corrects for many tests at once: of many true statements, chance alone puts some outside of their bounds."""

from collections.abc import Sequence


def largest_believed(p_values: Sequence[float], level: float) -> float:
    """Largest of the p-values to call a difference, so that at most `level` of those called one are none, on average.

    Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995).
    """
    believed = [p for rank, p in enumerate(sorted(p_values), 1) if p <= level * rank / len(p_values)]
    return max(believed, default=0.0)
