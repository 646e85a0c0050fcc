"""One pipeline at a time works in a checkout and in a folder of results, which two checkouts may share.

Another one waits until it has ended, before it looks at what is due.
"""

import os
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from common.locks import held


def lock(results: Path) -> ExitStack:
    """Hold both locks as long as this process lives, or what is returned is open; wait if another has one.

    Ctrl-C ends the waiting. Snakemake's own lock outlives a killed process and is switched off in the profile.
    """
    holding = ExitStack()
    places = {
        Path(".snakemake/testbed.lock"): "is at work in this folder",
        results / ".testbed.lock": f"is at work on {results}",
    }
    try:
        for place, does in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            holding.enter_context(held(place, does, partial(print, file=sys.stderr, flush=True)))
    except KeyboardInterrupt:
        print("Interrupted; nothing had begun.", file=sys.stderr, flush=True)
        os._exit(130)  # Snakemake would report an error of the file that called this
    return holding
