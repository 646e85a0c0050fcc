# SPDX-License-Identifier: MIT
"""Finds the kernel source to build: exactly the Debian source package that `source.lock` names."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from images import locked
from images.cache import Store
from images.debian import Archive, Package
from images.errors import ImageError
from images.locked import Lock
from images.run import Say

LOCK = Path(__file__).with_name("source.lock")
NAME = "kernel"
SUITE = "trixie-backports"
PREFIX = "linux-source-"
LOWEST, BELOW = "6.12", "8"
"""Versions this project was tested with: [LOWEST, BELOW)."""


def locked_source(path: Path = LOCK) -> Package:
    """Return the package to build. Raises ImageError if the lock is malformed."""
    return _lock(path).packages[0]


def fetch(store: Store, say: Say, path: Path = LOCK) -> Path:
    """Return the file of that package, downloaded where the store does not have it; ImageError says what to do then."""
    (file,) = locked.fetch(store, say, _lock(path), "guest kernel").values()
    return file


def resolve(store: Store) -> Lock:
    """Return a lock of the newest source in the tested range that the mirror has. ImageError when it has none."""
    archive = Archive(store.root / "downloads" / "apt", SUITE, say=store.say)
    with archive.opened():
        offered = archive.offers(archive.names(PREFIX))
    package = newest(offered)
    if package is None:
        raise ImageError(f"The mirror has no {PREFIX}* from {LOWEST} up to (not including) {BELOW} in {SUITE}")
    return Lock(SUITE, [package.name], time.strftime("%Y-%m-%d", time.gmtime()), [package], NAME)


def newest(packages: Sequence[Package]) -> Package | None:
    """Return the newest of `packages` that lies in the tested range."""
    tested = [p for p in packages if version(LOWEST) <= version(p.version) < version(BELOW)]
    return max(tested, key=lambda package: (version(package.version), package.version), default=None)


def version(text: str) -> tuple[int, ...]:
    """Return the upstream part of a Debian version as numbers: `7.3.4-1~bpo13+1` is (7, 3, 4)."""
    match = re.match(r"[\d.]*\d", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _lock(path: Path) -> Lock:
    return locked.read_any(path, NAME)
