"""Finds what boots: what ``python -m images`` built from the sources of this checkout (images/index.py)."""

import contextlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from images import guest_code as code
from images import index
from images.cache import MANIFEST, Store, default_root, difference, file_digest, project_root
from images.errors import ImageError
from scenarios import homes

PROJECT = project_root()


@dataclass(frozen=True)
class Images:
    """The folders and files of a guest, and what identifies them."""

    kernel: Path
    rootfs: Path
    tools: Path
    modules: dict[str, Path]
    seccomp: bool
    provenance: dict[str, Any]


@dataclass(frozen=True)
class Program:
    """A built program under test: what its endpoints see as /opt/implementation, and its root (None: the guest's).

    `environment` has the variables that the root sets.
    """

    files: Path
    root: Path | None
    environment: dict[str, str]
    provenance: dict[str, Any]


@cache
def program(name: str) -> Program:
    """Return the program of an implementation, after comparing it and its root with what was built.

    Raises:
        EngineError: it has not been built from its current sources, or has changed since.
    """
    home = homes.elsewhere().get(name)
    command = f"python -m images {f'--implementation {home}' if home else name}"
    entry = _listed(name, command)
    try:
        root = default_root() / entry["root"] if "root" in entry else None
        files = default_root() / entry["files"]
        for folder in (files, *([root] if root else [])):
            _check_unchanged(name, command, folder)
        return Program(files, root, entry.get("environment", {}), _without_paths(entry))
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise _not_written(name, command, error) from None


@cache
def load(name: str = index.BOOT) -> Images:
    """Return one of `images.index.KINDS` of this checkout, after comparing it with what was built.

    Raises:
        EngineError: they have not been built from the current sources, or have changed since.
    """
    command = {index.BOOT: "make images", index.DEBUG: "make images DEBUG=1", index.LAB: "make images LAB=1"}[name]
    entries = _listed(name, command)
    try:
        images = Images(
            kernel=default_root() / entries["kernel"]["path"],
            rootfs=default_root() / entries["rootfs"]["path"],
            tools=default_root() / entries["tools"]["path"],
            modules={
                name.removeprefix("module:"): default_root() / entry["path"]
                for name, entry in entries.items()
                if name.startswith("module:")
            },
            seccomp=entries["kernel"]["seccomp"],
            provenance={name: _without_paths(entry) for name, entry in entries.items()},
        )
        for file in (images.kernel, *images.modules.values(), *images.tools.iterdir()):
            if file.is_file() and file.name != MANIFEST:
                _check_file(name, command, file)
        _check_unchanged(name, command, images.rootfs)
        return images
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise _not_written(name, command, error) from None


@cache
def stock() -> dict[str, dict[str, Any]]:
    """Return what the qemu backend boots: its parts by name, each with its `path` and what is known of it.

    Raises:
        EngineError: it has not been built from the current sources, or has changed since.
    """
    command = "python -m images --stock"
    parts = {
        name: {**part, "path": default_root() / part["path"]} for name, part in _listed(index.STOCK, command).items()
    }
    for part in parts.values():
        _check_unchanged(index.STOCK, command, part["path"])
    return parts


def guest_code(rootfs: Path, digest: str) -> Path:
    """Return the compiled code that guests with a root file system run; see `images.guest_code`.

    Like what boots, it is compared with what was compiled once in a process.

    Raises:
        EngineError: it does not compile, or is missing from a cache that cannot be written.
    """
    return _compiled(default_root(), PROJECT, rootfs, digest, code.digest(PROJECT, digest))


@cache
def _compiled(root: Path, project: Path, rootfs: Path, digest: str, _contents: str) -> Path:
    try:
        return code.compiled(Store(root), project, rootfs, digest)
    except ImageError as error:
        raise EngineError(str(error)) from None


def index_of(name: str) -> Path:
    """The file that lists program `name`, or what boots (one of `images.index.KINDS`), for the sources of today."""
    return index.path(default_root(), name)


def _listed(name: str, command: str) -> dict[str, Any]:
    """Return what an index lists. Raises EngineError that names the command which writes it."""
    try:
        listed = index.read(index_of(name))
        listed.pop(index.ENTRIES, None)
        return listed
    except FileNotFoundError:
        what = _WHAT.get(name, name)
        if os.environ.get(_IN_ITS_CONTAINER) and name in index.KINDS:
            more = {index.BOOT: "", index.LAB: "IMAGES=--lab ", index.DEBUG: "IMAGES=--debug "}[name]
            command = f"{more}docker-compose build reproduce` on the container's host"
            raise EngineError(f"{what} is not in this image: `{command} puts it there") from None
        raise EngineError(
            f"{what} has not been built from the sources as they are now: `{command}` does that"
        ) from None
    except (OSError, ValueError, AttributeError) as error:
        raise _not_written(name, command, error) from None


_IN_ITS_CONTAINER = "TESTBED_IN_ITS_CONTAINER"
"""Set in the project's own container image, in which nothing is built."""
_WHAT = dict.fromkeys(index.KINDS, "what boots") | {index.STOCK: "what the qemu backend boots"}


def _not_written(name: str, command: str, error: Exception) -> EngineError:
    return EngineError(f"{index_of(name)} is not what `{command}` writes ({error}): run it again")


def _check_file(name: str, command: str, file: Path) -> None:
    """Compare one file of an entry, which is small."""
    built = json.loads((file.parent / MANIFEST).read_text())[file.name].split()[0]
    if file_digest(file) != built:
        raise _changed(name, command, f"{file} has changed")


def _check_unchanged(name: str, command: str, path: Path) -> None:
    """Compare the whole entry that holds `path`."""
    if damaged := difference(default_root(), path):
        raise _changed(name, command, damaged)


def _changed(name: str, command: str, what: str) -> EngineError:
    """Return the error about what changed, which is due again: nothing lists it any more."""
    with contextlib.suppress(OSError):
        index_of(name).unlink()
    return EngineError(f"{what} since it was built: `{command}` builds it again")


def _without_paths(entry: dict[str, Any]) -> dict[str, Any]:
    left_out = ("path", "packages", "files", "root", "environment")
    return {name: value for name, value in entry.items() if name not in left_out}
