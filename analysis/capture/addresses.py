"""Numbers for the addresses in captures, and back."""

from ipaddress import IPv4Address, IPv6Address
from typing import Any

import numpy as np
from numpy.typing import NDArray


class RunAddresses:
    """The addresses of a run, of one version of IP. Those of IPv4 are their own numbers, those of IPv6 are counted."""

    def __init__(self, version: int) -> None:
        self.version = version
        self._numbers: dict[bytes, int] = {}

    def number(self, address: IPv4Address | IPv6Address) -> int:
        """Give the number of an address of this version."""
        return int(address) if self.version == 4 else self._number(address.packed)

    def numbers(self, ends: NDArray[Any]) -> NDArray[np.uint32]:
        """Give the numbers of the IPv6 addresses of packets (V16)."""
        places, different = distinct(ends)
        numbers = np.array([self._number(address.tobytes()) for address in different], np.uint32)
        return numbers[places]

    def texts(self, numbers: NDArray[np.uint32]) -> list[str]:
        """Write the addresses of these numbers as people do."""
        if self.version == 4:
            return [str(IPv4Address(number)) for number in numbers.tolist()]
        known = list(self._numbers)
        return [str(IPv6Address(known[number])) for number in numbers.tolist()]

    def _number(self, address: bytes) -> int:
        return self._numbers.setdefault(address, len(self._numbers))


def distinct(ends: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Give for each IPv6 address (V16) its place among the different ones, and these, in their order."""
    # numpy compares such bytes as text, which ends at a zero: two numbers do not
    halves = ends.view(">u8").reshape(-1, 2).astype(np.uint64)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    first = np.append(True, (np.diff(halves[order], axis=0) != 0).any(axis=1))[: len(ends)]
    places = np.empty(len(ends), np.uint32)
    places[order] = np.cumsum(first) - 1
    return places, ends[order[first]]
