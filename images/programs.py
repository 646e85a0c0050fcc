# SPDX-License-Identifier: MIT
"""Build a program under test: an implementation of kind `program`, as docs/implementations.md says.

An entry of the store holds `files/`, which a guest sees as /opt/implementation; the root that the program asks for, if
any, is an entry of its own (images/roots.py).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from engine.scenario import implementations, load
from images import roots
from images.cache import Store, digest_of, file_digest, remove
from images.errors import ImageError
from images.run import Say, compiler, logged

DESCRIPTION = "implementation.yaml"
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


def index_of(root: Path, name: str) -> Path:
    """Where a store at `root` tells engine and pipeline about a built program."""
    return root / "programs" / f"{name}.json"


def built(root: Path) -> list[str]:
    """The programs that a store at `root` was asked for before and that still exist."""
    return [name for name in names() if index_of(root, name).exists()]


def names() -> list[str]:
    """All implementations that are programs."""
    return [name for name, description in implementations.known().items() if description["kind"] == "program"]


def build(store: Store, say: Say, name: str) -> Path:
    """Build what is missing of program `name` and write its index, which is returned.

    Raises ImageError with a sentence when there is no such program or a step of its build fails.
    """
    if name not in names():
        raise ImageError(f"{name} is no implementation that is built; those are: {', '.join(names())}")
    description = implementations.known()[name]
    folders = _folders(name)
    log = store.root / "logs" / f"{name}.log"
    fetched = _fetch(store, say, description["fetch"], log)
    root = description.get("root", {})
    archive = roots.archive_of(name, root, folders)
    files, digest = _files(store, say, name, folders, archive, fetched, log)
    entry: dict[str, Any] = {"files": str(files), "digest": digest}
    if "suite" in root:
        entry |= roots.from_debian(store, say, name, root, files, digest, fetched, log)
    elif root:
        if (files / "install").exists():
            raise ImageError(f"{name}: `install` is for a root from Debian; what it does belongs into the image")
        entry |= roots.from_image(store, say, name, root, archive)
    index = index_of(store.root, name)
    index.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(entry, indent=2) + "\n"
    # left alone when nothing changed: what was made with it is then not out of date
    if not index.exists() or index.read_text() != text:
        draft = index.with_suffix(".json.new")
        draft.write_text(text)
        draft.rename(index)
    return index


def _folders(name: str) -> list[Path]:
    """Folders whose files the program has, later ones first."""
    known = {file.parent.name: load.read(file) for file in implementations.IMPLEMENTATIONS.glob(f"*/{DESCRIPTION}")}
    return [implementations.IMPLEMENTATIONS / each for each in (name, *implementations.ancestors(name, known))]


def _fetch(store: Store, say: Say, wanted: list[dict[str, str]], log: Path) -> dict[str, Path]:
    """Unpacked packages by name; each is fetched by its registry's own client and checked."""
    fetched = {}
    for package in wanted:
        label = f"{package['package']} {package['version']}"

        def make(folder: Path, package: dict[str, str] = package, label: str = label) -> None:
            say(f"{label}: fetching from {package['registry']}")
            archive = _download(package, folder, log, f"Fetching {label}")
            if file_digest(archive) != package["sha256"]:
                raise ImageError(f"{label}: the file that {package['registry']} gave is not the one that was asked for")
            _unpack(archive, folder / "unpacked")
            archive.unlink()

        fetched[package["package"]] = store.ensure("fetched", digest_of(package), make) / "unpacked"
    return fetched


def _download(package: dict[str, str], folder: Path, log: Path, what: str) -> Path:
    into = folder / "archive"
    into.mkdir()
    if package["registry"] == "npm":
        wanted = f"{package['package']}@{package['version']}"
        command = ["npm", "pack", wanted, f"--pack-destination={into}", "--ignore-scripts", "--silent"]
        logged(command, log, what, cwd=into)
    else:
        # with the digest in the requirement, pip takes that one file of the version's many
        requirement = into / "requirement"
        requirement.write_text(f"{package['package']}=={package['version']} --hash=sha256:{package['sha256']}\n")
        options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", f"--dest={into}"]
        if "python" in package:
            options += [f"--python-version={package['python']}", *(f"--platform={name}" for name in _PLATFORMS)]
        logged([sys.executable, "-m", "pip", "download", *options, f"--requirement={requirement}"], log, what)
        requirement.unlink()
    [archive] = into.iterdir()
    return archive.rename(folder / archive.name)


def _unpack(archive: Path, into: Path) -> None:
    if archive.suffix == ".whl":
        shutil.unpack_archive(archive, into, format="zip")
    else:
        shutil.unpack_archive(archive, into, filter="data")
    archive.parent.joinpath("archive").rmdir()


def _files(
    store: Store,
    say: Say,
    name: str,
    folders: list[Path],
    archive: Path | None,
    fetched: dict[str, Path],
    log: Path,
) -> tuple[Path, str]:
    """What the guest sees as /opt/implementation: the folders' files and what `build` makes; and its digest."""
    sources = {str(path): source for folder in reversed(folders) for path, source in _sources(folder).items()}
    sources = {path: source for path, source in sources.items() if source != archive}
    inputs: dict[str, Any] = {
        "files": {path: [file_digest(file), os.access(file, os.X_OK)] for path, file in sorted(sources.items())},
        "fetched": {package: folder.parent.name for package, folder in fetched.items()},
        "recipe": file_digest(Path(__file__)),
    }
    if "build" in sources:
        inputs["compiler"] = compiler()
    digest = digest_of(inputs)

    def make(folder: Path) -> None:
        files = folder / "files"
        for path, file in sources.items():
            (files / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, files / path)
        if "build" in sources:
            say(f"{name}: building")
            _build(folder, fetched, log, f"Building {name}")
        if not os.access(files / "endpoint", os.X_OK):
            raise ImageError(f"{name} has no executable file `endpoint`, and its `build` makes none")

    return store.ensure("programs", digest, make) / "files", digest


def _sources(folder: Path) -> dict[Path, Path]:
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path for name, path in found.items() if name != Path(DESCRIPTION) and "__pycache__" not in path.parts}


def _build(folder: Path, fetched: dict[str, Path], log: Path, what: str) -> None:
    work, packages = folder / "work", folder / "fetched"
    shutil.copytree(folder / "files", work)
    packages.mkdir()
    for name, source in fetched.items():
        shutil.copytree(source, packages / name, symlinks=True)
    environment = {"FETCHED": str(packages), "OUT": str(folder / "files")}
    logged([str(work / "build")], log, what, cwd=work, environment=environment)
    remove(work)
    remove(packages)
