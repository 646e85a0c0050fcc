"""`python -m testbed.site --results FOLDER --out FOLDER`."""

import argparse
import sys

from analysis.errors import BadInputError
from common.arguments import path
from testbed import site


def main(words: list[str] | None = None) -> int:
    """Return 0, or 2 after one sentence about what is missing or damaged."""
    parser = argparse.ArgumentParser(prog="python -m testbed.site", description="All pages as one static folder.")
    parser.add_argument("--results", type=path, required=True, help="folder of results")
    parser.add_argument("--out", type=path, required=True, help="folder for the site, which is replaced")
    options = parser.parse_args(words)
    try:
        site.write(options.results, options.out)
    except BadInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
