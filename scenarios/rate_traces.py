"""Capacities that change all the time: traces from files, and generators of traces that resemble a kind of link.

A trace becomes events, one for each step in which the rate changes.
"""

import itertools
import math
import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from topologies.packets import PACKET_BYTES

MOST_STEPS = 100_000
"""In a run."""

HEADER = "time_s,rate_bps"
_LEAST_BPS, _MOST_BPS = 1000, 1_000_000_000
_PACKET_BITS = 8 * PACKET_BYTES
_LARGEST_BYTES = 64 << 20
_LONGEST_TIME = 12  # digits of milliseconds: 30 years
_LONGEST_SHOWN = 40
_BLANKS = " \t\r"

# Sprout's model of a cellular link (NSDI 2013, its published receiver): the rate wanders as Brownian motion between 0
# and 1000 packets a second, with a standard deviation of 200 packets a second after one second
_WANDER = 0.2
# 802.11n, one stream, 20 MHz, long guard interval
_WIFI_MBPS = (6.5, 13, 19.5, 26, 39, 52, 58.5, 65)
_WIFI_MODE_S, _WIFI_BUSY_S = 1.0, 0.2

Step = tuple[int, int]
"""An instant (ns) and the rate from then on (bit/s)."""


class TraceError(ValueError):
    """A trace cannot be used: what was found, and what is allowed."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(f"{found}; allowed: {allowed}")
        self.found, self.allowed = found, allowed


def steps(trace: dict[str, Any], folder: Path, end_ns: int, source: random.Random) -> list[Step]:
    """Return the steps of an entry of `rate_traces` (in base units) up to the end of a run.

    A file's name counts from `folder`. Generators draw from `source`.

    Raises:
        TraceError: the file cannot be read or is no trace, or has too many steps.
    """
    lines = _read(folder / trace["file"]) if "file" in trace else None
    if not (lines and lines[0].strip() == HEADER) and end_ns > MOST_STEPS * trace["step_ns"]:
        raise TraceError(f"more than {MOST_STEPS} steps in a run", "a longer step, or a shorter run")
    points: Iterable[tuple[int, float]]
    if lines:
        points = _listed(lines) if lines[0].strip() == HEADER else _opportunities(lines, trace["step_ns"], end_ns)
    else:
        made = _cellular if trace["like"] == "cellular" else _wifi
        rates = made(trace["mean_bps"], trace["step_ns"] / 1e9, source)
        points = ((at_ns, next(rates)) for at_ns in range(0, end_ns, trace["step_ns"]))
    kept: list[Step] = []
    for at_ns, rate_bps in points:
        whole_bps = max(_LEAST_BPS, int(rate_bps) // 8 * 8)
        if whole_bps > _MOST_BPS:
            raise TraceError(f"{whole_bps} bit/s at {at_ns / 1e9:g} s", f"{_MOST_BPS} bit/s at most")
        if at_ns < end_ns and (not kept or kept[-1][1] != whole_bps):
            kept.append((at_ns, whole_bps))
    return kept


def _read(file: Path) -> list[str]:
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            raise TraceError(f"{file} is too large", f"{_LARGEST_BYTES} bytes at most")
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not ASCII text"
        raise TraceError(f"{file} cannot be read: {reason}", "a file beside the scenario") from None
    if not lines:
        raise TraceError(f"{file} is empty", f"a trace of Mahimahi, or CSV with the header {HEADER}")
    return lines


def _listed(lines: list[str]) -> Iterator[Step]:
    """Yield the steps of a CSV file."""
    if len(lines) > MOST_STEPS:
        raise TraceError(f"{len(lines)} lines", f"{MOST_STEPS} at most")
    last_s = -1.0
    for number, line in enumerate(lines[1:], 2):
        try:
            if "_" in line or not line.strip(_BLANKS).isprintable():  # which Python takes in a number, or beside it
                raise ValueError
            at_s, rate_bps = map(float, line.strip(_BLANKS).split(","))
        except ValueError:
            raise TraceError(f"line {number} is {_shown(line)}", "two numbers: seconds, bits a second") from None
        if not last_s < at_s < math.inf or (last_s < 0) != (at_s == 0):
            raise TraceError(f"line {number} has the time {line.split(',')[0]}", "times that begin at 0 and increase")
        if not _LEAST_BPS <= rate_bps <= _MOST_BPS:
            allowed = f"{_LEAST_BPS} to {_MOST_BPS}; for a link that stands still, suspensions"
            raise TraceError(f"line {number} has the rate {line.split(',')[1]}", allowed)
        last_s = at_s
        yield round(at_s * 1e9), int(rate_bps)
    if last_s < 0:
        raise TraceError("no line below the header", "at least one")


def _shown(line: str) -> str:
    return repr(line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}...")


def _opportunities(lines: list[str], step_ns: int, end_ns: int) -> Iterator[Step]:
    """Yield the steps of a trace of Mahimahi: each line is a ms in which 1500 bytes may leave. It repeats.

    While nothing may leave, the rate is that of one packet in the whole time, since a packet that is being sent keeps
    its rate. Later steps make up for that packet.
    """
    times_ms = []
    for number, line in enumerate(lines, 1):
        digits = line.strip(_BLANKS)
        if not digits.isdecimal() or len(digits) > _LONGEST_TIME:
            raise TraceError(f"line {number} is {_shown(line)}", f"whole milliseconds, or {HEADER} in the first line")
        times_ms.append(int(digits))
    if times_ms[-1] == 0 or any(later < earlier for earlier, later in pairwise(times_ms)):
        raise TraceError(f"times from {times_ms[0]} to {times_ms[-1]} ms", "times that never fall, and end above 0")
    counts = list(itertools.islice(_counts(times_ms, step_ns), math.ceil(end_ns / step_ns)))
    first, owed = 0, 0
    while first < len(counts):
        last, may_leave = first + 1, counts[first] - owed
        while may_leave <= 0 and last < len(counts) and may_leave + counts[last] <= 0:
            may_leave += counts[last]
            last += 1
        yield first * step_ns, max(1, may_leave) * _PACKET_BITS * 1_000_000_000 // ((last - first) * step_ns)
        first, owed = last, max(0, 1 - may_leave)


def _counts(times_ms: list[int], step_ns: int) -> Iterator[int]:
    """Yield how many packets may leave in each step."""
    index, turn_ns = 0, 0
    for end_ns in itertools.count(step_ns, step_ns):
        count = 0
        while turn_ns + times_ms[index] * 1_000_000 < end_ns:
            count += 1
            index += 1
            if index == len(times_ms):
                turn_ns, index = turn_ns + times_ms[-1] * 1_000_000, 0
        yield count


def _cellular(mean_bps: int, step_s: float, source: random.Random) -> Iterator[float]:
    """Yield rates that wander evenly between 0 and twice the mean, as Sprout models a cellular link."""
    most = 2.0 * mean_bps
    rate = most * source.random()
    while True:
        yield max(rate, _PACKET_BITS / step_s)
        normal = math.sqrt(-2 * math.log(1 - source.random())) * math.cos(2 * math.pi * source.random())
        rate = abs(rate + _WANDER * most * math.sqrt(step_s) * normal) % (2 * most)
        rate = min(rate, 2 * most - rate)  # reflected at 0 and at the most


def _wifi(mean_bps: int, step_s: float, source: random.Random) -> Iterator[float]:
    """Yield rates of a station that goes one mode up or down from time to time, beside one that takes half at times."""
    mode, busy = int(source.random() * len(_WIFI_MBPS)), source.random() < 0.5
    scale = mean_bps / (sum(_WIFI_MBPS) / len(_WIFI_MBPS) * 0.75)
    while True:
        yield max(scale * _WIFI_MBPS[mode] * (0.5 if busy else 1), _PACKET_BITS / step_s)
        if source.random() < 1 - math.exp(-step_s / _WIFI_MODE_S):
            mode = min(max(mode + (1 if source.random() < 0.5 else -1), 0), len(_WIFI_MBPS) - 1)
        if source.random() < 1 - math.exp(-step_s / _WIFI_BUSY_S):
            busy = not busy
