# SPDX-License-Identifier: MIT
"""Build a program under test: an implementation of kind `program`, as docs/reference/implementations.md says.

An entry of the store holds `files/`, which a guest sees as /opt/implementation; the root that the program asks for, if
any, is an entry of its own (images/roots.py).
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from images import build_root, fetched, index, locked, roots, walls
from images.build_root import BuildRoot
from images.cache import UNFINISHED, Store, digest_of, file_digest, remove, without_privileges
from images.errors import ImageError
from images.locked import Lock, requested
from images.run import Say, Tell
from scenarios import implementations, load
from scenarios.errors import choices
from scenarios.homes import DESCRIPTION

ROOT_LOCK, BUILD_LOCK = "root.lock", "build.lock"
_OUT = ".out"
KEPT = ("target", ".cache")
"""Folders in which cargo, as the builds call it, and go keep what they have compiled."""
_LONGEST_SAID = 100
_LONGEST_LINE_BYTES = 256  # of a script's first line, which Linux reads


def built(root: Path) -> list[str]:
    """Return the programs that were built into the store at `root` before, from whatever sources."""
    return [name for name in names() if any((root / index.FOLDER).glob(f"{name}-{'[0-9a-f]' * index.KEY_DIGITS}.json"))]


def names() -> list[str]:
    """Return all implementations that are programs, apart from the versions that some list."""
    known = implementations.known().items()
    return [name for name, one in known if one["kind"] == "program" and implementations.folder_of(name) == name]


def check_names(wanted: Sequence[str]) -> None:
    """Raise ImageError, with the nearest names, for a name of which nothing is built."""
    known = implementations.known()
    for name in wanted:
        if name not in known:
            implementations.refuse_wrong([name])
            raise ImageError(f"unknown implementation {name!r}; allowed: {choices(sorted(names()), name)}")
        if known[name]["kind"] != "program":
            raise ImageError(f"{name} is part of the guest's kernel and needs no build of its own")


def build(store: Store, say: Say, name: str) -> Path:
    """Build what is missing of program `name`; write its index and return it.

    Raises ImageError if the program is unknown or a step of its build fails.
    """
    check_names([name])
    listed = index.path(store.root, name)
    description = implementations.known()[name]
    folders = _folders(name)
    log = store.root / "logs" / f"{name}.log"
    wanted = [fetched.identified(package, folders) for package in description["fetch"]]

    for each in wanted:
        store.keep("fetched", digest_of(each))

    @cache
    def fetch() -> dict[str, Path]:
        return fetched.fetch(store, say, wanted, folders, log)

    root = description.get("root", {})
    archive = roots.archive_of(name, root, folders)
    inside = _build_root(store, say, name, description)
    files, digest = _files(store, say, name, folders, archive, wanted, fetch, inside, log)
    entry: dict[str, Any] = {"files": str(files), "digest": digest}
    if "suite" in root:
        base = roots.from_debian(store, say, name, root, _root_lock(name, root), log)
        install = files / "install"
        entry |= roots.installed(store, say, name, base, digest, files, fetch, log) if install.exists() else base
    elif root:
        if (files / "install").exists():
            raise ImageError(f"{name}: `install` is for a root from Debian; what it does belongs into the image")
        entry |= roots.from_image(store, say, name, root, archive)
    return index.write(store, listed, entry)


def _folders(name: str) -> list[Path]:
    """Return the folders whose files the program has, later ones first."""
    folders, own = implementations.folders(), implementations.folder_of(name)
    return [folders[each] for each in implementations.line_of(own)]


def locked_names() -> list[str]:
    """Return the programs that have something to lock: a Debian root, or packages for their `build`."""
    known = implementations.known()
    return [name for name in names() if list(_locks(name, known[name]))]


def locks(name: str) -> Iterator[tuple[Path, str, Sequence[str], bool]]:
    """Return what a program has to lock: the lock's file, a Debian suite, packages, and whether to add the base."""
    return _locks(name, implementations.known()[name])


def _locks(name: str, description: dict[str, Any]) -> Iterator[tuple[Path, str, Sequence[str], bool]]:
    root = description.get("root", {})
    if "suite" in root:
        yield _home(name, "root") / ROOT_LOCK, root["suite"], root["packages"], True
    if packages := description.get("build_packages"):
        yield _home(name, "build_packages") / BUILD_LOCK, build_root.SUITE, _with_base(packages), False


def _root_lock(name: str, root: dict[str, Any]) -> Lock | None:
    path = _home(name, "root") / ROOT_LOCK
    return locked.read(path, root["suite"], root["packages"], path.parent.name) if path.exists() else None


def _build_root(store: Store, say: Say, name: str, description: dict[str, Any]) -> BuildRoot:
    packages = description.get("build_packages")
    if not packages:
        return BuildRoot(store, say)
    path = _home(name, "build_packages") / BUILD_LOCK
    return BuildRoot(store, say, locked.read(path, build_root.SUITE, _with_base(packages), path.parent.name))


def _with_base(packages: Sequence[str]) -> list[str]:
    return [*requested(build_root.PACKAGES.read_text()), *packages]


def _home(name: str, field: str) -> Path:
    """Return the folder whose description gives the program a field: its own, or that of one it extends."""
    return next(folder for folder in _folders(name) if field in load.read(folder / DESCRIPTION).data)


def _files(
    store: Store,
    say: Say,
    name: str,
    folders: list[Path],
    archive: Path | None,
    wanted: Sequence[dict[str, str]],
    fetch: Callable[[], dict[str, Path]],
    inside: BuildRoot,
    log: Path,
) -> tuple[Path, str]:
    """Return what the guest sees as /opt/implementation, the folders' files and what `build` makes, and its digest."""
    sources = {str(path): source for folder in reversed(folders) for path, source in _sources(folder).items()}
    sources = {path: source for path, source in sources.items() if source != archive}
    inputs: dict[str, Any] = {
        "files": {path: [file_digest(file), os.access(file, os.X_OK)] for path, file in sorted(sources.items())},
        "fetched": [digest_of(package) for package in wanted],
        "recipe": file_digest(Path(__file__)),
    }
    version = name.partition(implementations.VERSION)[2]
    if "build" in sources:
        inputs["build root"] = inside.digest
        if version:
            inputs["version"] = version
    digest = digest_of(inputs)

    def make(folder: Path) -> None:
        files = folder / "files"
        for path, file in sources.items():
            (files / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, files / path)
        without_privileges(files)
        if "build" in sources:
            seen = fetch()
            say(f"{name}: building")
            with _taken_up(store, folder / "work", name, folders, [inside.digest, *inputs["fetched"], version]):
                _build(folder, seen, inside, log, name, version, partial(_tell, say, name, folders))
        if not (files / "endpoint").exists():
            raise ImageError(f"{name} has no file `endpoint`, and its `build` makes none")
        check_executable(name, files / "endpoint")

    return store.ensure("programs", digest, make) / "files", digest


def _sources(folder: Path) -> dict[Path, Path]:
    """Return the files of an implementation's folder. Raises ImageError for a link to a file of the user's."""
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    for path in found.values():
        roots.check_link(path)
    about = (DESCRIPTION, ROOT_LOCK, BUILD_LOCK)
    return {name: path for name, path in found.items() if str(name) not in about and "__pycache__" not in path.parts}


def check_executable(what: str, file: Path) -> None:
    """Raise ImageError for a file that no kernel starts, in words that say why."""
    if not os.access(file, os.X_OK):
        raise ImageError(f"{what}: the file `{file.name}` is not executable (chmod +x)")
    with file.open("rb") as stream:
        first = stream.readline(_LONGEST_LINE_BYTES)
    if first.startswith(b"#!") and first.endswith(b"\r\n"):
        raise ImageError(
            f"{what}: the file `{file.name}` has lines that end in CR LF, as on Windows; allowed: LF alone"
        )


@contextmanager
def _taken_up(store: Store, work: Path, name: str, folders: Sequence[Path], with_: Sequence[str]) -> Iterator[None]:
    """Let a build in `work` find what an earlier one that failed or was interrupted had compiled, in KEPT.

    It had the same name, tools and fetched files (`with_`). What compilers make of these alone need not be made again
    when a mistake in the program's own files is mended; they compare those themselves. A commit or an archive leaves
    nothing, and takes nothing: what one of a stranger's made must not get into another one's program. Nor does anything
    that a CI service runs.
    """
    left = store.root / UNFINISHED / digest_of([name, *with_])
    strangers = any(folder.is_relative_to(store.root) for folder in folders)
    try:
        if not strangers and "CI" not in os.environ:
            work.mkdir()
            for each in left.glob("*"):
                each.rename(work / each.name)
        yield
    except (ImageError, KeyboardInterrupt, SystemExit):
        if not strangers and "CI" not in os.environ:
            remove(left)
            for kept in filter(Path.is_dir, (work / each for each in KEPT)):
                left.mkdir(parents=True, exist_ok=True)
                kept.rename(left / kept.name)
        raise
    remove(left)


def _tell(say: Say, name: str, folders: Sequence[Path], said: str, tool: str, took_s: float) -> None:
    """Say how far a build is: how long it takes, which program works, and what the build printed last."""
    last = said.strip().rpartition("\n")[2].strip()[:_LONGEST_SAID]
    locks = (folder / "Cargo.lock" for folder in folders)
    if last.startswith("Compiling ") and (lock := next(filter(Path.exists, locks), None)):
        with suppress(tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError):  # a stranger's may be anything
            most = len(tomllib.loads(lock.read_text())["package"])
            last += f" (crate {said.count('Compiling ')} of at most {most})"
    say(f"{name}: building for {took_s / 60:.1f} min, with `{tool}`" + (f": {last}" if last else ""))


def _build(
    folder: Path,
    seen: dict[str, Path],
    inside: BuildRoot,
    log: Path,
    name: str,
    version: str,
    tell: Tell,
) -> None:
    """Run `build` inside the walls, in a copy of the folder; what it leaves in /build/out joins the files."""
    if walls.unconfined():
        raise ImageError(f"{name}: `build` of a program never runs without walls ({walls.UNCONFINED} is set)")
    work = folder / "work"
    shutil.copytree(folder / "files", work, dirs_exist_ok=True)
    (folder / "files").rename(work / _OUT)
    check_executable(f"Building {name}", work / "build")
    see = {f"{walls.SEEN}/{package}": source for package, source in seen.items()}
    environment = {"FETCHED": walls.SEEN, "OUT": f"{walls.WORK}/{_OUT}"} | ({"VERSION": version} if version else {})
    command = [f"{walls.WORK}/build"]
    inside.run(command, log, f"Building {name}", work=work, see=see, environment=environment, tell=tell)
    if (work / _OUT).is_symlink():  # to any folder of this host
        raise ImageError(f"Building {name}: `build` replaced its folder $OUT by a link")
    without_privileges(work / _OUT)
    (work / _OUT).rename(folder / "files")
    remove(work)
