"""Carries out `testbed mn`: Mininet's own command in virtual time."""

import argparse

from exec.command import add_lab_options, in_lab


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_lab_options(parser)
    parser.set_defaults(kept="mn had not begun", passes_on=True)


def main(options: argparse.Namespace) -> int:
    """Return the exit status of Mininet's command, which judges the options that are not ours."""
    options.arguments = options.others
    return in_lab(options, None, ("mn",), "mn")
