"""A flow as captures show it: where it was seen, which view tells most, and what passed over time."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from analysis.observer import delay
from analysis.observer.conversation import Conversation, Samples
from analysis.observer.flight import Flight
from analysis.observer.standalone import flows, pair, tap, view
from analysis.observer.standalone.flows import CapturedFlow
from analysis.observer.standalone.pair import Pair
from analysis.observer.standalone.tap import TapGuess, TapPlace
from analysis.series import Floats, NotMeasuredError

BINS: Final = 200  # of a flow's time; none is shorter than ...
SHORTEST_BIN_S: Final = 0.1
LONGEST_ANSWER_S: Final = 10.0  # receivers acknowledge within 0.5 s (RFC 9293 section 3.8.6.3); the rest is queues


@dataclass(frozen=True, eq=False)
class FlowView:
    """A flow in one capture."""

    flow: CapturedFlow
    tap: TapGuess
    passed: Flight  # as it passed the tap
    sent: Flight | None  # as its sender saw it, if the capture tells
    why_not: str | None

    @property
    def best(self) -> Flight:
        """The sender's view, or what there is."""
        return self.sent or self.passed


@dataclass(frozen=True, eq=False)
class Observed:
    """A flow in all captures that hold it, the best view first."""

    name: str
    seen: list[FlowView]
    pairs: list[Pair]


def together(summaries: list[flows.Summary], logged: Sequence[FlowView] = ()) -> Iterator[Observed]:
    """Flows of all captures, those that several hold as one, the largest first; behind them those of senders' logs.

    Each is made when it is asked for, as what is worked out of a flow's packets takes more memory than they.
    """
    pairs = [
        shared
        for first, other in itertools.combinations(summaries, 2)
        for shared in pair.pairs(first.flows, other.flows)
    ]
    group = {id(flow): {id(flow)} for summary in summaries for flow in summary.flows}
    for each in pairs:
        merged = group[id(each.near)] | group[id(each.far)]
        for member in merged:
            group[member] = merged
    everything = sorted(
        (flow for summary in summaries for flow in summary.flows),
        key=lambda conversation: -conversation.payload_bytes,
    )
    names = itertools.count(1)
    done: set[int] = set()
    for flow in everything:
        if id(flow) in done:
            continue
        members = group[id(flow)]
        done |= members
        seen = [_flow_view(conversation) for conversation in everything if id(conversation) in members]
        # nearest to the sender first; a view that had to be worked out comes after one that was captured
        seen.sort(key=lambda sighting: (sighting.sent is None, sighting.tap.place is not TapPlace.SENDER))
        own = [each for each in pairs if id(each.near) in members]
        yield Observed(f"flow-{next(names)}", seen, own)
        del seen
    for seen_in_log in logged:
        yield Observed(f"flow-{next(names)}", [seen_in_log], [])


def _flow_view(flow: CapturedFlow) -> FlowView:
    flight = _with_possible_delays(Flight(view.at_tap(flow)))
    passed = flight.conversation
    place = tap.locate(flow, flight)
    try:
        if not len(flow.back):
            raise NotMeasuredError("no answer was captured")
        return FlowView(flow, place, flight, _with_possible_delays(Flight(view.as_sent(flow, passed, place))), None)
    except NotMeasuredError as error:
        return FlowView(flow, place, flight, None, str(error))


def _with_possible_delays(flight: Flight) -> Flight:
    """Give the flight without one-way delays if these cannot be the path's.

    Half of the data would have waited for longer than any round trip; or acknowledgements are missing, so that many
    answers are only what the receiver sent next.
    """
    seen, trips = flight.conversation, flight.round_trips.values
    waited = delay.queuing(seen.forward).values
    if not len(waited) or not len(trips):
        return flight
    is_answered = np.percentile(trips, 95) < LONGEST_ANSWER_S
    if is_answered and (seen.place == "tap" or np.median(waited) <= trips.max()):
        return flight
    nothing = Samples(np.zeros(0), np.zeros(0))
    return Flight(replace(seen, forward=nothing, backward=nothing, clocks_disagree=True))


def bins(conversation: Conversation) -> Floats:
    """Edges that divide the time from a flow's first packet to its last."""
    times = conversation.sent.times
    step = max(SHORTEST_BIN_S, (times[-1] - times[0]) / BINS)
    edges = np.arange(times[0], times[-1] + step, step)
    return edges if len(edges) > 1 else np.append(edges, times[0] + step)  # all at one instant


def throughput(conversation: Conversation, edges: Floats) -> Floats:
    """Bits of IP packets with data a second that passed the tap."""
    sent = conversation.sent
    sums, _ = np.histogram(sent.times, edges, weights=sent.ip_bytes)
    result: Floats = 8 * sums / np.diff(edges)
    return result
