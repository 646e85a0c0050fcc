"""What a comparison measures in each run, of the flow called `client`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.run import Run
from analysis.run_json import Flow
from analysis.series import NeverHappenedError, NotMeasuredError
from testbed.shared.panel import CLIENT

TCP: Final = "tcp"  # the flow that a client should yield to
YIELDED: Final = 0.2  # share of the client
YIELDED_FOR_S: Final = 5
BIN_S: Final = 1.0
SHORTEST_S: Final = 1.0  # of being alone

ALONE: Final = "alone"  # until any other flow starts
SHARED: Final = "shared"  # from when all flows are there
PHASES: Final = (ALONE, SHARED)
MORE: Final = "more"
LESS: Final = "less"


@dataclass(frozen=True)
class Metric:
    """One number of a run; `measure` raises NotMeasuredError where the scenario has no such thing.

    `better` takes a run of each client and says what is good for a transfer in the background: MORE, LESS, or None
    where that depends on what one wants.
    """

    phase: str
    name: str
    unit: str
    says: str
    measure: Callable[[Run], float]
    better: Callable[[Sequence[Run]], str | None]


def interval(run: Run, phase: str) -> tuple[float, float]:
    """When a phase begins and ends, s. Raises NotMeasuredError where a run has no such phase."""
    joined = [flow.start_s for flow in run.settings.flows if flow.name != CLIENT]
    begin = run.flow(CLIENT).start_s
    if phase == ALONE:
        end = min([run.duration, *joined])
        if end - begin < SHORTEST_S:
            raise NotMeasuredError("the client is never alone")
        return begin, end
    if not joined:
        raise NotMeasuredError("the client is always alone")
    return max(begin, *joined), run.duration


def _throughput(phase: str) -> Callable[[Run], float]:
    return lambda run: run.throughput(CLIENT, *interval(run, phase)) / 1e6


def _queuing_delay(phase: str) -> Callable[[Run], float]:
    return lambda run: run.queue_ms.mean(*interval(run, phase))


def _retransmissions(phase: str) -> Callable[[Run], float]:
    return lambda run: 100 * run.retransmission_rate(CLIENT, *interval(run, phase))


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


def _more(_: Sequence[Run]) -> str | None:
    return MORE


def _less(_: Sequence[Run]) -> str | None:
    return LESS


def _more_where_nobody_competes(runs: Sequence[Run]) -> str | None:
    return MORE if all(len(_beside(run)) == 1 for run in runs) else None


def _less_beside_tcp(runs: Sequence[Run]) -> str | None:
    return LESS if all(any(flow.name == TCP for flow in _beside(run)) for run in runs) else None


def _more_beside_itself(runs: Sequence[Run]) -> str | None:
    return MORE if all(len({flow.implementation for flow in _beside(run)}) == 1 for run in runs) else None


METRICS: Final = (
    Metric(ALONE, "throughput", "Mbit/s", "of the client, behind the bottleneck", _throughput(ALONE), _more),
    Metric(ALONE, "queuing delay", "ms", "mean over time of the bottleneck's queue", _queuing_delay(ALONE), _less),
    Metric(
        ALONE,
        "retransmissions",
        "%",
        "packets sent again over all packets the client sent, from captures",
        _retransmissions(ALONE),
        _less,
    ),
    Metric(
        SHARED,
        "throughput",
        "Mbit/s",
        "of the client, behind the bottleneck",
        _throughput(SHARED),
        _more_where_nobody_competes,
    ),
    Metric(
        SHARED, "share", "%", "the client's part in all bytes of its direction, last third", _share, _less_beside_tcp
    ),
    Metric(
        SHARED,
        "fairness",
        "",
        "Jain's index of the flows of the client's direction, last third",
        _fairness,
        _more_beside_itself,
    ),
    Metric(
        SHARED,
        "time to yield",
        "s",
        f"from TCP's start until the client's share is below {YIELDED:.0%} in {YIELDED_FOR_S} successive seconds",
        _time_to_yield,
        _less,
    ),
    Metric(
        SHARED,
        "queuing delay",
        "ms",
        "mean over time of the bottleneck's queue, whoever fills it",
        _queuing_delay(SHARED),
        _less,
    ),
    Metric(
        SHARED,
        "retransmissions",
        "%",
        "packets sent again over all packets the client sent, from captures",
        _retransmissions(SHARED),
        _less,
    ),
)


def _begin(run: Run) -> float:
    return run.flow(CLIENT).start_s


def _beside(run: Run) -> list[Flow]:
    """Flows of the client's direction, the client included."""
    return [flow for flow in run.settings.flows if flow.backward == run.flow(CLIENT).backward]


def _together(run: Run) -> float:
    """Start of the last third of the run, or the instant from which all flows of the client's direction run.

    Over a longer time, a late-comer that ends up with everything would look fair.
    """
    beside = [flow.start_s for flow in _beside(run)]
    if len(beside) < 2:
        raise NotMeasuredError("the client is alone in its direction")
    return max(*beside, run.duration * 2 / 3)
