# SPDX-License-Identifier: MIT
"""Build the guest's root file system: a folder that the guest mounts read-only through hostfs.

An entry of the store (`rootfs/<digest>/`) holds `root/`, `packages.txt` (name and version of each package) and
`tar.sha256`. Its packages are locked: the same lock gives the same tar, bit for bit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from images import index, locked
from images.cache import Store, digest_of, file_digest, manifest_of, without_privileges
from images.debian import Package
from images.locked import Lock, requested
from images.run import Say, logged

HERE = Path(__file__).parent
PACKAGES = HERE / "packages.txt"
LOCK = HERE / "packages.lock"
CUSTOMIZE = HERE / "customize.sh"
LAYER = HERE / "layer.sh"
LAB = HERE / "lab"
LAB_LOCK = LAB / "packages.lock"
SUITE = "trixie"
EPOCH = "1767225600"  # 2026-01-01, of every file that is newer
# packages' scripts run Python, and what that leaves must not depend on who builds
ENVIRONMENT = {"SOURCE_DATE_EPOCH": EPOCH, "PYTHONDONTWRITEBYTECODE": "1"}
READABLE = "a+rX"  # users who share a store look at all files, and their guests open them

# Nobody reads these in a guest
LEFT_OUT = ("doc/*", "man/*", "info/*", "locale/*", "zoneinfo/*", "lintian/*", "bug/*", "bash-completion/*")
# Mininet's examples are what `testbed exec` is tested with
KEPT = ("doc/mininet*",)
LAB_KEPT = (*KEPT, "zoneinfo/*")  # pandas reads them when it is imported


@dataclass(frozen=True)
class RootFileSystem:
    """A built root file system."""

    folder: Path

    @property
    def root(self) -> Path:
        """The folder the guest mounts."""
        return self.folder / "root"

    @property
    def packages(self) -> Path:
        """Names and versions of the packages in it, one a line."""
        return self.folder / "packages.txt"

    @property
    def digest(self) -> str:
        """SHA-256 of the tar it was extracted from or, with packages on top, of the list of its files."""
        return (self.folder / "tar.sha256").read_text().strip()


def root_lock() -> Lock:
    """The lock of the guest's packages. ImageError when it does not fit packages.txt."""
    return locked.read(LOCK, SUITE, requested(PACKAGES.read_text()), "rootfs")


def lab_packages() -> list[str]:
    """The packages that the guests of `testbed exec` have: those of all guests and more."""
    return requested(PACKAGES.read_text() + (LAB / "packages.txt").read_text())


def lab_lock() -> Lock:
    """The lock of these. ImageError when it does not fit the lists."""
    return locked.read(LAB_LOCK, SUITE, lab_packages(), "lab")


def build(store: Store, say: Say) -> RootFileSystem:
    """Return the root file system, built when the store does not have it. ImageError when that fails."""
    return _build(store, say, root_lock(), "root file system", {}, [str(CUSTOMIZE)], KEPT)


def build_lab(store: Store, say: Say) -> RootFileSystem:
    """Return the root file system of `testbed exec`. ImageError when it cannot be built."""
    hooks = [str(LAB / "customize.sh"), str(CUSTOMIZE)]
    # not what pip compiles where it installs the testbed: a pack's root has the digest of a checkout
    sources = {str(file.relative_to(LAB)): file_digest(file) for file in index.files(LAB)}
    return _build(store, say, lab_lock(), "lab", {"lab": sources}, hooks, LAB_KEPT)


def add_to_lab(store: Store, say: Say, lock: Lock) -> RootFileSystem:
    """Return a copy of the lab's root with what a larger lock has more: its packages are installed on top."""
    base = build_lab(store, say)
    of_base = {*lab_lock().packages}
    packages = [package for package in lock.packages if package not in of_base]
    added = Lock(lock.suite, lock.wanted, lock.written, packages, lock.name)
    inputs = {"base": base.digest, "packages": added.digest, "layer": file_digest(LAYER), "epoch": EPOCH}

    def make(folder: Path) -> None:
        files = locked.fetch(store, say, added, "lab")
        say(f"lab: adding {len(files)} packages")
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        own_user = [] if os.geteuid() == 0 else ["--map-root-user", "--map-auto"]
        words = [str(LAYER), str(base.root), str(folder / "root"), EPOCH, *map(str, files.values())]
        log = store.root / "logs" / "rootfs.log"
        logged([*namespaces, *own_user, *words], log, "Adding packages to the lab")
        without_privileges(folder / "root")
        logged(["chmod", "-R", READABLE, str(folder / "root")], log, "Adding packages to the lab")
        (folder / "tar.sha256").write_text(digest_of(manifest_of(folder / "root")) + "\n")

    return RootFileSystem(store.ensure("rootfs", digest_of(inputs), make))


def _build(
    store: Store,
    say: Say,
    lock: Lock,
    name: str,
    more: Mapping[str, object],
    hooks: Sequence[str],
    kept: Sequence[str],
) -> RootFileSystem:
    inputs = {
        "packages": lock.digest,
        "environment": ENVIRONMENT,
        "customize": file_digest(CUSTOMIZE),
        "modes": READABLE,
        "left out": LEFT_OUT,
        "kept": kept,
        **more,
    }

    def make(folder: Path) -> None:
        files = locked.fetch(store, say, lock, name)
        say(f"{name}: installing Debian {SUITE}")
        log = store.root / "logs" / "rootfs.log"
        install_debian(folder, lock, files, hooks, log, f"Building the {name}", kept)

    return RootFileSystem(store.ensure("rootfs", digest_of(inputs), make))


def install_debian(
    folder: Path,
    lock: Lock,
    files: Mapping[Package, Path],
    hooks: Sequence[str],
    log: Path,
    what: str,
    kept: Sequence[str] = KEPT,
) -> None:
    """Install a trimmed Debian of exactly the lock's packages into `folder/root`, as described in the module.

    `files` are those packages. `hooks` are mmdebstrap's customize hooks, each given the root as $1; the last one writes
    /packages.txt there. `what` names the step when it fails, with ImageError. `kept` are patterns below /usr/share that
    stay although LEFT_OUT names them.
    """
    tar = folder / "root.tar"
    with _repository(files, lock.suite) as source:
        command = [
            "mmdebstrap",
            f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
            "--variant=minbase",
            *([f"--include={','.join(lock.wanted)}"] if lock.wanted else []),
            *(f"--dpkgopt=path-exclude=/usr/share/{pattern}" for pattern in LEFT_OUT),
            *(f"--dpkgopt=path-include=/usr/share/{pattern}" for pattern in kept),
            *(f"--customize-hook={hook}" for hook in hooks),
            lock.suite,
            str(tar),
            "-",
        ]
        logged(command, log, what, environment=ENVIRONMENT, text=source)
    (folder / "tar.sha256").write_text(file_digest(tar) + "\n")
    root = folder / "root"
    root.mkdir()
    # guests open files with the rights of whoever runs them, who may be another user than this one; times of last
    # change are kept, since programs in the guest see them
    options = ["--no-same-owner", "--preserve-permissions", "--exclude=./dev/*", "--delay-directory-restore"]
    logged(["tar", "-xf", str(tar), "-C", str(root), *options], log, what)
    logged(["chmod", "-R", READABLE, str(root)], log, what)
    tar.unlink()
    (root / "packages.txt").rename(folder / "packages.txt")


@contextmanager
def _repository(files: Mapping[Package, Path], suite: str) -> Iterator[str]:
    """A repository of package files for the time of the block: yields its line for apt.

    apt trusts it, since every file has been compared with a lock or the archive's signed lists. It lies outside of the
    store, which the user that mmdebstrap becomes may not be able to read.
    """
    with tempfile.TemporaryDirectory(prefix="testbed-packages-") as name:
        place = Path(name)
        stanzas = []
        for package, file in files.items():
            shutil.copyfile(file, place / f"{package.name}.deb")
            control = subprocess.run(["dpkg-deb", "--field", file], capture_output=True, text=True, check=True).stdout
            added = {"Filename": f"./{package.name}.deb", "Size": package.size, "SHA256": package.sha256}
            stanzas.append(control + "".join(f"{field}: {value}\n" for field, value in added.items()))
        index = "\n".join(stanzas).encode()
        (place / "Packages").write_bytes(index)
        digest = hashlib.sha256(index).hexdigest()
        (place / "Release").write_text(f"Suite: {suite}\nCodename: {suite}\nSHA256:\n {digest} {len(index)} Packages\n")
        place.chmod(0o755)
        yield f"deb [trusted=yes] copy:{place} ./\n"
