# SPDX-License-Identifier: MIT
"""Locks: the exact Debian packages of a root, so that it is the same wherever and whenever it is built.

A lock is a JSON file in the project. `python -m images lock` writes it from what the mirror has; a build takes what it
names, or raises GoneError: Debian keeps one version of a package at a time.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from images.cache import Store, digest_of, file_digest
from images.debian import Archive, Package, mirrors
from images.errors import ImageError
from images.run import Say
from scenarios.names import KINDS

COMPLETE = ("?essential", "?priority(required)", "apt")
"""Packages of every root that boots or is entered by chroot, as apt patterns."""

_LONGEST_BYTES = 16 << 20


@dataclass(frozen=True)
class Lock:
    """Packages of one Debian suite.

    `wanted` are the names they follow from, `written` is the day (UTC), `name` what `python -m images lock` calls it.
    """

    suite: str
    wanted: list[str]
    written: str
    packages: list[Package]
    name: str

    def __post_init__(self) -> None:
        """Raise ValueError for a suite or names that no Debian has: they become arguments of apt and mmdebstrap."""
        named = [("debian suite", self.suite), *(("debian package", name) for name in self.wanted)]
        for refused in filter(None, (KINDS[kind].refusal(name) for kind, name in named)):
            raise ValueError(refused)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the packages' contents."""
        return digest_of([package.sha256 for package in self.packages])

    @property
    def names_a_version(self) -> bool:
        """Whether what it locks is called by a package's version, as `transmission-3.00` is."""
        return any(package.upstream in self.name for package in self.packages if package.name in self.wanted)

    def write(self, path: Path) -> None:
        """Write the lock, one package per line."""
        lines = ",\n".join(f"  {json.dumps(asdict(package))}" for package in self.packages)
        head = "".join(
            f' "{name}": {json.dumps(value)},\n'
            for name, value in (("suite", self.suite), ("wanted", self.wanted), ("written", self.written))
        )
        path = path.resolve()  # implementations may share a lock by a link
        whole = path.with_name(f".{path.name}.{os.getpid()}")
        whole.write_text(f'{{\n{head} "packages": [\n{lines}\n ]\n}}\n')
        whole.replace(path)  # another build may be reading it


class GoneError(ImageError):
    """No mirror has some of the packages of `lock` any more; `said` tells which."""

    def __init__(self, said: str, lock: Lock) -> None:
        super().__init__(
            f"{said}. Either `python -m images unpack FILE` takes images that were packed elsewhere, or "
            "DEBIAN_MIRROR=URL names an archive that still has that day, or "
            f"`python -m images lock {lock.name}` writes a lock of today, with which runs may give other bytes"
        )
        self.said = said
        self.lock = lock


def requested(text: str) -> list[str]:
    """Return the package names of a list with comments."""
    return [line.split("#")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]


def read(path: Path, suite: str, wanted: Sequence[str], name: str) -> Lock:
    """Read the lock of `wanted` packages of a suite. Raises ImageError if it is missing or locks something else."""
    lock = read_any(path, name)
    if (lock.suite, lock.wanted) != (suite, sorted(wanted)):
        differing = sorted({*lock.wanted} ^ {*wanted}) or [lock.suite, suite]
        raise ImageError(f"{path} is the lock of other packages ({', '.join(differing)}): {_writes(name)}")
    return lock


def read_any(path: Path, name: str) -> Lock:
    """Read a lock, whatever packages it names."""
    remedy = _writes(name)
    try:
        data = json.loads(_text(path))
        packages = [Package(**package) for package in data["packages"]]
        return Lock(data["suite"], data["wanted"], data["written"], packages, name)
    except FileNotFoundError:
        raise ImageError(f"{path} does not exist: {remedy}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ImageError(f"{path} is not a lock ({error}): {remedy}") from None


def _text(path: Path) -> str:
    """Read a lock, which may be a stranger's: a link to a device would have no end."""
    if path.exists() and not (path.is_file() and path.stat().st_size <= _LONGEST_BYTES):
        raise ValueError(f"it is no file of at most {_LONGEST_BYTES >> 20} MiB")
    return path.read_text()


def resolve(store: Store, suite: str, wanted: Sequence[str], *, complete: bool, name: str = "") -> Lock:
    """Return the mirror's current packages for `wanted` and its dependencies, and the minimal base if `complete`."""
    archive = _archive(store, suite)
    with archive.opened():
        packages = archive.closure(wanted, COMPLETE if complete else ())
    return Lock(suite, sorted(wanted), time.strftime("%Y-%m-%d", time.gmtime()), packages, name)


def fetch(store: Store, say: Say, lock: Lock, what: str) -> dict[Package, Path]:
    """Return the file of each package, downloaded if the store does not have it.

    `what` names their purpose. Raises GoneError when the mirror does not have all of them.
    """
    folder = store.root / "downloads" / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    files = {package: folder / f"{package.sha256}.deb" for package in lock.packages}
    if missing := [package for package, file in files.items() if not _is(file, package)]:
        _download(store, say, lock, missing, what)
    return files


def _download(store: Store, say: Say, lock: Lock, missing: list[Package], what: str) -> None:
    archive = _archive(store, lock.suite)
    folder = store.root / "downloads" / "packages"
    say(f"{what}: looking into Debian {lock.suite}")
    with archive.opened(), tempfile.TemporaryDirectory(dir=folder, prefix=".coming-") as place:
        missing = [package for package in missing if not _is(folder / f"{package.sha256}.deb", package)]
        offered = archive.offers([package.name for package in missing])
        gone = [package for package in missing if package not in offered]
        if gone:
            raise GoneError(_gone(lock, gone, offered, what), lock)
        if not missing:  # another process fetched them meanwhile
            return
        size = sum(package.size for package in missing) / 1e6
        say(f"{what}: downloading {_count(missing)} ({size:.0f} MB)")
        try:
            archive.download(missing, Path(place))
        finally:  # the next build need not fetch again what came before this one failed or was interrupted
            came = {file_digest(file): file for file in Path(place).glob("*.deb")}
            for package in missing:
                if package.sha256 in came:
                    came[package.sha256].rename(folder / f"{package.sha256}.deb")
        for package in missing:
            if package.sha256 not in came:
                raise ImageError(f"{package.name} {package.version} came with another SHA-256 than {package.sha256}")


def _gone(lock: Lock, gone: list[Package], offered: list[Package], what: str) -> str:
    """Say which locked packages no mirror has."""
    named = []
    for package in gone[:5]:
        others = [each.version for each in offered if each.name == package.name and each.version != package.version]
        now = f"there is {' and '.join(others)}" if others else "there is no other version"
        if package.version in [each.version for each in offered if each.name == package.name]:
            now = "there is another file of that version"
        named.append(f"{package.name} {package.version} ({now})")
    more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
    return (
        f"{what}: the lock of {lock.written} names packages that {' and '.join(mirrors())} no longer has in "
        f"{lock.suite}: {', '.join(named)}{more}"
    )


def _writes(name: str) -> str:
    return f"`python -m images lock {name}` writes it"


def _archive(store: Store, suite: str) -> Archive:
    return Archive(store.root / "downloads" / "apt", suite, say=store.say)


def _is(file: Path, package: Package) -> bool:
    return file.is_file() and file.stat().st_size == package.size and file_digest(file) == package.sha256


def _count(packages: Sequence[Package]) -> str:
    return f"{len(packages)} packages" if len(packages) > 1 else f"{packages[0].name} {packages[0].version}"
