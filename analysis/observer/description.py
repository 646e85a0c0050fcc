"""What packets tell of a sender, as observation.json has it, and in a sentence."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.observer import control, delay, kind, limits, pauses, policer, sizes
from analysis.observer.control import FEWEST_ROUNDS
from analysis.observer.conversation import FEWEST_PKTS, Conversation, Samples
from analysis.observer.flight import Flight, RetransmitCause
from analysis.observer.limits import Limit
from analysis.observer.signals import STOPPED_PKTS, Signals
from analysis.series import Floats, NotMeasuredError
from analysis.units import three_digits
from common.counts import plural

SLOW_START: Final = 1.3  # times as much in flight as a round-trip time before, at least; with delayed answers 1.5
FEWEST_DOUBLINGS: Final = 2
MANY_ANSWERS: Final = 1.2  # for each packet of data: more than one, beyond answers to repeated or reordered packets
MOSTLY: Final = 0.5  # of the time
OFTEN: Final = 0.2
LONGEST_LOOP_S: Final = 1.0  # from a tap to the sender and back; two satellites are nearer
SHORTEST_RTT: Final = (
    1 / 4
)  # of the intervals that `limits` judges; a window that varies within one looks like no window
ENCRYPTED: Final = (
    "QUIC encrypts its acknowledgements, so the packets of one place do not show what its sender knew; a run with the "
    "captures of both hosts does"
)
"""Why captures from elsewhere tell nothing of the sender of a stream over UDP that is not uTP."""
INTERVALS: Final = (
    "values of whole intervals hide what a sender does within a round-trip time; a capture at the sender, or its qlog, "
    "shows it"
)
"""Why the files of flent, iperf3 and mm-link tell nothing of a controller."""
PERCENTILES: Final = {"min": 0, "p5": 5, "median": 50, "p95": 95, "max": 100}


def lines(folder: Path) -> list[str]:
    """Say who each flow's sender is, a line a flow, by observation.json of a run or of captures."""
    document = json.loads((folder / "observation.json").read_text())
    flows = document["flows"]
    if isinstance(flows, dict):
        return [_line(name, seen) for name, seen in flows.items()]
    if "logs" in document:
        said = [
            f"{flow['name']}, {flow['seen_in'][0]['name']}: {'; '.join(flow['seen_in'][0]['facts'])}" for flow in flows
        ]
        return [*said, f"no controller is judged: {INTERVALS}"]
    # of several captures, the first has the best view
    named = [_line(f"{flow['name']}, {flow['sender']} to {flow['receiver']}", flow["seen_in"][0]) for flow in flows]
    return named + _not_described(document["captures"])


def _not_described(captures: list[dict[str, Any]]) -> list[str]:
    """Count what captures hold beside the flows that are described, and say why; nothing if it is none."""
    counts = {
        name: sum(capture[name] for capture in captures)
        for name in ("flows_with_too_few_packets", "further_flows", "udp_pkts_that_are_not_utp", "other_pkts")
    }
    said = [
        plural(count, *words)
        for count, words in zip(
            counts.values(),
            (
                (
                    f"flow with fewer than {FEWEST_PKTS} data packets",
                    f"flows with fewer than {FEWEST_PKTS} data packets",
                ),
                ("smaller flow", "smaller flows"),
                ("packet of UDP that is not uTP", "packets of UDP that are not uTP"),
                ("packet without ports", "packets without ports"),
            ),
            strict=True,
        )
        if count
    ]
    why = [f"over UDP: {ENCRYPTED}"] if counts["udp_pkts_that_are_not_utp"] >= FEWEST_PKTS else []
    return [f"not described: {', '.join(said)}", *why] if said else []


def _line(name: str, seen: dict[str, Any]) -> str:
    one = seen.get("controller", seen)
    if "not_observed" in one:
        facts = f". Seen: {'; '.join(seen['facts'])}" if seen.get("facts") else ""
        return f"{name}: cannot tell: {one['not_observed']}{facts}"
    like = f", like {one['like']}" if one["like"] else ""
    return f"{name}: {one['kind']}{like} (confidence {one['confidence']:.2f}): {'; '.join(one['because'])}"


@dataclass(frozen=True, eq=False)
class PassedTap:
    """A flow as it passed a tap that is not the sender's, and how far away the sender is."""

    flight: Flight
    to_sender_s: float | None  # there and back
    is_at_sender: bool

    @property
    def loop_s(self) -> float:
        """The most that the way to the sender and back takes: twice the shortest time seen, or longer than any path."""
        if self.to_sender_s is None:
            return 0.0 if self.is_at_sender else LONGEST_LOOP_S
        return 2 * self.to_sender_s


def described(flight: Flight, tap: PassedTap | None = None) -> dict[str, Any]:
    """Everything that a flow's packets tell of its sender, as it goes into JSON."""
    seen = flight.conversation
    again = flight.retransmissions
    return {
        "transport": seen.protocol,
        "utp_version": seen.version,
        "seen_at": seen.place,
        "connections": seen.connections,
        "sent_pkts": len(seen.sent.times),
        "payload_bytes": int(flight.payload.sum() + flight.late_bytes.sum()),
        "first_s": round(float(seen.sent.times[0]), 6),
        "last_s": round(float(seen.sent.times[-1]), 6),
        "rtt_ms": spread(1e3 * flight.round_trips.values),
        "one_way_delay_ms": {"forward": _delays(seen.forward), "backward": _delays(seen.backward)},
        "in_flight_pkts": {"mean": round(flight.packets.mean(), 3), "max": int(flight.packets.max())},
        "receive_window_bytes": spread(flight.window_bytes[np.isfinite(flight.window_bytes)]),
        "answers_per_data_pkt": _answers_per_data_pkt(flight),
        "retransmitted_pkts": {cause.value: again.count(cause) for cause in RetransmitCause},
        "facts": facts(flight, tap),
        "packet_sizes": _sizes(seen),
        "limited_by": _limits(flight),
        "control": _control(flight),
        "controller": _controller(flight),
    }


def facts(flight: Flight, tap: PassedTap | None = None, *, is_senders: bool = True) -> list[str]:
    """Say what is certain of a flow, whoever its controller is: growth, what limited it, repairs and delays.

    Without the sender's view (`is_senders`), only what passed the tap.
    """
    seen = flight.conversation
    tap = tap or PassedTap(flight, 0.0, is_at_sender=True)
    said = [*_amount(flight), *(_growth(flight) if is_senders else ()), *_limited(flight, tap, is_senders=is_senders)]
    again, of_all = len(flight.retransmissions.times), f"of {plural(len(seen.sent.times), 'packet')}"
    late = 0 if is_senders else len(flight.late_bytes)
    if late:
        said.append(f"{late:,} {of_all} came late: sent again after a loss before this tap, or overtaken")
    if again > late:
        said.append(f"{again - late:,} {of_all} sent again")
    elif not again:
        said.append("no packet was sent again")
    if is_senders and (found := policer.find(flight)):
        said.append(policer.says(found))
    if (each := _answers_per_data_pkt(flight) or 0.0) >= MANY_ANSWERS:
        said.append(f"{three_digits(each)} answers for each packet of data")
    trips = 1e3 * flight.round_trips.values
    if is_senders and len(trips):
        said.append(f"packets answered after {three_digits(trips.min())} to {three_digits(trips.max())} ms")
    elif first_s := pauses.first_round_trip_s(tap.flight.conversation, tap.to_sender_s):
        said.append(f"the first round trip took {three_digits(1e3 * first_s)} ms")
    if len(seen.forward.values):
        waited = 1e3 * float(np.percentile(delay.queuing(seen.forward).values, 95))
        said.append(f"95 % of the data's delays within {three_digits(waited)} ms of the shortest")
    return said


def _answers_per_data_pkt(flight: Flight) -> float | None:
    """Return how many packets without data the receiver sent for each packet of data; None where they are encrypted."""
    answers = flight.conversation.answer_pkts
    return None if not answers else round(answers / len(flight.conversation.sent.times), 4)


def _amount(flight: Flight) -> Iterator[str]:
    sent = flight.conversation.sent
    payload_bytes, lasts_s = flight.payload.sum() + flight.late_bytes.sum(), sent.times[-1] - sent.times[0]
    if lasts_s > 0:
        rate = three_digits(8e-6 * payload_bytes / lasts_s)
        yield f"{three_digits(payload_bytes / 1e3)} kB in {three_digits(lasts_s)} s ({rate} Mbit/s)"


def _growth(flight: Flight) -> Iterator[str]:
    try:
        windows = flight.windows
    except NotMeasuredError:
        return
    sent = windows[int(np.argmax(windows >= 1)) :]  # what opens the connection is a round of its own
    low, high = float(sent[0]), float(sent.max())
    rises = sent[1:-1] >= SLOW_START * sent[:-2]  # the last round may have ended early
    if len(rises) >= FEWEST_DOUBLINGS and rises.all() and high >= 2**FEWEST_DOUBLINGS * low:
        yield f"slow start only, from {low:.0f} to {high:.0f} packets in {plural(len(sent), 'round-trip time')}"


def _limited(flight: Flight, tap: PassedTap, *, is_senders: bool) -> Iterator[str]:
    """Say who limits the sender: first what holds wherever packets are captured, then by its packets in flight."""
    full, paused = pauses.with_a_full_window(tap.flight), pauses.without_data(tap.flight, tap.loop_s)
    if full >= OFTEN:
        limits_it = "the receiver's window limits it: it" if full >= MOSTLY else "the receiver's window"
        yield f"{limits_it} was full in {full:.0%} of the time"
    if paused >= OFTEN:
        unless = "" if tap.is_at_sender else ", or what it sent then was lost before this tap"
        limits_it = f"its application limits it{unless}: nothing" if paused >= MOSTLY else "nothing"
        yield f"{limits_it} was on its way in {paused:.0%} of the time"
    if is_senders and max(full, paused) < MOSTLY:
        yield from _limited_by_flight(flight)


def _limited_by_flight(flight: Flight) -> Iterator[str]:
    try:
        windows, limited = flight.windows, limits.limits(flight)
    except NotMeasuredError:
        return
    if (share := limited.share(Limit.RECEIVE_WINDOW)) >= MOSTLY:
        yield f"the receiver's window limits it in {share:.0%} of the time"
    elif len(windows) >= FEWEST_ROUNDS:
        shortest_s = SHORTEST_RTT * float(np.median(np.diff(limited.edges)))
        rtt_s = float(np.median(flight.round_trips.values))
        if (share := limited.share(Limit.APPLICATION)) >= MOSTLY and rtt_s >= shortest_s:
            yield f"its application limits it in {share:.0%} of the time"
        elif (share := limited.share(Limit.CONGESTION_WINDOW)) >= MOSTLY and _fills_a_window(Signals(flight, limited)):
            yield f"its congestion window limits it in {share:.0%} of the time"


def _fills_a_window(seen: Signals) -> bool:
    """Tell an application that keeps a rate from a window: what is in flight hardly varies either way."""
    return seen.ran_out < OFTEN and float(np.median(seen.windows)) > STOPPED_PKTS and seen.waits_for_answers


def spread(values: Floats) -> dict[str, float] | None:
    """Percentiles by name; None of nothing."""
    if not len(values):
        return None
    return {name: round(float(value), 4) for name, value in _percentiles(values).items()}


def _percentiles(values: Floats) -> dict[str, float]:
    return dict(zip(PERCENTILES, np.percentile(values, list(PERCENTILES.values())), strict=True))


def _delays(samples: Samples) -> dict[str, Any] | None:
    """The queuing delay, and the base that it is counted from, which holds the offset of the two clocks."""
    if not len(samples.values):
        return None
    base = delay.base(samples)
    return {
        "samples": len(samples.values),
        "base_with_clock_offset": round(1e3 * float(base[-1]), 4),
        "queuing": spread(1e3 * (samples.values - base)),
    }


def _sizes(seen: Conversation) -> dict[str, Any]:
    return {
        "ladder": [{"at_s": round(at, 6), "ip_bytes": size} for at, size in sizes.ladder(seen)],
        "counts": {str(size): count for size, count in sizes.counts(sizes.sizes(seen), 0, seen.end).items()},
        "header_share": round(sizes.header_share(seen), 5),
    }


def _limits(flight: Flight) -> dict[str, Any]:
    try:
        by_time = limits.limits(flight)
    except NotMeasuredError as error:
        return {"not_observed": str(error)}
    stretches = [[round(begin, 3), round(end, 3), limit.value] for begin, end, limit in by_time.stretches()]
    return {**{limit.value: round(by_time.share(limit), 4) for limit in Limit}, "intervals": stretches}


def _controller(flight: Flight) -> dict[str, Any]:
    try:
        return kind.judge(flight).as_json()
    except NotMeasuredError as error:
        return {"not_observed": str(error)}


def _control(flight: Flight) -> dict[str, Any]:
    try:
        estimates = control.infer(flight, limits.limits(flight))
    except NotMeasuredError as error:
        return {"not_observed": str(error)}
    return {
        "estimator": "growth of the window per round against queuing delay; see analysis/observer/control.py",
        "rounds": estimates.rounds,
        "longest_delay_ms": round(estimates.longest_ms, 3),
        "falls": estimates.falls,
        "extrapolated": estimates.extrapolated,
        "target_ms": _estimate(estimates.target_ms),
        "gain_pkts_per_rtt": _estimate(estimates.gain_pkts_per_rtt),
    }


def _estimate(estimate: control.Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else {name: round(value, 3) for name, value in asdict(estimate).items()}
