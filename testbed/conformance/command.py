"""Carries out `testbed conformance`: runs implementations in the cases of cases.yaml, and judges them."""

import argparse
import sys
from typing import Final

from analysis.judge.verdict import exit_status
from analysis.runs import Runs
from analysis.watchdog import LIMIT_S, ended_after
from engine.errors import EngineError
from testbed import arguments, own_study
from testbed.conformance import judge
from testbed.conformance.judge import STUDY
from testbed.shared.panel import filled
from testbed.shared.rulebooks import FOLDER

CASES: Final = FOLDER / STUDY / "cases.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", nargs="*", help="implementations, each judged by itself")
    arguments.add_into(parser, "results/conformance")


def main(options: argparse.Namespace) -> int:
    """Return 1 when an implementation does not meet a requirement, else 2 when runs failed, else 0.

    Each name has the folder --into/<its name>; runs that nothing has changed for are not repeated.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    names = arguments.with_elsewhere(options)
    known = arguments.senders(names)
    for name in names:
        if known[name]["transport"] == "udp":
            raise EngineError(f"{name} is over UDP; allowed: implementations over TCP or uTP, whose packets tell")
    folders = [own_study.folder_of(options.into, name) for name in names]
    verdicts = []
    for name, folder in zip(names, folders, strict=True):
        with own_study.alone(folder):
            own_study.write(folder, STUDY, {CASES.name: filled(CASES, [name], 1)})
            if own_study.carry_out(folder):
                return 2
            with ended_after(LIMIT_S, "testbed conformance: the judgement"):
                rows = judge.write(folder, options.again)
        print(f"{judge.summary(name, rows)}\n  {folder / 'index.html'}")
        for failure in Runs(folder / "runs").failed(STUDY):
            print(f"{failure.cell}: the run failed: {failure.why}", file=sys.stderr)
        verdicts += [row.verdict for row in rows]
    return exit_status(verdicts)
