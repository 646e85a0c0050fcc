"""The captures and traces of a run folder to Parquet tables.

`RUN/columns/` gets these tables, all in scenario time (`time_ns`, 0 when the scenario began):

packets.parquet  a row a captured packet: the columns of `pcap.COLUMNS` but uTP's, the `tap` and `interface` it was seen
                 at, the `flow` it belongs to (null for strangers) and whether it goes `forward` (data) or back (ACK).
                 Where each host has both taps, `sender` has those of the flows that it sends, `receiver` of the others
utp.parquet      a row a uTP packet: uTP's columns, and `packet`, its row in packets.parquet (from 0)
queue.parquet    traces/queue.csv; queue-backward.parquet the same for the reverse path (no rows without a limit)
cwnd.parquet     all traces/cwnd-<flow>.csv with a `flow` column
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from analysis import run_json
from analysis.capture import packed, pcap
from analysis.capture.owners import Owners
from analysis.errors import BadInputError
from analysis.run_json import Flow, Settings
from common import sums
from scenarios.resolve import QUICK

FOLDER: Final = "columns"
QUEUE_TRACE: Final = "traces/queue.csv"
BACKWARD_TRACE: Final = "traces/queue-backward.csv"
COMPRESSION: Final = "zstd"
COMPRESSION_LEVEL: Final = 1
ROW_GROUP_PKTS: Final = 1 << 16
PAGE_BYTES: Final = 1 << 16

OF_IP: Final = pl.col("ip_length") > 0
UTP: Final = tuple(name for name in pcap.COLUMNS if name.startswith("utp_"))

QUEUE: Final = ("time_ns", "backlog_pkts", "backlog_bytes", "sent_pkts", "sent_bytes", "dropped_pkts")
CWND: Final = (
    "time_ns",
    "cwnd_pkts",
    "ssthresh_pkts",
    "srtt_us",
    "rttvar_us",
    "unacked_pkts",
    "lost_pkts",
    "retransmitted_pkts",
    "bytes_acked",
    "ca_state",
    "base_delay_us",
    "current_delay_us",
    "queuing_delay_us",
)


def write_columns(folder: Path) -> list[str]:
    """Write the tables of a run; returns warnings, one sentence each.

    Captures and traces of runs that do not keep them are removed once their tables exist, so a second call finds the
    tables instead and leaves them. The log of events stays, and at size quick the captures stay packed: they are few.

    Raises DamagedError where a capture or a trace is not as the run left it.
    """
    run = run_json.load(folder)
    names = sums.read(folder)
    packs = [name for name in names if name.endswith(packed.PACKED)]
    captures = [name for name in names if name.startswith(f"{packed.FOLDER}/") and name not in packs]
    traces = [QUEUE_TRACE, BACKWARD_TRACE, *map(_window_of, run.flows)]
    ended = [sums.inside(folder, name) for name in traces]
    tables = [name for name in names if name.startswith(f"{FOLDER}/")]
    warnings: list[str] = []
    if captures or not tables:
        with sums.replacing(folder, instead_of=() if run.keep_captures else captures + traces) as draft:
            target = draft / FOLDER
            target.mkdir()
            warnings = _write_packets(run, [sums.checked(folder, name) for name in captures or packs], target)
            _write_traces(run, [flow for flow in run.flows if _window_of(flow) in names], target)
            if run.size == QUICK and not run.keep_captures:
                packed.pack([folder / name for name in captures], draft / packed.FOLDER)
    else:
        for name in tables + packs:
            sums.checked(folder, name)
    if not run.keep_captures:
        for done in (*sums.inside(folder, packed.FOLDER).glob(f"*{packed.SUFFIX}"), *ended):
            done.unlink(missing_ok=True)
    return warnings


def _write_packets(run: Settings, captures: list[Path], target: Path) -> list[str]:
    """Write packets.parquet and utp.parquet chunk by chunk, whatever the length of the captures; returns warnings."""
    missing = sorted(set(run.captures) - {_tap_and_interface(path)[0] for path in captures})
    if missing:
        raise BadInputError(
            f"{run.folder / 'pcap'}: no capture of {', '.join(missing)}, which run.json asks for, and no earlier table"
        )
    owners = Owners(run.flows)
    truncated: list[Path] = []
    utp_pkts = 0

    def packets() -> Iterator[pl.DataFrame]:
        nonlocal utp_pkts
        for path in captures:
            for chunk in pcap.read_chunks(path):
                if chunk.truncated:
                    truncated.append(path)
                utp_pkts += int(np.count_nonzero(chunk.packets["utp_header_bytes"]))
                yield _labelled(chunk.packets, path, run, owners)

    def utp() -> Iterator[pl.DataFrame]:
        before = 0  # rows of earlier chunks
        for path in captures if utp_pkts else []:
            for chunk in pcap.read_chunks(path):
                ip = chunk.packets.filter(OF_IP).with_row_index("packet", before)
                before += len(ip)
                yield _of_utp(ip)

    _sink(packets(), _labelled(pcap.no_packets(), Path(), run, owners).schema, target / "packets.parquet")
    _sink(utp(), _of_utp(pcap.no_packets().with_row_index("packet")).schema, target / "utp.parquet")
    return [f"{path}: omits the last packet, which is cut off" for path in truncated]


def _sink(tables: Iterator[pl.DataFrame], schema: pl.Schema, path: Path) -> None:
    """Write tables of one schema one below the other into one file, while they come."""
    register_io_source(lambda *_: tables, schema=schema).sink_parquet(
        path,
        compression=COMPRESSION,
        compression_level=COMPRESSION_LEVEL,
        row_group_size=ROW_GROUP_PKTS,
        data_page_size=PAGE_BYTES,
        statistics=False,  # a third of the time, and rows are in order anyway
        engine="streaming",
    )


def _labelled(packets: pl.DataFrame, path: Path, run: Settings, owners: Owners) -> pl.DataFrame:
    """Packets of a capture as packets.parquet has them."""
    tap, interface = _tap_and_interface(path)
    flow, forward = owners.of(packets)
    if run.both_sides and tap in ("sender", "receiver"):
        host = interface.partition("-")[0]
        here = flow.is_in([path_flow.name for path_flow in run.flows if path_flow.ends[tap] == host])
        flow, forward = (
            pl.select(pl.when(here).then(column)).to_series().alias(column.name) for column in (flow, forward)
        )
    return (
        packets.drop(UTP)
        .with_columns(
            pl.col("time_ns") - run.origin_ns,
            pl.lit(tap, pl.Categorical).alias("tap"),
            pl.lit(interface, pl.Categorical).alias("interface"),
            flow,
            forward,
        )
        .filter(OF_IP)
    )


def _of_utp(packets: pl.DataFrame) -> pl.DataFrame:
    """Packets as utp.parquet has them."""
    return packets.filter(pl.col("utp_header_bytes") > 0).select("packet", *UTP)


def _write_traces(run: Settings, traced: list[Flow], target: Path) -> None:
    """Write the tables of the queues, and of the windows of those flows that have a trace."""
    _write(target / "queue.parquet", _trace(run.folder, QUEUE_TRACE, QUEUE))
    limited = run.backward_rate_bps is not None
    backward = _trace(run.folder, BACKWARD_TRACE, QUEUE) if limited else _empty_trace(QUEUE)
    _write(target / "queue-backward.parquet", backward)
    flows = [_trace(run.folder, _window_of(flow), CWND).with_columns(flow=pl.lit(flow.name)) for flow in traced]
    _write(target / "cwnd.parquet", pl.concat(flows) if flows else _empty_trace(CWND).with_columns(flow=pl.lit("")))


def _window_of(flow: Flow) -> str:
    return f"traces/cwnd-{flow.name}.csv"


def _write(path: Path, table: pl.DataFrame) -> None:
    table.write_parquet(path, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL)


def _tap_and_interface(path: Path) -> tuple[str, str]:
    tap, _, interface = packed.place(path).partition(".")
    return tap, interface


def _trace(folder: Path, name: str, columns: tuple[str, ...]) -> pl.DataFrame:
    """Read a trace of a run; empty fields are null."""
    path = sums.checked(folder, name)
    kinds = {column: _kind(column) for column in columns}
    with suppress(pl.exceptions.PolarsError, OSError):  # slower, what follows says what is wrong
        return pl.read_csv(path, columns=columns, schema_overrides=kinds, infer_schema=False).select(columns)
    try:
        table = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInputError(f"{path}: not a table of comma-separated values: {str(error).splitlines()[0]}") from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise BadInputError(f"{path}: the header lacks {', '.join(missing)}; found {', '.join(table.columns)[:200]}")
    try:
        return table.select(pl.col(name).replace("", None).cast(_kind(name)) for name in columns)
    except pl.exceptions.InvalidOperationError as error:
        raise BadInputError(f"{path}: a field is not a number: {str(error).splitlines()[0]}") from error


def _kind(name: str) -> type[pl.DataType]:
    if name == "ca_state":
        return pl.String
    return pl.Int64 if name in ("time_ns", "bytes_acked", "sent_bytes", "backlog_bytes") else pl.Float64


def _empty_trace(columns: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame(schema={name: _kind(name) for name in columns})
