"""What the observer says of the flows of many captures: `python -m tests.tools.captures FOLDER...`.

Prints how many flows of at least 100 packets get each fact, for docs/results/observer.md.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

from analysis.errors import BadInputError
from analysis.observer.standalone import captures, flows, report
from analysis.observer.standalone.observed import together
from common.counts import plural

FEWEST_PKTS: Final = 100  # in both directions together
SAYS: Final = {
    "slow start only": ("slow start only",),
    "the application limits it": ("its application limits it",),
    "the receiver's window limits it": ("the receiver's window limits it",),
    "the congestion window limits it": ("its congestion window limits it",),
    "how long round trips, or the first one, took": ("packets answered after", "the first round trip took"),
    "how long data waited": ("95 % of the data's delays",),
    "what was sent again or came late, or that nothing was": ("sent again", "came late"),
}
LIMITS: Final = list(SAYS)[:4]


def main(folders: list[str]) -> int:
    """Print the counts."""
    told, refused = Counter[str](), 0
    for file in (file for folder in folders for file in sorted(Path(folder).rglob("*")) if file.is_file()):
        try:
            summary = flows.find(*captures.read(file, captures.MOST_PKTS))
        except BadInputError:
            refused += 1
            continue
        for flow in (observed.seen[0] for observed in together([summary])):
            if len(flow.flow.there) + len(flow.flow.back) >= FEWEST_PKTS:
                told.update(_told(report.view_of(flow)))
    for what in ("flows", *SAYS, "any of these limits, or a kind", "a kind of controller"):
        print(f"{told[what]:6} {what}")
    print(f"{plural(refused, 'file')} refused")
    return 0


def _told(view: dict[str, Any]) -> set[str]:
    said = {what for what, starts in SAYS.items() if any(start in fact for fact in view["facts"] for start in starts)}
    kind = {"a kind of controller"} if "kind" in view["controller"] else set()
    limits = {"any of these limits, or a kind"} if kind or said & {*LIMITS} else set()
    return {"flows", *said, *kind, *limits}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
