"""Measures how late this host wakes programs up: `python -m tests.reach.realtime.lateness SECONDS >NAME.csv`.

The file belongs into scenarios/late. The host's load is said on the terminal. A program of ordinary priority sleeps,
again and again, and looks at the clock.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.reach.realtime.__main__ import FOLDER

SHARES_PPM: Final = (
    *(0, 100_000, 250_000, 500_000, 750_000, 900_000),
    *(950_000, 980_000, 990_000, 995_000, 998_000, 999_000),
)
"""Of wake-ups; the latest of all ends the list."""
MILLION: Final = 1_000_000


def steps(late_ns: list[int]) -> list[tuple[int, int]]:
    """Return the shares of a distribution, in ppm, each with how late so many wake-ups are at most."""
    late_ns = sorted(late_ns)
    last = len(late_ns) - 1
    return [(ppm, late_ns[round(last * ppm / MILLION)]) for ppm in (*SHARES_PPM, MILLION)]


def main() -> None:
    """Measure for so many seconds, and print the distribution."""
    seconds = int(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="testbed-lateness-") as name:
        program = Path(name) / "sleeper"
        flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *flags, "-o", str(program), str(FOLDER / "sleeper.c")], check=True)
        told = subprocess.run([str(program), str(seconds)], capture_output=True, text=True, check=True).stdout
    late_ns = [int(line) for line in told.split()]
    print("share_ppm,late_ns", *(f"{ppm},{ns}" for ppm, ns in steps(late_ns)), sep="\n")
    print(f"{len(late_ns)} wake-ups, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors", file=sys.stderr)


if __name__ == "__main__":
    main()
