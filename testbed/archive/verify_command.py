"""Carries out `testbed verify`: what an archive or hand-in holds, once more."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from common.arguments import path
from engine.errors import EngineError, in_a_line
from engine.repetition import Repetition
from exec import grading, hand_in
from testbed.archive.verify import VerifyLine, verify


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    files = "an archive of `testbed archive`, or hand-ins of `testbed exec --hand-in`: of several, a table"
    parser.add_argument("archive", type=path, nargs="+", help=files)
    parser.add_argument(
        "--script", type=path, metavar="LAB.py", help="the script that students got; compare all hand-ins with it"
    )
    parser.add_argument("--csv", type=path, metavar="FILE", help="also write the table of hand-ins to this file")
    sampled = "run only this many hand-ins again, drawn at random; all are still compared with each other"
    parser.add_argument("--sample", type=int, metavar="NUMBER", help=sampled)
    chosen = parser.add_mutually_exclusive_group()
    named = "a run (STUDY/EXPERIMENT/CELL/seed-N), or the beginning of several runs' names; may be repeated"
    chosen.add_argument("--run", action="append", default=[], help=named)
    chosen.add_argument("--all", action="store_true", help="repeat all runs; default: the first of each experiment")
    signed = "refuse an archive that none of these has signed; lines as in ssh-keygen(1)"
    parser.add_argument("--signer", type=path, metavar="ALLOWED_SIGNERS", help=signed)


def main(options: argparse.Namespace) -> int:
    """Return 1 when something differs, else 0."""
    if len(options.archive) > 1 or options.script or options.csv or options.sample is not None:
        return _grade(options)
    worst = 0
    for finding in _findings(options.archive[0], options):
        print(in_a_line(finding.text), flush=True)
        worst |= finding.differs
    return worst


def _grade(options: argparse.Namespace) -> int:
    others = [str(file) for file in options.archive if file.suffix != ".zip"]
    if others or options.run or options.all or options.signer:
        allowed = "allowed with several files, --script, --csv or --sample: NAME.zip, without --run, --all, --signer"
        raise EngineError(f"found {', '.join(others) or 'an option for archives'}; {allowed}")
    if options.sample is not None and options.sample < 0:
        raise EngineError(f"--sample: found {options.sample}; allowed: a number of hand-ins, from 0 on")
    rows = grading.table(options.archive, options.script, options.sample, lambda words: print(words, flush=True))
    if options.csv:
        grading.write(rows, options.csv)
    return 0 if all(row.result.startswith((grading.IDENTICAL, grading.NOT_RUN)) for row in rows) else 1


def _findings(archive: Path, options: argparse.Namespace) -> Iterator[VerifyLine]:
    if not hand_in.is_hand_in(archive):
        yield from verify(archive, options.run, options.all, options.signer)
        return
    if options.run or options.all or options.signer:
        raise EngineError(f"{archive}: is a hand-in; allowed: no --run, --all or --signer")
    for line in hand_in.verify(archive):
        yield VerifyLine(str(line), isinstance(line, Repetition) and bool(line.different))
