"""What BEP 29 says of uTP's header, from the packets of the flow called `client`."""

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from analysis.observer.conversation import DATA, FIN, NO_SAMPLE, STATE, UTP_SYN, unwrapped
from analysis.run import Run
from analysis.series import Floats, NotMeasuredError
from testbed.shared.panel import CLIENT

_COLUMNS: Final = ("time_ns", "tap", "forward", "seq", "tsval", "payload_bytes")


def utp_version_1(run: Run) -> float:
    """Share of the packets that have version 1."""
    return float(_packets(run).select((pl.col("utp_version") == 1).mean()).item())


def utp_connection_ids(run: Run) -> float:
    """Share of the packets that have the connection id that follows from the SYN's."""
    packets = _packets(run)
    connection = int(_syn(packets)["utp_connection"][0])
    of_data = (connection + 1) % 2**16
    expected = pl.when(pl.col("forward") & (pl.col("utp_type") != UTP_SYN)).then(of_data).otherwise(connection)
    return float(packets.select((pl.col("utp_connection") == expected).mean()).item())


def utp_first_number(run: Run) -> float:
    """Number of the SYN."""
    return float(_syn(_packets(run))["seq"][0])


def utp_number_gaps(run: Run) -> float:
    """Numbers that no packet of data has, up to the last one sent."""
    data = _packets(run).filter(pl.col("forward") & pl.col("utp_type").is_in([DATA, FIN, UTP_SYN]))
    numbers = np.unique(unwrapped(data["seq"].cast(pl.Int64).to_numpy(), 16))
    return float(numbers[-1] - numbers[0] + 1 - len(numbers))


def utp_stamp_error_ms(run: Run) -> float:
    """Largest difference between a packet's timestamp and the instant it is sent, beside a constant, ms."""
    sent = _packets(run).filter("forward")
    return _spread_ms(sent["time_ns"].to_numpy() // 1000 - sent["tsval"].cast(pl.Int64).to_numpy())


def utp_difference_error_ms(run: Run) -> float:
    """How far reported one-way delays are from that of the last packet that came, ms; 99 % are closer."""
    if "receiver" not in run.settings.captures:
        raise NotMeasuredError("this needs a capture at the receiver")
    there = _packets(run, "receiver")
    came = there.filter("forward")
    reports = there.filter(~pl.col("forward") & ~pl.col("utp_difference_us").is_in(NO_SAMPLE))
    before = np.searchsorted(came["time_ns"].to_numpy(), reports["time_ns"].to_numpy(), side="right") - 1
    reports, before = reports.filter(pl.Series(before >= 0)), before[before >= 0]
    if not len(reports):
        raise NotMeasuredError("no answer reports a delay")
    arrived_us = came["time_ns"].to_numpy()[before] // 1000
    delay_us = arrived_us - came["tsval"].cast(pl.Int64).to_numpy()[before]
    errors = _deviations_ms(reports["utp_difference_us"].cast(pl.Int64).to_numpy() - delay_us)
    return float(np.percentile(errors, 99))


MEASURES: Final[tuple[Callable[[Run], float], ...]] = (
    utp_version_1,
    utp_connection_ids,
    utp_first_number,
    utp_number_gaps,
    utp_stamp_error_ms,
    utp_difference_error_ms,
)


def _packets(run: Run, tap: str = "sender") -> pl.DataFrame:
    """Packets of the client's largest connection at a tap, by time."""
    own = run.packets(100).with_row_index("packet").filter((pl.col("flow") == CLIENT) & (pl.col("tap") == tap))
    packets = own.select("packet", *_COLUMNS).join(run.table("utp"), on="packet", how="inner").collect()
    data = packets.filter(pl.col("forward") & (pl.col("payload_bytes") > 0))
    if not len(data):
        raise NotMeasuredError("the client does not speak uTP")
    largest = data.group_by("utp_connection").agg(pl.col("payload_bytes").cast(pl.Int64).sum().alias("bytes"))
    connection = int(largest.sort("bytes", "utp_connection", descending=True)["utp_connection"][0])
    near = (pl.col("utp_connection").cast(pl.Int64) - connection).abs() <= 1
    of_stream = pl.col("utp_type").is_in([DATA, FIN, STATE, UTP_SYN])
    return packets.filter(near & of_stream).sort("time_ns", maintain_order=True)


def _syn(packets: pl.DataFrame) -> pl.DataFrame:
    opening = packets.filter(pl.col("forward") & (pl.col("utp_type") == UTP_SYN))
    if not len(opening):
        raise NotMeasuredError("the receiver opened the connection")
    return opening


def _spread_ms(differences_us: Floats) -> float:
    return float(_deviations_ms(differences_us).max())


def _deviations_ms(differences_us: Floats) -> Floats:
    """How far differences of two clocks of 32 bits are from their median, ms."""
    around = (differences_us - differences_us[0] + 2**31) % 2**32 - 2**31
    result: Floats = np.abs(around - np.median(around)) / 1e3
    return result
