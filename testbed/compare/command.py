"""Carries out `testbed compare`: runs implementations in the same scenarios, and compares them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.watchdog import LIMIT_S, ended_after
from common.counts import plural
from engine.errors import EngineError
from scenarios.errors import choices
from testbed import arguments, own_study, settings
from testbed.compare import failures, judge, pages
from testbed.compare.judge import STUDY
from testbed.shared.panel import filled, find, panel, panel_for


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "implementation",
        nargs="*",
        help="two or more implementations; the others are tested against the first; NAME:PARAMETER=VALUE,... has other "
        "parameters than its defaults, such as tcp-ledbat:target=25ms",
    )
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        help="a scenario of docs/howto/compare.md, or a file; may be repeated; default: all of that page",
    )
    parser.add_argument("--seeds", type=int, metavar="N", default=5, help="runs of each cell; default: %(default)s")
    arguments.add_into(parser, "results/compare")


def main(options: argparse.Namespace) -> int:
    """Compare implementations in scenarios (none: the whole panel); return 0, or 1 when runs failed.

    Everything is kept in the folder --into/<the names>; a second call continues there.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    options.implementation = [settings.named(word, options.into) for word in options.implementation]
    names, seeds = arguments.with_elsewhere(options), options.seeds
    _check_names(names)
    arguments.check_seeds(seeds)
    files = [find(scenario, Path(), "--scenario") for scenario in options.scenario] or panel_for(names)
    folder = own_study.folder_of(options.into, "-".join(names))
    texts = {file.name: filled(file, names, seeds, may_fail="client") for file in files}
    if len(texts) < len(files):
        raise EngineError(f"--scenario: found two files of one name; allowed: {choices(sorted({*map(str, files)}))}")
    for file in [] if options.scenario else panel():
        if file not in files:
            print(f"left out: {file.stem}, since not all of these have packets with timestamps", file=sys.stderr)
    with own_study.alone(folder):
        own_study.write(folder, STUDY, texts)
        if status := own_study.carry_out(folder):
            return status
        with ended_after(LIMIT_S, "testbed compare: the comparison"):
            return _judge(folder, sorted(texts), options.again)


def _judge(folder: Path, scenarios: Sequence[str], again: str) -> int:
    """Compare all runs that ended well; say where the pages are and what failed. Return 1 if something did, else 0."""
    judge.write(folder, [folder / "studies" / STUDY / name for name in scenarios])
    failed, missing = failures.of(folder, pages.wanted(folder)), pages.missing(folder)
    for scenario, runs in failed.items():
        for run in runs:
            print(f"failed, and left out: {scenario}: {run}", flush=True)
    page = pages.write_pages(folder, again)
    print(f"Comparison{' of what did not fail' if missing else ''}: {page}")
    if wrong := [run for runs in failed.values() for run in runs]:
        again = "" if all(run.is_result for run in wrong) else "; the next call tries again"
        print(f"{plural(len(wrong), 'run')} failed{again}.", file=sys.stderr)
    return int(bool(failed or missing))


def _check_names(names: Sequence[str]) -> None:
    arguments.senders(names)
    if len(set(names)) < max(2, len(names)):
        raise EngineError(f"found {', '.join(names)}; allowed: two or more different implementations")
