"""Carries out `testbed shell`: Mininet's command line in a scenario's network."""

import argparse
from pathlib import Path

from engine.shell import shell
from testbed.arguments import cells


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--cell", help="a cell of the scenario; default: the first")


def main(options: argparse.Namespace) -> int:
    """Return the exit status of the shell."""
    return shell(cells(options.scenario, "full", [options.cell] if options.cell else [])[0])
