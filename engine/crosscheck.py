"""Checks that virtual time is faithful: runs scenarios on User-Mode Linux and on a distribution's own kernel.

``python -m engine.crosscheck SCENARIO ...``: runs scenarios on the backends `virtual` and `qemu`, prints
a table and writes it as JSON. Both kernels differ in version, in configuration and in what an instruction costs.
"""

import argparse
import csv
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from common import sums
from common.arguments import path
from engine.errors import EngineError
from engine.run import execute, run_folder
from scenarios.cell_names import CASE, values_of
from scenarios.resolve import Cell, expand, resolve

BACKENDS = ("virtual", "qemu")
THROUGHPUT_SHARE, BASE_RTT_MS, QUEUING_DELAY_MS = 0.01, 0.1, 1.0
"""How far the backends may differ: relatively for the link's throughput, absolutely for the others."""


@dataclass(frozen=True)
class BackendResults:
    """The results of a run."""

    throughput_bps: float  # that the bottleneck sent over the scenario's time
    flow_bps: dict[str, float]  # that each receiver got
    base_rtt_ms: float  # of the probe, before any flow
    queuing_delay_ms: float  # mean over the samples of the bottleneck's queue, by the rate at that time


def measured(folder: Path) -> BackendResults:
    """Measure one run folder."""
    run = json.loads(sums.checked(folder, "run.json").read_text())
    summary = json.loads(sums.checked(folder, "summary.json").read_text())
    with sums.checked(folder, "traces/queue.csv").open() as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    duration_s = run["duration_ns"] / 1e9
    sent_bytes = rows[-1]["sent_bytes"] - rows[0]["sent_bytes"]
    probe = next(iter(summary["probe"].values()))
    delays_s = [8 * row["backlog_bytes"] / _rate_bps(run, row["time_ns"]) for row in rows]
    return BackendResults(
        throughput_bps=8 * sent_bytes / ((rows[-1]["time_ns"] - rows[0]["time_ns"]) / 1e9),
        flow_bps={name: 8 * flow["received_bytes"] / duration_s for name, flow in summary["flows"].items()},
        base_rtt_ms=(probe["forward_ns"] + probe["backward_ns"]) / 1e6,
        queuing_delay_ms=1000 * sum(delays_s) / len(delays_s),
    )


def _rate_bps(run: dict[str, Any], at_ns: int) -> int:
    """Return the rate of the traced bottleneck at an instant of the scenario."""
    changes = [event for event in run["events"] if event["on"] == "bottleneck" and event["at_ns"] <= at_ns]
    rates = [event["rate_bps"] for event in changes if "rate_bps" in event]
    return int(rates[-1] if rates else run["bottleneck"]["rate_bps"])


def agree(first: BackendResults, second: BackendResults) -> bool:
    """Tell whether two runs are as close as they must be."""
    return (
        abs(second.throughput_bps / first.throughput_bps - 1) <= THROUGHPUT_SHARE
        and abs(second.base_rtt_ms - first.base_rtt_ms) <= BASE_RTT_MS
        and abs(second.queuing_delay_ms - first.queuing_delay_ms) <= QUEUING_DELAY_MS
    )


def compare(cell: Cell, into: Path) -> dict[str, Any]:
    """Run one cell on both backends; return an entry of the JSON file."""
    measurements = {}
    for backend in BACKENDS:
        execute(resolve(cell, 1, backend), into / backend)
        measurements[backend] = measured(run_folder(into / backend, cell, 1))
    entry: dict[str, Any] = {name: asdict(values) for name, values in measurements.items()}
    return {"case": values_of(cell.name).get(CASE, cell.name), **entry, "agree": agree(*measurements.values())}


def main() -> int:
    """Compare all cells; 0 when all agree, 1 when some do not, 2 when a run failed."""
    parser = argparse.ArgumentParser(prog="python -m engine.crosscheck", description="Compare two backends.")
    parser.add_argument("scenarios", nargs="+", type=path)
    parser.add_argument("--into", type=path, default=Path("results/crosscheck"), help="default: %(default)s")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    options = parser.parse_args()
    entries = []
    try:
        for cell in (cell for scenario in options.scenarios for cell in expand(scenario, "complete")):
            if options.case is None or values_of(cell.name).get(CASE, cell.name) in options.case:
                print(f"{cell.name} ...", file=sys.stderr, flush=True)
                entries.append(compare(cell, options.into / "runs"))
    except EngineError as error:
        print(error, file=sys.stderr)
        return 2
    _print(entries)
    with sums.replacing(options.into) as draft:
        (draft / "crosscheck.json").write_text(json.dumps(entries, indent=1) + "\n")
    print(f"written to {options.into / 'crosscheck.json'}")
    return 0 if all(entry["agree"] for entry in entries) else 1


def _print(entries: list[dict[str, Any]]) -> None:
    table = Table("scenario", "quantity", *BACKENDS, "apart", "allowed", "")
    for entry in entries:
        first, second = (entry[backend] for backend in BACKENDS)
        share = second["throughput_bps"] / first["throughput_bps"] - 1
        table.add_row(
            entry["case"],
            "throughput, Mbit/s",
            *(f"{values['throughput_bps'] / 1e6:.3f}" for values in (first, second)),
            f"{100 * share:+.2f} %",
            f"{100 * THROUGHPUT_SHARE:g} %",
            "agree" if entry["agree"] else "DISAGREE",
        )
        for flow in first["flow_bps"] if len(first["flow_bps"]) > 1 else ():
            pair = [values["flow_bps"][flow] for values in (first, second)]
            apart = f"{100 * (pair[1] / pair[0] - 1):+.2f} %"
            table.add_row("", f"{flow}, Mbit/s", *(f"{value / 1e6:.3f}" for value in pair), apart, "", "")
        for name, words, allowed in (
            ("base_rtt_ms", "base RTT, ms", BASE_RTT_MS),
            ("queuing_delay_ms", "mean queuing delay, ms", QUEUING_DELAY_MS),
        ):
            pair = [values[name] for values in (first, second)]
            table.add_row("", words, *(f"{value:.3f}" for value in pair), f"{pair[1] - pair[0]:+.3f}", f"{allowed:g}")
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
