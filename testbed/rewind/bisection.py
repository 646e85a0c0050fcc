"""The point of no return: the latest instant from which fewer than half of a run's futures fail."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from analysis.run_json import NS

WITHIN_NS: Final = NS // 10
"""How near the instant is known in the end."""


@dataclass(frozen=True)
class PointOfNoReturn:
    """Fewer than half of the futures from `open_ns` fail, half or more of those from `lost_ns`.

    `open_ns` is None where that is so from the beginning.
    """

    open_ns: int | None
    lost_ns: int


def search(end_ns: int, share_failed: Callable[[int], float]) -> PointOfNoReturn:
    """Narrow the instant down by halves; at the end of the run, which fails, nothing is open."""
    if share_failed(0) >= 1 / 2:
        return PointOfNoReturn(None, 0)
    open_ns, lost_ns = 0, end_ns
    while lost_ns - open_ns > WITHIN_NS:
        middle_ns = (open_ns + lost_ns) // 2
        if share_failed(middle_ns) >= 1 / 2:
            lost_ns = middle_ns
        else:
            open_ns = middle_ns
    return PointOfNoReturn(open_ns, lost_ns)
