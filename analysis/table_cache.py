"""A cache for what is made of the tables of runs; the least recently used goes first."""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

import numpy as np
import polars as pl

MOST_BYTES: Final = 256_000_000
_BYTES_OF_AN_ITEM: Final = 40  # of a list of numbers, with its slot in the list

T = TypeVar("T")


class TableCache:
    """Values by key. Together they hold at most `most_bytes` of arrays and tables, or there is only one."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._values: dict[Hashable, Any] = {}  # the least recently used first

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, and make it if it is not cached."""
        if key in self._values:
            value: T = self._values.pop(key)
            self._values[key] = value
            return value
        value = self._values[key] = make()
        # values may have grown since they were cached, so all are measured again
        sizes = {each: held_bytes(kept) for each, kept in self._values.items()}
        total = sum(sizes.values())
        for oldest in list(sizes)[:-1]:
            if total <= self._most_bytes:
                break
            total -= sizes[oldest]
            del self._values[oldest]
        return value


def held_bytes(value: object) -> int:
    """Bytes of the arrays and tables that a value holds."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, pl.DataFrame):
        return int(value.estimated_size())
    if isinstance(value, list):
        return _BYTES_OF_AN_ITEM * len(value)
    if isinstance(value, dict):
        return sum(map(held_bytes, value.values()))
    return sum(map(held_bytes, vars(value).values())) if hasattr(value, "__dict__") else 0
