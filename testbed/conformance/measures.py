"""Numbers of the flow called `client` that requirements bound, from packets alone.

Each takes a run; `since` is the instant, s, from which it looks. NotMeasuredError says why packets do not show one.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.observer.flight import RetransmitCause
from analysis.run import Run
from analysis.series import Floats, NotMeasuredError, Series
from testbed.conformance import receiver, utp
from testbed.shared.panel import CLIENT

SMALL_PKTS: Final = 2  # LEDBAT++'s window during a slowdown
STARTED_PKTS: Final = 8  # a flow with so much in flight is past its start
REGAINED: Final = 0.9  # of the window before a slowdown: its climb is over
EMPTY_MS: Final = 8.0  # of queue: less than three packets at 4 Mbit/s, the random part of what is almost none
STARVED: Final = 0.2  # share of the capacity below which a window is taken for the smallest
SLOWER: Final = 0.6  # part of the earlier rate that shows that a longer path slows the sender down
AGAIN: Final = 0.85  # part of the earlier rate that shows that it has recovered


@dataclass(frozen=True)
class _Slowdown:
    """Its instants, s: the last packet before it, the third packet in flight after it, and the window regained."""

    begins: float
    ends: float
    regained: float


def first_flight(run: Run) -> float:
    """Packets that were sent before any data was acknowledged, counted in packets of the largest size."""
    flight = run.flight(CLIENT)
    data = flight.payload > 0
    first = int(np.flatnonzero(data)[0])
    payload_bytes = int(flight.payload[data & (flight.times < flight.acknowledged_at(first))].sum())
    if payload_bytes < flight.full_bytes:
        raise NotMeasuredError(f"the application gave {payload_bytes} bytes at first, less than a packet")
    return math.ceil(payload_bytes / flight.full_bytes)


def growth(run: Run, since: float) -> float:
    """Packets by which the window grows each round-trip time while there is no queue: the longest such time."""
    flight = run.flight(CLIENT)
    edges, windows = flight.rounds, flight.windows
    waited = run.waited_ms(CLIENT)
    again = np.searchsorted(flight.retransmissions.times, edges, side="left")
    good = [
        edges[i] >= since
        and edges[i + 1] < run.duration
        and waited.max(edges[i], edges[i + 1]) < EMPTY_MS
        and again[i] == again[i + 1]
        and windows[i] > SMALL_PKTS
        for i in range(len(windows))
    ]
    stretches = [list(group) for empty, group in itertools.groupby(range(len(good)), lambda i: good[i]) if empty]
    # from the third on: the first may end a climb, the second is what that left
    longest = max((stretch[2:] for stretch in stretches), key=len, default=[])
    if len(longest) < 6:
        raise NotMeasuredError("the queue was never empty for eight round-trip times in a row")
    return float(np.polyfit(longest, windows[longest], 1)[0])


def smallest_window(run: Run, since: float) -> float:
    """Packets in flight most of the time beside a TCP flow that takes the link."""
    if run.share(CLIENT, since) > STARVED:
        raise NotMeasuredError(f"it kept {run.share(CLIENT, since):.0%} of the link beside TCP")
    return settled(run.in_flight(CLIENT), since)


def settled(packets: Series, since: float) -> float:
    """Return the median from `since`; NotMeasuredError if it is smaller by more than a packet in the second half."""
    middle = (since + packets.end) / 2
    if packets.percentile(50, middle) < packets.percentile(50, since, middle) - 1:
        raise NotMeasuredError("the window was still falling at the end")
    return packets.percentile(50, since)


def kept_after_loss(run: Run, since: float) -> float:
    """Part of the window that is left 1.2 to 1.6 round-trip times after a loss that no timeout repaired: the median."""
    flight = run.flight(CLIENT)
    trips = flight.round_trips
    kept, last = [], since
    for at, cause in zip(flight.retransmissions.times, flight.retransmissions.causes, strict=True):
        index = int(np.searchsorted(trips.times, at, side="right")) - 1
        rtt = float(trips.values[index]) if index >= 0 else math.inf
        alone = at - last > receiver.APART_RTTS * rtt
        last = at
        if not alone or cause is not RetransmitCause.FAST or at + 3 * rtt > run.duration:
            continue
        later = flight.retransmissions.times
        if ((later > at) & (later < at + 3 * rtt)).any():
            continue
        before = flight.packets.max(at - rtt, at)
        if before >= STARTED_PKTS:
            # the loss is repaired, and the window has hardly grown again
            kept.append(flight.packets.max(at + 1.2 * rtt, at + 1.6 * rtt) / before)
    if len(kept) < 3:
        raise NotMeasuredError(f"only {len(kept)} losses stood alone and were repaired without a timeout")
    return float(np.median(kept))


def fast_share(run: Run, since: float) -> float:
    """Share of the packets sent again that did not wait for a timeout."""
    again = run.flight(CLIENT).retransmissions
    causes = [cause for at, cause in zip(again.times, again.causes, strict=True) if at >= since]
    if len(causes) < 3:
        raise NotMeasuredError(f"only {len(causes)} packets were sent again")
    return causes.count(RetransmitCause.FAST) / len(causes)


def sent_after_timeout(run: Run, since: float) -> float:
    """Packets sent from the timeout that ends an outage until something is acknowledged again."""
    resent, back = _outage(run, since)
    if back == math.inf:
        raise NotMeasuredError("nothing was acknowledged again after the outage")
    times = run.flight(CLIENT).conversation.sent.times
    return float(((times >= resent[-1]) & (times < back)).sum())


def timeout_growth(run: Run, since: float) -> float:
    """Ratio of the waits between successive timeouts in an outage: the median, without the first wait."""
    resent, _ = _outage(run, since)
    waits = np.diff(resent)[1:]
    if len(waits) < 2:
        raise NotMeasuredError(f"only {len(resent)} packets were sent again in the outage")
    return float(np.median(waits[1:] / waits[:-1]))


def first_timeout_ms(run: Run, since: float) -> float:
    """Time from the last acknowledgement before an outage to the first packet that is sent again, ms."""
    resent, _ = _outage(run, since)
    progress = run.flight(CLIENT).progress
    return 1e3 * float(resent[0] - progress[progress <= resent[0]][-1])


def recovered_after_s(run: Run) -> float:
    """Time from the instant the path becomes longer until the sender is as fast as before, s."""
    step = run.changes.first()
    rate = run.rate(CLIENT, 5.0)
    before = rate.mean(step - 30, step)
    if rate.mean(step + 20, step + 60) > SLOWER * before:
        raise NotMeasuredError("the longer path did not make it slower")
    return rate.first_time_above(AGAIN * before, step + 60) - step


def slow_start_growth(run: Run) -> float:
    """Factor by which the first slow start enlarges the window each round-trip time: the median."""
    climb = _first_climb(run)
    factors = [after / before for before, after in itertools.pairwise(climb) if before >= SMALL_PKTS * 3]
    if len(factors) < 3:
        raise NotMeasuredError("the window grew for less than three round-trip times above six packets")
    return float(np.median(factors))


def slow_start_peak_ms(run: Run) -> float:
    """Longest time that a packet waits in the queue by the end of the first slow start, ms."""
    flight = run.flight(CLIENT)
    climb = _first_climb(run)
    end = float(flight.rounds[len(climb)])
    return run.waited_ms(CLIENT).max(run.start(CLIENT), end)


def steepest_fall(run: Run, since: float) -> float:
    """Smallest part of the window that is left after a round-trip time, without slowdowns and losses."""
    flight = run.flight(CLIENT)
    edges, windows = flight.rounds, flight.windows
    again = np.searchsorted(flight.retransmissions.times, edges, side="left")
    low = [(slowdown.begins, slowdown.ends) for slowdown in _slowdowns(run)]
    kept = [
        windows[i + 1] / windows[i]
        for i in range(len(windows) - 1)
        if edges[i] >= since
        and windows[i] > 2 * SMALL_PKTS
        and again[i] == again[i + 2]
        and not any(begin < edges[i + 2] and end > edges[i] for begin, end in low)
    ]
    if not kept:
        raise NotMeasuredError("its window was never above four packets without losses")
    return float(min(kept))


def slowdowns(run: Run) -> float:
    """How often the window falls to two packets and comes back."""
    return len(_slowdowns(run))


def first_slowdown_s(run: Run) -> float:
    """Time from the flow's start to its first slowdown, s."""
    return _some(run, 1)[0].begins - run.start(CLIENT)


def shortest_slowdown_ms(run: Run) -> float:
    """Time for which no more than two packets are sent each round-trip time, ms: the shortest."""
    return 1e3 * min(slowdown.ends - slowdown.begins for slowdown in _some(run, 1))


def slowdown_pause(run: Run) -> float:
    """Time from the end of a climb to the next slowdown, in lengths of that slowdown and climb: the median."""
    pairs = itertools.pairwise(_some(run, 3))
    return float(
        np.median(
            [(after.begins - slowdown.regained) / (slowdown.regained - slowdown.begins) for slowdown, after in pairs]
        )
    )


def beyond_receive_window_bytes(run: Run) -> float:
    """Most bytes in flight beyond what the receiver allowed."""
    flight = run.flight(CLIENT)
    times = flight.times[flight.times >= flight.receive_window.start]
    return float((flight.bytes.sampled(times) - flight.receive_window.sampled(times)).max())


_ALL: Final[tuple[Callable[..., float], ...]] = (
    first_flight,
    growth,
    smallest_window,
    kept_after_loss,
    fast_share,
    sent_after_timeout,
    timeout_growth,
    first_timeout_ms,
    recovered_after_s,
    slow_start_growth,
    slow_start_peak_ms,
    steepest_fall,
    slowdowns,
    first_slowdown_s,
    shortest_slowdown_ms,
    slowdown_pause,
    beyond_receive_window_bytes,
    *receiver.MEASURES,
    *utp.MEASURES,
)
PACKETS: Final = {measure.__name__ for measure in (first_flight, growth, smallest_window, sent_after_timeout)}
"""Those that count packets; of the others, the name has the unit."""
MEASURES: Final = {measure.__name__: measure for measure in _ALL}


def _outage(run: Run, since: float) -> tuple[Floats, float]:
    """Instants at which packets are sent again while nothing comes back, and when something does, if it does."""
    flight = run.flight(CLIENT)
    again = flight.retransmissions.times
    after = again[again >= since]
    if not len(after):
        raise NotMeasuredError("nothing was sent again in the outage")
    back = min(flight.progress[flight.progress > after[0]], default=math.inf)
    resent = after[after < back]
    # several packets sent again at once are one timeout
    return resent[np.append(True, np.diff(resent) > 0.01)], float(back)


def _first_climb(run: Run) -> Floats:
    """Windows of the rounds up to the first that is no larger than the one before."""
    windows = run.flight(CLIENT).windows
    falls = np.flatnonzero(np.diff(windows) <= 0)
    later = falls[windows[falls] >= STARTED_PKTS]
    return windows[: int(later[0]) + 1 if len(later) else len(windows)]


def _slowdowns(run: Run) -> list[_Slowdown]:
    flight = run.flight(CLIENT)
    packets = flight.packets
    low = packets.values <= SMALL_PKTS
    started = int(np.argmax(packets.values >= STARTED_PKTS)) if (packets.values >= STARTED_PKTS).any() else len(low)
    changes = np.flatnonzero(np.diff(low.astype(int)))
    slowdowns = []
    for down in changes[(changes >= started) & low[changes + 1]] if len(changes) else []:
        ups = changes[changes > down]
        if not len(ups):
            break
        begins_low, ends = float(packets.times[down + 1]), float(packets.times[ups[0] + 1])
        if ends - begins_low < 0.5e-3 * run.base_rtt_ms:
            continue
        begins = float(flight.times[np.searchsorted(flight.times, begins_low, side="left") - 1])
        regained = packets.first_time_above(REGAINED * packets.at(begins), ends)
        if math.isfinite(regained):
            slowdowns.append(_Slowdown(begins, ends, regained))
    return _apart(slowdowns)


def _apart(slowdowns: list[_Slowdown]) -> list[_Slowdown]:
    """Slowdowns that do not lie in the climb of an earlier one."""
    kept: list[_Slowdown] = []
    for slowdown in slowdowns:
        if not kept or slowdown.begins >= kept[-1].regained:
            kept.append(slowdown)
    return kept


def _some(run: Run, fewest: int) -> list[_Slowdown]:
    slowdowns = _slowdowns(run)
    if len(slowdowns) < fewest:
        raise NotMeasuredError(f"there are {len(slowdowns)} slowdowns")
    return slowdowns
