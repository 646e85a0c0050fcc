"""One pipeline at a time works in a folder. Another one waits until it has ended, before it looks at what is due."""

import os
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from common.locks import held


def lock() -> ExitStack:
    """Hold the lock as long as this process lives, or what is returned is open; wait for it if another has it.

    Ctrl-C ends the waiting. Snakemake's own lock outlives a killed process and is switched off in the profile.
    """
    place = Path(".snakemake/testbed.lock")
    place.parent.mkdir(exist_ok=True)
    holding = ExitStack()
    try:
        holding.enter_context(held(place, "is at work in this folder", partial(print, file=sys.stderr, flush=True)))
    except KeyboardInterrupt:
        print("Interrupted; nothing had begun.", file=sys.stderr, flush=True)
        os._exit(130)  # Snakemake would report an error of the file that called this
    return holding
