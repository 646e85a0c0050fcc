"""The captures and traces of a run folder to Parquet tables.

`RUN/columns/` gets these tables, all in scenario time (`time_ns`, 0 when the scenario began):

packets.parquet  a row a captured packet: the columns of `pcap.COLUMNS` but uTP's, the `tap` and `interface` it was seen
                 at, the `flow` it belongs to (null for strangers) and whether it goes `forward` (data) or back (ACK)
utp.parquet      a row a uTP packet: uTP's columns, and `packet`, its row in packets.parquet (from 0)
queue.parquet    traces/queue.csv; queue-backward.parquet the same for the way back (without rows if it has no limit)
cwnd.parquet     all traces/cwnd-<flow>.csv with a `flow` column
"""

from pathlib import Path
from typing import Final

import polars as pl

from analysis import settings
from analysis.capture import pcap
from analysis.errors import BadInputError
from analysis.files import whole
from analysis.settings import Flow, Settings

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
    tables instead and leaves them. Only the log of events stays.
    """
    run = settings.load(folder)
    target = folder / "columns"
    captures = sorted((folder / "pcap").glob("*.pcap"))
    warnings: list[str] = []
    if captures or not (target / "packets.parquet").exists():
        packets = _packets(run, captures, warnings)
        of_utp = pl.col("utp_header_bytes") > 0
        _write(target / "utp.parquet", packets.select(of_utp.arg_true().alias("packet"), pl.col(UTP).filter(of_utp)))
        _write(target / "packets.parquet", packets.drop(UTP))
    traces = [folder / "traces" / f"{name}.csv" for name in ("queue", "queue-backward")]
    traces += [_window_of(flow, folder) for flow in run.flows]
    # the queue's trace is the first to go: where it is, all are
    if traces[0].exists() or not (target / "cwnd.parquet").exists():
        _write_traces(run, target)
    if not run.keep_captures:
        for done in captures + traces:
            done.unlink(missing_ok=True)
    return warnings


def _write_traces(run: Settings, target: Path) -> None:
    traces = run.folder / "traces"
    _write(target / "queue.parquet", _trace(traces / "queue.csv", QUEUE))
    limited = run.backward_rate_bps is not None
    backward = _trace(traces / "queue-backward.csv", QUEUE) if limited else _empty_trace(QUEUE)
    _write(target / "queue-backward.parquet", backward)
    flows = [
        _trace(_window_of(flow, run.folder), CWND).with_columns(flow=pl.lit(flow.name))
        for flow in run.flows
        if _window_of(flow, run.folder).exists()
    ]
    _write(target / "cwnd.parquet", pl.concat(flows) if flows else _empty_trace(CWND).with_columns(flow=pl.lit("")))


def _window_of(flow: Flow, folder: Path) -> Path:
    return folder / "traces" / f"cwnd-{flow.name}.csv"


def _write(path: Path, table: pl.DataFrame) -> None:
    with whole(path) as temporary:
        table.write_parquet(temporary, compression="zstd", compression_level=1)


def _packets(run: Settings, captures: list[Path], warnings: list[str]) -> pl.DataFrame:
    missing = sorted(set(run.captures) - {_tap(path) for path in captures})
    if missing:
        raise BadInputError(
            f"{run.folder / 'pcap'}: no capture of {', '.join(missing)}, which run.json asks for, and no earlier table"
        )
    tables = [_labelled(pcap.no_packets(), "", "")]
    for path in captures:
        packets, truncated = pcap.read(path)
        if truncated:
            warnings.append(f"{path}: the last packet is cut off and left out")
        tap, _, interface = path.stem.partition(".")
        tables.append(_labelled(packets, tap, interface))
    table = pl.concat(tables).filter(pl.col("ip_length") > 0)
    flow, forward = _owner(run)
    return table.with_columns(pl.col("time_ns") - run.origin_ns, flow=flow, forward=forward).with_columns(
        pl.col("tap", "interface", "flow").cast(pl.Categorical)
    )


def _labelled(packets: pl.DataFrame, tap: str, interface: str) -> pl.DataFrame:
    return packets.with_columns(tap=pl.lit(tap), interface=pl.lit(interface))


def _tap(path: Path) -> str:
    return path.stem.partition(".")[0]


def _owner(run: Settings) -> tuple[pl.Expr, pl.Expr]:
    """Flow and direction of a packet, from the address and port of the flow's receiver."""
    flow = pl.lit(None, pl.String)
    forward = pl.lit(None, pl.Boolean)
    for one in run.flows:
        data = (pl.col("dst") == one.address) & (pl.col("dport") == one.port)
        ack = (pl.col("src") == one.address) & (pl.col("sport") == one.port)
        flow = pl.when(data | ack).then(pl.lit(one.name)).otherwise(flow)
        forward = pl.when(data | ack).then(data).otherwise(forward)
    return flow, forward


def _trace(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    """Read a trace; empty fields are null."""
    try:
        table = pl.read_csv(path, infer_schema=False)
    except FileNotFoundError as error:
        raise BadInputError(f"{path}: there is no such trace") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInputError(f"{path}: not a table of comma-separated values: {str(error).splitlines()[0]}") from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise BadInputError(f"{path}: the header lacks {', '.join(missing)}; found {', '.join(table.columns)}")
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
