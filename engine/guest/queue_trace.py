"""The trace of the bottleneck's queue, and its counters at one instant."""

import os
from typing import Any

from engine.guest.clock import now_ns
from engine.guest.timeline import ORIGIN_NS
from topologies.shaping import FIFO_HANDLE


def start(net: Any, run: dict[str, Any], results: str) -> int:
    """Sample the queue over the whole scenario into traces/queue.csv; returns the process."""
    stop_ns = ORIGIN_NS + run["duration_ns"]
    return _spawn(net, f"{results}/traces/queue.csv", ORIGIN_NS, stop_ns, run["sample_ns"], results)


def read(net: Any, results: str) -> dict[str, int]:
    """The queue's counters now, by the names of the trace's columns."""
    path = "/tmp/queue.csv"  # noqa: S108  the guest's own
    at_ns = now_ns()
    os.waitpid(_spawn(net, path, at_ns, at_ns + 1, 1, results), 0)
    with open(path) as file:
        names, values = (line.strip().split(",") for line in file)
    return dict(zip(names, (int(value) for value in values), strict=True))


def _spawn(net: Any, path: str, first_ns: int, stop_ns: int, period_ns: int, results: str) -> int:
    node, interface = net.topo.bottleneck
    words = ["/opt/tools/queue", interface, FIFO_HANDLE, *map(str, (first_ns, stop_ns, period_ns, ORIGIN_NS))]
    with open(path, "w") as output, open(f"{results}/logs/queue.err", "a") as errors:
        return int(net[node].spawn(words, output.fileno(), errors.fileno()))
