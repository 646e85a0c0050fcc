"""Carries out `testbed conformance`: runs implementations in the cases of workflows/conformance, and judges them."""

import argparse
import subprocess
import sys
from pathlib import Path

from engine.errors import EngineError
from testbed import arguments, own_study
from testbed.compare.command import filled
from testbed.own_study import ROOT

STUDY = "conformance"
SNAKEFILE = ROOT / "workflows" / "conformance" / "Snakefile"
CASES = ROOT / "workflows" / "conformance" / "cases.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", nargs="+", help="each is judged by itself")
    parser.add_argument("--into", type=Path, default=Path("results/conformance"), help="default: %(default)s")
    parser.set_defaults(kept="finished runs are kept")


def main(options: argparse.Namespace) -> int:
    """Return 0 when all runs have been judged, 1 when some failed, else 2; each name has the folder --into/<its name>.

    Runs that nothing has changed for are not repeated.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    names = options.implementation
    known = arguments.senders(names)
    for name in names:
        if known[name]["transport"] == "udp":
            raise EngineError(f"{name} answers to nothing; allowed: implementations over TCP or uTP")
    folders = [own_study.folder_of(options.into, name) for name in names]
    for name, folder in zip(names, folders, strict=True):
        study = ROOT / folder / "studies" / STUDY
        own_study.write(study, {study / CASES.name: filled(CASES, [name], 1)})
        if own_study.carry_out(SNAKEFILE, STUDY, folder):
            return 2
    command = [sys.executable, "-P", "-m", "analysis", "conformance", *(str(ROOT / folder) for folder in folders)]
    return subprocess.run(command, check=False).returncode
