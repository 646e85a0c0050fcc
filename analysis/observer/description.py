"""What packets tell of a sender, as observation.json has it, and in a sentence."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.observer import control, delay, kind, limits, sizes
from analysis.observer.conversation import Conversation, Samples
from analysis.observer.flight import Cause, Flight
from analysis.observer.limits import Limit
from analysis.series import Floats, NotMeasuredError

PERCENTILES: Final = {"min": 0, "p5": 5, "median": 50, "p95": 95, "max": 100}


def lines(folder: Path) -> list[str]:
    """Say who each flow's sender is, a line a flow, by observation.json of a run or of captures."""
    flows = json.loads((folder / "observation.json").read_text())["flows"]
    if isinstance(flows, dict):
        return [_line(name, seen) for name, seen in flows.items()]
    # of several captures, the first has the best view
    return [_line(f"{flow['name']}, {flow['sender']} to {flow['receiver']}", flow["seen_in"][0]) for flow in flows]


def _line(name: str, seen: dict[str, Any]) -> str:
    one = seen.get("controller", seen)
    if "not_observed" in one:
        return f"{name}: cannot tell: {one['not_observed']}"
    like = f", like {one['like']}" if one["like"] else ""
    return f"{name}: {one['kind']}{like} (confidence {one['confidence']:.2f}): {'; '.join(one['because'])}"


def described(flight: Flight) -> dict[str, Any]:
    """Everything that a flow's packets tell of its sender, as it goes into JSON."""
    seen = flight.conversation
    again = flight.retransmissions
    return {
        "transport": seen.protocol,
        "utp_version": seen.version,
        "seen_at": seen.place,
        "connections": seen.connections,
        "sent_pkts": len(seen.sent.times),
        "payload_bytes": int(flight.payload.sum()),
        "first_s": round(float(seen.sent.times[0]), 6),
        "last_s": round(float(seen.sent.times[-1]), 6),
        "rtt_ms": spread(1e3 * flight.round_trips.values),
        "one_way_delay_ms": {"forward": _delays(seen.forward), "backward": _delays(seen.backward)},
        "in_flight_pkts": {"mean": round(flight.packets.mean(), 3), "max": int(flight.packets.max())},
        "receive_window_bytes": spread(flight.window_bytes[np.isfinite(flight.window_bytes)]),
        "retransmitted_pkts": {cause.value: again.count(cause) for cause in Cause},
        "packet_sizes": _sizes(seen),
        "limited_by": _limits(flight),
        "control": _control(flight),
        "controller": _controller(flight),
    }


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
