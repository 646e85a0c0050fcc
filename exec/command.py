"""Carries out `testbed exec`: a Mininet script in virtual time."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from common.arguments import path
from engine.errors import EngineError, printable
from exec import hand_in, hints, missing, packages
from exec.script import LIMIT_S, LINK_RATE_BPS, MOST_LINK_RATE_BPS, ScriptRun, command_of, run
from images import lab
from scenarios.plan.sizes import MEMORY_MIB, MOST_MEMORY_MIB
from scenarios.units import QUANTITIES, UnitError

_LEAST_LINK_RATE_BPS = 8000  # a byte in a millisecond


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    started = parser.add_mutually_exclusive_group(required=True)
    started.add_argument("script", nargs="?", help="a script that uses Mininet, in Python or *.sh")
    started.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module with its arguments instead"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    add_lab_options(parser)
    parser.set_defaults(kept="the script had not begun")


def main(options: argparse.Namespace) -> int:
    """Return the exit status of the script."""
    if options.module is not None:
        if not options.module:
            raise EngineError("-m names nothing; allowed: a Python module, then its own arguments")
        name, *options.arguments = options.module
        return in_lab(options, None, ("python3", "-m", name), name)
    script = Path(options.script)
    return in_lab(options, script, command_of(script, Path.cwd()), script.stem)


def add_lab_options(parser: argparse.ArgumentParser) -> None:
    """Add what `exec` and `mn` both take."""
    time = parser.add_mutually_exclusive_group()
    time.add_argument("--real-time", action="store_true", help="give the script this terminal and the host's time")
    time.add_argument(
        "--hand-in", type=path, metavar="FILE.zip", help="also pack the folder and results for `testbed verify`"
    )
    seeded = parser.add_mutually_exclusive_group()
    seeded.add_argument("--seed", type=int, metavar="N", default=1, help="seed of all randomness; default: %(default)s")
    seeded.add_argument("--student", metavar="NUMBER", help="derive the seed from this student's number")
    parser.add_argument("--into", type=path, metavar="FOLDER", help="default: results/exec/<name of the script>")
    parser.add_argument("--deb", type=lab.names, default=(), help="Debian packages to add, separated by commas")
    parser.add_argument("--pip", type=lab.names, default=(), help="Python packages to add, separated by commas")
    parser.add_argument("--no-requirements", action="store_true", help="ignore requirements.txt beside the script")
    parser.add_argument("--python2", action="store_true", help="convert a copy of the folder from Python 2 first")
    parser.add_argument(
        "--controller", metavar="COMMAND", help="a controller to run beside the script, such as 'ryu-manager app.py'"
    )
    parser.add_argument("--cli", type=path, metavar="FILE", help="lines for Mininet's command line, as standard input")
    parser.add_argument(
        "--link-rate", metavar="RATE", help="rate of links for which the script sets none; default: 1gbit"
    )
    parser.add_argument(
        "--no-offload",
        action="store_true",
        help="switch TSO, GSO and GRO off, so that each TCP packet is one packet in a queue",
    )
    parser.add_argument(
        "--keep-all", action="store_true", help="also keep files that the script writes outside its folder"
    )
    limited = f"interrupt the script after this virtual time; default: {LIMIT_S}"
    parser.add_argument("--limit", type=int, metavar="SECONDS", help=limited)
    parser.add_argument("--memory", type=int, default=MEMORY_MIB, metavar="MIB", help="default: %(default)s")


def in_lab(options: argparse.Namespace, script: Path | None, command: tuple[str, ...], name: str) -> int:
    """Carry out a command beside its script, if there is one; return its exit status."""
    folder = Path.cwd()
    beside = script.resolve().parent if script else folder
    if options.limit is not None and options.limit < 1:
        raise EngineError(f"--limit is {options.limit}; allowed: seconds of virtual time, from 1 on")
    if not MEMORY_MIB <= options.memory <= MOST_MEMORY_MIB:
        raise EngineError(f"--memory is {options.memory}; allowed: MiB, from {MEMORY_MIB} to {MOST_MEMORY_MIB}")
    named = packages.requirements_of(script, beside, file=not options.no_requirements)
    for sentence in named.left_out:
        print(printable(sentence), file=sys.stderr)
    order = ScriptRun(
        words=(*command, *options.arguments),
        folder=folder,
        beside=beside,
        seed=options.seed if options.student is None else hand_in.seed_of(options.student),
        student=options.student,
        deb=options.deb,
        pip=(*named.requirements, *options.pip),
        keep_all=options.keep_all,
        limit_s=options.limit or (None if options.real_time else LIMIT_S),
        memory_mib=options.memory,
        link_rate_bps=_rate_bps(options.link_rate),
        offload=not options.no_offload,
        controller=options.controller,
        stdin=b"" if options.real_time else _input(options.cli),
        together=os.path.sameopenfile(1, 2),
    )
    into = options.into or Path("results/exec", name)
    with _converted(order) if options.python2 else nullcontext(order) as ready:
        summary = hand_in.run(ready, into, options.hand_in) if options.hand_in else run(ready, into, options.real_time)
    lines = (*missing.sentences(summary["missing"]), *missing.elsewhere(summary), *hints.of(summary, options.link_rate))
    for sentence in lines:
        print(printable(sentence), file=sys.stderr)
    print(f"exit status {summary['exit_status']}; results in {into}", file=sys.stderr)
    return int(summary["exit_status"])


@contextmanager
def _converted(order: ScriptRun) -> Iterator[ScriptRun]:
    from exec.python2 import converted  # what few need, and takes long to import

    if not order.beside.is_relative_to(order.folder):
        raise EngineError(f"{order.beside} lies outside of {order.folder}; call --python2 in the script's folder")
    with converted(order.folder) as copy:
        yield replace(order, folder=copy, beside=copy / order.beside.relative_to(order.folder), python2=True)


def _rate_bps(text: str | None) -> int:
    if text is None:
        return LINK_RATE_BPS
    rate = QUANTITIES["rate"]
    try:
        rate_bps = rate.parse(text)
    except UnitError as error:
        raise EngineError(f"--link-rate: {error}; allowed: {rate}") from None
    if not _LEAST_LINK_RATE_BPS <= rate_bps <= MOST_LINK_RATE_BPS:
        raise EngineError(f"--link-rate: found {text}; allowed: from 8kbit to {MOST_LINK_RATE_BPS // 10**9}gbit")
    return rate_bps


def _input(lines: Path | None) -> bytes:
    """What the script reads: a file of lines, or this command's standard input if that is no terminal."""
    if lines is None:
        return b"" if os.isatty(0) else sys.stdin.buffer.read()
    try:
        return lines.read_bytes()
    except OSError as error:
        raise EngineError(f"--cli: {lines}: {error.strerror}; allowed: a file of lines") from None
