"""Writes the series into a folder: see series.py."""

import sys
import tempfile
from pathlib import Path

from images.cache import Store, default_root
from tests.tcp_ledbat.netdev import series


def main(folder: str) -> None:
    """Print the names of what was written."""
    with tempfile.TemporaryDirectory() as tree:
        series.unpacked(Store(default_root()), Path(tree), *series.CHANGED)
        for patch in series.write(Path(tree), Path(folder)):
            print(patch)


if __name__ == "__main__":
    main(*sys.argv[1:])
