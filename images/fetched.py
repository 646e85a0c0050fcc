# SPDX-License-Identifier: MIT
"""What `fetch` of an implementation.yaml names: packages of registries, fetched by the host's clients and run by none.

The clients have the network and the user's rights, and the folder that they work for may be a stranger's. So they get
names that the schema has matched (scenarios/names.py), and of a folder with a lock file only what they need: no file
that configures them, nothing that a link leads to.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from images import manifests, tars
from images.cache import Store, digest_of, file_digest, remove
from images.errors import ImageError
from images.run import Say, logged
from images.tars import Budget

_MANIFESTS = {"Cargo.lock": "Cargo.toml", "go.sum": "go.mod"}
_VENDORED = {"Cargo.lock": "cargo", "go.sum": "go"}
_PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
_CONFIGURES = shutil.ignore_patterns(".*", "rust-toolchain*", "go.work*")
"""Files by which cargo, rustup and go would run a program of the folder, or take sources from elsewhere."""
_LIMIT_S = 1800.0  # of a client that fetches
_ONLY_FROM_PROXY = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOVCS": "*:off"}


def identified(wanted: dict[str, str], folders: Sequence[Path]) -> dict[str, str]:
    """Return an item of `fetch` as it goes into digests: the contents of a lock file are part of it.

    So are all files of a folder that may have go take modules from below it.
    """
    if "lock" not in wanted:
        return wanted
    files = {name: _own_file(name, folders) for name in (wanted["lock"], _MANIFESTS[wanted["lock"]])}
    if "go.mod" in files and b"replace" in files["go.mod"].read_bytes():
        below = sorted(path for path in files["go.mod"].parent.rglob("*") if path.is_file())
        files |= {f"./{path.relative_to(files['go.mod'].parent).as_posix()}": path for path in below}
    return {**wanted, **{name: file_digest(file) for name, file in files.items()}}


def fetch(
    store: Store, say: Say, wanted: Sequence[dict[str, str]], folders: Sequence[Path], log: Path
) -> dict[str, Path]:
    """Return the folder of each unpacked package by its name, or by `cargo` and `go`. `wanted` are `identified`.

    Raises ImageError when a client fails, or gives another file than the one with the digest that was asked for.
    """
    unpacked = {}
    for each in wanted:
        name = _VENDORED[each["lock"]] if "lock" in each else each["package"]

        def make(folder: Path, each: dict[str, str] = each) -> None:
            if "lock" in each:
                say(f"{folders[0].name}: fetching what {each['lock']} names")
                _vendor(each["lock"], folders, folder, log)
            else:
                _take(say, each, folder, log)

        unpacked[name] = store.ensure("fetched", digest_of(each), make) / "unpacked"
    return unpacked


def _own_file(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise ImageError(f"{folders[0] / name} does not exist, and {folders[0]}/implementation.yaml fetches what it names")


def _vendor(lock: str, folders: Sequence[Path], into: Path, log: Path) -> None:
    """Copy the sources of everything that a lock file names; the client checks them and runs none."""
    own = _own_file(lock, folders)
    work = into / "work"
    # the whole folder: `go mod vendor` takes the packages that the sources import
    shutil.copytree(own.parent, work, symlinks=True, ignore=_CONFIGURES)
    what = f"Fetching what {lock} of {folders[0].name} names"
    manifest = own.with_name(_MANIFESTS[lock])
    for file in (own, manifest):
        manifests.check_size(file, file)
    if lock == "Cargo.lock":
        manifests.check_crates(work, manifest)
        logged(
            ["cargo", "vendor", "--locked", "--quiet", "--", str(into / "unpacked")],
            log,
            what,
            cwd=work,
            limit_s=_LIMIT_S,
        )
    else:
        manifests.check_modules(work, manifest, _ONLY_FROM_PROXY)
        command = ["go", "mod", "vendor", "-o", str(into / "unpacked")]
        logged(command, log, what, cwd=work, environment=_ONLY_FROM_PROXY, limit_s=_LIMIT_S)
    remove(work)


def _take(say: Say, package: dict[str, str], folder: Path, log: Path) -> None:
    label = f"{package['package']} {package['version']}"
    say(f"{label}: fetching from {package['registry']}")
    archive = _download(package, folder, log, f"Fetching {label}")
    if file_digest(archive) != package["sha256"]:
        raise ImageError(f"{label}: the file that {package['registry']} gave is not the one that was asked for")
    _unpack(archive, folder / "unpacked")
    archive.unlink()


def _download(package: dict[str, str], folder: Path, log: Path, what: str) -> Path:
    into = folder / "archive"
    into.mkdir()
    if package["registry"] == "npm":
        wanted = f"{package['package']}@{package['version']}"
        command = ["npm", "pack", f"--pack-destination={into}", "--ignore-scripts", "--silent", "--", wanted]
        logged(command, log, what, cwd=into, limit_s=_LIMIT_S)
    else:
        # with the digest in the requirement, pip takes that one of the version's many files
        requirement = into / "requirement"
        requirement.write_text(f"{package['package']}=={package['version']} --hash=sha256:{package['sha256']}\n")
        options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", f"--dest={into}"]
        if "python" in package:
            options += [f"--python-version={package['python']}", *(f"--platform={name}" for name in _PLATFORMS)]
        command = [sys.executable, "-P", "-m", "pip", "download", *options, f"--requirement={requirement}"]
        logged(command, log, what, cwd=into, limit_s=_LIMIT_S)
        requirement.unlink()
    [archive] = into.iterdir()
    return archive.rename(folder / archive.name)


def _unpack(archive: Path, into: Path) -> None:
    """Unpack a wheel of PyPI or an archive of npm."""
    budget = Budget()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            budget.take(sum(member.file_size for member in wheel.infolist()), len(wheel.infolist()))
            wheel.extractall(into)
    else:
        with archive.open("rb") as stream, tars.opened(stream, compressed=True) as tar:
            tar.extractall(into, members=budget.members(tar), filter="data")
    archive.parent.joinpath("archive").rmdir()
