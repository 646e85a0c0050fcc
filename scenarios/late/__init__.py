"""How late hosts wake up: measured distributions, a file of this folder each.

A line has a share of wake-ups, in parts per million, and how late these are at most, in ns; between two lines lateness
grows evenly. `python -m tests.reach.realtime.lateness SECONDS` measures a host's.
"""

import csv
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
NAMES: Final = sorted(file.stem for file in FOLDER.glob("*.csv"))


def distribution(name: str) -> list[list[int]]:
    """Return the steps of a distribution, each a share (ppm) and a lateness (ns), both rising."""
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return [[int(row["share_ppm"]), int(row["late_ns"])] for row in csv.DictReader(file)]
