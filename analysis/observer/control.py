"""The controller's target and gain, inferred from how its window answers to the queuing delay.

LEDBAT adds `gain * (1 - delay / target)` packets to its window in a round-trip time: a line that crosses zero at the
target and is as high as the gain where there is no queue. The estimator takes the sender's rounds (a round ends when
the first packet sent in it is acknowledged), the largest number of packets in flight in each as its window, the growth
from one to the next against the mean queuing delay in both, and fits a line by least squares with Huber's weights, for
which rounds that something else moved count less. The delays are not filtered; a controller that takes the smallest of
several samples sees less, and its target comes out larger by what its filter hides.

Left out are rounds that the congestion window did not limit, in which something was sent again, with a window of two
packets or less (it cannot sink), and with exponential growth.

The uncertainty is the middle 95 % of the fits to resampled blocks of successive rounds (what happens in successive
rounds is not independent), `BOOTSTRAPS` of them, drawn from a fixed seed. When the line does not surely fall, there is
no target to tell: a controller such as Reno's. A target that lies wholly beyond the longest delay is extrapolated, and
may be none: while a queue builds up after a loss, a window that grows the slower the closer it comes to where it was,
as CUBIC's, cannot be told from one that heeds delay. A line is all that this fits: for rules that are none (a
multiplicative decrease above the target) the target is where growth turns into decrease, and the gain a mean slope.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.observer import delay
from analysis.observer.flight import Flight
from analysis.observer.limits import Limit, LimitIntervals
from analysis.series import Floats, NotMeasuredError

FEWEST_ROUNDS: Final = 30
BOOTSTRAPS: Final = 400
SMALLEST_WINDOW_PKTS: Final = 2
BEYOND: Final = 1.02  # a flow that comes up to its target from below stays a little short of it
HUBER: Final = 1.345  # standard deviations beyond which a residual counts less; 95 % efficient for normal noise


@dataclass(frozen=True)
class Estimate:
    """A number with the interval that holds it with 95 % confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Control:
    """What the window's reaction to delay tells."""

    rounds: int
    longest_ms: float  # delay in these rounds; a target beyond it is extrapolated
    falls: float  # part of the resampled fits in which the window grows the less the longer the delay
    target_ms: Estimate | None  # None: no reaction to delay is sure
    gain_pkts_per_rtt: Estimate | None

    @property
    def extrapolated(self) -> bool:
        """Whether the target lies beyond all delays: growth fell with delay, but never became a decrease."""
        return self.target_ms is not None and self.target_ms.low > BEYOND * self.longest_ms


def infer(flight: Flight, limited: LimitIntervals, by: Limit = Limit.CONGESTION_WINDOW) -> Control:
    """Fit the line to the window by which rounds are limited: the sender's own, or the one that its receiver allows.

    Raises NotMeasuredError when there are no delays or too few rounds for it.
    """
    if not len(flight.conversation.forward.values):
        raise NotMeasuredError("the packets carry no timestamps that tell a one-way delay")
    growth, waited_ms, _ = growth_by_delay(flight, limited, by)
    if len(growth) < FEWEST_ROUNDS:
        raise NotMeasuredError(
            f"only {len(growth)} round-trip times were limited by the {by.replace('-', ' ')} alone; "
            f"at least {FEWEST_ROUNDS} are needed"
        )
    weights = _huber(waited_ms, growth)
    fits = _bootstrap(waited_ms, growth, weights)
    gain, slope = _line(waited_ms, growth, weights)
    falling = fits[fits[:, 1] < 0]
    falls = len(falling) / len(fits)
    longest = float(waited_ms.max())
    if slope >= 0 or falls < 0.975:
        return Control(len(growth), longest, falls, None, None)
    crossings = -falling[:, 0] / falling[:, 1]
    target = _estimate(-gain / slope, crossings)
    return Control(len(growth), longest, falls, target, _estimate(gain, falling[:, 0]))


def growth_by_delay(
    flight: Flight, limited: LimitIntervals, by: Limit = Limit.CONGESTION_WINDOW
) -> tuple[Floats, Floats, Floats]:
    """Growth of the window from each good round to the next, packets, and the mean queuing delay in both, ms.

    And the packets of the first round that waited in the queue.
    """
    queuing = delay.queuing(flight.conversation.forward)
    edges = flight.rounds
    if len(edges) < 4:
        raise NotMeasuredError("the flow lasted for less than three round-trip times")
    windows = flight.windows
    if by is Limit.RECEIVE_WINDOW:
        windows = flight.receive_window.sampled(edges[1:]) / flight.full_bytes
    sums = np.append(0.0, np.cumsum(queuing.values))
    at = np.searchsorted(queuing.times, edges, side="left")
    samples = at[2:] - at[:-2]
    mean_ms = 1e3 * (sums[at[2:]] - sums[at[:-2]]) / np.maximum(samples, 1)
    growth = np.diff(windows)
    again = np.searchsorted(flight.retransmissions.times, edges, side="left")
    limit = limited.at((edges[:-1] + edges[1:]) / 2)
    free = np.array([reason is by for reason in limit])
    good = (samples > 0) & free[:-1] & free[1:] & (again[2:] == again[:-2])
    good &= np.minimum(windows[:-1], windows[1:]) > SMALLEST_WINDOW_PKTS
    good &= growth <= np.maximum(3, windows[:-1] / 4)  # faster is slow start
    waiting = windows[:-1] * mean_ms / (1e3 * np.diff(edges)[:-1])
    return growth[good], mean_ms[good], waiting[good]


def _line(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """Height at 0 and slope of the closest line."""
    total = weights.sum()
    mx, my = (weights * x).sum() / total, (weights * y).sum() / total
    spread = (weights * (x - mx) ** 2).sum()
    slope = float((weights * (x - mx) * (y - my)).sum() / spread) if spread > 0 else 0.0
    return float(my - slope * mx), slope


def _huber(x: Floats, y: Floats) -> Floats:
    """Weights of a robust fit, by a few turns of fitting and weighting."""
    weights = np.ones(len(x))
    for _ in range(10):
        height, slope = _line(x, y, weights)
        off = np.abs(y - height - slope * x)
        # in flight are whole packets: a step of one is never an outlier
        usual = max(1.0, HUBER * 1.4826 * float(np.median(off)))
        weights = np.minimum(1.0, usual / np.maximum(off, 1e-12))
    return weights


def _bootstrap(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Height and slope of each resampled fit."""
    random = np.random.default_rng(1)
    length = math.ceil(len(x) ** (1 / 3))  # the order that keeps bias and variance of such means in balance
    blocks = -(-len(x) // length)
    offsets = np.arange(length)
    fits = np.empty((BOOTSTRAPS, 2))
    for turn in range(BOOTSTRAPS):
        chosen = ((random.integers(0, len(x), blocks)[:, None] + offsets).ravel() % len(x))[: len(x)]
        fits[turn] = _line(x[chosen], y[chosen], weights[chosen])
    return fits


def _estimate(value: float, resampled: Floats) -> Estimate:
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Estimate(value, float(low), float(high))
