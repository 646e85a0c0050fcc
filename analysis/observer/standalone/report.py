"""`testbed observe FILE...`: captures and senders' logs to JSON, CSV and a page with a picture a flow."""

import csv
import io
import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.errors import BadInputError
from analysis.files import write_text
from analysis.observer import delay
from analysis.observer.conversation import Samples
from analysis.observer.description import PassedTap, described, facts
from analysis.observer.logs import files
from analysis.observer.logs.log import Log
from analysis.observer.standalone import captures, flows, sender_log
from analysis.observer.standalone.observed import FlowView, Observed, bins, throughput, together
from analysis.observer.standalone.tap import TapPlace
from analysis.series import Floats, Series

FORMAT: Final = 1
NEEDS_THE_SENDER: Final = ("rtt_ms", "in_flight_pkts", "limited_by", "control", "controller")
ELSEWHERE: Final = (
    "losses before this tap show as packets that come later than their number says, and count as sent again"
)


def observe(paths: list[Path], into: Path, refresh_s: int | None = None) -> Path:
    """Write what captures tell into a folder; returns the page, which with `refresh_s` loads itself again.

    Files in which other programs say what they measured have pages of their own.

    Raises BadInputError, before anything is written, when a file is neither, or holds no packet of TCP or UDP.
    """
    read = {path: files.read(path) for path in paths}
    logs = [found for found in read.values() if isinstance(found, Log)]
    if logs:
        if len(logs) < len(paths):
            other = next(path for path, found in read.items() if not isinstance(found, Log))
            raise BadInputError(f"{other}: found packets beside {logs[0].program}'s file; allowed: a command for each")
        from analysis.observer.standalone import measured

        return measured.write(logs, into)
    # the page needs the drawing library, which takes long to load
    from analysis.observer.standalone import page

    summaries: list[flows.Summary] = []
    logged: list[FlowView] = []
    for path, found in read.items():
        if isinstance(found, list):
            views = sender_log.views(found)
            summaries.append(flows.Summary(views[0].flow.captured, [], 0, 0, 0))
            logged += views
            continue
        room = captures.MOST_PKTS - sum(summary.captured.pkts for summary in summaries)
        summaries.append(flows.find(*captures.read(path, room)))
    described_flows, rows = [], []
    pictures: dict[str, str] = {}
    for observed in together(summaries, logged):
        described_flows.append(_flow(observed))
        rows += _series_rows(observed.name, _series(observed.seen[0]))
        pictures |= {observed.name + suffix: svg for suffix, svg in page.pictures(observed).items()}
    document = {
        "format": FORMAT,
        "captures": [_capture(summary, logged) for summary in summaries],
        "flows": described_flows,
    }
    for stale in into.glob("flow-*.svg"):  # of captures that were observed into this folder before
        stale.unlink()
    for name, svg in pictures.items():
        write_text(into / f"{name}.svg", svg)
    write_text(into / "observation.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_text(into / "flows.csv", _csv(_flow_rows(document)))
    write_text(into / "series.csv", _csv(rows))
    page.write(document, into, refresh_s)
    return into / "index.html"


def _capture(summary: flows.Summary, logged: list[FlowView]) -> dict[str, Any]:
    captured = summary.captured
    own = [one for one in logged if one.flow.captured is captured]
    return {
        "file": str(captured.path),
        "begins": datetime.fromtimestamp(captured.origin_ns // 10**9, UTC).isoformat(),
        "begins_ns": captured.origin_ns,
        "lasts_s": round((captured.end_ns - captured.origin_ns) / 1e9, 6),
        "tcp_and_udp_pkts": captured.pkts,
        "other_pkts": sum(captured.others.values()),
        "others": captured.others,
        "flows": len(summary.flows) + len(own),
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
        "seen_in": [view_of(sighting) for sighting in observed.seen],
        "between_captures": [each.as_json() for each in observed.pairs],
    }


def view_of(seen: FlowView) -> dict[str, Any]:
    """Return what one capture tells of a flow, as it goes into JSON."""
    remarks = list(seen.flow.remarks)
    tap = PassedTap(seen.passed, seen.tap.to_sender_s, is_at_sender=seen.tap.place is TapPlace.SENDER)
    fields = described(seen.best, tap)
    if seen.sent is None:
        fields |= {name: {"not_observed": seen.why_not} for name in NEEDS_THE_SENDER}
        fields["facts"] = facts(seen.passed, tap, is_senders=False)
        fields["retransmitted_pkts"] = {"for unknown causes": sum(fields["retransmitted_pkts"].values())}
    elif seen.tap.place is not TapPlace.SENDER:
        remarks.append(
            "what the sender saw was worked out: data from the timestamps it carries, answers as if they came from "
            "here to the sender without waiting in a queue"
        )
    if seen.tap.place is not TapPlace.SENDER:
        remarks.append(ELSEWHERE)
    if seen.best.conversation.clocks_disagree:
        remarks.append(
            "one-way delays are not known: by the two hosts' timestamps, packets would have waited for longer than the "
            "flow lasted or than any answer took, or many acknowledgements are missing"
        )
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
