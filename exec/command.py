"""Carries out `testbed exec`: a Mininet script in virtual time."""

import argparse
import os
import sys
from pathlib import Path

from engine.errors import EngineError, printable
from exec import hand_in, missing, packages
from exec.script import Order, command_of, run
from scenarios.plan.sizes import MEMORY_MIB, MOST_MEMORY_MIB


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    started = parser.add_mutually_exclusive_group(required=True)
    started.add_argument("script", nargs="?", help="a script that uses Mininet, in Python or *.sh")
    started.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module instead, and its arguments"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")
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
    time.add_argument("--real-time", action="store_true", help="at this terminal, for what asks questions")
    time.add_argument("--hand-in", type=Path, metavar="FILE.zip", help="also pack all for `testbed verify`")
    parser.add_argument("--seed", type=int, default=1, help="of all randomness; default: %(default)s")
    parser.add_argument("--into", type=Path, help="default: results/exec/<its name>")
    parser.add_argument("--deb", type=_names, default=(), help="Debian packages to add, separated by commas")
    parser.add_argument("--pip", type=_names, default=(), help="Python packages to add, separated by commas")
    parser.add_argument("--keep-all", action="store_true", help="also files that it writes outside its folder")
    parser.add_argument("--limit", type=int, metavar="SECONDS", help="virtual time after which it is interrupted")
    parser.add_argument("--memory", type=int, default=MEMORY_MIB, metavar="MIB", help="default: %(default)s")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def in_lab(options: argparse.Namespace, script: Path | None, command: tuple[str, ...], name: str) -> int:
    """Carry out a command beside its script, if there is one; return its exit status."""
    folder = Path.cwd()
    beside = script.resolve().parent if script else folder
    if options.limit is not None and options.limit < 1:
        raise EngineError(f"--limit is {options.limit}; allowed: seconds of virtual time, from 1 on")
    if not MEMORY_MIB <= options.memory <= MOST_MEMORY_MIB:
        raise EngineError(f"--memory is {options.memory}; allowed: MiB, from {MEMORY_MIB} to {MOST_MEMORY_MIB}")
    order = Order(
        words=(*command, *options.arguments),
        folder=folder,
        beside=beside,
        seed=options.seed,
        deb=options.deb,
        pip=(*packages.named_by(script, beside), *options.pip),
        keep_all=options.keep_all,
        limit_s=options.limit,
        memory_mib=options.memory,
        stdin=b"" if options.real_time or os.isatty(0) else sys.stdin.buffer.read(),
        together=os.path.sameopenfile(1, 2),
    )
    into = options.into or Path("results/exec", name)
    summary = hand_in.run(order, into, options.hand_in) if options.hand_in else run(order, into, options.real_time)
    for sentence in (*missing.sentences(summary["missing"]), *missing.elsewhere(summary)):
        print(printable(sentence), file=sys.stderr)
    print(f"exit status {summary['exit_status']}; results in {into}", file=sys.stderr)
    return int(summary["exit_status"])
