"""The captures and traces of a run folder to the Parquet tables of `analysis.tables.of_run`, in `RUN/columns/`.

Where each host has both taps, `sender` has the packets of the flows that it sends, `receiver` those of the others.
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
from analysis.capture.addresses import RunAddresses
from analysis.capture.owners import Owners
from analysis.capture.pcap import CapturedPackets
from analysis.errors import BadInputError
from analysis.run_json import Flow, Settings
from analysis.tables.of_run import CWND, PACKETS, QUEUE, QUEUE_BACKWARD, UTP
from analysis.tables.schema import Table
from common import sums

FOLDER: Final = "columns"
QUEUE_TRACE: Final = "traces/queue.csv"
BACKWARD_TRACE: Final = "traces/queue-backward.csv"
COMPRESSION: Final = "zstd"
COMPRESSION_LEVEL: Final = 1
ROW_GROUP_PKTS: Final = 1 << 16
PAGE_BYTES: Final = 1 << 16

OF_IP: Final = pl.col("ip_length") > 0
OF_UTP: Final = tuple(name for name in pcap.COLUMNS if name.startswith("utp_"))


def write_columns(folder: Path) -> list[str]:
    """Write the tables of a run; returns warnings, one sentence each.

    Packets are those of the taps that the scenario asks for. Where captures and traces are gone (`drop`), the tables
    stay as they are.

    Raises DamagedError where a capture or a trace is not as the run left it.
    """
    run = run_json.load(folder)
    names = sums.read(folder)
    captures = [name for name in names if _is_capture(name) and _tap_and_interface(Path(name))[0] in run.captures]
    tables = [name for name in names if name.startswith(f"{FOLDER}/")]
    if tables and QUEUE_TRACE not in names:
        for name in tables:
            sums.checked(folder, name)
        return []
    with sums.replacing(folder) as draft:
        target = draft / FOLDER
        target.mkdir()
        warnings = _write_packets(run, [sums.checked(folder, name) for name in captures], target)
        _write_traces(run, [flow for flow in run.flows if _window_of(flow) in names], target)
    return warnings


def drop(folder: Path, packets: bool) -> None:
    """Remove a run's traces, whose tables must exist, and with `packets` its captures, unless it is to keep them.

    The log of events stays.
    """
    run = run_json.load(folder)
    if run.keep_captures:
        return
    traces = {QUEUE_TRACE, BACKWARD_TRACE, *map(_window_of, run.flows)}
    gone = [name for name in sums.read(folder) if name in traces or (packets and _is_capture(name))]
    with sums.replacing(folder, instead_of=gone):
        pass


def _is_capture(name: str) -> bool:
    return name.startswith(f"{packed.FOLDER}/")


def _write_packets(run: Settings, captures: list[Path], target: Path) -> list[str]:
    """Write packets.parquet and utp.parquet chunk by chunk, whatever the length of the captures; returns warnings."""
    missing = sorted(set(run.captures) - {_tap_and_interface(path)[0] for path in captures})
    if missing:
        raise BadInputError(
            f"{run.folder / 'pcap'}: no capture of {', '.join(missing)}, which run.json asks for, and no earlier table"
        )
    owners = Owners(run.flows, RunAddresses(run.ip))
    truncated: list[Path] = []
    utp_pkts = 0

    def packets() -> Iterator[pl.DataFrame]:
        nonlocal utp_pkts
        for path in captures:
            for chunk in chunks(path, owners.addresses):
                if chunk.truncated:
                    truncated.append(path)
                utp_pkts += int(np.count_nonzero(chunk.packets["utp_header_bytes"]))
                yield labelled(chunk.packets, path, run, owners)

    def utp() -> Iterator[pl.DataFrame]:
        before = 0  # rows of earlier chunks
        for path in captures if utp_pkts else []:
            for chunk in chunks(path, owners.addresses):
                ip = chunk.packets.filter(OF_IP).with_row_index("packet", before)
                before += len(ip)
                yield _of_utp(ip)

    _sink(packets(), PACKETS, target)
    _sink(utp(), UTP, target)
    return [f"{path}: omits the last packet, which is cut off" for path in truncated]


def chunks(path: Path, addresses: RunAddresses) -> Iterator[CapturedPackets]:
    """Read a capture, some packets at a time; those of the other version of IP are as those of none."""
    if addresses.version == 4:
        yield from pcap.read_chunks(path)
        return
    for wide, truncated, left_out in pcap.read_wide(path):
        if left_out:
            raise BadInputError(f"{path}: {left_out[0]}")
        packets = {name: wide[name] for name in pcap.COLUMNS}
        packets |= {end: addresses.numbers(wide[f"{end}6"]) for end in ("src", "dst")}
        packets["ip_length"] = np.where(wide["ip_version"] == addresses.version, wide["ip_length"], np.uint32(0))
        yield CapturedPackets(pl.DataFrame(packets), truncated)


def _sink(parts: Iterator[pl.DataFrame], table: Table, target: Path) -> None:
    """Write the parts of a table one below the other into one file, while they come."""
    register_io_source(lambda *_: parts, schema=table.schema, validate_schema=True).sink_parquet(
        target / f"{table.name}.parquet",
        compression=COMPRESSION,
        compression_level=COMPRESSION_LEVEL,
        row_group_size=ROW_GROUP_PKTS,
        data_page_size=PAGE_BYTES,
        statistics=False,  # a third of the time, and rows are in order anyway
        metadata=table.metadata,
        engine="streaming",
    )


def labelled(packets: pl.DataFrame, path: Path, run: Settings, owners: Owners) -> pl.DataFrame:
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
        packets.drop(OF_UTP)
        .with_columns(
            pl.col("time_ns") - run.origin_ns,
            pl.col("ip_length", "payload_bytes").cast(pl.UInt16),  # hosts of runs cut nothing up behind their taps
            *(_as_text(packets[end], owners.addresses) for end in ("src", "dst")),
            pl.lit(tap, pl.Categorical).alias("tap"),
            pl.lit(interface, pl.Categorical).alias("interface"),
            flow,
            forward,
        )
        .filter(OF_IP)
    )


def _as_text(ends: pl.Series, addresses: RunAddresses) -> pl.Series:
    """Write addresses as people do; there are few different ones."""
    different = ends.unique().sort()
    texts = pl.Series(ends.name, addresses.texts(different.to_numpy()), pl.Categorical)
    return texts.gather(different.search_sorted(ends))


def _of_utp(packets: pl.DataFrame) -> pl.DataFrame:
    """Packets as utp.parquet has them."""
    return packets.filter(pl.col("utp_header_bytes") > 0).select(UTP.schema.names())


def _write_traces(run: Settings, traced: list[Flow], target: Path) -> None:
    """Write the tables of the queues, and of the windows of those flows that have a trace."""
    _write(_trace(run.folder, QUEUE_TRACE, QUEUE), QUEUE, target)
    limited = run.backward_rate_bps is not None
    backward = _trace(run.folder, BACKWARD_TRACE, QUEUE_BACKWARD) if limited else QUEUE_BACKWARD.empty()
    _write(backward, QUEUE_BACKWARD, target)
    _write(pl.concat([CWND.empty(), *(_window(run, flow) for flow in traced)]), CWND, target)


def _window(run: Settings, flow: Flow) -> pl.DataFrame:
    """Read the trace of a flow's window. A sender that never connected leaves an empty file."""
    name = _window_of(flow)
    if sums.checked(run.folder, name).stat().st_size == 0:
        return CWND.empty()
    return _trace(run.folder, name, CWND, flow=flow.name)


def _window_of(flow: Flow) -> str:
    return f"traces/cwnd-{flow.name}.csv"


def _write(rows: pl.DataFrame, table: Table, target: Path) -> None:
    rows.write_parquet(
        target / f"{table.name}.parquet",
        compression=COMPRESSION,
        compression_level=COMPRESSION_LEVEL,
        metadata=table.metadata,
    )


def _tap_and_interface(path: Path) -> tuple[str, str]:
    tap, _, interface = packed.place(path).partition(".")
    return tap, interface


def _trace(folder: Path, name: str, table: Table, **same: str) -> pl.DataFrame:
    """Read a trace of a run as rows of a table; columns that are the `same` in all are given. Empty fields are null."""
    path = sums.checked(folder, name)
    kinds = {column: kind for column, kind in table.schema.items() if column not in same}
    others = [pl.lit(value, table.schema[column]).alias(column) for column, value in same.items()]
    with suppress(pl.exceptions.PolarsError, OSError):  # slower, what follows says what is wrong
        return pl.read_csv(path, columns=list(kinds), schema_overrides=kinds, infer_schema=False).select(
            *kinds, *others
        )
    try:
        read = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInputError(f"{path}: not a table of comma-separated values: {str(error).splitlines()[0]}") from error
    missing = [column for column in kinds if column not in read.columns]
    if missing:
        raise BadInputError(f"{path}: the header lacks {', '.join(missing)}; found {', '.join(read.columns)[:200]}")
    try:
        return read.select(*(pl.col(column).replace("", None).cast(kind) for column, kind in kinds.items()), *others)
    except pl.exceptions.InvalidOperationError as error:
        raise BadInputError(f"{path}: a field is not a number: {str(error).splitlines()[0]}") from error
