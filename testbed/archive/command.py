"""Carries out `testbed archive`: everything measured as an RO-Crate."""

import argparse
from pathlib import Path

from common.arguments import path
from testbed.archive.pack import archive


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--results", type=path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--out", type=path, required=True, help="a new folder, or a file that ends with .zip")
    parser.add_argument("--captures", action="store_true", help="also pack captures and traces of runs that kept them")
    parser.add_argument("--sign", type=path, metavar="KEY", help="sign the archive with this OpenSSH key")


def main(options: argparse.Namespace) -> int:
    """Print where the archive is; return 0."""
    print(archive(options.results, options.out, options.captures, options.sign))
    return 0
