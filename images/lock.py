# SPDX-License-Identifier: MIT
"""`python -m images lock`: lock the Debian packages that the mirror has today.

A build does the same for a lock whose packages have left the mirror, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from images import build_root, locked, programs
from images.cache import Store
from images.errors import ImageError
from images.kernel import sources
from images.locked import GoneError, Lock, requested
from images.ns2 import build as ns2
from images.rootfs import build as rootfs
from images.run import Say
from images.stock import build as stock

OWN = ("kernel", "build-root", "rootfs")
"""What every guest consists of."""
Built = TypeVar("Built")


def renew(store: Store, say: Say, names: Sequence[str]) -> None:
    """Write the locks with these names, or by default those of every guest. Raises ImageError if one fails."""
    allowed = [*OWN, "lab", "stock", ns2.NAME, *programs.locked_names()]
    for name in names or OWN:
        if name not in allowed:
            raise ImageError(f"{name} has no lock; those that have one are: {', '.join(allowed)}")
    for name in names or OWN:
        _write(say, _resolved(store, name))


def renewing(store: Store, say: Say, build: Callable[[], Built]) -> Built:
    """Return what `build` returns, having renewed each lock of which it finds packages gone.

    Raises GoneError if what is called by its version would be another one then.
    """
    renewed: set[str] = set()
    while True:
        try:
            return build()
        except GoneError as gone:
            name = gone.lock.name
            if name in renewed:
                raise
            locks = _resolved(store, name)
            if gone.lock.names_a_version and not any(lock.names_a_version for lock in locks.values()):
                raise
            say(
                f"{gone.said}. The lock is renewed, so images, and perhaps the bytes of runs, differ from those of "
                "this commit; docs/reference/images.md says how to get the same"
            )
            _write(say, locks)
            renewed.add(name)


def _resolved(store: Store, name: str) -> dict[Path, Lock]:
    """Return today's locks of what is called so, by their files."""
    if name == "kernel":
        return {sources.LOCK: sources.resolve(store)}
    if name == "build-root":
        wanted = [(build_root.LOCK, build_root.SUITE, requested(build_root.PACKAGES.read_text()), False)]
    elif name == "rootfs":
        wanted = [(rootfs.LOCK, rootfs.SUITE, requested(rootfs.PACKAGES.read_text()), True)]
    elif name == "lab":
        wanted = [(rootfs.LAB_LOCK, rootfs.SUITE, rootfs.lab_packages(), True)]
    elif name == ns2.NAME:
        wanted = [(ns2.LOCK, ns2.SUITE, list(ns2.PACKAGES), False)]
    elif name == "stock":
        wanted = [(stock.LOCK, rootfs.SUITE, list(stock.PACKAGES), True)]
    else:
        wanted = [(path, suite, list(packages), complete) for path, suite, packages, complete in programs.locks(name)]
    return {
        path: locked.resolve(store, suite, packages, complete=complete, name=name)
        for path, suite, packages, complete in wanted
    }


def _write(say: Say, locks: dict[Path, Lock]) -> None:
    for path, lock in locks.items():
        lock.write(path)
        say(f"{lock.name}: {len(lock.packages)} packages of Debian {lock.suite}, {path}")
