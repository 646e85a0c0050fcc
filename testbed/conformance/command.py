"""Carries out `testbed conformance`: runs implementations in the cases of cases.yaml, and judges them."""

import argparse
import sys
from pathlib import Path
from typing import Final

from analysis.watchdog import LIMIT_S, ended_after
from engine.errors import EngineError
from testbed import arguments, own_study
from testbed.conformance import judge
from testbed.conformance.judge import STUDY
from testbed.shared.panel import filled

CASES: Final = Path(__file__).with_name("cases.yaml")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", nargs="*", help="implementations, each judged by itself")
    arguments.add_into(parser, "results/conformance")


def main(options: argparse.Namespace) -> int:
    """Return 0 when all runs have been judged, 1 when some failed, else 2; each name has the folder --into/<its name>.

    Runs that nothing has changed for are not repeated.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    names = arguments.with_elsewhere(options)
    known = arguments.senders(names)
    for name in names:
        if known[name]["transport"] == "udp":
            raise EngineError(f"{name} is over UDP; allowed: implementations over TCP or uTP, whose packets tell")
    folders = [own_study.folder_of(options.into, name) for name in names]
    statuses = []
    for name, folder in zip(names, folders, strict=True):
        with own_study.alone(folder):
            own_study.write(folder, STUDY, {CASES.name: filled(CASES, [name], 1)})
            if own_study.carry_out(folder):
                return 2
            with ended_after(LIMIT_S, "testbed conformance: the judgement"):
                statuses.append(_judge(folder, options.again))
    return max(statuses)


def _judge(folder: Path, again: str) -> int:
    """Judge the runs of an implementation and print what became of them; return 1 when some failed, else 0."""
    print(f"{judge.write(folder, again)}\n  {folder / 'index.html'}")
    failures = judge.failures(folder)
    for sentence in failures:
        print(sentence, file=sys.stderr)
    return int(bool(failures))
