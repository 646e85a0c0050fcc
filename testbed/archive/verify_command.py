"""Carries out `testbed verify`: what an archive or hand-in holds, once more."""

import argparse
from pathlib import Path

from engine import hand_in
from engine.errors import printable
from engine.verify import verify


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("crate", type=Path, help="of `testbed archive`, or of `testbed exec --hand-in`")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--run", action="append", help="STUDY/EXPERIMENT/CELL/seed-N; may be repeated")
    chosen.add_argument("--all", action="store_true", help="default: the first run of each experiment")


def main(options: argparse.Namespace) -> int:
    """Return 1 when bytes differ, else 0."""
    worst = 0
    handed_in = hand_in.is_hand_in(options.crate)
    outcomes = [hand_in.verify(options.crate)] if handed_in else verify(options.crate, options.run or (), options.all)
    for outcome in outcomes:
        print(printable(str(outcome)), flush=True)
        worst |= bool(outcome.different)
    return worst
