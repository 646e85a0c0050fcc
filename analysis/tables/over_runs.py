"""The tables over all runs of results, in `RESULTS/tables`: a row a run, a flow, a queue, an event or a claim.

The rows of an experiment are kept in `tables/.rows/` as long as they are newer than its runs and its verdicts.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import polars as pl

from analysis import run_json
from analysis.documents import Fields, read_made
from analysis.errors import BadInputError
from analysis.experiment_files import VERDICTS
from analysis.files import check_folder
from analysis.pool import each
from analysis.run import Run
from analysis.run_json import NS, Flow, Settings
from analysis.series import NeverHappenedError, NotMeasuredError, Series
from analysis.table_cache import TableCache
from analysis.tables import package
from analysis.tables.of_results import CELL_VALUE, CLAIMS, EVENTS, FLOWS, OF_EACH, OVER_RUNS, QUEUES, RUNS
from analysis.tables.schema import Column, Table
from common import sums
from common.sums import DamagedError
from scenarios.run_files import FAILED
from scenarios.units import QUANTITIES, UnitError

FOLDER: Final = "tables"
_CELL: Final = "cell_values"  # in a row: what becomes columns once all rows are known
_QUEUES: Final = {
    "bottleneck": ("queue_pkts", "queue_ms"),
    "backward_bottleneck": ("backward_queue_pkts", "backward_queue_ms"),
}
_OF_EVENT: Final = ("at_ns", "on", "changes", "traced")  # of an event, what is no new value
_ROWS: Final = "rows.json"
_PERCENTS: Final = {"p50": 50, "p95": 95, "p99": 99}

Row = dict[str, Any]
Rows = dict[str, list[Row]]
T = TypeVar("T")


def write_tables(results: Path, newer_than: Path | None = None, processes: int = 1) -> Path:
    """Write the tables over all runs and experiments below a folder of results; return their folder.

    Rows of an experiment are made again if they are older than its runs, its verdicts or the file `newer_than`.
    """
    check_folder(results / "runs", "runs")
    kept = results / FOLDER / ".rows"
    folders: dict[str, list[Path]] = {}
    for folder in sorted(results.glob("runs/*/*/*/*seed-*")):
        if folder.name.startswith(FAILED) or "columns/packets.parquet" in sums.known(folder):  # others are being made
            folders.setdefault(folder.parent.parent.name, []).append(folder)
    measured = {file.parent.name: file for file in results.glob(f"experiments/*/{VERDICTS}")}
    works = {
        name: _ExperimentWork(name, folders.get(name, []), measured.get(name)) for name in sorted({*folders, *measured})
    }
    due = [work for work in works.values() if not work.is_current(kept, newer_than)]
    each(partial(_keep, results=results, kept=kept), due, processes)
    rows: Rows = {table.name: [] for table in OVER_RUNS}
    for name in works:
        for table, listed in read_made(kept / name, _ROWS).get("rows", dict).items():
            rows[table] += listed
    with sums.replacing(results / FOLDER) as draft:
        package.describe([_write(table, rows[table.name], draft) for table in OVER_RUNS], draft)
    return results / FOLDER


class _ExperimentWork:
    """An experiment: its run folders, and its verdicts if it has been measured."""

    def __init__(self, name: str, folders: Sequence[Path], verdicts: Path | None) -> None:
        self.name = name
        self.folders = folders
        self.verdicts = verdicts

    def is_current(self, kept: Path, newer_than: Path | None) -> bool:
        """Say whether the rows that are kept are of these runs and verdicts as they are now."""
        file = kept / self.name / _ROWS
        try:
            kept_of = read_made(file.parent, _ROWS).get("folders", list)
        except (DamagedError, BadInputError):
            return False
        read = [self.verdicts, newer_than, *(folder / sums.FILE for folder in self.folders)]
        made_ns = file.stat().st_mtime_ns
        if any(path.stat().st_mtime_ns >= made_ns for path in read if path and path.exists()):
            return False
        return bool(kept_of == [folder.name for folder in self.folders])


def _keep(work: _ExperimentWork, results: Path, kept: Path) -> None:
    """Make the rows of an experiment."""
    rows: Rows = {table.name: [] for table in OVER_RUNS}
    cache = TableCache()
    for folder in work.folders:
        for table, listed in _of_run(folder, results, cache).items():
            rows[table] += listed
    if work.verdicts:
        rows[CLAIMS.name] = list(_of_claims(read_made(work.verdicts.parent, VERDICTS)))
    made = {"folders": [folder.name for folder in work.folders], "rows": rows}
    with sums.replacing(kept / work.name) as draft:
        (draft / _ROWS).write_text(json.dumps(made, ensure_ascii=False, allow_nan=False), encoding="utf-8")


def _of_run(folder: Path, results: Path, cache: TableCache) -> Rows:
    """Give the rows of a run; of one that failed, the row that says why."""
    study, experiment, cell, name = folder.relative_to(results / "runs").parts
    common: Row = {
        "study": study,
        "experiment": experiment,
        "cell": cell,
        "seed": int(name.rpartition("-")[2]),
        "folder": folder.relative_to(results).as_posix(),
    }
    if name.startswith(FAILED):
        return {RUNS.name: [common | _of_failed(folder)]}
    run = Run(folder, cache)
    common |= _settings(run.settings)
    description = read_made(folder, "run.json")
    return {
        RUNS.name: [common | _described(run.settings, description) | _run_row(run)],
        FLOWS.name: [common | _flow_row(run, flow) for flow in run.settings.flows],
        QUEUES.name: [common | row for row in _queue_rows(run, description)],
        EVENTS.name: [common | row for row in _event_rows(description)],
    }


def _of_failed(folder: Path) -> Row:
    """Say what is known of a run that failed. What it counted until then is no result."""
    failed: Row = {"outcome": "failed", "why": "it left no reason"}
    with suppress(BadInputError, DamagedError):
        failed["why"] = read_made(folder, "summary.json").get("error", str)
    with suppress(BadInputError, DamagedError):
        settings = run_json.load(folder)
        failed |= _settings(settings) | _described(settings, read_made(folder, "run.json"))
    return failed


def _settings(run: Settings) -> Row:
    return {
        _CELL: run.cell_values,
        "size": run.size,
        "rate_bps": run.rate_bps,
        "buffer_pkts": run.buffer_pkts,
        "base_rtt_ms": 1e3 * (run.forward_s + run.backward_s),
    }


def _described(run: Settings, description: Fields) -> Row:
    return {
        "title": run.title,
        "topology": (description.maybe("topology", dict) or {}).get("name"),
        "backend": description.maybe("backend", str),
        "commit": run.provenance.get("commit"),
        "captures": ",".join(run.captures),
        "flow_count": len(run.flows),
    }


def _run_row(run: Run) -> Row:
    return {
        "outcome": "done",
        "duration_s": run.duration,
        "utilization": _known(run.utilization),
        "jain": _known(run.jain),
        "wall_s": run.summary.maybe("wall_s", float),
        "cpu_s": run.summary.maybe("cpu_s", float),
    }


def _flow_row(run: Run, flow: Flow) -> Row:
    name, versions = flow.name, run.summary.maybe("versions", dict) or {}
    said = run.summary.child("flows").maybe(name, dict) or {}
    ends = run.outcomes(name)
    spans = {"": (0.0, None), "steady_": (run.steady, None)}
    reported = _known(lambda: run.traced(name, "retransmitted_pkts", 1.0))
    return {
        "flow": name,
        "implementation": flow.implementation,
        "version": versions.get(flow.implementation),
        "receiver_implementation": flow.receiver_implementation or flow.implementation,
        "transport": flow.transport,
        "direction": "backward" if flow.backward else "forward",
        "params": json.dumps(flow.params, ensure_ascii=False),
        "target_ms": _known(lambda: run.target_ms(name)),
        "start_s": flow.start_s,
        "stop_s": _finite(flow.stop_s),
        "bytes": flow.bytes,
        "outcome": ends[0].ending if ends else "done",
        "ended_s": ends[0].at_s if ends else None,
        "says": ends[0].says if ends else None,
        "completed_s": _known(lambda: run.completed(name)) if flow.bytes is not None else None,
        "received_bytes": said.get("received_bytes"),
        **{f"{of}throughput_bps": _known(partial(run.throughput, name, *span)) for of, span in spans.items()},
        **{f"{of}share": _known(partial(run.share, name, *span)) for of, span in spans.items()},
        **_percentiles("srtt_{}_ms", lambda: run.srtt_ms(name)),
        **_percentiles("waited_{}_ms", lambda: run.waited_ms(name)),
        "dropped_pkts": _known(lambda: run.drops(name).count()),
        "loss_rate": _known(lambda: run.loss_rate(flow=name)),
        "retransmitted_pkts": round(reported.values[-1]) if reported else None,
    }


def _queue_rows(run: Run, description: Fields) -> Iterator[Row]:
    queues = run.summary.child("counters").child("queues")
    for name in queues.data:
        counted = queues.child(name)
        sent, dropped = counted.get("sent_pkts", int), counted.get("dropped_pkts", int)
        traces = [_known(partial(getattr, run, word)) for word in _QUEUES[name]] if name in _QUEUES else [None, None]
        row: Row = {"queue": name, "sent_pkts": sent, "sent_bytes": counted.get("sent_bytes", int)}
        if limit := description.maybe(name, dict):
            row["discipline"] = limit.get("queue", "fifo")
        row |= {"dropped_pkts": dropped, "marked_pkts": counted.maybe("marked_pkts", int)}
        row["loss_rate"] = dropped / (sent + dropped) if sent + dropped else None
        for unit, trace in zip(("pkts", "ms"), traces, strict=True):
            if trace is not None:
                row |= {f"mean_{unit}": trace.mean(), f"max_{unit}": trace.max()}
                row |= {f"{of}_{unit}": trace.percentile(percent) for of, percent in _PERCENTS.items()}
        yield row


def _event_rows(document: Fields) -> Iterator[Row]:
    for event in document.children("events"):
        common = {"at_s": event.get("at_ns", int) / NS, "on": event.get("on", str)}
        for what, value in _values({name: value for name, value in event.data.items() if name not in _OF_EVENT}):
            number = float(value) if isinstance(value, int | float) else None
            yield {**common, "what": what, "value": number, "text": json.dumps(value, ensure_ascii=False)}


def _values(fields: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values that are not null of nested fields, by their names."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _values(value, f"{before}{name}.")
        elif value is not None:
            yield f"{before}{name}", value


def _of_claims(document: Fields) -> Iterator[Row]:
    common = {"study": document.get("study", str), "experiment": document.child("experiment").get("id", str)}
    for claim in document.children("claims"):
        measured = claim.maybe("measured", dict) or {}
        held: dict[str, bool] = claim.maybe("held", dict) or {}
        low, high = claim.maybe("measured_interval", list) or (None, None)
        texts = ("title", "finding", "cell", "metric", "unit", "paper", "measure", "holds", "verdict", "why")
        yield {
            **common,
            "claim": claim.get("id", str),
            **{name: claim.maybe(name, str) for name in texts},
            "seeds": max(measured.get("seeds", 0), len(held)),
            "mean": measured.get("mean"),
            "std": measured.get("std"),
            "low": low,
            "high": high,
            "held": sum(held.values()) if held else None,
        }


def _percentiles(form: str, series: Callable[[], Series]) -> Row:
    known = _known(series)
    return {form.format(name): known and known.percentile(percent) for name, percent in _PERCENTS.items()}


def _known(ask: Callable[[], T]) -> T | None:
    """Ask a run for what it may not tell; None then, and for what never happened."""
    try:
        return ask()
    except (NotMeasuredError, NeverHappenedError):
        return None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _write(table: Table, rows: list[Row], draft: Path) -> Table:
    """Write a table of results; return it with the columns that the values of cells have become."""
    if table is not CLAIMS:
        table, rows = _with_cells(table, rows)
    made = pl.DataFrame([{name: row.get(name) for name in table.schema} for row in rows], schema=table.schema)
    made.write_parquet(draft / f"{table.name}.parquet", metadata=table.metadata)
    return table


def _with_cells(table: Table, rows: list[Row]) -> tuple[Table, list[Row]]:
    """Give the values of cells columns of their own, behind those that all rows have."""
    names = sorted({name for row in rows for name in row.get(_CELL, {})})
    columns, parsed = [], {}
    for name in names:
        column, values = _cell_column(name, [row.get(_CELL, {}).get(name) for row in rows])
        columns.append(column)
        parsed[column.name] = values
    filled = [row | {name: values[number] for name, values in parsed.items()} for number, row in enumerate(rows)]
    of_each = len(OF_EACH)
    return replace(table, columns=(*table.columns[:of_each], *columns, *table.columns[of_each:])), filled


def _cell_column(name: str, values: list[Any]) -> tuple[Column, list[Any]]:
    """Make a column of one value of cells: numbers of one unit where all are, else texts."""
    there = [value for value in values if value is not None]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        return replace(CELL_VALUE, name=f"cell_{name}"), values
    for quantity in QUANTITIES.values():
        with suppress(UnitError):
            numbers = [value if value is None else quantity.parse(value) for value in values]
            return replace(CELL_VALUE, name=f"cell_{name}_{quantity.suffix}", kind=pl.Int64), numbers
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return replace(CELL_VALUE, name=f"cell_{name}", kind=pl.String), texts
