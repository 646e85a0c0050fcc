"""What came out of the papers, by a reference set, written into pages."""

import argparse
from pathlib import Path
from typing import Final

from analysis.reference import failing, papers
from common.arguments import path
from testbed import failing as products
from testbed.artifact import takes
from testbed.claim import claims
from testbed.folders import REFERENCE, STUDIES

_OPTIONS: Final = {
    "studies": (STUDIES, "folder of the studies"),
    "reference": (REFERENCE, "folder of the reference set"),
    "page": (Path("docs/results/papers.md"), "page for all findings, which has marks for them"),
    "summary": (Path("README.md"), "page for a few sentences a paper, with such marks"),
    "today": (Path("docs/results/today.md"), "page that says of its own set, in the folder `today`, what made it"),
    "failing": (Path("docs/results/failing.md"), "page for what does not hold, with such marks"),
}


def main(words: list[str]) -> int:
    """Write into the four pages; return 0.

    Raises:
        BadInputError: a page has no place for it, or there are no studies.
    """
    parser = argparse.ArgumentParser(prog="python -m testbed.tables papers", description=__doc__)
    for name, (default, says) in _OPTIONS.items():
        parser.add_argument(f"--{name}", type=path, default=default, help=f"{says}; default: %(default)s")
    options = parser.parse_args(words)
    known = claims()
    papers.write(options.studies, options.reference, options.page, options.summary, lambda claim: takes(claim, known))
    papers.write_of_set(options.reference / "today", options.today)
    failing.write(options.studies, options.reference, options.failing)
    products.write(options.failing)
    return 0
