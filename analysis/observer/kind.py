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

from dataclasses import replace
from typing import Final

import numpy as np

from analysis.observer import limits, policer
from analysis.observer.control import BEYOND, FEWEST_ROUNDS
from analysis.observer.flight import Flight
from analysis.observer.judgement import SenderJudgement, SenderKind
from analysis.observer.limits import Limit
from analysis.observer.signals import (
    BLOCK_ROUNDS,
    CUT,
    LEAST_TARGET_MS,
    LONGEST_TARGET_MS,
    RENO_PKTS,
    SLOWEST_GROWTH,
    STOPPED_PKTS,
    Signals,
)
from analysis.observer.supported import UNSUPPORTED, most_supported
from analysis.series import NotMeasuredError
from common.counts import plural

FEWEST_DECLINES: Final = 5  # that tell of delay even where losses come early
FEWEST_STOPS: Final = 2  # of LEDBAT++; one may be a timeout that nobody saw
MOST_RESTLESS: Final = 1 / 20  # of the rounds; LEDBAT comes to rest at its target, CDG backs off by chance all the time
FEWEST_LOSSES: Final = 5  # that tell that a controller does not answer them
MOSTLY_UNANSWERED: Final = 0.7  # confidence; of losses in a row, libutp answers one, and left 66 % alone
FEWEST_PULSES: Final = 3  # BBR's later versions wait up to 63 rounds; no delay-based sender has had more than one
SURELY: Final = 0.9  # part of the fits in which growth falls with delay; fewer is a growth that does not heed it
CUBIC_CUT: Final = (
    0.66,
    0.78,
)  # of a window, that CUBIC's losses leave: 0.7, and what it grew before it learned of them
RENO_CUT: Final = (0.4, 0.6)  # Reno's, a half; Westwood's leave what the path holds, Tahoe's nothing
VEGAS_PKTS: Final = (1.5, 6.5)  # what Vegas keeps waiting, its alpha of 2 to its beta of 4, and those just being sent
LEDBATPP_TARGET_MS: Final = 60  # draft-irtf-iccrg-ledbat-plus-plus; beyond it, it does not grow
FEWEST_SHAPES: Final = 3  # stretches; one of a few rounds may fit anything
FEWEST_BEYOND: Final = 16  # rounds; their growth differs by half a packet from one to the next
HEEDLESS_GROWTH: Final = SLOWEST_GROWTH / 2  # on the plateau of CUBIC's function, rounds without growth are in the mean
HELD_BACK: Final = 0.5  # of the time; what else a sender does is hidden then
SURELY_HELD_BACK: Final = 0.75
FEWEST_UNANSWERED: Final = 2  # losses; one may have been a packet that came late
UNANSWERED: Final = {"delay": 0.1, "loss": 0.25}  # of the losses; QUIC's senders leave a window as it was more often
SPLIT: Final = 0.6  # a confidence; below it, as much speaks against a kind as for it
FURTHEST: Final = 2.5  # of the longest delay; a target beyond it is a guess
NEAR_LONGEST: Final = 0.9  # of the longest delay; a window that stands still there may have met a full buffer
SMALLEST: Final = "its window stays as small as any controller lets it become"


def judge(flight: Flight) -> SenderJudgement:
    """Tell a sender's kind. Raises NotMeasuredError when its packets are too few or say too little."""
    seen = Signals(flight, limits.limits(flight))
    if len(seen.windows) < FEWEST_ROUNDS:
        raise NotMeasuredError(
            f"only {len(seen.windows)} round-trip times; at least {FEWEST_ROUNDS} are needed to tell a controller"
        )
    judgement = _held_back(seen) or _by_rounds(seen)
    if judgement.confidence < SPLIT:
        raise NotMeasuredError(f"{'; '.join(judgement.because)}: as much speaks against {judgement.kind} as for it")
    most = most_supported(judgement.kind, seen)
    if most is None:
        confidence = min(judgement.confidence, UNSUPPORTED)
        reason = f"unseen networks had too few judgements by such evidence to support {confidence:.2f}"
        return replace(judgement, confidence=confidence, because=[*judgement.because, reason])
    if judgement.confidence <= most:
        return judgement
    because = [*judgement.because, f"in unseen networks, judgements by such evidence support no more than {most:.2f}"]
    return replace(judgement, confidence=most, because=because)


def _held_back(seen: Signals) -> SenderJudgement | None:
    """A window of the receiver, or an application, that hides the controller most of the time."""
    number = len(seen.held_by)
    for share, kind, says in (
        (
            seen.held_by.count(Limit.RECEIVE_WINDOW) / number,
            SenderKind.WINDOW_LIMITED,
            "the receiver's window limits it",
        ),
        (
            seen.held_by.count(Limit.APPLICATION) / number,
            SenderKind.APPLICATION_LIMITED,
            "the number of packets in flight sinks for want of data",
        ),
        (seen.ran_out, SenderKind.APPLICATION_LIMITED, "it runs out of data, so a packet is not full,"),
    ):
        if HELD_BACK <= share < SURELY_HELD_BACK:
            raise NotMeasuredError(f"{says} in {share:.0%} of the time, which hides what it does in the rest")
        if share >= SURELY_HELD_BACK:
            if kind is SenderKind.APPLICATION_LIMITED and float(np.median(seen.windows)) <= STOPPED_PKTS:
                raise NotMeasuredError(SMALLEST)
            if seen.flight.conversation.protocol == "udp":
                raise NotMeasuredError(
                    f"{says} in {share:.0%} of the time, or by the receiver's limit, which is encrypted"
                )
            because = [f"{says} in {share:.0%} of the time"]
            like = None
            if kind is SenderKind.WINDOW_LIMITED and (target := _receivers_target(seen)):
                because.append(
                    f"that window follows the delay, and stands still at {target:.0f} ms: a receiver's own control"
                )
                like = "rLEDBAT"
            return SenderJudgement(kind, _laplace(share * number, number), because, like)
    return None


def _receivers_target(seen: Signals) -> float | None:
    """Return the queuing delay, ms, at which the window stands still that a receiver allows, if it follows delay."""
    fit = seen.allowed
    if fit is None or fit.target_ms is None or fit.extrapolated or fit.target_ms.value < LEAST_TARGET_MS:
        return None
    return fit.target_ms.value


def _by_rounds(seen: Signals) -> SenderJudgement:
    if found := policer.find(seen.flight):
        raise NotMeasuredError(f"{policer.says(found)}: what the sender would do at a longer delay does not show")
    probed, blocks = seen.probing
    if seen.probes:
        because = [f"it probes for capacity in {probed} of {blocks} stretches of {BLOCK_ROUNDS} rounds"]
        return SenderJudgement(SenderKind.RATE_BASED, _laplace(probed, blocks), because, "BBR")
    if seen.bbr_stops:
        because = [f"it stops at four packets {seen.bbr_stops} times, ten seconds apart, and is back at once"]
        return SenderJudgement(SenderKind.RATE_BASED, _laplace(seen.bbr_stops, seen.bbr_stops), because, "BBR")
    cuts = seen.cuts
    unanswered = sum(left > CUT for left in cuts)
    lossy = int((seen.again > 0).sum())
    mostly_unanswered = unanswered > len(cuts) / 2
    if (mostly_unanswered and seen.is_steady) or (
        lossy > len(seen.windows) / 3 and seen.is_pinned and (mostly_unanswered or not cuts)
    ):
        because = [f"packets were sent again in {lossy} of {len(seen.windows)} rounds, and the window stayed as it was"]
        return SenderJudgement(SenderKind.NONE, _laplace(lossy, lossy), because)
    if unanswered >= FEWEST_LOSSES and _laplace(unanswered, len(cuts)) > MOSTLY_UNANSWERED:
        because = [f"its window moves, yet {unanswered} of {len(cuts)} losses left it as it was"]
        return SenderJudgement(SenderKind.RATE_BASED, _laplace(unanswered, len(cuts)), because, "BBR")
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
    most = UNANSWERED["delay" if judgement.kind is SenderKind.DELAY_BASED else "loss"] * len(cuts)
    if unanswered >= FEWEST_UNANSWERED and unanswered > most:
        raise NotMeasuredError(
            f"{unanswered} of {len(cuts)} losses left its window as it was: too many for a controller that answers "
            "them, too few for BBR"
        )
    return judgement


def _delay_based(seen: Signals) -> SenderJudgement | None:
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
            if fit.target_ms.low > LONGEST_TARGET_MS and not seen.declines and not seen.is_utp:
                raise NotMeasuredError(
                    f"losses cut its window, and between them it grows more slowly as the delay grows, yet would stand "
                    f"still at {fit.target_ms.value:.0f} ms only: a controller that answers to both, such as Illinois, "
                    "looks like this, and so do others where a target is longer than the queue"
                )
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
    few = seen.cuts and 0 < len(seen.declines) < FEWEST_DECLINES
    if few and not seen.settled and not (fit and fit.target_ms and fit.target_ms.value < NEAR_LONGEST * fit.longest_ms):
        raise NotMeasuredError(f"{'; '.join(because)}, yet losses cut it, too: YeAH, which answers to both, does so")
    return SenderJudgement(SenderKind.DELAY_BASED, _laplace(for_it, for_it + against), because, _like_of_delay(seen))


def _unmoved(seen: Signals) -> SenderJudgement | None:
    """A window that stands still without losses: one of the program's own, or an application that keeps a rate."""
    if seen.cuts or not seen.is_steady:
        return None
    steady = len(seen.windows)
    if seen.waits_for_answers:
        if float(np.median(seen.windows)) <= STOPPED_PKTS:
            raise NotMeasuredError(SMALLEST)
        because = ["the number of packets in flight never varies, and data leaves when answers come"]
        return SenderJudgement(SenderKind.WINDOW_LIMITED, _laplace(steady, steady), because)
    because = ["the number of packets in flight never varies, yet data does not wait for answers"]
    return SenderJudgement(SenderKind.APPLICATION_LIMITED, _laplace(steady, steady), because)


def _loss_based(seen: Signals) -> SenderJudgement:
    cuts = seen.cuts
    if not cuts and seen.unheeded:
        because = [f"its window grew on at more than {LONGEST_TARGET_MS} ms of queuing delay, and not more slowly"]
        blocks = seen.unheeded // FEWEST_ROUNDS
        return SenderJudgement(SenderKind.LOSS_BASED, _laplace(blocks, blocks), because)
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
    elif RENO_CUT[0] <= float(np.median(cuts)) <= RENO_CUT[1] and seen.growth <= RENO_PKTS:
        like = "Reno"
    # cuts say little, as they are everybody's: growth that does not heed the delay has to bear the judgement, too
    for_it = len(heedless) // FEWEST_BEYOND + by_shape
    confidence = min(_laplace(for_it, for_it + by_delay), _laplace(answered, len(cuts)))
    return SenderJudgement(SenderKind.LOSS_BASED, confidence, because, like)


def _like_of_delay(seen: Signals) -> str | None:
    """LEDBAT++ by its stops, LEDBAT by a target that was met, Vegas by the few packets that it keeps waiting."""
    if seen.full_stops >= FEWEST_STOPS:
        return "LEDBAT++"
    fit = seen.control
    if fit is not None and fit.target_ms is not None and fit.target_ms.value >= LEAST_TARGET_MS:
        is_met = seen.is_utp or fit.target_ms.value <= BEYOND * fit.longest_ms
        is_restless = len(seen.declines) > MOST_RESTLESS * len(seen.windows)
        return "LEDBAT" if is_met and not is_restless else None
    return "Vegas" if VEGAS_PKTS[0] <= seen.standing_pkts <= VEGAS_PKTS[1] else None


def _laplace(for_it: float, of: float) -> float:
    return (for_it + 1) / (of + 2)
