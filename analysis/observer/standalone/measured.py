"""The page of what other programs measured: rates, delays and windows over whole intervals, and no judgement."""

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.figures import roles, style
from analysis.figures.roles import Role
from analysis.files import write_text
from analysis.observer.conversation import Samples
from analysis.observer.description import INTERVALS, spread
from analysis.observer.logs import log
from analysis.observer.logs.log import Log, Stream
from analysis.observer.picture import stacked
from analysis.report.evidence import link
from analysis.report.rendering import write_page
from analysis.series import Series
from analysis.units import three_digits
from common.counts import plural

FORMAT: Final = 1
TEMPLATE: Final = Path(__file__).with_name("templates") / "measured.html"
LINE: Final = "measured"


def write(logs: list[Log], into: Path) -> Path:
    """Write index.html, observation.json, flows.csv and series.csv into a folder; returns the page."""
    streams = [(one, stream) for one in logs for stream in one.streams]
    flows, rows = [], []
    pictures: dict[str, str] = {}
    for number, (of, stream) in enumerate(streams, 1):
        name = f"flow-{number}"
        flows.append(described(name, of, stream))
        rows += [
            {"flow": name, "time_s": round(float(at), 6), "quantity": quantity, "value": round(float(value), 6)}
            for quantity, samples in _with_queuing(stream).items()
            for at, value in zip(samples.times, samples.values, strict=True)
        ]
        pictures |= {name + suffix: svg for suffix, svg in _pictures(stream).items()}
    document = {"format": FORMAT, "captures": [], "logs": [_log(one) for one in logs], "flows": flows}
    for stale in into.glob("flow-*.svg"):
        stale.unlink()
    for name, svg in pictures.items():
        write_text(into / f"{name}.svg", svg)
    write_text(into / "observation.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_text(into / "flows.csv", _csv([_row(flow) for flow in flows]))
    write_text(into / "series.csv", _csv(rows))
    files = [str(one.path) for one in logs]
    again = shlex.join(["testbed", "observe", *files, "--into", str(into)])
    links = [link(file, Path(file), into) for file in files]
    return write_page(into / "index.html", TEMPLATE, document | {"links": links, "again": again, "why_not": INTERVALS})


def _log(one: Log) -> dict[str, Any]:
    return {"file": str(one.path), "program": one.program, "began": one.began, "remarks": one.remarks}


def described(name: str, of: Log, stream: Stream) -> dict[str, Any]:
    """Everything that was measured of a stream, as it goes into JSON."""
    sender, receiver = stream.ends or (stream.name, "")
    series = _with_queuing(stream)
    fields: dict[str, Any] = {"file": str(of.path), "name": stream.name, "transport": stream.transport}
    fields |= {quantity: spread(series[quantity].values) if quantity in series else None for quantity in log.AXES}
    fields["mean_throughput_bps"] = _mean_bps(stream)
    fields |= stream.counts | {"named_control": stream.control, "facts": _facts(stream, series)}
    fields["controller"] = {"not_observed": INTERVALS}
    return {"name": name, "sender": sender, "receiver": receiver, "seen_in": [fields], "between_captures": []}


def _with_queuing(stream: Stream) -> dict[str, Samples]:
    """The series, and beside round-trip times how much longer each is than the shortest."""
    trips = stream.series.get(log.ROUND_TRIP)
    if trips is None:
        return stream.series
    return stream.series | {log.QUEUING: Samples(trips.times, trips.values - trips.values.min())}


def _mean_bps(stream: Stream) -> int | None:
    rate = stream.series.get(log.THROUGHPUT)
    return None if rate is None else round(Series(rate.times, rate.values, stream.end_s).mean())


def _facts(stream: Stream, series: dict[str, Samples]) -> list[str]:
    said = []
    mean_bps = _mean_bps(stream)
    if mean_bps is not None:
        rates = series[log.THROUGHPUT].values / 1e6
        said.append(
            f"{three_digits(mean_bps / 1e6)} Mbit/s on average, from {three_digits(rates.min())} to "
            f"{three_digits(rates.max())}"
        )
    if trips := series.get(log.ROUND_TRIP):
        said.append(f"round-trip times of {three_digits(trips.values.min())} to {three_digits(trips.values.max())} ms")
    if answers := series.get(log.LATENCY):
        said.append(f"latencies of {three_digits(answers.values.min())} to {three_digits(answers.values.max())} ms")
    if waits := series.get(log.QUEUING):
        said.append(
            f"95 % of the delays within {three_digits(float(np.percentile(waits.values, 95)))} ms of the shortest"
        )
    if (again := stream.counts.get("retransmitted_pkts")) is not None:
        said.append(f"{plural(again, 'packet')} sent again" if again else "no packet was sent again")
    if lost := stream.counts.get("lost_pkts"):
        said.append(f"{plural(lost, 'packet')} lost")
    if stream.control:
        said.append(f"the file names {stream.control}")
    return said


def _pictures(stream: Stream) -> dict[str, str]:
    panels = {}
    for quantity, samples in stream.series.items():
        axis, scale = log.AXES[quantity]
        inside = samples.times < stream.end_s
        if inside.any():
            panels[axis] = {LINE: Series(samples.times[inside], samples.values[inside] / scale, stream.end_s)}
    begin = min(float(lines[LINE].times[0]) for lines in panels.values())
    look = {LINE: Role(LINE, roles.colour(roles.TCP))}
    return {suffix: stacked(panels, look, (begin, stream.end_s), width) for suffix, width in style.WIDTHS.items()}


def _row(flow: dict[str, Any]) -> dict[str, Any]:
    (one,) = flow["seen_in"]
    row = {"file": one["file"], "flow": flow["name"], "name": one["name"], "throughput_bps": one["mean_throughput_bps"]}
    for quantity in (log.ROUND_TRIP, log.QUEUING):
        for percentile in ("min", "median", "p95"):
            row[f"{quantity}_{percentile}"] = (one.get(quantity) or {}).get(percentile)
    return row | {name: one.get(name) for name in ("retransmitted_pkts", "lost_pkts", "named_control")}


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
