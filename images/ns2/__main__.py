# SPDX-License-Identifier: MIT
"""`python -m images.ns2`: build ns-2 into the cache."""

from __future__ import annotations

import sys

from images import index, lock
from images.cache import Store, default_root
from images.errors import ImageError
from images.ns2.build import build


def main() -> int:
    """Build what is missing; return 0, or 1 after one sentence about what failed."""
    try:
        store = Store(default_root())
        lock.renewing(store, print, lambda: build(store, print))
    except (ImageError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    index.register(store.root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
