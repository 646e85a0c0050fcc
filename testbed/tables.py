"""Makes the tables of pages: `python -m testbed.tables NAME ...`, of what was measured or from the code itself.

`python -m testbed.tables PRODUCT PAGE FOLDER...` writes what a product measured in some folders. A product has tables
if `tables.py` in its folder has `tables`, which returns them in Markdown.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError
from analysis.files import replace_between
from common.arguments import path
from common.sums import DamagedError

PRODUCTS: Final = sorted(file.parent.name for file in Path(__file__).parent.glob("*/tables.py"))
MADE: Final = {
    "artifact": "testbed.artifact",
    "columns": "analysis.tables.page",
    "coverage": "analysis.judge.coverage",
    "ns-3": "engine.bench.papers",
    "papers": "testbed.papers",
    "seeds": "testbed.seeds",
    "words": "analysis.claims.vocabulary",
}
"""Modules with the other tables, which have `main` for the words that follow."""
START, END = "<!-- tables: written by python -m testbed.tables -->", "<!-- end of tables -->"


def main(words: list[str] | None = None) -> int:
    """Replace what stands between the marks of a page by tables of what has been judged in folders, or as `MADE` says.

    Returns 0, or 1 after one sentence about what is missing or damaged; the page is then as it was.
    """
    words = sys.argv[1:] if words is None else words
    try:
        if words[:1] and words[0] in MADE:
            return int(import_module(MADE[words[0]]).main(words[1:]))
        _of_product(words)
    except (BadInputError, DamagedError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _of_product(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m testbed.tables")
    parser.add_argument("product", choices=[*PRODUCTS, *MADE])
    parser.add_argument("page", type=path)
    parser.add_argument("folder", type=path, nargs="+", help="results of the product")
    options = parser.parse_args(words)
    product = import_module(f"testbed.{options.product}.tables")
    replace_between(options.page, START, END, product.tables(options.folder))


if __name__ == "__main__":
    sys.exit(main())
