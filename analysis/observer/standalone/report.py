"""`testbed observe FILE...`: captures to JSON, CSV and a page with a picture a flow."""

import csv
import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.files import write_text
from analysis.observer import delay
from analysis.observer.conversation import Conversation, Samples
from analysis.observer.flight import Flight
from analysis.observer.observe import described
from analysis.observer.standalone import captures, flows, pair, tap, view
from analysis.observer.standalone.flows import CapturedFlow
from analysis.observer.standalone.pair import Pair
from analysis.observer.standalone.tap import Place, Tap
from analysis.series import Floats, NotMeasuredError, Series

FORMAT: Final = 1
BINS: Final = 200  # of a flow's time, in series.csv and for throughput; none is shorter than ...
SHORTEST_BIN_S: Final = 0.1
NEEDS_THE_SENDER: Final = ("rtt_ms", "in_flight_pkts", "limited_by", "control", "controller")
ELSEWHERE: Final = (
    "losses before this tap show as packets that come later than their number says, and count as sent again"
)


@dataclass(frozen=True, eq=False)
class FlowView:
    """A flow in one capture."""

    flow: CapturedFlow
    tap: Tap
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


def observe(paths: list[Path], into: Path, refresh_s: int | None = None) -> Path:
    """Write what captures tell into a folder; returns the page, which with `refresh_s` loads itself again.

    Raises BadInputError, before anything is written, when a file is no capture or holds no packet of TCP or UDP.
    """
    # the page needs the drawing library, which takes long to load
    from analysis.observer.standalone import page

    summaries: list[flows.Summary] = []
    for path in paths:
        room = captures.MOST_PKTS - sum(summary.captured.pkts for summary in summaries)
        summaries.append(flows.find(*captures.read(path, room)))
    described_flows, rows = [], []
    pictures: dict[str, str] = {}
    for observed in _together(summaries):
        described_flows.append(_flow(observed))
        rows += _series_rows(observed.name, _series(observed.seen[0]))
        pictures |= {observed.name + suffix: svg for suffix, svg in page.pictures(observed).items()}
    document = {
        "format": FORMAT,
        "captures": [_capture(summary) for summary in summaries],
        "flows": described_flows,
    }
    for name, svg in pictures.items():
        write_text(into / f"{name}.svg", svg)
    write_text(into / "observation.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_text(into / "flows.csv", _csv(_flow_rows(document)))
    write_text(into / "series.csv", _csv(rows))
    page.write(document, into, refresh_s)
    return into / "index.html"


def _together(summaries: list[flows.Summary]) -> Iterator[Observed]:
    """Flows of all captures, those that several hold as one; the largest first.

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
        seen.sort(key=lambda sighting: (sighting.sent is None, sighting.tap.place is not Place.SENDER))
        own = [each for each in pairs if id(each.near) in members]
        yield Observed(f"flow-{next(names)}", seen, own)
        del seen


def _flow_view(flow: CapturedFlow) -> FlowView:
    passed = view.at_tap(flow)
    flight = Flight(passed)
    place = tap.locate(flow, flight)
    try:
        if not len(flow.back):
            raise NotMeasuredError("no answer was captured")
        return FlowView(flow, place, flight, Flight(view.as_sent(flow, passed, place)), None)
    except NotMeasuredError as error:
        return FlowView(flow, place, flight, None, str(error))


def _capture(summary: flows.Summary) -> dict[str, Any]:
    captured = summary.captured
    return {
        "file": str(captured.path),
        "begins": datetime.fromtimestamp(captured.origin_ns // 10**9, UTC).isoformat(),
        "begins_ns": captured.origin_ns,
        "lasts_s": round((captured.end_ns - captured.origin_ns) / 1e9, 6),
        "tcp_and_udp_pkts": captured.pkts,
        "other_pkts": captured.others,
        "flows": len(summary.flows),
        "flows_with_too_few_packets": summary.small,
        "further_flows": summary.beyond,
        "udp_pkts_that_are_not_utp": summary.datagrams,
        "remarks": captured.remarks,
    }


def _flow(observed: Observed) -> dict[str, Any]:
    best = observed.seen[0]
    return {
        "name": observed.name,
        "sender": best.flow.sender,
        "receiver": best.flow.receiver,
        "seen_in": [_view(sighting) for sighting in observed.seen],
        "between_captures": [each.as_json() for each in observed.pairs],
    }


def _view(seen: FlowView) -> dict[str, Any]:
    remarks = list(seen.flow.remarks)
    fields = described(seen.best)
    if seen.sent is None:
        fields |= {name: {"not_observed": seen.why_not} for name in NEEDS_THE_SENDER}
        fields["retransmitted_pkts"] = {"for unknown causes": sum(fields["retransmitted_pkts"].values())}
    elif seen.tap.place is not Place.SENDER:
        remarks.append(
            "what the sender saw was worked out: data from the timestamps it carries, answers as if they came from "
            "here to the sender without waiting in a queue"
        )
    if seen.tap.place is not Place.SENDER:
        remarks.append(ELSEWHERE)
    ends = {"sender": seen.flow.sender, "receiver": seen.flow.receiver}
    return {"file": str(seen.flow.captured.path), **ends, "tap": seen.tap.as_json(), "remarks": remarks, **fields}


def _flow_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a flow and capture."""
    rows = []
    for flow in document["flows"]:
        for sighting in flow["seen_in"]:
            control = sighting["control"]
            lasts = sighting["last_s"] - sighting["first_s"]
            waiting = (sighting["one_way_delay_ms"]["forward"] or {}).get("queuing") or {}
            row = {
                name: sighting[name]
                for name in ("file", "sender", "receiver", "transport", "sent_pkts", "payload_bytes")
            }
            row |= {"flow": flow["name"], "tap": sighting["tap"]["place"], "lasts_s": round(lasts, 6)}
            row["goodput_bps"] = round(8 * sighting["payload_bytes"] / lasts) if lasts > 0 else None
            row["rtt_ms_min"] = (sighting["rtt_ms"] or {}).get("min")
            row["rtt_ms_median"] = (sighting["rtt_ms"] or {}).get("median")
            row["queuing_ms_median"], row["queuing_ms_p95"] = waiting.get("median"), waiting.get("p95")
            row["retransmitted_pkts"] = sum(sighting["retransmitted_pkts"].values())
            row["target_ms"] = (control.get("target_ms") or {}).get("value")
            row["gain_pkts_per_rtt"] = (control.get("gain_pkts_per_rtt") or {}).get("value")
            row["controller"], row["confidence"] = (
                sighting["controller"].get("kind"),
                sighting["controller"].get("confidence"),
            )
            rows.append(row)
    return rows


def _series(seen: FlowView) -> dict[str, Floats]:
    """Columns of series.csv: means over bins, of round-trip time and delay over the samples in them."""
    flight = seen.best
    edges = bins(flight.conversation)
    columns = {"time_s": edges[:-1], "throughput_bps": throughput(seen.passed.conversation, edges)}
    if seen.sent is not None:
        held = seen.sent.packets
        columns["in_flight_pkts"] = np.array([_mean(held, a, b) for a, b in itertools.pairwise(edges)])
        columns["rtt_ms"] = 1e3 * _binned(seen.sent.round_trips, edges)
    columns["queuing_delay_ms"] = 1e3 * _binned(delay.queuing(flight.conversation.forward), edges)
    return columns


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


def _mean(series: Series, begin: float, end: float) -> float:
    end = min(end, series.end)
    return series.mean(begin, end) if end > begin else float(series.values[-1])


def _binned(samples: Samples, edges: Floats) -> Floats:
    counts, _ = np.histogram(samples.times, edges)
    sums, _ = np.histogram(samples.times, edges, weights=samples.values)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _series_rows(name: str, columns: dict[str, Floats]) -> list[dict[str, Any]]:
    rows = zip(*columns.values(), strict=True)
    return [{"flow": name} | {key: _plain(value) for key, value in zip(columns, row, strict=True)} for row in rows]


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


def _csv(rows: list[dict[str, Any]]) -> str:
    """Rows as CSV; what one of them lacks stays empty."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
