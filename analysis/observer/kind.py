"""What kind of controller a sender has, from its packets alone.

Each kind shows in something that the others do not do:

- A rate-based controller (BBR) probes for capacity: every few rounds it has more in flight for a moment, without loss.
  Where so much is lost that this cannot be seen, its window moves, but most losses do not cut it.
- A delay-based one (LEDBAT, Vegas) lowers its window without a loss, or grows the less the longer the delay until it
  stands still. LEDBAT++ moreover stops every now and then, down to two packets.
- A loss-based one (Reno, CUBIC) grows until something is lost, then cuts its window, and never lowers it otherwise.
  Losses cut that of others, too, so its growth has to be the same at any delay, or to have the shape of one of these.
- None: losses change nothing.
- A window that no controller moves, the receiver's or one of the program's own, or an application that has nothing to
  send, hides the controller.

Where a buffer is too short for the delay that a delay-based controller aims for, both it and CUBIC grow ever more
slowly until something is lost. What tells them apart is the shape of the growth in between: CUBIC's is a cubic function
of time with a constant that RFC 9438 fixes, Reno's is the same in each round, that of the others follows the delay.
Where losses end each stretch before its shape shows, and growth falls with the delay, nothing tells them apart.

The confidence is the part of the evidence for the kind, counted by Laplace's rule (one more for, one more against), so
that little evidence never makes it certain. Much evidence does not, either, since a rule may be wrong however often it
applies. So no judgement is surer than what judgements by such evidence in unseen networks support. Where these were too
few to tell, a judgement is no surer than the least of those bounds, and says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import numpy as np

from analysis.observer import control, delay, limits
from analysis.observer.control import FEWEST_ROUNDS, Control
from analysis.observer.conversation import LARGEST_FRAME, Bools, Ints
from analysis.observer.flight import Flight
from analysis.observer.limits import Limit, Limits
from analysis.series import Floats, NotMeasuredError
from common.counts import plural

FEWEST_DECLINES: Final = 5  # that tell of delay even where losses come early
FEWEST_EARLY: Final = 3  # losses
EARLY: Final = 0.8  # of the longest delay; a full drop-tail queue is longer when it drops
LATEST_MANAGED_MS: Final = 60  # queuing delay; managed queues (CoDel, PIE, CAKE) dropped at 48 ms at most
FEWEST_LOSSES: Final = 5  # that tell that a controller does not answer them
MOSTLY_UNANSWERED: Final = 0.7  # confidence; of losses in a row, libutp answers one, and left 66 % alone
BLOCK_ROUNDS: Final = 16  # two cycles of BBR's probing
PULSE: Final = 1.1  # of the usual window; BBR probes with a quarter more
FEWEST_BLOCKS: Final = 3  # one pulse is no probing
FEWEST_PULSES: Final = 3  # BBR's later versions wait up to 63 rounds; no delay-based sender has had more than one
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
SURELY: Final = 0.9  # part of the fits in which growth falls with delay; fewer is a growth that does not heed it
CUBIC_C: Final = 0.4  # packets per s^3, RFC 9438 section 5.1
CUBIC_LEAVES: Final = 0.7  # of a window, section 4.6
NO_MISFIT: Final = 0.01  # part of a stretch's variance
ROUNDING: Final = 1 / 4  # packets^2; counting whole packets is off by half a packet at most
SHORTEST_STRETCH: Final = 5  # rounds; two numbers of a cubic function are fitted to it
CUBIC_CUT: Final = (0.6, 0.85)  # what CUBIC's losses leave of a window, 0.7, with what it grew while it learned of them
VEGAS_PKTS: Final = (1.5, 6.5)  # what Vegas keeps waiting, its alpha of 2 to its beta of 4, and those just being sent
LONGEST_TARGET_MS: Final = 100  # RFC 6817 section 2.5
SLOWEST_GROWTH: Final = 0.5  # packets a round; CUBIC's least is 0.53, RFC 9438 section 4.3
LEDBATPP_TARGET_MS: Final = 60  # draft-irtf-iccrg-ledbat-plus-plus; beyond it, it does not grow
FEWEST_SHAPES: Final = 3  # stretches; one of a few rounds may fit anything
FEWEST_BEYOND: Final = 16  # rounds; their growth differs by half a packet from one to the next
MOST_A_ROUND: Final = 2  # packets; a cut may show in a round behind it, too, and would outweigh all others
HEEDLESS_GROWTH: Final = SLOWEST_GROWTH / 2  # on the plateau of CUBIC's function, rounds without growth are in the mean
HELD_BACK: Final = 0.5  # of the time; what else a sender does is hidden then
SURELY_HELD_BACK: Final = 0.75
FEWEST_UNANSWERED: Final = 2  # losses; one may have been a packet that came late
UNANSWERED: Final = {"delay": 0.1, "loss": 0.25}  # of the losses; QUIC's senders leave a window as it was more often
# Confidence at most, the lower end of a one-sided 95 % interval of judgements right in drawn sets 5 to 7
SUPPORTED_LOSS: Final = 0.92  # 81 of 83 loss-based by their losses
SUPPORTED_GROWTH: Final = 0.91  # 53 of 54 delay-based whose window never sank without a loss
SUPPORTED: Final = 0.88  # BBR's stops, 24 of 24; windows that sank, 116 of 123, give 0.89
UNSUPPORTED: Final = 0.76  # all other evidence; its 12 of 15 support 0.56: too few to tell, so the rule of succession
SPLIT: Final = 0.6  # a confidence; below it, as much speaks against a kind as for it
LEAST_TARGET_MS: Final = 20  # a shorter target is none that LEDBAT is used with
STEADY_PKTS: Final = 1.5  # a window that varies by less, or
STEADY: Final = 0.03  # by less of itself, stands still
APPROACH: Final = (0.8, 0.9, 0.98)  # of where a window stands still; steady growth takes less time for the second part
FURTHEST: Final = 2.5  # of the longest delay; a target beyond it is a guess
NEAR_LONGEST: Final = 0.9  # of the longest delay; a window that stands still there may have met a full buffer
SMALLEST: Final = "its window stays as small as any controller lets it become"
SHORT_WAIT: Final = 0.1  # part of a round-trip time; who waits longer after an answer does not wait for answers


class Kind(StrEnum):
    """What decides how much a sender has in flight."""

    LOSS_BASED = "loss-based"
    RATE_BASED = "rate-based"
    DELAY_BASED = "delay-based"
    WINDOW_LIMITED = "window-limited"
    APPLICATION_LIMITED = "application-limited"
    NONE = "none"


@dataclass(frozen=True)
class Judgement:
    """A kind, how sure it is (0 to 1), and what speaks for it, a sentence each."""

    kind: Kind
    confidence: float
    because: list[str]
    like: str | None = None  # the best known controller that behaves so

    def as_json(self) -> dict[str, Any]:
        """Give what goes into JSON."""
        return {
            "kind": self.kind.value,
            "confidence": round(self.confidence, 3),
            "like": self.like,
            "because": self.because,
        }


def judge(flight: Flight) -> Judgement:
    """Tell a sender's kind. Raises NotMeasuredError when its packets are too few or say too little."""
    seen = Signals(flight, limits.limits(flight))
    judgement = _held_back(seen) or _by_rounds(seen)
    if judgement.confidence < SPLIT:
        raise NotMeasuredError(f"{'; '.join(judgement.because)}: as much speaks against {judgement.kind} as for it")
    most = _supported(judgement.kind, seen)
    if most is None:
        confidence = min(judgement.confidence, UNSUPPORTED)
        reason = f"unseen networks had too few judgements by such evidence to support {confidence:.2f}"
        return replace(judgement, confidence=confidence, because=[*judgement.because, reason])
    if judgement.confidence <= most:
        return judgement
    because = [*judgement.because, f"in unseen networks, judgements by such evidence support no more than {most:.2f}"]
    return replace(judgement, confidence=most, because=because)


def _supported(kind: Kind, seen: "Signals") -> float | None:
    """Give what unseen networks support for such evidence; None where they had too little of it to tell."""
    if kind is Kind.LOSS_BASED and seen.cuts:
        return SUPPORTED_LOSS
    if kind is Kind.DELAY_BASED:
        return SUPPORTED if seen.declines else SUPPORTED_GROWTH
    return SUPPORTED if kind is Kind.RATE_BASED and seen.bbr_stops and not seen.probes else None


def _held_back(seen: "Signals") -> Judgement | None:
    """A window of the receiver, or an application, that hides the controller most of the time."""
    number = len(seen.held_by)
    for share, kind, says in (
        (seen.held_by.count(Limit.RECEIVE_WINDOW) / number, Kind.WINDOW_LIMITED, "the receiver's window limits it"),
        (
            seen.held_by.count(Limit.APPLICATION) / number,
            Kind.APPLICATION_LIMITED,
            "the number of packets in flight sinks for want of data",
        ),
        (seen.ran_out, Kind.APPLICATION_LIMITED, "it runs out of data, so a packet is not full,"),
    ):
        if HELD_BACK <= share < SURELY_HELD_BACK:
            raise NotMeasuredError(f"{says} in {share:.0%} of the time, which hides what it does in the rest")
        if share >= SURELY_HELD_BACK:
            if kind is Kind.APPLICATION_LIMITED and float(np.median(seen.windows)) <= STOPPED_PKTS:
                raise NotMeasuredError(SMALLEST)
            if seen.flight.conversation.protocol == "udp":
                raise NotMeasuredError(
                    f"{says} in {share:.0%} of the time, or by the receiver's limit, which is encrypted"
                )
            return Judgement(kind, _laplace(share * number, number), [f"{says} in {share:.0%} of the time"])
    return None


def _by_rounds(seen: "Signals") -> Judgement:
    if len(seen.windows) < FEWEST_ROUNDS:
        raise NotMeasuredError(
            f"only {len(seen.windows)} round-trip times; at least {FEWEST_ROUNDS} are needed to tell a controller"
        )
    probed, blocks = seen.probing
    if seen.probes:
        because = [f"it probes for capacity in {probed} of {blocks} stretches of {BLOCK_ROUNDS} rounds"]
        return Judgement(Kind.RATE_BASED, _laplace(probed, blocks), because, "BBR")
    if seen.bbr_stops:
        because = [f"it stops at four packets {seen.bbr_stops} times, ten seconds apart, and is back at once"]
        return Judgement(Kind.RATE_BASED, _laplace(seen.bbr_stops, seen.bbr_stops), because, "BBR")
    cuts = seen.cuts
    unanswered = sum(left > CUT for left in cuts)
    lossy = int((seen.again > 0).sum())
    mostly_unanswered = unanswered > len(cuts) / 2
    if (mostly_unanswered and seen.is_steady) or (
        lossy > len(seen.windows) / 3 and seen.is_pinned and (mostly_unanswered or not cuts)
    ):
        because = [f"packets were sent again in {lossy} of {len(seen.windows)} rounds, and the window stayed as it was"]
        return Judgement(Kind.NONE, _laplace(lossy, lossy), because)
    if unanswered >= FEWEST_LOSSES and _laplace(unanswered, len(cuts)) > MOSTLY_UNANSWERED:
        because = [f"its window moves, yet {unanswered} of {len(cuts)} losses left it as it was"]
        return Judgement(Kind.RATE_BASED, _laplace(unanswered, len(cuts)), because, "BBR")
    if seen.lost_early and len(seen.declines) < FEWEST_DECLINES:
        raise NotMeasuredError(seen.lost_early)
    if marked := seen.flight.conversation.marked_pkts:
        raise NotMeasuredError(
            f"the queue marked {plural(marked, 'packet')} instead of dropping them, and captures do not show whose: a "
            "window that sinks may answer to marks"
        )
    if probed >= FEWEST_PULSES:
        raise NotMeasuredError(
            f"it probes for capacity in {probed} of {blocks} stretches of {BLOCK_ROUNDS} rounds: too seldom for BBR's "
            "first version, too often for a controller that answers to delay"
        )
    judgement = _delay_based(seen) or _unmoved(seen) or _loss_based(seen)
    most = UNANSWERED["delay" if judgement.kind is Kind.DELAY_BASED else "loss"] * len(cuts)
    if unanswered >= FEWEST_UNANSWERED and unanswered > most:
        raise NotMeasuredError(
            f"{unanswered} of {len(cuts)} losses left its window as it was: too many for a controller that answers "
            "them, too few for BBR"
        )
    return judgement


def _delay_based(seen: "Signals") -> Judgement | None:
    because = []
    for_it, against = len(seen.declines), 0
    if seen.declines:
        because.append(f"its window sank {len(seen.declines)} times by a tenth or more without a loss")
    fit = seen.control
    if fit is not None and fit.target_ms is not None:
        blocks = fit.rounds // FEWEST_ROUNDS
        if not seen.cuts and fit.target_ms.low < FURTHEST * fit.longest_ms:
            because.append(f"its window grows more slowly as the delay grows, up to {fit.longest_ms:.0f} ms")
            for_it += blocks
        elif fit.target_ms.value < NEAR_LONGEST * fit.longest_ms:
            by_shape, by_delay = seen.votes
            if by_shape >= by_delay + FEWEST_SHAPES and not seen.declines:
                raise NotMeasuredError(
                    f"its window stands still at {fit.target_ms.value:.0f} ms of queuing delay, yet between losses it "
                    "grows as CUBIC's or Reno's does"
                )
            because.append(f"its window stands still at {fit.target_ms.value:.0f} ms of queuing delay")
            for_it += blocks
        elif seen.cuts and fit.target_ms.low < FURTHEST * max(LONGEST_TARGET_MS, fit.longest_ms):
            # a window may stand still for what is lost
            because.append("between losses, its window grows more slowly as the delay grows")
            against, by_delay = seen.votes
            for_it += by_delay
            if not for_it and not against:
                raise NotMeasuredError(
                    "its window grows more slowly as the delay grows, and losses end each stretch before its shape "
                    "differs from the growth of CUBIC or Reno"
                )
    if seen.settled:
        because.append(f"its window stood still for {seen.settled} round-trip times, and no fixed limit held it")
        for_it += seen.settled // FEWEST_ROUNDS
    if not for_it or against > for_it:
        return None
    if seen.flight.conversation.protocol == "udp":
        raise NotMeasuredError(f"{'; '.join(because)}: over QUIC, BBR's later versions look like this, too")
    if for_it == len(seen.declines) == 1:
        raise NotMeasuredError(f"{because[0]}, which may be chance")
    return Judgement(Kind.DELAY_BASED, _laplace(for_it, for_it + against), because, _like_of_delay(seen))


def _unmoved(seen: "Signals") -> Judgement | None:
    """A window that stands still without losses: one of the program's own, or an application that keeps a rate."""
    if seen.cuts or not seen.is_steady:
        return None
    steady = len(seen.windows)
    if seen.waits_for_answers:
        if float(np.median(seen.windows)) <= STOPPED_PKTS:
            raise NotMeasuredError(SMALLEST)
        because = ["the number of packets in flight never varies, and data leaves when answers come"]
        return Judgement(Kind.WINDOW_LIMITED, _laplace(steady, steady), because)
    because = ["the number of packets in flight never varies, yet data does not wait for answers"]
    return Judgement(Kind.APPLICATION_LIMITED, _laplace(steady, steady), because)


def _loss_based(seen: "Signals") -> Judgement:
    cuts = seen.cuts
    if not cuts and seen.unheeded:
        because = [f"its window grew on at more than {LONGEST_TARGET_MS} ms of queuing delay, and not more slowly"]
        blocks = seen.unheeded // FEWEST_ROUNDS
        return Judgement(Kind.LOSS_BASED, _laplace(blocks, blocks), because)
    if not cuts:
        raise NotMeasuredError("nothing was lost, and no delay changed the window: any controller may look like this")
    by_shape, by_delay = seen.votes
    grows_on = seen.control is not None and seen.control.falls < SURELY
    if not grows_on and by_shape <= by_delay:
        raise NotMeasuredError(
            "losses cut its window, as they cut that of every controller; whether it answers to delay, too, does not "
            "show"
        )
    growth, waiting_pkts = seen.growth_beyond(LEDBATPP_TARGET_MS)
    stopped = len(growth) >= FEWEST_BEYOND / 2 and growth.mean() < HEEDLESS_GROWTH
    heedless = growth[waiting_pkts > VEGAS_PKTS[1]]
    many = len(heedless) >= FEWEST_BEYOND
    stopped = stopped or (many and heedless.mean() < HEEDLESS_GROWTH)
    if stopped or not (many or by_shape >= by_delay + FEWEST_SHAPES):
        raise NotMeasuredError(
            f"losses cut its window, as they cut that of every controller, and it did not grow on at more than "
            f"{LEDBATPP_TARGET_MS} ms of queuing delay: a controller that answers to delay, too, would look like this"
        )
    answered = sum(left <= CUT for left in cuts)
    because = [f"its window was cut after {answered} of {len(cuts)} losses, and never sank without one"]
    like = None
    if CUBIC_CUT[0] <= float(np.median(cuts)) <= CUBIC_CUT[1]:
        like = "CUBIC"
        because.append(f"a loss leaves {np.median(cuts):.0%} of the window")
    elif float(np.median(cuts)) < CUBIC_CUT[0]:
        like = "Reno"
    # cuts say little, as they are everybody's: growth that does not heed the delay has to bear the judgement, too
    for_it = len(heedless) // FEWEST_BEYOND + by_shape
    confidence = min(_laplace(for_it, for_it + by_delay), _laplace(answered, len(cuts)))
    return Judgement(Kind.LOSS_BASED, confidence, because, like)


class Signals:
    """What a flow's rounds show of its controller."""

    def __init__(self, flight: Flight, limited: Limits) -> None:
        self.flight = flight
        self.limited = limited
        self.edges = flight.rounds
        self.windows = flight.windows
        self.again: Ints = np.diff(np.searchsorted(flight.retransmissions.times, self.edges, side="left"))
        try:
            self.control: Control | None = control.infer(flight, limited)
        except NotMeasuredError:
            self.control = None

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
                if self.windows[i] > self.windows[top]:
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
            if high - low >= max(STEADY_PKTS, STEADY * high):
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


def _like_of_delay(seen: Signals) -> str:
    """LEDBAT++ by its stops, Vegas by the two to four packets that it keeps waiting, otherwise LEDBAT."""
    if sum(seen.windows[i] <= STOPPED_PKTS for i in seen.declines) >= 2:
        return "LEDBAT++"
    fit = seen.control
    has_target = fit is not None and fit.target_ms is not None and fit.target_ms.value >= LEAST_TARGET_MS
    return "Vegas" if VEGAS_PKTS[0] <= seen.standing_pkts <= VEGAS_PKTS[1] and not has_target else "LEDBAT"


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


def _laplace(for_it: float, of: float) -> float:
    return (for_it + 1) / (of + 2)
