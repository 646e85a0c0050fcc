"""Compares figures of different days or machines, by what such a machine needs for the same flow in ns-3."""

from collections.abc import Mapping

NS3 = "ns3_s"
"""Key of ns-3's wall time (s) for the flow of 600 s without a capture."""
SLOWER = 1.1
"""From this factor on a figure is called slower."""

_TIMES, _SPEEDS = {"s"}, {"virtual s/s", "packets/s", "packets/CPU s"}


def slower(before: Mapping[str, float], now: Mapping[str, float], units: Mapping[str, str]) -> dict[str, float]:
    """Return what became slower and how many times as long it takes, by the figure's key.

    Times count in ns-3's time, speeds per ns-3's time. A figure that is neither, or that one side lacks, is not
    compared; nothing is if one side lacks ns-3's time.
    """
    if NS3 not in before or NS3 not in now:
        return {}
    machine = before[NS3] / now[NS3]
    factors = {}
    for key in sorted(before.keys() & now.keys() - {NS3}):
        if units[key] in _TIMES:
            factors[key] = now[key] / before[key] * machine
        elif units[key] in _SPEEDS:
            factors[key] = before[key] / now[key] * machine
    return {key: factor for key, factor in factors.items() if factor >= SLOWER}
