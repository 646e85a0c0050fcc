# SPDX-License-Identifier: MIT
"""Which folders tools outside this project can work in. The project's own code takes any path."""

from __future__ import annotations

import re
from pathlib import Path

_CACHE = re.compile(r"[^\w/.+@-]")
_VENV = re.compile(r"[\n:\"$`\\]")


def refused_cache(root: Path) -> str | None:
    """Say why nothing can be built in a cache at `root`, with the remedy; None if it can."""
    refused = _CACHE.search(str(root))
    if refused is None:
        return None
    return (
        f"the kernel's build cannot work in {str(root)!r} ({refused[0]!r} in the path): set TESTBED_CACHE to a folder "
        "whose path has letters, digits and / . _ + @ - only"
    )


def refused_checkout(root: Path) -> str | None:
    """Say why Python's programs cannot be installed in a checkout at `root`, with the remedy; None if they can.

    The first lines of such programs, and PATH, hold the path.
    """
    if (refused := _VENV.search(str(root))) is None:
        return None
    return f"Python's environments cannot be in {str(root)!r} ({refused[0]!r} in the path): move it"
