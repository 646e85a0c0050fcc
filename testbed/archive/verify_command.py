"""Carries out `testbed verify`: what an archive or hand-in holds, once more."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from engine.errors import EngineError, printable
from engine.repetition import Repetition
from exec import hand_in
from testbed.archive.verify import Finding, verify


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("crate", type=Path, help="of `testbed archive`, or of `testbed exec --hand-in`")
    chosen = parser.add_mutually_exclusive_group()
    named = "STUDY/EXPERIMENT/CELL/seed-N, or the beginning of it: all those runs; may be repeated"
    chosen.add_argument("--run", action="append", default=[], help=named)
    chosen.add_argument("--all", action="store_true", help="default: the first run of each experiment")
    signed = "refuse an archive that none of these has signed; lines as ssh-keygen(1) has them"
    parser.add_argument("--signer", type=Path, metavar="ALLOWED_SIGNERS", help=signed)


def main(options: argparse.Namespace) -> int:
    """Return 1 when something differs, else 0."""
    worst = 0
    for finding in _findings(options):
        print(printable(finding.text), flush=True)
        worst |= finding.differs
    return worst


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    if not hand_in.is_hand_in(options.crate):
        yield from verify(options.crate, options.run, options.all, options.signer)
        return
    if options.run or options.all or options.signer:
        raise EngineError(f"{options.crate}: is a hand-in; allowed: no --run, --all or --signer")
    for said in hand_in.verify(options.crate):
        yield Finding(str(said), isinstance(said, Repetition) and bool(said.different))
