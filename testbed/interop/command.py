"""Carries out `testbed interop`: a scenario for every two implementations, and of each with scripted peers."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from analysis.judge.verdict import exit_status, told
from analysis.watchdog import LIMIT_S, ended_after
from common.arguments import path
from engine.errors import EngineError
from scenarios import load
from scenarios.errors import choices
from scenarios.utp_script import Script
from testbed import arguments, own_study
from testbed.interop import judge
from testbed.interop.judge import CLOSE, FIRST, STUDY
from testbed.interop.pairings import CASES, SCRIPTS, filled, order_of, read_scripts, scripted

QUIC: Final = "QUIC"
"""The family over UDP that delivers streams."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "implementation", nargs="*", help="one or more implementations; each sends to every one, itself included"
    )
    parser.add_argument(
        "--case", action="append", default=[], help="a case or packet script of docs/howto/interop.md; may be repeated"
    )
    parser.add_argument("--script", type=path, action="append", default=[], metavar="FILE", help="a packet script")
    arguments.add_into(parser, "results/interop")


def main(options: argparse.Namespace) -> int:
    """Let every implementation send to every other and to itself, and meet scripted peers.

    Everything is kept in the folder --into/<the names>; a second call continues there. Returns 1 when a case or
    a script does not hold, 2 when one is open or the pipeline failed.

    Raises:
        EngineError: something is wrong with the order, before anything runs.
    """
    names = arguments.with_elsewhere(options)
    known = _known(names)
    cases, scripts = _chosen(options.case, options.script)
    folder = own_study.folder_of(options.into, "-".join(names))
    order = order_of(names, cases, scripts, known)
    texts = filled(cases, order) + scripted(cases, scripts, order)
    with own_study.alone(folder):
        own_study.write(folder, STUDY, {f"{meeting['experiment']}.yaml": text for meeting, text in texts})
        if own_study.carry_out(folder):
            return 2
        with ended_after(LIMIT_S, "testbed interop: the matrix"):
            counts = judge.write(folder, order, options.again)
    print(f"{told(counts)}\n  {folder / 'index.html'}")
    return exit_status(counts)


def _known(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Describe the implementations, each of which has to deliver a stream."""
    known = arguments.known(names)
    for name in names:
        family = known[name].get("family", "unnamed")
        if known[name]["transport"] == "udp" and family != QUIC:
            raise EngineError(f"{name} is over UDP, family {family}; allowed: implementations over TCP, uTP or {QUIC}")
    if len(set(names)) < len(names):
        raise EngineError(f"found {', '.join(names)}; allowed: each implementation once")
    return known


def _chosen(chosen: Sequence[str], files: Sequence[Path]) -> tuple[dict[str, Any], dict[str, tuple[str, Script]]]:
    """Return the cases and scripts that were chosen by name or as files; all cases and scripts if none was."""
    cases, scripts = load.read(CASES).data, read_scripts(sorted(SCRIPTS.glob("*.utp")))
    for case in chosen:
        if case not in (known_cases := [*cases["cases"], CLOSE, *scripts]):
            raise EngineError(f"--case: found {case!r}; allowed: {choices(known_cases, case)}")
    chosen = [FIRST if case == CLOSE else case for case in chosen]  # which has no run of its own
    if chosen or files:
        cases["cases"] = {name: case for name, case in cases["cases"].items() if name in chosen}
        scripts = {name: script for name, script in scripts.items() if name in chosen} | read_scripts(files)
    return cases, scripts
