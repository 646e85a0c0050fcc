"""Carries out `testbed conformance`: runs implementations in the cases of workflows/conformance, and judges them."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from engine import orders, own_study
from engine.compare import filled
from engine.errors import EngineError
from engine.own_study import ROOT

STUDY = "conformance"
SNAKEFILE = ROOT / "workflows" / "conformance" / "Snakefile"
CASES = ROOT / "workflows" / "conformance" / "cases.yaml"


def main(names: Sequence[str], into: Path) -> int:
    """Return 0 when all runs have been judged, 1 when some failed, else 2; each name has the folder `into`/<its name>.

    Runs that nothing has changed for are not repeated.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    known = orders.senders(names)
    for name in names:
        if known[name]["transport"] == "udp":
            raise EngineError(f"{name} answers to nothing; allowed: implementations over TCP or uTP")
    folders = [own_study.folder_of(into, name) for name in names]
    for name, folder in zip(names, folders, strict=True):
        study = ROOT / folder / "studies" / STUDY
        own_study.write(study, {study / CASES.name: filled(CASES, [name], 1)})
        if own_study.carry_out(SNAKEFILE, STUDY, folder):
            return 2
    command = [sys.executable, "-m", "analysis", "conformance", *(str(ROOT / folder) for folder in folders)]
    return subprocess.run(command, check=False).returncode
