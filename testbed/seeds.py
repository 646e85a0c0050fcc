"""Cells whose scenarios have other seeds than the verdicts of a reference set need."""

import argparse

from analysis.deciding_seeds import propose
from common.arguments import path
from testbed.folders import REFERENCE, STUDIES


def main(words: list[str]) -> int:
    """Print them; return 0. Raises BadInputError where there are no studies."""
    parser = argparse.ArgumentParser(prog="python -m testbed.tables seeds", description=__doc__)
    for name, default, says in (
        ("studies", STUDIES, "folder of the studies"),
        ("reference", REFERENCE, "folder of the reference set"),
    ):
        parser.add_argument(f"--{name}", type=path, default=default, help=f"{says}; default: %(default)s")
    options = parser.parse_args(words)
    propose(options.studies, options.reference)
    return 0
