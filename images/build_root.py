# SPDX-License-Identifier: MIT
"""The build root: a Debian with a compiler, in which everything that boots is compiled, whatever the host is.

Its packages are locked, so the same sources give the same bytes on every host. Files of packages are unpacked and
nothing else is done: no script of a package runs, nothing needs another user's rights. An entry of the store
(`build-roots/<digest>/`) holds `root/`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from images import locked, walls
from images.cache import Store, digest_of, file_digest, remove
from images.locked import Lock, requested
from images.run import Say, Tell, logged

HERE = Path(__file__).parent
PACKAGES = HERE / "build-packages.txt"
LOCK = HERE / "build-packages.lock"
SUITE = "trixie"
NAME = "build-root"

_ENVIRONMENT = {"HOME": walls.WORK, "LC_ALL": "C", "PATH": "/usr/bin:/usr/sbin"}

# What scripts of packages would make
_LINKS = {"awk": "mawk", "cc": "gcc", "c++": "g++"}
# Nobody reads these
_LEFT_OUT = ("doc", "info", "locale", "man", "lintian", "bug")
_UNPACK = (
    'for package; do dpkg-deb --fsys-tarfile "$package" | tar --extract --no-same-owner --keep-directory-symlink; done'
)


def base_lock() -> Lock:
    """The lock of the packages that everything is compiled with."""
    return locked.read(LOCK, SUITE, requested(PACKAGES.read_text()), NAME)


class BuildRoot:
    """The build root of a lock (its own, by default). It is made when something is to be compiled, not before."""

    def __init__(self, store: Store, say: Say, lock: Lock | None = None) -> None:
        self._store = store
        self._say = say
        self._lock = lock or base_lock()
        self._making = threading.Lock()
        self._root: Path | None = None
        self.digest = digest_of({"packages": self._lock.digest, "recipe": file_digest(Path(__file__))})
        store.keep("build-roots", self.digest)

    @property
    def root(self) -> Path:
        """Its folder, which the first step makes that needs it. ImageError when it cannot be made."""
        with self._making:
            if self._root is None:
                self._root = self._store.ensure("build-roots", self.digest, self._make) / "root"
        return self._root

    def run(
        self,
        command: Sequence[str],
        log: Path,
        what: str,
        *,
        work: Path,
        see: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
        tell: Tell | None = None,
    ) -> None:
        """Run `command` inside, without a network, in the folder `work`, which is `/build` there and can be written.

        `see` are other files and folders that it can read, by their paths inside, which are below `/seen`. Raises
        ImageError when it fails.
        """
        variables = {**_ENVIRONMENT, **(environment or {})}
        logged(walls.command(self.root, command, work, see or {}, variables), log, what, tell=tell)

    def _make(self, folder: Path) -> None:
        files = locked.fetch(self._store, self._say, self._lock, "build root")
        self._say(f"build root: unpacking {len(files)} packages")
        root = folder / "root"
        root.mkdir()
        # base-files has the links /bin, /lib and so on that the others' files go through
        ordered = sorted(files.items(), key=lambda item: (item[0].name != "base-files", item[0].name))
        words = ["bash", "-euo", "pipefail", "-c", _UNPACK, "-", *(str(file) for _, file in ordered)]
        logged(words, self._store.root / "logs" / "build-root.log", "Unpacking the build root", cwd=root)
        for name, target in _LINKS.items():
            (root / "usr/bin" / name).symlink_to(target)
        for name in _LEFT_OUT:
            remove(root / "usr/share" / name)
        for place in walls.PLACES:
            (root / place.strip("/")).mkdir(exist_ok=True)
