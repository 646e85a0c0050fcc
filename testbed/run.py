"""Carries out `testbed run`: runs of a scenario."""

import argparse
import sys
from pathlib import Path
from typing import Any

from engine import backends, cgroup
from engine.errors import EngineError, printable
from engine.finished import is_finished
from engine.run import execute, run_folder
from scenarios.errors import ScenarioError
from scenarios.resolve import SIZES
from testbed.arguments import cells


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--seed", type=int, action="append", help="may be repeated; default: all seeds of the size")
    parser.add_argument("--cell", action="append", help="of the scenario's matrix; may be repeated; default: all")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--into", type=Path, default=Path("results/runs"), help="default: %(default)s")
    parser.add_argument("--backend", choices=backends.NAMES, default="virtual", help="default: %(default)s")
    kept = "keep runs that ended well after FILE was written, made of the same scenario, images and code"
    parser.add_argument("--keep-since", type=Path, metavar="FILE", help=kept)
    parser.set_defaults(kept="finished runs are kept")


def main(options: argparse.Namespace) -> int:
    """Return 1 when a run failed, else 0."""
    worst = 0
    if options.backend == "virtual" and (unbounded := cgroup.missing()):
        print(f"note: {unbounded}", file=sys.stderr, flush=True)
    for cell in cells(options.scenario, options.size, options.cell or []):
        for seed in options.seed or cell.seeds:
            name = run_folder(Path(), cell, seed)
            since: Path | None = options.keep_since
            if since is not None and is_finished(cell, seed, options.into, options.backend, since):
                print(f"{name}: finished before, and kept", flush=True)
                continue
            try:
                summary = execute(cell, seed, options.into, options.backend)
            except (EngineError, ScenarioError) as error:
                print(printable(f"{name}: failed: {error}"), file=sys.stderr, flush=True)
                worst = 1
                continue
            print(
                f"{name}: {summary['ended_ns'] / 1e9:g} s in {summary['wall_s']:.1f} s{_unfinished(summary)}",
                flush=True,
            )
    return worst


def _unfinished(summary: dict[str, Any]) -> str:
    """Say which flows did not deliver their bytes in time."""
    flows = summary["flows"].items()
    late = [name for name, flow in flows if "completed_ns" in flow and flow["completed_ns"] is None]
    return f"; not done in time: {', '.join(late)}" if late else ""
