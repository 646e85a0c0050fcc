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
from images.locked import GoneError, requested
from images.rootfs import build as rootfs
from images.run import Say
from images.stock import build as stock

OWN = ("kernel", "build-root", "rootfs")
"""What every guest consists of."""
Built = TypeVar("Built")


def renew(store: Store, say: Say, names: Sequence[str], gone: GoneError | None = None) -> None:
    """Write the locks with these names, or by default those of every guest. Raises ImageError if one fails.

    `gone` is why, if nobody asked for it. It is raised if what is called by its version would be another one.
    """
    allowed = [*OWN, "lab", "stock", *programs.locked_names()]
    for name in names or OWN:
        if name not in allowed:
            raise ImageError(f"{name} has no lock; those that have one are: {', '.join(allowed)}")
    for name in names or OWN:
        if name == "kernel":
            package = sources.renew(store)
            say(f"kernel: {package.name} {package.version}, {sources.LOCK}")
        elif name == "build-root":
            packages = requested(build_root.PACKAGES.read_text())
            _write(store, say, gone, name, build_root.LOCK, build_root.SUITE, packages, complete=False)
        elif name == "rootfs":
            _write(store, say, gone, name, rootfs.LOCK, rootfs.SUITE, requested(rootfs.PACKAGES.read_text()))
        elif name == "lab":
            _write(store, say, gone, name, rootfs.LAB_LOCK, rootfs.SUITE, rootfs.lab_packages())
        elif name == "stock":
            _write(store, say, gone, name, stock.LOCK, rootfs.SUITE, stock.PACKAGES)
        else:
            for path, suite, wanted, complete in programs.locks(name):
                _write(store, say, gone, name, path, suite, wanted, complete=complete)


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
            say(
                f"{gone.said}. The lock is renewed, so images, and perhaps the bytes of runs, differ from those of "
                "this commit; docs/images.md says how to get the same"
            )
            renew(store, say, [name], gone)
            renewed.add(name)


def _write(
    store: Store,
    say: Say,
    gone: GoneError | None,
    name: str,
    path: Path,
    suite: str,
    wanted: Sequence[str],
    *,
    complete: bool = True,
) -> None:
    lock = locked.resolve(store, suite, wanted, complete=complete, name=name)
    if gone and gone.lock.names_a_version and not lock.names_a_version:
        raise gone
    lock.write(path)
    say(f"{name}: {len(lock.packages)} packages of Debian {suite}, {path}")
