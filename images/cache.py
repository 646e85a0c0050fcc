# SPDX-License-Identifier: MIT
"""Content-addressed store of everything that takes long to build.

An entry is a folder `<root>/<kind>/<digest>/`, the digest being that of its inputs. It is built under another name and
renamed when whole, so an entry that exists is complete; a manifest with the SHA-256 of each file tells a damaged one.
A build that can go on where it was interrupted leaves its folder to the next one with the same inputs.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from common.locks import held
from images import stamps
from images.errors import ImageError

MANIFEST = "manifest.json"
UNFINISHED = "unfinished"
"""Folder of a store for what failed builds of programs leave to the next ones."""
_OF_FILES = stat.S_ISUID | stat.S_ISGID
_GIVEN = _OF_FILES | stat.S_ISVTX | stat.S_IWGRP | stat.S_IWOTH
_ROOT = "root"
"""The folder of an entry that is a guest's root, with modes as Debian gives them."""
_INTERRUPTED = ".interrupted"
"""Marks a folder in which every command of a build was ended, so that each file is as its command left it."""


def project_root() -> Path:
    """Return the project's root folder."""
    return Path(__file__).resolve().parent.parent


def default_root() -> Path:
    """Return the folder of the store: $TESTBED_CACHE, or `cache/` in the project."""
    chosen = os.environ.get("TESTBED_CACHE")
    return Path(chosen).resolve() if chosen else project_root() / "cache"


def digest_of(inputs: object) -> str:
    """Return the SHA-256 (hex) of JSON-serialisable inputs, independent of the order of keys."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def tree_digest(folder: Path, pattern: str = "**/*") -> dict[str, str]:
    """Return {path relative to `folder`: SHA-256} of the files that match `pattern`."""
    return {str(p.relative_to(folder)): file_digest(p) for p in sorted(folder.glob(pattern)) if p.is_file()}


class Store:
    """The store at one folder. Several processes may use it at once; `asked_for` are the entries it returned."""

    def __init__(self, root: Path, say: Callable[[str], None] = print, *, closed: str = "") -> None:
        """Use the store at `root`; `closed`, if given, says why nothing may be built."""
        self.root = root
        self.writable = _writable(root)
        self._closed = closed or ("" if self.writable else _unwritable(root))
        self.say = say
        self.asked_for: set[Path] = set()

    @contextmanager
    def part(self) -> Iterator[Store]:
        """Yield this store for one build: what that asks for is counted by itself, and then here, too."""
        part = Store(self.root, self.say, closed=self._closed)
        yield part
        self.asked_for |= part.asked_for

    def path(self, kind: str, digest: str) -> Path:
        """Return where the entry is, or would be."""
        return self.root / kind / digest

    def has(self, kind: str, digest: str) -> bool:
        """Tell whether the entry exists (it may still be damaged)."""
        return (self.path(kind, digest) / MANIFEST).is_file()

    def ensure(self, kind: str, digest: str, build: Callable[[Path], None], *, goes_on: bool = False) -> Path:
        """Return the entry's folder, calling `build(empty folder)` first when it is missing or damaged.

        Whatever `build` raises goes through, and then nothing is left behind, unless it `goes_on`: then it gets the
        folder with what it had made when it was interrupted. A second caller with the same digest waits for the first
        and finds the entry there.
        """
        entry = self.path(kind, digest)
        self.asked_for.add(entry)
        if _whole(self.root, entry):  # who only reads waits for nobody
            return entry
        with self._locked(kind, digest):
            if self._intact(entry):
                return entry
            if self._closed:
                raise ImageError(f"{kind}/{digest[:12]} is needed and would have to be built: {self._closed}")
            working = entry.with_name(f".{digest}.building")
            interrupted = working / _INTERRUPTED
            if not interrupted.exists():  # else every file in it is as a command left it that was waited for
                remove(working)
                working.mkdir(parents=True)
            interrupted.unlink(missing_ok=True)
            mode = stat.S_IMODE(working.parent.stat().st_mode)
            working.chmod(0o700)  # other users of this host run nothing that a build marks set-user-ID
            try:
                build(working)
                working.chmod(mode)
                _seal(working)
            except (KeyboardInterrupt, SystemExit):
                if goes_on:
                    interrupted.touch()
                else:
                    remove(working)
                raise
            except BaseException:
                remove(working)
                raise
            remove(entry)
            working.rename(entry)
            stamps.note(self.root, entry, stamps.of(entry))
            _sync(entry.parent)
        return entry

    def keep(self, kind: str, digest: str) -> None:
        """Mark an entry as asked for, so that pruning keeps it for later."""
        self.asked_for.add(self.path(kind, digest))

    def prune(self, keep: Collection[Path]) -> None:
        """Remove the entries that are not in `keep`."""
        remove(self.root / UNFINISHED)
        for left in self.root.glob(f"*/.*.building/{_INTERRUPTED}"):
            remove(left.parent)
        for manifest in sorted(self.root.glob(f"*/*/{MANIFEST}")):
            entry = manifest.parent
            if entry not in keep:
                with self._locked(entry.parent.name, entry.name):
                    remove(entry)
                    stamps.forget(self.root, entry)
                self.say(f"{entry.parent.name}/{entry.name[:12]}: removed")

    def _intact(self, entry: Path) -> bool:
        if not entry.exists():
            return False
        damaged = _compared(self.root, entry, stamps.of(entry))
        if damaged is not None:
            self.say(f"{entry.parent.name}/{entry.name[:12]} is damaged ({damaged}): building it again")
        return damaged is None

    @contextmanager
    def _locked(self, kind: str, digest: str) -> Iterator[None]:
        if not self.writable:  # nothing is built
            yield
            return
        locks = self.root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        with held(locks / f"{kind}-{digest}", f"is building {kind}/{digest[:12]}", self.say):
            yield


def _writable(root: Path) -> bool:
    """Tell whether this user can write at `root`, or make it."""
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    return os.access(there, os.W_OK | os.X_OK, effective_ids=True)


def _unwritable(root: Path) -> str:
    """Say why nothing can be built there, and who can."""
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    number = there.stat().st_uid
    owner = next((entry.pw_name for entry in pwd.getpwall() if entry.pw_uid == number), str(number))
    return f"this user cannot write {there}, which belongs to {owner}: {owner} builds, or TESTBED_CACHE names another"


def manifest_of(folder: Path) -> dict[str, str]:
    """Return what the folder holds: SHA-256 of each file, `-> target` of each link; the manifest itself left out.

    An executable's digest is marked, since a binary that lost its mode does not run.
    """
    manifest: dict[str, str] = {}
    for parent, folders, files in os.walk(folder):
        for name in (*files, *folders):
            path = Path(parent, name)
            mode = path.lstat().st_mode
            relative = str(path.relative_to(folder))
            if stat.S_ISLNK(mode):
                manifest[relative] = f"-> {path.readlink()}"
            elif stat.S_ISREG(mode):
                manifest[relative] = file_digest(path) + (" x" if mode & stat.S_IXUSR else "")
    manifest.pop(MANIFEST, None)
    return dict(sorted(manifest.items()))


def first_difference(entry: Path) -> str | None:
    """Return what is wrong with an entry, in a few words, or None if it is unchanged since it was built."""
    try:
        expected: dict[str, str] = json.loads((entry / MANIFEST).read_text())
    except (OSError, ValueError):
        return "no readable manifest"
    actual = manifest_of(entry)
    for name in sorted({*expected, *actual}):
        if name not in actual:
            return f"{name} is gone"
        if name not in expected:
            return f"{name} was added"
        if expected[name] != actual[name]:
            return f"{name} has changed"
    return None


def difference(root: Path, path: Path) -> str | None:
    """Return which file of the entry that holds `path`, in the store at `root`, is not as built; None if all are.

    All bytes are compared only when the entry's stamp is not the one that it had when they were. Raises OSError if
    there is no such entry, ValueError if `path` lies outside of the store.
    """
    entry = root.joinpath(*path.relative_to(root).parts[:2])
    stamp = stamps.of(entry)
    damaged = None if stamp == stamps.noted(root, entry) else _compared(root, entry, stamp)
    return f"{entry}: {damaged}" if damaged else None


def _whole(root: Path, entry: Path) -> bool:
    """Tell whether an entry is there as it was built; another process may remove it meanwhile."""
    try:
        return entry.exists() and _compared(root, entry, stamps.of(entry)) is None
    except FileNotFoundError:
        return False


def _compared(root: Path, entry: Path, stamp: str) -> str | None:
    """Compare all bytes of an entry, whose stamp was taken before, and keep that if nothing is wrong."""
    damaged = first_difference(entry)
    if damaged is None:
        stamps.note(root, entry, stamp)
    return damaged


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents, including read-only folders; do nothing if it does not exist."""
    if path.is_dir() and not path.is_symlink():
        for parent, _, _ in os.walk(path):
            Path(parent).chmod(0o700)
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def without_privileges(folder: Path) -> None:
    """Clear what modes below a folder, and its own, give to others than its builder.

    A stranger's program must not run as its builder (set-user-ID and set-group-ID bits), and no other user may change
    what the builder's guests run (write bits of group and others). A guest's root keeps the folders that Debian opens.
    """
    for path in (folder, *(Path(parent, name) for parent, inner, files in os.walk(folder) for name in inner + files)):
        mode = path.lstat().st_mode
        given = mode & (_GIVEN if folder.name != _ROOT else _OF_FILES if stat.S_ISREG(mode) else 0)
        if given and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~given)


def _seal(working: Path) -> None:
    """Write the manifest and sync everything to disk, so that a rename never exposes a half-written entry."""
    (working / MANIFEST).write_text(json.dumps(manifest_of(working), indent=0) + "\n")
    descriptor = os.open(working, os.O_RDONLY)
    try:
        _syncfs(descriptor)
    finally:
        os.close(descriptor)


def _syncfs(descriptor: int) -> None:
    # one call for thousands of files; Python has no syncfs(2), and fsync of each file is ten times slower
    import ctypes

    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
        raise OSError(ctypes.get_errno(), "syncfs")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
