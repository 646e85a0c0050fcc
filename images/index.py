# SPDX-License-Identifier: MIT
"""Lists in a store what was built, by the sources that it was built from.

`<root>/images/<name>-<key>.json` holds what boots (name `boot`; `debug` with the debug kernel; `lab` with the kernel
and root file system of `testbed exec`; `stock` in QEMU) or one program under test (its own name). The key is a digest
of sources, so checkouts that share a store each find what their own sources say, or nothing, and never what others
made. Paths in these files are relative to the store's root.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from images.cache import Store, digest_of, file_digest, project_root
from scenarios import homes
from scenarios.homes import DESCRIPTION

BOOT = "boot"
DEBUG = "debug"
LAB = "lab"
STOCK = "stock"
NS2 = "ns2"
KINDS = (BOOT, DEBUG, LAB)
FOLDER = "images"
KEY_DIGITS = 16
ENTRIES = "entries"
"""Field of an index: the store's entries that building it asked for, as `<kind>/<digest>`."""
_SUM = "sum"
"""Field of an index: the digest of the others."""

_CHECKOUTS = "checkouts"
_VERSION = "@"  # as in scenarios.implementations, which the doctor cannot import
# not part of what boots; programs have their own keys
_OTHER = ("implementations", "ansible", "docker", NS2)
# of one kind alone: what changes there makes nothing else out of date
_APART = {
    LAB: (Path("rootfs/lab"), Path("rootfs/layer.sh"), Path("kernel/lab.config"), Path("kernel/tcp_probe")),
    STOCK: (Path("stock"),),
}


def names(project: Path | None = None, outside: Mapping[str, Path] | None = None) -> dict[str, str]:
    """Return the indexes of what boots and of each program for a checkout's sources, relative to the store's root.

    `outside` are the implementations elsewhere, by default those of this command. A version that an implementation
    lists is a program of its own, NAME@VERSION, unless it is another's folder.
    """
    project, outside = project or project_root(), homes.elsewhere() if outside is None else outside
    programs: list[str] = []
    for name, folder in _homes(project, outside).items():
        versions = _described(folder / DESCRIPTION).get("versions")
        listed = versions.items() if isinstance(versions, dict) else ()
        own = (version for version, about in listed if isinstance(about, dict) and "implementation" not in about)
        programs += (name, *(f"{name}{_VERSION}{version}" for version in own))
    return {name: _index(name, project, outside) for name in (*KINDS, STOCK, NS2, *programs)}


def path(root: Path, name: str) -> Path:
    """Return the index of `name` for this checkout's sources, whether it exists or not."""
    return root / _index(name, project_root(), homes.elsewhere())


def read(index: Path) -> dict[str, Any]:
    """Return what an index lists, including its field `ENTRIES`.

    Raises OSError or ValueError if it cannot be read or has changed since it was written.
    """
    listed: dict[str, Any] = json.loads(index.read_text())
    if not isinstance(listed, dict) or listed.pop(_SUM, None) != digest_of(listed):
        raise ValueError("its digest is another")
    return listed


def write(store: Store, index: Path, about: dict[str, Any]) -> Path:
    """Write what was built; paths below the store's root become relative to it. Returns the index.

    Ask `path` for the index before building: sources that change meanwhile then have another one, with nothing in it.
    """
    index.parent.mkdir(parents=True, exist_ok=True)
    entries = sorted(str(entry) for entry in store.asked_for)
    listed = _relative({**about, ENTRIES: entries}, f"{store.root}/")
    text = json.dumps({**listed, _SUM: digest_of(listed)}, indent=2) + "\n"
    if not index.exists() or index.read_text() != text:
        draft = index.with_name(f".{index.name}.{os.getpid()}")
        draft.write_text(text)
        draft.rename(index)
    return index


def register(root: Path) -> None:
    """Note in a store that this checkout uses it, with implementations elsewhere: now, or in an earlier command."""
    checkout = str(project_root())
    note = root / _CHECKOUTS / digest_of(checkout)[:KEY_DIGITS]
    note.parent.mkdir(parents=True, exist_ok=True)
    before = note.read_text().splitlines()[1:] if note.exists() else []
    folders = dict.fromkeys([*before, *map(str, homes.elsewhere().values())])
    note.write_text("".join(f"{line}\n" for line in (checkout, *folders)))


def in_use(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each current index of the checkouts that use the store, with its checkout.

    Forget checkouts that no longer exist, and remove indexes that none has.
    """
    used: set[Path] = set()
    for note in sorted((root / _CHECKOUTS).glob("*")):
        checkout, *folders = map(Path, note.read_text().splitlines())
        if not (checkout / "images").is_dir():
            note.unlink()
            continue
        for index in (root / name for name in names(checkout, {folder.name: folder for folder in folders}).values()):
            if index.exists():
                used.add(index)
                yield checkout, index
    for index in (root / FOLDER).glob("*.json"):
        if index not in used:
            index.unlink()


def _relative(value: Any, root: str) -> Any:
    if isinstance(value, dict):
        return {name: _relative(entry, root) for name, entry in value.items()}
    if isinstance(value, list):
        return [_relative(entry, root) for entry in value]
    return value.removeprefix(root) if isinstance(value, str) else value


def _index(name: str, project: Path, outside: Mapping[str, Path]) -> str:
    folder, _, version = name.partition(_VERSION)
    sources = {_place(file, project, outside): file_digest(file) for file in _sources(folder, project, outside)}
    if version:
        sources["version"] = version
    return f"{FOLDER}/{name}-{digest_of(sources)[:KEY_DIGITS]}.json"


def _sources(name: str, project: Path, outside: Mapping[str, Path]) -> Iterator[Path]:
    images = project / "images"
    if name in (*KINDS, STOCK):
        for file in _but_for_others(name, images, images):
            if file.suffix != ".md" and file.relative_to(images).parts[0] not in _OTHER:
                yield file
        yield from (project / "engine" / "guest").glob("*.[ch]")  # they become the guest's tools
        if name == STOCK:
            yield project / "engine" / "guest" / "init.sh"  # in place of init.c
        return
    yield from (*images.glob("*.py"), *images.glob("build-packages.*"))
    if name == NS2:
        yield from files(images / NS2)
        return
    yield from _but_for_others(name, images / "rootfs", images)
    for folder in _line(name, _homes(project, outside)):
        yield from files(folder)


def _but_for_others(name: str, folder: Path, images: Path) -> Iterator[Path]:
    """Return the files below a folder without those of one kind alone, unless that is `name`."""
    others = [images / place for kind, places in _APART.items() if kind != name for place in places]
    return (file for file in files(folder) if not any(file.is_relative_to(other) for other in others))


def files(folder: Path) -> Iterator[Path]:
    """Return all files below a folder, except what Python and editors leave there."""
    for file in sorted(folder.rglob("*")):
        left = any(part.startswith(".") or part == "__pycache__" for part in file.relative_to(folder).parts)
        if file.is_file() and not left:
            yield file


def _homes(project: Path, outside: Mapping[str, Path]) -> dict[str, Path]:
    """Return the folders of a checkout's implementations, and of those elsewhere that still exist, by name."""
    own = sorted(project.glob(f"images/implementations/*/{DESCRIPTION}"))
    there = {name: folder for name, folder in outside.items() if (folder / DESCRIPTION).is_file()}
    return there | {file.parent.name: file.parent for file in own}


def _place(file: Path, project: Path, outside: Mapping[str, Path]) -> str:
    """Name a source: by its path below the folder elsewhere that has it, or in the checkout."""
    for name, folder in outside.items():
        if file.is_relative_to(folder):
            return f"{name}/{file.relative_to(folder)}"
    return str(file.relative_to(project))


def _line(name: str, folders: Mapping[str, Path]) -> Iterator[Path]:
    """Return an implementation's folder and those it extends; the build reports a wrong `extends`."""
    seen: set[str] = set()
    while name not in seen and name in folders:
        seen.add(name)
        yield folders[name]
        name = str(_described(folders[name] / DESCRIPTION).get("extends"))


def _described(file: Path) -> dict[str, Any]:
    """Return an implementation.yaml as it is; the build reports what is wrong with it."""
    import yaml  # the doctor, which comes before the environment does, needs this module and no more

    try:
        description = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return {}
    return description if isinstance(description, dict) else {}
