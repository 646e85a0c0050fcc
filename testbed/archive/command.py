"""Carries out `testbed archive`: everything measured as an RO-Crate."""

import argparse
from pathlib import Path

from engine.archive import archive


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--out", type=Path, required=True, help="a new folder, or a file that ends with .zip")


def main(options: argparse.Namespace) -> int:
    """Print where the archive is; return 0."""
    print(archive(options.results, options.out))
    return 0
