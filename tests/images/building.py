"""The build root of this checkout's cache, for tests that build into a store of their own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from images.build_root import BuildRoot
from images.cache import Store, default_root


@cache
def build_root() -> BuildRoot:
    """Return it, built when a test first needs it and verified once."""
    return BuildRoot(Store(default_root()), print)


def store_with_build_root(root: Path) -> Store:
    """Return a new store with a link to it, for code that looks for the build root in its store."""
    shared = build_root().root.parent.parent
    root.mkdir()
    (root / shared.name).symlink_to(shared)
    return Store(root, lambda _: None)
