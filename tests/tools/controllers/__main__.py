"""How often `observe` classifies a controller correctly: `python -m tests.tools.controllers`.

It carries out runs of all known controllers, lets the observer judge each, and prints a confusion matrix.
"""

import argparse
import sys
from pathlib import Path

from testbed import own_study
from tests.tools.controllers import draw
from tests.tools.controllers.judge import write

STUDY = "controllers"
CASES = Path(__file__).with_name("cases")


def main() -> int:
    """Return 0, or 1 when the runs could not be carried out; a second call continues in the same folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.controllers")
    parser.add_argument("--into", type=Path, default=Path("results/controllers"), help="default: %(default)s")
    parser.add_argument("--drawn", type=int, metavar="SEED", help="instead, networks drawn from a seed (draw.py)")
    parser.add_argument("--judge", type=Path, metavar="FOLDER", help="only judge the runs there, as of a comparison")
    options = parser.parse_args()
    drawn = options.drawn is not None
    folder = options.judge or own_study.folder_of(options.into, f"drawn-{options.drawn}" if drawn else "")
    if not options.judge:
        chosen = {file.name: file.read_text() for file in sorted(CASES.glob("*.yaml"))}
        with own_study.alone(folder):
            own_study.write(folder, STUDY, {"drawn.yaml": draw.drawn(options.drawn)} if drawn else chosen)
            if own_study.carry_out(folder):
                return 1
    print(f"{write(folder)}\nPage: {folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
