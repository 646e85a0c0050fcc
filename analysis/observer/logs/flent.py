"""flent's data files: series over one time, of which those of rates and of delays are read."""

import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.documents import Fields
from analysis.errors import BadInputError
from analysis.observer.conversation import Samples
from analysis.observer.logs import log
from analysis.observer.logs.log import Log, Stream
from analysis.series import Floats
from common.counts import plural

COMPUTED: Final = ("avg", "sum", "totals", "total", "fairness")  # last words of series that flent works out of others
OF_SOCKET: Final = {"tcp_rtt": log.ROUND_TRIP, "tcp_cwnd": log.WINDOW_PKTS}  # of a sender's own kernel
OTHER: Final = ("tcp_rtt_var", "tcp_pacing_rate", "tcp_delivery_rate")
LARGEST: Final = 1e12  # in a series, and of an instant
UNITS: Final = {"Mbits/s": (log.THROUGHPUT, 1e6), "ms": (log.ROUND_TRIP, 1.0)}


def read(path: Path, document: dict[str, Any]) -> Log:
    """Read a data file of any version.

    Raises BadInputError where it has no series of rates or delays, or a field is not what flent writes.
    """
    fields = Fields(path, document)
    about = fields.child("metadata")
    of_series = about.maybe("SERIES_META", dict) or {}
    raw = fields.maybe("raw_values", dict) or {}
    times = _numbers(fields, "x_values")
    if len(times) < 2 or not (np.abs(times) <= LARGEST).all() or (np.diff(times) <= 0).any():
        raise fields.error("x_values", f"{len(times)} numbers", "finite numbers, at least two, that increase")
    firsts = [_first(path, name, values) for name, values in raw.items() if values]
    zero = min(firsts) if firsts else 0.0  # flent's instant 0 is that of its first value
    streams, left_out = [], []
    results = fields.child("results")
    for name in results.data:
        if name.rpartition("::")[2] in (*OF_SOCKET, *OTHER):
            continue
        if name.split()[-1:] and name.split()[-1] in COMPUTED:
            continue
        about_it = of_series.get(name)
        about_it = about_it if isinstance(about_it, dict) else {}
        unit = str(about_it.get("UNITS"))
        if unit not in UNITS:
            left_out.append(name)
            continue
        quantity, scale = UNITS[unit]
        if quantity == log.ROUND_TRIP and not name.startswith("Ping"):
            quantity = log.LATENCY
        values = _numbers(results, name)
        if len(values) != len(times):
            raise results.error(results.name(name), f"{len(values)} values", f"as many as x_values, {len(times)}")
        known = np.isfinite(values)
        if (values[known] < 0).any() or (values[known] > LARGEST).any():
            raise results.error(results.name(name), "a number beyond", f"numbers from 0 to {LARGEST:g}, and null")
        if not known.any():
            left_out.append(name)
            continue
        series = {quantity: Samples(times[known], scale * values[known])}
        if quantity == log.THROUGHPUT:
            series |= _of_socket(path, name, raw.get(name) or [], zero)
        # of what netperf receives, both are those of the side that only acknowledges
        here = about_it if "MAERTS" not in str(about_it.get("COMMAND")) and "download" not in name else {}
        counts, control = _counts(here), here.get("CONG_CONTROL")
        end_s = float(times[known][-1] + times[1] - times[0])
        streams.append(Stream(name, None, None, series, end_s, str(control).split(",")[0] if control else None, counts))
    if not streams:
        found = ", ".join(left_out) or "none"
        raise BadInputError(
            f"{path}: found no series of rates or delays (series: {found}); allowed: one in {', '.join(UNITS)}"
        )
    remarks = [
        f"test {about.maybe('NAME', str) or 'without a name'}"
        + (f": {about.data['TITLE']}" if about.data.get("TITLE") else "")
    ]
    if left_out:
        remarks.append(
            f"left out: {plural(len(left_out), 'series', 'series')} without values or in other units "
            f"({', '.join(left_out)})"
        )
    return Log(
        path, f"flent {about.maybe('FLENT_VERSION', str) or ''}".strip(), about.maybe("TIME", str), streams, remarks
    )


def _of_socket(path: Path, name: str, items: list[Any], zero: float) -> dict[str, Samples]:
    """What the sender's kernel said in between."""
    found = {}
    for key, quantity in OF_SOCKET.items():
        known = [(one.get("t"), one[key]) for one in items if isinstance(one, dict) and key in one]
        if known:
            try:
                times, values = np.array(known, float).T
            except (TypeError, ValueError):
                raise BadInputError(
                    f"{path}: raw_values.{name}: found no number; allowed: t and {key} as numbers"
                ) from None
            good = (np.abs(times) <= LARGEST) & (values >= 0) & (values <= LARGEST)
            order = np.argsort(times[good], kind="stable")
            found[quantity] = Samples(times[good][order] - zero, values[good][order])
    return {quantity: samples for quantity, samples in found.items() if len(samples.times)}


def _counts(about: dict[str, Any]) -> dict[str, int]:
    """What netperf counted, as far as it did."""
    try:
        return {"retransmitted_pkts": max(0, int(about["TCP_RETRANSMIT"]))}
    except (KeyError, TypeError, ValueError):
        return {}


def _first(path: Path, name: str, values: list[Any]) -> float:
    """The instant of a series' first value."""
    at = values[0].get("t") if isinstance(values, list) and isinstance(values[0], dict) else None
    if not isinstance(at, int | float) or not -LARGEST <= at <= LARGEST:
        raise BadInputError(f"{path}: raw_values.{name}[0].t: found {at!r}; allowed: -{LARGEST:g} to {LARGEST:g}")
    return float(at)


def _numbers(fields: Fields, name: str) -> Floats:
    """A list of numbers, with NaN where flent has null."""
    values = fields.get(name, list)
    try:
        return np.array([math.nan if value is None else value for value in values], float)
    except (TypeError, ValueError):
        raise fields.error(fields.name(name), "a list with other things", "a list of numbers and null") from None
