"""Carries out `testbed kinds`: runs of known controllers, for the observer to tell their kinds."""

import argparse
from pathlib import Path
from typing import NoReturn

from testbed import own_study
from testbed.own_study import ROOT

SNAKEFILE = ROOT / "workflows" / "kinds" / "Snakefile"
STUDY = "kinds"
SCENARIOS = (
    "derived.yaml",
    "derived-more.yaml",
    "derived-all.yaml",
    "derived-clients.yaml",
    "derived-newer.yaml",
    "derived-again.yaml",
    "judged.yaml",
    "judged-tcp.yaml",
    "judged-broad.yaml",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--into", type=Path, default=Path("results/kinds"), help="default: %(default)s")


def main(options: argparse.Namespace) -> NoReturn:
    """Run every scenario, and print the confusion matrix; a second call continues in the same folder.

    Raises:
        EngineError: Snakemake cannot work in such a folder.
    """
    folder = own_study.folder_of(options.into, "")
    study = ROOT / folder / "studies" / STUDY
    own_study.write(study, {study / name: (SNAKEFILE.parent / name).read_text() for name in SCENARIOS})
    own_study.become_pipeline(SNAKEFILE, "kinds", folder)
