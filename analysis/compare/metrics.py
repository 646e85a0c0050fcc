"""What a comparison measures in each run, of the flow called `client`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.run import Run
from analysis.series import NeverHappenedError, NotMeasuredError

CLIENT: Final = "client"
TCP: Final = "tcp"  # the flow that a client should yield to
YIELDED: Final = 0.2  # share of the client
YIELDED_FOR_S: Final = 5
BIN_S: Final = 1.0


@dataclass(frozen=True)
class Metric:
    """One number of a run; `measure` raises NotMeasuredError where the scenario has no such thing."""

    name: str
    unit: str
    says: str
    measure: Callable[[Run], float]


def _throughput(run: Run) -> float:
    return run.throughput(CLIENT, _begin(run), run.duration) / 1e6


def _queuing_delay(run: Run) -> float:
    return run.queue_ms.mean(_begin(run))


def _share(run: Run) -> float:
    return 100 * run.share(CLIENT, _together(run), run.duration)


def _fairness(run: Run) -> float:
    return run.jain(_together(run), run.duration)


def _time_to_yield(run: Run) -> float:
    """Seconds from the start of the flow called `tcp` until the client's share is below YIELDED and stays there.

    "Stays" means five bins of a second: a loss of the client's during TCP's slow start is not yielding.
    """
    joined = [flow.start_s for flow in run.settings.flows if flow.name == TCP and flow.start_s > _begin(run)]
    if not joined:
        raise NotMeasuredError(f"no flow called {TCP} joins")
    share = run.share_over_time(CLIENT, BIN_S)
    later = share.times >= joined[0]
    low = share.values[later] < YIELDED
    if len(low) < YIELDED_FOR_S:
        raise NotMeasuredError(f"the run ends less than {YIELDED_FOR_S} s after {TCP} has joined")
    stays = np.lib.stride_tricks.sliding_window_view(low, YIELDED_FOR_S).all(axis=1)
    first = np.flatnonzero(stays)
    if not len(first):
        raise NeverHappenedError
    return float(share.times[later][first[0]] - joined[0])


def _retransmissions(run: Run) -> float:
    return 100 * run.retransmission_rate(CLIENT, _begin(run), run.duration)


METRICS: Final = (
    Metric("throughput", "Mbit/s", "from the client's start to the end, behind the bottleneck", _throughput),
    Metric(
        "queuing delay", "ms", "mean over time of the bottleneck's queue from the client's start on", _queuing_delay
    ),
    Metric("share of the client", "%", "of all bytes of its direction, in the last third of the run", _share),
    Metric(
        "fairness", "", "Jain's index of the flows of the client's direction, in the last third of the run", _fairness
    ),
    Metric(
        "time to yield",
        "s",
        f"from TCP's start until the client's share is below {YIELDED:.0%} in {YIELDED_FOR_S} successive seconds",
        _time_to_yield,
    ),
    Metric(
        "retransmissions", "%", "packets sent again over all packets the client sent, from captures", _retransmissions
    ),
)


def _begin(run: Run) -> float:
    return run.flow(CLIENT).start_s


def _together(run: Run) -> float:
    """Beginning of the last third of the run, or the instant from which all flows of the client's direction are there.

    Over a longer time a late-comer that takes everything in the end would look fair on the way there.
    """
    beside = [flow.start_s for flow in run.settings.flows if flow.backward == run.flow(CLIENT).backward]
    if len(beside) < 2:
        raise NotMeasuredError("the client is alone in its direction")
    return max(*beside, run.duration * 2 / 3)
