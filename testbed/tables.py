"""Makes the tables of pages: `python -m testbed.tables NAME ...`, of what was measured or from the code itself.

`python -m testbed.tables PRODUCT PAGE FOLDER...` writes what a product measured in some folders. A product has tables
if `tables.py` in its folder has `tables`, which returns them in Markdown. Before them stands what made the runs.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError
from analysis.files import replace_between
from analysis.reference.papers import DIGITS
from analysis.reference.record import DIRTY
from analysis.report.formats import plain
from common.arguments import path
from common.sums import DamagedError
from testbed.shared.made import made_of, runs_below

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
    text = product.tables(options.folder)
    replace_between(options.page, START, END, f"{''.join(_recorded(options.folder))}{text}")


def _recorded(folders: Sequence[Path]) -> Iterator[str]:
    """Yield what made the runs of some folders. Raises BadInputError where they are of several commits or kernels."""
    runs = [run for folder in folders for run in runs_below(folder / "runs")]
    if not runs:
        return
    made = made_of(runs)
    for part in ("commit", "kernel"):
        if len(found := made.provenance.get(part, [])) != 1:
            builds = " and ".join(map(plain, found)) or "none"
            raise BadInputError(f"{part}: found {builds}; allowed: one, that of all runs")
    (commit,), (kernel,) = made.provenance["commit"], made.provenance["kernel"]
    ended = max(file.stat().st_mtime for run in runs for file in run.glob("summary.json"))
    day = datetime.fromtimestamp(ended, UTC).date()
    made_by = f"commit `{commit[:DIGITS]}`" + (", with files that differ from it" if commit.endswith(DIRTY) else "")
    yield f"\nRecorded on {day}: {made.runs:,} runs of {made_by}; Linux {kernel['release']}.\n\n"


if __name__ == "__main__":
    sys.exit(main())
