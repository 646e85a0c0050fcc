"""Numbers of JSON, which Python's parser also makes of NaN, Infinity and 1e999."""

import math


def finite(text: str) -> float:
    """Return the number that a text is. Raises ValueError for one that no float holds, or that is none."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value
