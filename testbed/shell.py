"""Carries out `testbed shell`: Mininet's command line in a scenario's network."""

import argparse
import sys

from common.arguments import path
from engine.errors import EngineError
from engine.shell import shell
from testbed.arguments import cells


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("scenario", type=path)
    parser.add_argument("--cell", metavar="NAME", help="a cell of the scenario; default: the first")


def main(options: argparse.Namespace) -> int:
    """Return the exit status of the shell.

    Raises:
        EngineError: standard input is no terminal. The guest's console drops what comes before it has booted.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise EngineError("standard input: found no terminal; allowed: a terminal, or `testbed exec` for a script")
    return shell(cells(options.scenario, "complete", [options.cell] if options.cell else [])[0])
