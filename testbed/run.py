"""Carries out `testbed run`: runs of a scenario."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from analysis.errors import BadInputError
from analysis.watchdog import LIMIT_S, ended_after
from common import sums
from common.arguments import path
from common.sums import DamagedError
from engine import backends, cgroup, images, interrupt, progress, provenance, recorder, sandbox
from engine.errors import EngineError, in_a_line, printable
from engine.finished import is_finished
from engine.recorder import BOTTLENECK
from engine.run import execute, run_folder
from engine.store import PLACE, Store
from scenarios import implementations, schema
from scenarios.errors import ScenarioError
from scenarios.resolve import SIZES, Cell, resolve
from testbed.arguments import cells, check_seed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("scenario", type=path)
    parser.add_argument(
        "--seed", type=int, metavar="N", action="append", help="a seed; may be repeated; default: all of the size"
    )
    parser.add_argument(
        "--cell", metavar="NAME", action="append", help="a cell of the scenario; may be repeated; default: all"
    )
    parser.add_argument("--size", choices=SIZES, default="complete")
    parser.add_argument("--into", type=path, default=Path("results/runs"), help="default: %(default)s")
    parser.add_argument("--backend", choices=backends.NAMES, default="virtual", help="default: %(default)s")
    kept = (
        "keep runs that ended well after FILE was written, made of the same scenario, images and code; with --columns "
        f"and {PLACE}, a folder, share those that were made under another name"
    )
    parser.add_argument("--keep-since", type=path, metavar="FILE", help=kept)
    tables = "make Parquet tables of captures and traces after each run, and remove the traces"
    parser.add_argument("--columns", action="store_true", help=tables)
    more = "keep the packets of this tap, too (sender, receiver...); may be repeated, and changes nothing in the run"
    parser.add_argument("--capture", metavar="TAP", action="append", default=[], help=more)
    temporary = "capture only what the scenario asks for, and with --columns remove the captures, too"
    parser.add_argument("--temporary-packets", action="store_true", help=temporary)
    parser.set_defaults(kept="finished runs are kept")


def load(programs: Sequence[str]) -> None:
    """Do once what is the same for all runs: load libraries, read descriptions, compare images with their stamps."""
    import numpy.ma  # noqa: F401  NumPy loads it when Polars looks at an array

    from analysis.capture import columns  # noqa: F401
    from engine.backends import virtual  # noqa: F401

    implementations.known()
    schema.load_schema("scenario")
    provenance.code("virtual")
    with suppress(EngineError):  # they are not built yet, and each run looks again
        boots = images.load()
        images.guest_code(boots.rootfs, boots.provenance["rootfs"]["digest"])
        progress.find_addresses(boots.kernel)
        sandbox.bubblewrap()
        for name in programs:
            images.program(name)


def main(options: argparse.Namespace) -> int:
    """Return 2 when tables could not be made of a run, 1 when a run failed, else 0."""
    worst, by_flow = 0, False
    for seed in options.seed or ():
        check_seed(seed)
    if options.backend == "virtual" and (unbounded := cgroup.missing()):
        print(f"note: {unbounded}", file=sys.stderr, flush=True)
    for cell in cells(options.scenario, options.size, options.cell or []):
        for seed in options.seed or cell.seeds:
            try:
                _carry_out(cell, seed, options)
            except (EngineError, ScenarioError) as error:
                print(printable(f"{run_folder(Path(), cell, seed)}: failed: {error}"), file=sys.stderr, flush=True)
                by_flow |= str(error).startswith("flow ")
                worst = max(worst, 1)
            except (BadInputError, DamagedError) as error:
                print(printable(str(error)), file=sys.stderr, flush=True)
                worst = 2
    if by_flow:
        print("note: the end of a flow with `may_fail: true` is a result, which `ended` gives", file=sys.stderr)
    return worst


def _carry_out(cell: Cell, seed: int, options: argparse.Namespace) -> None:
    """Carry out a run, unless it is kept or there under another name, and say so; make its tables."""
    since: Path | None = None if options.capture else options.keep_since
    place = os.environ.get(PLACE)
    store = Store(Path(place), since.read_text()) if since and options.columns and place else None
    run = resolve(cell, seed, options.backend)
    keep = options.capture if options.temporary_packets else [*BOTTLENECK, *options.capture]
    packets = [] if options.temporary_packets else [f"pcap/{tap.name}" for tap in recorder.wanted(run, keep)]
    if since and is_finished(run, options.into, since):
        says = "finished before, and kept"
    elif store and (found := store.give(run, options.into, packets)):
        says = f"as {found}, whose files it shares"
    else:
        summary = execute(run, options.into, keep)
        says = f"{summary['ended_ns'] / 1e9:g} s in {summary['wall_s']:.1f} s{_unfinished(summary)}"
    print(in_a_line(f"{run_folder(Path(), cell, seed)}: {says}"), flush=True)
    if options.columns:
        _write_columns(run_folder(options.into, cell, seed), options.temporary_packets)
    if store:
        store.add(run, options.into)


def _write_columns(folder: Path, temporary_packets: bool) -> None:
    """Make the tables of a run, unless it has them, here: a process would take longer to start than this takes."""
    from analysis.capture.columns import FOLDER, drop, write_columns  # loads Polars

    interrupt.by_ctrl_c()
    there = any(name.startswith(f"{FOLDER}/") for name in sums.read(folder))  # of a run that was there, so up to date
    with ended_after(LIMIT_S, f"tables of {folder}"):
        for warning in () if there else write_columns(folder):
            print(warning, file=sys.stderr, flush=True)
        drop(folder, temporary_packets)


def _unfinished(summary: dict[str, Any]) -> str:
    """Say which flows did not deliver their bytes in time."""
    flows = summary["flows"].items()
    late = [name for name, flow in flows if "completed_ns" in flow and flow["completed_ns"] is None]
    return f"; not done in time: {', '.join(late)}" if late else ""
