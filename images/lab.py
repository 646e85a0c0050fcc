# SPDX-License-Identifier: MIT
"""Packages that a user adds to the lab, the guest of `testbed exec`.

Debian's are installed on top of a copy of its root file system, Python's lie beside it. Both are resolved once: the
store keeps what was chosen, so the same names give the same versions until its `lab/` is removed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from images import locked
from images.cache import Store, digest_of, file_digest
from images.errors import ImageError
from images.rootfs import build as rootfs
from images.rootfs.build import RootFileSystem
from images.run import Say

KIND = "lab"
"""Of these entries in the store."""
_PYTHON = "3.13"  # of Debian trixie
_PLATFORMS = ("manylinux_2_41_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


@dataclass(frozen=True)
class PythonPackages:
    """A folder for PYTHONPATH, and what is in it: {name: {version, sha256}}."""

    folder: Path
    versions: dict[str, dict[str, str]]


def names(text: str) -> tuple[str, ...]:
    """Return the names of packages in an option's value, which separates them by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def with_debian(store: Store, say: Say, names: Sequence[str]) -> tuple[RootFileSystem, dict[str, str]]:
    """Return the lab's root with more Debian packages, and {name: version} of these.

    Raises ImageError when one does not exist.
    """
    wanted = sorted({*rootfs.lab_packages(), *names})
    base = rootfs.lab_lock()

    def make(folder: Path) -> None:
        say(f"lab: looking up {', '.join(names)}")
        locked.resolve(store, rootfs.SUITE, wanted, complete=True).write(folder / "packages.lock")

    inputs = {"debian": wanted, "lab": base.digest, "recipe": file_digest(Path(__file__))}
    entry = store.ensure(KIND, digest_of(inputs), make)
    lock = locked.read(entry / "packages.lock", rootfs.SUITE, wanted, "lab")
    versions = {package.name: package.version for package in lock.packages if package.name in names}
    return rootfs.add_to_lab(store, say, lock), versions


def with_python(store: Store, say: Say, requirements: Sequence[str]) -> PythonPackages:
    """Return wheels for the lab's Python, installed. ImageError, with pip's words, when there are none.

    Requirements are names and versions only. At an address or a path may lie a source, and pip would run what it says
    on this host, outside of any wall.
    """
    for requirement in requirements:
        _check_plain(requirement)

    def make(folder: Path) -> None:
        say(f"lab: installing {', '.join(requirements)} for Python {_PYTHON}")
        report = folder / "report.json"
        # -P: no module of the working folder, which may be a stranger's
        command = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += [
            "--no-compile",
            "--target",
            str(folder / "packages"),
            "--report",
            str(report),
            "--only-binary=:all:",
        ]
        command += ["--python-version", _PYTHON, "--implementation", "cp"]
        command += [f"--platform={platform}" for platform in _PLATFORMS]
        # in another folder: pip takes a name such as `one.zip` for a file of the working folder, and runs its setup.py
        words = [*command, "--", *requirements]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
            why = " ".join(said) or done.stderr.strip()
            skips = "`--no-requirements` skips a requirements.txt"
            if "connection broken" in done.stderr:
                raise ImageError(f"pip reaches no package index for {', '.join(requirements)}; {skips}")
            raise ImageError(f"pip has no wheels of {', '.join(requirements)} for Python {_PYTHON}: {why}; {skips}")
        shutil.rmtree(folder / "packages" / "bin", ignore_errors=True)  # they name this host's Python
        installed = {
            package["metadata"]["name"]: _version(package) for package in json.loads(report.read_text())["install"]
        }
        report.unlink()
        (folder / "versions.json").write_text(json.dumps(installed, indent=1) + "\n")

    inputs = {"python": sorted(requirements), "version": _PYTHON, "recipe": file_digest(Path(__file__))}
    entry = store.ensure(KIND, digest_of(inputs), make)
    return PythonPackages(entry / "packages", json.loads((entry / "versions.json").read_text()))


def _check_plain(requirement: str) -> None:
    try:
        plain = Requirement(requirement).url is None
    except InvalidRequirement:
        plain = False
    if plain and Requirement(requirement).name.lower() == "mininet":
        raise ImageError("found the Python package mininet, which is another; allowed: the guest's own Mininet")
    if not plain:
        raise ImageError(f"found the Python package {requirement!r}; allowed: a name, or one with versions (flask>=3)")


def _version(installed: dict[str, Any]) -> dict[str, str]:
    hashes = installed["download_info"]["archive_info"]["hashes"]
    return {"version": installed["metadata"]["version"], "sha256": hashes["sha256"]}
