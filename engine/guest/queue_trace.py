"""Traces the queues of the bottlenecks, and reads their counters."""

import os
import signal
from typing import Any

from engine.guest.clock import now_ns
from topologies.links.base import QUEUE_HANDLE


class SamplerError(Exception):
    """The trace of a queue is incomplete."""


def start(net: Any, run: dict[str, Any], results: str) -> list[int]:
    """Sample every queue over the whole scenario into traces/queue*.csv; returns the processes."""
    first_ns, period_ns = run["origin_ns"], run["sample_ns"]
    instants = (first_ns, first_ns + run["duration_ns"], period_ns, first_ns)
    return [
        _spawn(net, queue, f"{results}/traces/{queue['trace']}.csv", instants, results)
        for queue in run["network"]["queues"].values()
    ]


def stop(samplers: list[int], results: str) -> None:
    """End the traces, which are complete by then.

    Raises:
        SamplerError: a sampler failed.
    """
    for process in samplers:
        os.kill(process, signal.SIGTERM)
        _wait(process, results)


def read(net: Any, queues: dict[str, Any], results: str) -> dict[str, dict[str, int]]:
    """Return the counters of every queue now, by the bottleneck's name and the column of the trace.

    A queueing discipline other than a FIFO adds its own (its `COUNTS`).
    """
    path = "/tmp/queue.csv"  # noqa: S108  the guest's own
    counters = {}
    for name, queue in queues.items():
        at_ns = now_ns()
        _wait(_spawn(net, queue, path, (at_ns, at_ns + 1, 1, 0), results), results)
        with open(path) as file:
            names, values = (line.strip().split(",") for line in file)
        counters[name] = dict(zip(names, (int(value) for value in values), strict=True))
        interface = net[queue["node"]].nameToIntf[queue["interface"]]
        if own := interface.egress.COUNTS:
            counters[name] |= {what: count for what, count in interface.read_shaping().items() if what in own}
    return counters


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Return what a queue counted between two readings, and what waits in it at the second."""
    return {name: count if name == "backlog_pkts" else count - before[name] for name, count in after.items()}


def _wait(process: int, results: str) -> None:
    _, status = os.waitpid(process, 0)
    if status:
        with open(f"{results}/logs/queue.err") as words:
            raise SamplerError(
                f"a queue's sampler ended with {os.waitstatus_to_exitcode(status)}: {words.read().strip()}"
            )


def _spawn(net: Any, queue: dict[str, Any], path: str, instants: tuple[int, int, int, int], results: str) -> int:
    """Start a sampler; `instants` are its first and last sample, its period and the zero of its times (ns)."""
    words = ["/opt/tools/queue", queue["interface"], QUEUE_HANDLE, *map(str, instants)]
    with open(path, "w") as output, open(f"{results}/logs/queue.err", "a") as errors:
        return int(net[queue["node"]].spawn(words, output.fileno(), errors.fileno()))
