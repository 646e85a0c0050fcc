"""Writes what products measured into their pages: `python -m testbed.tables PRODUCT PAGE FOLDER...`."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from testbed.conformance.judge import write_page as conformance
from testbed.interop.judge import write_page as interop

PRODUCTS: Final[dict[str, Callable[[list[Path], Path], None]]] = {"conformance": conformance, "interop": interop}


def main() -> int:
    """Replace what stands between the marks of a page by tables of what has been judged in folders; return 0."""
    parser = argparse.ArgumentParser(prog="python -m testbed.tables")
    parser.add_argument("product", choices=PRODUCTS)
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path, nargs="+", help="results of the product")
    options = parser.parse_args()
    PRODUCTS[options.product](options.folder, options.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
