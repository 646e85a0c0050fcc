"""What a sender's packets show that tells one kind of controller from another."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np

from analysis.observer import control, delay
from analysis.observer.control import FEWEST_ROUNDS, Control
from analysis.observer.conversation import LARGEST_FRAME, Bools, Ints
from analysis.observer.flight import Flight
from analysis.observer.limits import Limit, LimitIntervals
from analysis.series import Floats, NotMeasuredError

FEWEST_EARLY: Final = 3  # losses
EARLY: Final = 0.8  # of the longest delay; a full drop-tail queue is longer when it drops
LATEST_MANAGED_MS: Final = 60  # queuing delay; managed queues (CoDel, PIE, CAKE) dropped at 48 ms at most
BLOCK_ROUNDS: Final = 16  # two cycles of BBR's probing
PULSE: Final = 1.1  # of the usual window; BBR probes with a quarter more
FEWEST_BLOCKS: Final = 3  # one pulse is no probing
PULSE_ROUNDS: Final = 4  # that it lasts at most
PULSE_FROM_PKTS: Final = 4  # BBR never has a smaller window
SETTLING_ROUNDS: Final = 3  # behind a loss, what is in flight still holds what the loss left there
CUT: Final = 0.9  # of the window before a loss; more is no answer to it
DECLINE: Final = 0.9  # of the window; less, without a loss, is an answer to delay
USUAL: Final = 0.95  # of the usual round-trip time; who answers to delay has met as much
STOPPED_PKTS: Final = 3.5  # LEDBAT++ slows down to two packets
BBR_STOPS_PKTS: Final = (STOPPED_PKTS, 4.5)  # BBR stops at four (draft-ietf-ccwg-bbr, 5.3.4.3)
BBR_STOPS_EVERY_S: Final = (10.0, 10.7)  # ten seconds, the stop itself, and the round-trip times in which it empties
FEWEST_BBR_STOPS: Final = 3
STOP_ROUNDS: Final = 8  # before which a window is as it was; half of it lasts what empties it
AS_IT_WAS: Final = 0.5  # of the window; beside others, BBR takes more rounds for the rest
RENO_PKTS: Final = 1.1  # a round at most, RFC 5681 section 3.1, and a tenth for what is counted twice
CUBIC_C: Final = 0.4  # packets per s^3, RFC 9438 section 5.1
CUBIC_LEAVES: Final = 0.7  # of a window, section 4.6
NO_MISFIT: Final = 0.01  # part of a stretch's variance
ROUNDING: Final = 1 / 4  # packets^2; counting whole packets is off by half a packet at most
SHORTEST_STRETCH: Final = 5  # rounds; two numbers of a cubic function are fitted to it
LONGEST_TARGET_MS: Final = 100  # RFC 6817 section 2.5
SLOWEST_GROWTH: Final = 0.5  # packets a round; CUBIC's least is 0.53, RFC 9438 section 4.3
MOST_A_ROUND: Final = 2  # packets; a cut may show in a round behind it, too, and would outweigh all others
LEAST_TARGET_MS: Final = 20  # a shorter target is none that LEDBAT is used with
STEADY_PKTS: Final = 1.5  # a window that varies by less, or
STEADY: Final = 0.03  # by less of itself, stands still
APPROACH: Final = (0.8, 0.9, 0.98)  # of where a window stands still; steady growth takes less time for the second part
SHORT_WAIT: Final = 0.1  # part of a round-trip time; who waits longer after an answer does not wait for answers


class Signals:
    """What a flow's rounds show of its controller."""

    def __init__(self, flight: Flight, limited: LimitIntervals) -> None:
        self.flight = flight
        self.limited = limited
        self.edges = flight.rounds
        self.windows = flight.windows
        self.again: Ints = np.diff(np.searchsorted(flight.retransmissions.times, self.edges, side="left"))
        try:
            self.control: Control | None = control.infer(flight, limited)
        except NotMeasuredError:
            self.control = None

    @property
    def is_utp(self) -> bool:
        """Whether it speaks uTP, of which only controllers like LEDBAT are known; TCP has all others, too."""
        return self.flight.conversation.protocol == "utp"

    @cached_property
    def held_by(self) -> list[Limit]:
        """What limited the rounds whose window could have been smaller; with few of these, all the time."""
        free = self.windows > control.SMALLEST_WINDOW_PKTS + 0.5
        if free.sum() < FEWEST_ROUNDS:
            return self.limited.limits
        return self.limited.at(((self.edges[:-1] + self.edges[1:]) / 2)[free])

    @cached_property
    def ran_out(self) -> float:
        """Part of the rounds in which TCP sent a packet that was not full, though a full one was allowed.

        TCP sends full packets while data waits (RFC 9293 section 3.8.6.2). A library of uTP may cut them to its window.
        """
        sent, flight = self.flight.conversation.sent, self.flight
        if self.flight.conversation.protocol != "tcp" or sent.ip_bytes.max() > LARGEST_FRAME:  # cut behind the tap
            return 0.0
        room = flight.receive_window.sampled(flight.times) - flight.bytes.sampled(flight.times) + flight.payload
        short = flight.times[(flight.payload < flight.full_bytes) & (room >= flight.full_bytes)]
        return float((np.diff(np.searchsorted(short, self.edges, side="left")) > 0).mean())

    @cached_property
    def unheeded(self) -> int:
        """Rounds with more delay than a target may be, if the window grew in them as in the others; 0 if it did not."""
        if self.control is None or self.control.target_ms is not None:
            return 0
        beyond, _ = self.growth_beyond(LONGEST_TARGET_MS)
        return len(beyond) if len(beyond) >= FEWEST_ROUNDS and beyond.mean() > SLOWEST_GROWTH else 0

    def growth_beyond(self, delay_ms: float) -> tuple[Floats, Floats]:
        """Growth of the window in each round with more queuing delay, and how much of it waited, packets."""
        growth, waited_ms, waiting_pkts = control.growth_by_delay(self.flight, self.limited)
        beyond = waited_ms > delay_ms
        return np.clip(growth[beyond], -MOST_A_ROUND, MOST_A_ROUND), waiting_pkts[beyond]

    @cached_property
    def losses(self) -> list[tuple[int, int]]:
        """First and last round of each stretch in which packets were sent again."""
        lossy = np.flatnonzero(self.again)
        if not len(lossy):
            return []
        breaks = np.flatnonzero(np.diff(lossy) >= SETTLING_ROUNDS)
        firsts = lossy[np.append(0, breaks + 1)]
        lasts = lossy[np.append(breaks, len(lossy) - 1)]
        return [(int(a), int(b)) for a, b in zip(firsts, lasts, strict=True)]

    @cached_property
    def lost_early(self) -> str | None:
        """Why losses hide what delay would do to the window; None if they do not.

        A drop-tail queue drops at the longest delay there is. A managed queue drops before that, at delays that are
        long for it; a controller that aims at more never meets its target there: its window looks like Reno's or
        CUBIC's, and that of CUBIC, cut at any point of its growth, like one that follows the delay. On a lossy path,
        longer delays than those of most losses pass without one, and show what the controller does.
        """
        repaired = self.flight.retransmissions.times
        if len(self.cuts) < FEWEST_EARLY:
            return None
        try:
            queuing = delay.queuing(self.flight.conversation.forward)
        except NotMeasuredError:
            return None
        before_s = 2 * float(self.flight.round_trips.values.min())  # a loss is repaired a round-trip time later
        first, behind = (np.searchsorted(queuing.times, repaired - early_s) for early_s in (before_s, 0.0))
        met = [queuing.values[a:b].max() for a, b in zip(first, behind, strict=True) if b > a]
        if not met:
            return None
        lost_ms = 1e3 * float(np.median(met))
        half_ms, long_ms, longest_ms = 1e3 * np.percentile(queuing.values, [50, 90, 100])
        if lost_ms >= min(max(EARLY * longest_ms, LEAST_TARGET_MS), LATEST_MANAGED_MS):
            return None
        if lost_ms < half_ms and long_ms >= LEAST_TARGET_MS:
            return None
        return (
            f"packets are lost at {lost_ms:.0f} ms of queuing delay, though the queue once had {longest_ms:.0f} ms, or "
            f"before any target of {LEAST_TARGET_MS} ms or more is met, as behind a managed queue: what the sender "
            "would do at a longer delay does not show"
        )

    @cached_property
    def clean(self) -> list[tuple[int, int]]:
        """Stretches of rounds, first and one behind the last, that losses do not disturb."""
        disturbed: Bools = np.zeros(len(self.windows) + 1, bool)
        disturbed[-1] = True
        for first, last in self.losses:
            disturbed[max(0, first - 1) : last + 1 + SETTLING_ROUNDS] = True
        edges = np.flatnonzero(np.diff(np.append(True, disturbed).astype(int)))
        return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]

    @cached_property
    def cuts(self) -> list[float]:
        """What each loss left of the window."""
        left = []
        for first, last in self.losses:
            settled = [
                self.windows[i]
                for i in range(last + 1, min(last + 1 + SETTLING_ROUNDS, len(self.windows)))
                if not self.again[i]
            ]
            if first > 0 and self.windows[first - 1] > control.SMALLEST_WINDOW_PKTS + 1 and settled:
                left.append(float(min(settled) / self.windows[first - 1]))
        return left

    @cached_property
    def probing(self) -> tuple[int, int]:
        """Stretches of BLOCK_ROUNDS clean rounds in which the window rose for a moment, and how many there are."""
        with_pulse, blocks = 0, 0
        for first, behind in self.clean:
            for begin in range(first, behind - BLOCK_ROUNDS + 1, BLOCK_ROUNDS):
                part = self.windows[begin : begin + BLOCK_ROUNDS]
                blocks += 1
                with_pulse += has_pulse(part)
        return with_pulse, blocks

    @property
    def probes(self) -> bool:
        """Whether most stretches probe for capacity, as BBR's do."""
        probed, blocks = self.probing
        return blocks >= FEWEST_BLOCKS and probed >= blocks / 2

    @cached_property
    def declines(self) -> list[int]:
        """Rounds in which the window had sunk to DECLINE of what it was some rounds before, without a loss.

        It was an answer to delay if the round-trip time was not shorter than usual before.
        """
        declines = []
        trips = np.diff(self.edges)
        usual = float(np.median(trips))
        for first, behind in self.clean:
            top = first
            for i in range(first, behind):
                if self.windows[i] >= self.windows[top]:
                    top = i
                if self.windows[i] <= min(DECLINE * self.windows[top], self.windows[top] - 2):
                    if trips[top] >= USUAL * usual:
                        declines.append(i)
                    top = i
        return declines

    @cached_property
    def bbr_stops(self) -> int:
        """How often the window stopped at BBR's four packets, if each stop came ten seconds behind the one before.

        BBR stops so to measure the path without its own queue, and goes on with the window that it had.
        """
        low, high = BBR_STOPS_PKTS
        small = np.append(np.append(False, self.windows <= high), False)
        changes = np.flatnonzero(np.diff(small.astype(int)))
        at: list[float] = []
        for first, behind in zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True):
            before = self.windows[max(0, first - STOP_ROUNDS // 2) : first]
            later = self.windows[behind : behind + STOP_ROUNDS]
            if not len(before) or not len(later) or self.windows[first:behind].min() <= low:
                continue
            if before.max() >= 3 * high and later.max() >= AS_IT_WAS * before.max():
                at.append(float(self.edges[first]))
        shortest, longest = BBR_STOPS_EVERY_S
        regular = all(shortest <= gap <= longest for gap in np.diff(at))
        return len(at) if len(at) >= FEWEST_BBR_STOPS and regular else 0

    @cached_property
    def full_stops(self) -> int:
        """How often the window sank to LEDBAT++'s two packets without a loss, and was soon as it had been.

        Beside others, the window of any controller that answers to delay may become so small; it then grows slowly.
        """
        stops = 0
        for at in self.declines:
            before = self.windows[max(0, at - PULSE_ROUNDS) : at].max(initial=0.0)
            later = self.windows[at + 1 : at + 1 + 2 * STOP_ROUNDS].max(initial=0.0)
            is_stop = self.windows[at] <= STOPPED_PKTS and before >= 2 * STOPPED_PKTS
            stops += bool(is_stop and later >= AS_IT_WAS * before)
        return stops

    @cached_property
    def growth(self) -> float:
        """Packets by which the window grows in a round between losses, in the middle of such stretches; 0 without."""
        slopes = [
            float(self.windows[behind - 1] - self.windows[first]) / (behind - 1 - first)
            for first, behind in self.clean
            if first > 0 and behind - first >= SHORTEST_STRETCH
        ]
        return float(np.median(slopes)) if slopes else 0.0

    @cached_property
    def allowed(self) -> Control | None:
        """How the window that the receiver allows answers to delay; None where that cannot be told."""
        try:
            return control.infer(self.flight, self.limited, Limit.RECEIVE_WINDOW)
        except NotMeasuredError:
            return None

    @cached_property
    def settled(self) -> int:
        """Rounds for which the window stood still, though nothing but delay can have held it; 0 if there are none.

        In the meantime Reno would have grown by half a packet a round at least, and CUBIC come past its inflection. A
        fixed limit lets no more in flight before, and growth runs into it at full speed.
        """
        most = 0
        largest = np.maximum.accumulate(self.windows)
        for first, behind in self.clean:
            windows = self.windows[first:behind]
            stood = len(windows) // 2
            low, high = np.percentile(windows[-stood:], [5, 95]) if stood >= FEWEST_ROUNDS else (0.0, np.inf)
            if high - low >= max(STEADY_PKTS, STEADY * high) or high <= STOPPED_PKTS:  # a window has a smallest size
                continue
            if self.edges[behind] - self.edges[first] < 3 * cubic_s(high):
                continue
            reached = [int(np.argmax(windows >= part * high)) for part in APPROACH]
            was_larger = first > 0 and high < CUT * largest[first - 1]
            if was_larger or reached[2] - reached[1] > reached[1] - reached[0]:
                most = max(most, len(windows) - reached[2])
        return most

    @cached_property
    def is_steady(self) -> bool:
        """Whether the window stays the same, once it has opened."""
        later = self.windows[len(self.windows) // 4 :]
        low, high = np.percentile(later, [5, 95])
        return bool(high - low < max(STEADY_PKTS, STEADY * high))

    @cached_property
    def is_pinned(self) -> bool:
        """Whether the window is most of the time near its largest value."""
        return bool(np.percentile(self.windows, 25) >= 0.75 * self.windows.max())

    @cached_property
    def waits_for_answers(self) -> bool:
        """Whether data leaves soon after an answer, as a window has it."""
        times = self.flight.times
        index = np.searchsorted(self.flight.answered, times, side="right") - 1
        waits = (times - self.flight.answered[np.maximum(index, 0)])[index >= 0]
        usual = float(np.median(self.flight.round_trips.values))
        return bool(len(waits)) and float(np.median(waits)) < SHORT_WAIT * usual

    def _shapes(self) -> Iterator[tuple[float, float]]:
        """Squares that CUBIC or Reno, and delay leave of a stretch up to a loss; next to nothing is left out."""
        fit = self.control
        if fit is None or fit.target_ms is None or fit.gain_pkts_per_rtt is None:
            return
        queuing = delay.queuing(self.flight.conversation.forward)
        edges = self.edges
        sums = np.append(0.0, np.cumsum(queuing.values))
        at = np.searchsorted(queuing.times, edges, side="left")
        mean_ms = 1e3 * np.diff(sums[at]) / np.maximum(np.diff(at), 1)
        slope = fit.gain_pkts_per_rtt.value * (1 - mean_ms / fit.target_ms.value)
        before: Floats = np.zeros(0)
        for first, behind in self.clean:
            windows, largest = self.windows[first:behind], before
            before = self.windows[first : behind + 2]  # with those that the next loss disturbs
            if first == 0 or behind - first < SHORTEST_STRETCH or np.ptp(windows) < 4:  # the first is slow start
                continue
            spread = float(((windows - windows.mean()) ** 2).sum())
            grown = np.append(0.0, np.cumsum(slope[first : behind - 1]))
            by_delay = windows - grown
            by_delay -= by_delay.mean()
            middles = (edges[first:behind] + edges[first + 1 : behind + 1]) / 2
            latest_s = cubic_s(float(np.append(largest, windows).max()))
            by_loss = min(_cubic(middles, windows, latest_s), steady(windows))
            left = by_loss, float((by_delay**2).sum())
            if max(left) > max(NO_MISFIT * spread, ROUNDING * len(windows)):
                yield left

    @cached_property
    def votes(self) -> tuple[int, int]:
        """Stretches that CUBIC's or Reno's growth fits better than the delay does, and the other way round.

        Where both leave next to nothing, neither has it.
        """
        shapes = list(self._shapes())
        return sum(by_loss < by_delay for by_loss, by_delay in shapes), sum(
            by_delay < by_loss for by_loss, by_delay in shapes
        )

    @cached_property
    def standing_pkts(self) -> float:
        """Packets of its own that it keeps waiting, in full packets, in the middle of its time."""
        trips = self.flight.round_trips.values
        usual = float(np.median(trips))
        return float(np.median(self.windows)) * (1 - float(trips.min()) / usual)


def has_pulse(windows: Floats) -> bool:
    """Whether the window rises at once and soon sinks again; growth is slower, and a decline begins high."""
    usual = float(np.median(windows))
    if usual < PULSE_FROM_PKTS:
        return False
    high = windows >= max(PULSE * usual, usual + 1.5)
    steps = np.diff(high.astype(int))
    begins, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    low = max((1 + PULSE) / 2 * usual, usual + 1)
    return any(
        before <= peak and windows[peak - before] <= min(low, windows[peak] - before - 0.5)
        for begin in begins.tolist()
        for end in ends[(ends > begin) & (ends <= begin + PULSE_ROUNDS)].tolist()
        for peak in [begin + 1 + int(np.argmax(windows[begin + 1 : end + 1]))]
        for before in (1, 2)  # rounds, in which one packet a round is growth
    )


def cubic_s(window: float) -> float:
    """Seconds that CUBIC takes from a loss with that window, packets, to the inflection of its growth (RFC 9438)."""
    return float(((1 - CUBIC_LEAVES) * window / CUBIC_C) ** (1 / 3))


def _cubic(times: Floats, windows: Floats, latest_s: float) -> float:
    """Squares that the closest of CUBIC's functions leaves; when it has its inflection is free, up to `latest_s`."""
    left = []
    for inflection in np.linspace(0.0, latest_s, 100):
        off = windows - CUBIC_C * (times - times[0] - inflection) ** 3
        off -= off.mean()
        left.append(float((off**2).sum()))
    return min(left)


def steady(windows: Floats) -> float:
    """Squares that the closest growth by as much in each round leaves, as Reno's is."""
    rounds = np.arange(len(windows)) - (len(windows) - 1) / 2
    off = windows - windows.mean()
    slope = min(max(float((rounds * off).sum() / (rounds**2).sum()), 0.0), RENO_PKTS)
    return float(((off - slope * rounds) ** 2).sum())
