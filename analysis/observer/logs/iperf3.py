"""What `iperf3 -J` and `iperf3 --json-stream` write: a row for each stream and interval."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.documents import Fields
from analysis.errors import BadInputError
from analysis.observer.conversation import Samples
from analysis.observer.logs import log
from analysis.observer.logs.log import Log, Stream
from common.counts import plural

LARGEST: Final = 1e15
_OF_STREAM: Final = {
    log.ROUND_TRIP: ("rtt", 1e-3),
    log.WINDOW_BYTES: ("snd_cwnd", 1),
}  # the file's field, and what scales it


def joined(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Put the lines of `--json-stream` together as `-J` writes them."""
    whole: dict[str, Any] = {"intervals": []}
    for event in events:
        if event.get("event") == "interval":
            whole["intervals"].append(event.get("data"))
        else:
            whole[str(event.get("event"))] = event.get("data")
    return whole


def read(path: Path, document: dict[str, Any]) -> Log:
    """Read the document of one test.

    Raises BadInputError where it has no interval, or a field is not what iperf3 writes.
    """
    fields = Fields(path, document)
    intervals = fields.children("intervals")
    if not intervals:
        said = fields.data.get("error")
        raise BadInputError(
            f"{path}: found no interval{f' (iperf3: {said})' if said else ''}; allowed: a test's result"
        )
    start = fields.child("start")
    test = start.maybe("test_start", dict) or {}
    connected = {
        one.get("socket", int): (
            f"{one.get('local_host', str)}:{one.get('local_port', int)}",
            f"{one.get('remote_host', str)}:{one.get('remote_port', int)}",
        )
        for one in start.children("connected")
    }
    rows: dict[int, list[Fields]] = {}
    omitted = 0
    for interval in intervals:
        for row in interval.children("streams"):
            if row.maybe("omitted", bool):
                omitted += 1
            else:
                rows.setdefault(row.get("socket", int), []).append(row)
    if not rows:
        raise BadInputError(f"{path}: found only intervals that were to be omitted; allowed: a test's result")
    ending = fields.maybe("end", dict) or {}
    control = ending.get("sender_tcp_congestion")
    remarks = [f"{plural(omitted, 'interval')} of the beginning left out, as the option -O asks"] if omitted else []
    if all(not row.maybe("rtt", int) for of_stream in rows.values() for row in of_stream):
        remarks.append("it has no round-trip times: iperf3 writes them at the side that sends over TCP")
    else:
        remarks.append("each round-trip time is the kernel's smoothed one at the end of an interval")
    began = (start.maybe("timestamp", dict) or {}).get("time")
    return Log(
        path,
        str(start.data.get("version", "iperf3")),
        str(began) if began else None,
        [
            _stream(of_stream, connected.get(socket), str(test.get("protocol", "TCP")).lower(), control)
            for socket, of_stream in rows.items()
        ],
        remarks,
    )


def _stream(rows: list[Fields], ends: tuple[str, str] | None, transport: str, control: object) -> Stream:
    is_sender = rows[0].data.get("sender") is not False
    starts, stops, rates = (
        np.array([_number(row, name) for row in rows]) for name in ("start", "end", "bits_per_second")
    )
    if (np.diff(starts) <= 0).any():
        raise rows[-1].error(rows[-1].name("start"), rows[-1].data["start"], "an instant behind that of the row before")
    series = {log.THROUGHPUT: Samples(starts, rates)}
    for name, (of_file, scale) in _OF_STREAM.items():
        known = [(stop, row.data[of_file]) for stop, row in zip(stops, rows, strict=True) if row.maybe(of_file, int)]
        if known:
            times, values = np.array(known, float).T
            series[name] = Samples(times, scale * values)
    counts = {}
    for name, of_file in (
        ("retransmitted_pkts", "retransmits"),
        ("lost_pkts", "lost_packets"),
        ("sent_pkts", "packets"),
    ):
        values_known = [row.get(of_file, int) for row in rows if row.maybe(of_file, int) is not None]
        if values_known:
            counts[name] = sum(values_known)
    if ends and not is_sender:
        ends = (ends[1], ends[0])
    name = f"{ends[0]} to {ends[1]}" if ends else f"socket {rows[0].get('socket', int)}"
    return Stream(name, ends, transport, series, float(stops.max()), str(control) if control else None, counts)


def _number(row: Fields, name: str) -> float:
    value = row.get(name, float)
    if not 0 <= value <= LARGEST:
        raise row.error(row.name(name), value, f"a number from 0 to {LARGEST:g}")
    return value
