"""Carries out `testbed plan`: lists the cells of scenarios."""

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from common.arguments import path
from common.counts import plural
from scenarios.cells import PlannedCell, plan
from scenarios.resolve import SIZES


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("scenario", type=path, nargs="+")
    parser.add_argument("--size", choices=SIZES, default="complete")
    parser.add_argument("--json", action="store_true", help="for programs: all that is known of a cell, a line each")


def main(options: argparse.Namespace) -> int:
    """Print the cells of each scenario, for people or as JSON; return 0."""
    cells = plan(options.scenario, options.size)
    for line in map(json.dumps, cells) if options.json else _told(cells):
        print(line)
    return 0


def _told(cells: Sequence[PlannedCell]) -> Iterator[str]:
    for scenario, group in groupby(cells, key=lambda cell: cell["scenario"]):
        listed = list(group)
        runs = sum(len(cell["seeds"]) for cell in listed)
        virtual_s = sum(len(cell["seeds"]) * cell["virtual_s"] for cell in listed)
        yield f"{scenario}: {listed[0]['experiment']}: {plural(runs, 'run')}, together {virtual_s:g} virtual seconds"
        width = max(len(cell["cell"]) for cell in listed)
        for cell in listed:
            seeds = f"{plural(len(cell['seeds']), 'seed')} of {cell['virtual_s']:g} s"
            yield f"  {cell['cell']:{width}}  {seeds}, {plural(cell['flows'], 'flow')}: {_implementations(cell)}"


def _implementations(cell: PlannedCell) -> str:
    return ", ".join(cell["implementations"]) or "none"
