# SPDX-License-Identifier: MIT
"""`python -m images.stock`: build what the qemu backend boots, and list it in an index in the cache."""

from __future__ import annotations

import sys

from images import guest_tools, index, lock
from images.build_root import BuildRoot
from images.cache import Store, default_root
from images.errors import ImageError
from images.rootfs import build as rootfs
from images.stock.build import build


def main() -> int:
    """Build what is missing; return 0, or 1 after one sentence about what failed."""
    try:
        store = Store(default_root())
        lock.renewing(store, print, lambda: _build(store))
    except (ImageError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    index.register(store.root)
    return 0


def _build(store: Store) -> None:
    listed = index.path(store.root, index.STOCK)
    tool_folder, _ = guest_tools.build(store, print, BuildRoot(store, print))
    index.write(store, listed, build(store, print, rootfs.build(store, print), tool_folder))


if __name__ == "__main__":
    sys.exit(main())
