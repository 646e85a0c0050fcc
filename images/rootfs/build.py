# SPDX-License-Identifier: MIT
"""Build the guest's root file system: a folder that the guest mounts read-only through hostfs.

An entry of the store (`rootfs/<digest>/`) holds `root/`, `packages.txt` (name and version of each package) and
`tar.sha256`. The same archive state gives the same tar, bit for bit; the archive moves, so the tar's digest is kept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from images import debian
from images.cache import Store, digest_of, file_digest
from images.run import Say, logged

HERE = Path(__file__).parent
PACKAGES = HERE / "packages.txt"
CUSTOMIZE = HERE / "customize.sh"
SUITE = "trixie"
EPOCH = "1767225600"  # 2026-01-01, of every file that is newer

# Nobody reads these in a guest
LEFT_OUT = ("doc/*", "man/*", "info/*", "locale/*", "zoneinfo/*", "lintian/*", "bug/*", "bash-completion/*")
# Mininet's examples are what `testbed exec` is tested with
KEPT = ("doc/mininet*",)


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
        """SHA-256 of the tar it was extracted from."""
        return (self.folder / "tar.sha256").read_text().strip()


def requested(text: str) -> list[str]:
    """Return the package names of a list with comments."""
    return [line.split("#")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]


def build(store: Store, say: Say) -> RootFileSystem:
    """Return the root file system, built when the store does not have it. ImageError when that fails."""
    inputs = {
        "packages": requested(PACKAGES.read_text()),
        "suite": SUITE,
        "epoch": EPOCH,
        "customize": file_digest(CUSTOMIZE),
        "left out": LEFT_OUT,
        "kept": KEPT,
    }

    def make(folder: Path) -> None:
        say(f"root file system: installing Debian {SUITE} (1 minute)")
        log = store.root / "logs" / "rootfs.log"
        install_debian(folder, SUITE, inputs["packages"], [str(CUSTOMIZE)], log, "Building the root file system")

    return RootFileSystem(store.ensure("rootfs", digest_of(inputs), make))


def install_debian(
    folder: Path, suite: str, packages: Sequence[str], hooks: Sequence[str], log: Path, what: str
) -> None:
    """Install a trimmed Debian release into `folder/root`, as described in the module.

    `hooks` are mmdebstrap's customize hooks, each given the root as $1; the last one writes /packages.txt there. `what`
    names the step when it fails, with ImageError.
    """
    tar = folder / "root.tar"
    command = [
        "mmdebstrap",
        f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
        "--variant=minbase",
        *([f"--include={','.join(packages)}"] if packages else []),
        *(f"--dpkgopt=path-exclude=/usr/share/{pattern}" for pattern in LEFT_OUT),
        *(f"--dpkgopt=path-include=/usr/share/{pattern}" for pattern in KEPT),
        *(f"--customize-hook={hook}" for hook in hooks),
        suite,
        str(tar),
        "-",
    ]
    text = debian.source_lines([suite])
    logged(command, log, what, environment={"SOURCE_DATE_EPOCH": EPOCH}, text=text)
    (folder / "tar.sha256").write_text(file_digest(tar) + "\n")
    root = folder / "root"
    root.mkdir()
    # as the invoking user, who must be able to read all of it: the guest opens files with that user's rights; times of
    # last change are kept, since programs in the guest see them
    options = ["--no-same-owner", "--preserve-permissions", "--exclude=./dev/*", "--delay-directory-restore"]
    logged(["tar", "-xf", str(tar), "-C", str(root), *options], log, what)
    logged(["chmod", "-R", "u+rX", str(root)], log, what)
    tar.unlink()
    (root / "packages.txt").rename(folder / "packages.txt")
