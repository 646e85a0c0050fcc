"""An implementation's folder as commands take it: a folder, a commit of a git repository, or an archive with its sum.

Commits and archives are unpacked into the cache, once. Git gets a commit's hexadecimal name and nothing else that was
written here: it lists and prints objects, which starts no filter, hook or transport of the repository's own settings.
"""

from __future__ import annotations

import os
import re
import shlex
import tarfile
from pathlib import Path, PurePosixPath

from images import tars
from images.cache import Store, digest_of, file_digest
from images.errors import ImageError
from images.programs import check_executable
from images.run import asked
from scenarios.homes import DESCRIPTION
from scenarios.names import KINDS

_KIND = "given"
_COMMIT = re.compile(r"(?P<repository>.+)@(?P<commit>[0-9a-f]{40}|[0-9a-f]{64})(?::(?P<folder>.+))?", re.DOTALL)
_ARCHIVE = re.compile(r"(?P<archive>.+)@sha256:(?P<sum>.*)", re.DOTALL)
_LONGEST_SHOWN = 100
_LIMIT_S = 600.0  # of git, for one object
_FILES = {b"100644": 0o644, b"100755": 0o755}
"""Modes of git's trees; links and submodules are no files."""
ALLOWED = "a folder with a file implementation.yaml, REPOSITORY@COMMIT:FOLDER, or ARCHIVE.tar.gz@sha256:SUM"


def folder_of(given: Path, store: Store) -> Path:
    """Return the implementation's folder that is `given`, unpacked into the store if it is a commit or an archive.

    Raises:
        ImageError: there is no such commit, or the archive has another sum; the message says what was found.
    """
    if archive := _ARCHIVE.fullmatch(str(given)):
        return _of_archive(Path(archive["archive"]), archive["sum"], store)
    if not given.is_dir() and (commit := _COMMIT.fullmatch(str(given))):
        return _of_commit(Path(commit["repository"]).resolve(), commit["commit"], commit["folder"], store)
    return given


def check_started(what: str, home: Path, store: Store) -> None:
    """Raise ImageError if no kernel starts what a folder has to start, with the command that mends it.

    What a commit or an archive holds is mended there, so the message has no path of the cache.
    """
    for file in (home / name for name in ("build", "endpoint")):
        if not file.is_file():
            continue
        try:
            check_executable(what, file)
        except ImageError as error:
            if store.root in home.parents:
                raise
            mend = ["sed", "-i", r"s/\r$//"] if os.access(file, os.X_OK) else ["chmod", "+x"]
            raise ImageError(f"{error}; mend it by: {shlex.join([*mend, str(file)])}") from None


def _of_archive(archive: Path, wanted: str, store: Store) -> Path:
    if refused := KINDS["sha256"].refusal(wanted):
        raise ImageError(f"{archive}: the sum: {refused}")
    if not archive.is_file():
        raise ImageError(f"found {str(archive)!r}, no file; allowed: {ALLOWED}")

    def unpack(folder: Path) -> None:
        if (found := file_digest(archive)) != wanted:
            raise ImageError(f"{archive}: found the sum {found}; allowed: {wanted}, as it was given")
        try:
            with archive.open("rb") as stream, tars.opened(stream, compressed=True) as tar:
                tar.extractall(folder, members=tars.Budget().members(tar), filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            raise ImageError(f"{archive}: cannot be unpacked ({error}); allowed: a tar archive, by gzip") from None
        _only(folder, archive)

    return _only(store.ensure(_KIND, digest_of({"archive": wanted}), unpack), archive)


def _only(folder: Path, archive: Path) -> Path:
    """Return the folder of the only implementation in an archive, which names it."""
    homes = [file.parent for file in folder.glob(f"*/{DESCRIPTION}")]
    if len(homes) != 1:
        found = ", ".join(sorted(home.name for home in homes)) or "none"
        raise ImageError(f"{archive}: found the implementations {found}; allowed: one, as NAME/{DESCRIPTION}")
    return homes[0]


def _of_commit(repository: Path, commit: str, below: str | None, store: Store) -> Path:
    if below and (refused := KINDS["file"].refusal(below)):
        raise ImageError(f"{repository}: the folder: {refused}")
    name = PurePosixPath(below).name if below else repository.name.removesuffix(".git")

    def take(folder: Path) -> None:
        home = folder / name
        budget = tars.Budget()
        # NUL ends each entry: mode, type, object, size, TAB, path; `--full-tree` for paths from the commit's root
        tree = f"{commit}:{below}" if below else f"{commit}^{{tree}}"
        for entry in _git(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", tree).split(b"\0")[:-1]:
            about, _, path = entry.partition(b"\t")
            mode, _, item, size = about.split()
            file = home / os.fsdecode(path)
            if mode not in _FILES or ".." in file.parts or not file.is_relative_to(home):
                raise ImageError(f"{repository}@{commit}: found {os.fsdecode(path)!r}; allowed: files below the folder")
            if not size.isdigit():
                raise ImageError(
                    f"{repository}: lacks an object of {commit} ({os.fsdecode(path)}); allowed: a whole clone"
                )
            budget.take(int(size), 1)
            content = _git(repository, "cat-file", "blob", item.decode())
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            except OSError as error:  # a tree can have names that no file has, or a file and a folder of one name
                shown = os.fsdecode(path)
                shown = shown if len(shown) < _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
                raise ImageError(f"{repository}@{commit}: {shown!r} cannot be written ({error.strerror})") from None
            file.chmod(_FILES[mode])

    return store.ensure(_KIND, digest_of({"commit": commit, "folder": below, "name": name}), take) / name


def _git(repository: Path, *words: str) -> bytes:
    """Return what git prints of a repository's objects; what the repository lacks is not fetched."""
    environment = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}
    command = ["git", "-C", str(repository), *words]
    try:
        done = asked(command, environment=environment, limit_s=_LIMIT_S)
    except ImageError as error:
        raise ImageError(f"{repository}: {error}") from None
    except FileNotFoundError:
        raise ImageError("git is not installed (a commit was given); allowed: a folder, or an archive") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise ImageError(f"{repository}: git finds no such commit or folder ({said}); allowed: {ALLOWED}")
    return done.stdout
