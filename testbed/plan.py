"""Carries out `testbed plan`: lists the cells of scenarios."""

import argparse
import json
from pathlib import Path

from scenarios.cells import plan
from scenarios.resolve import SIZES


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("scenario", type=Path, nargs="+")
    parser.add_argument("--size", choices=SIZES, default="complete")


def main(options: argparse.Namespace) -> int:
    """Print a line of JSON for each cell; return 0."""
    for cell in plan(options.scenario, options.size):
        print(json.dumps(cell))
    return 0
