# SPDX-License-Identifier: MIT
"""`python -m images pack FILE` and `unpack FILE`: everything that boots, as one file that needs no mirror.

The file is a tar archive, compressed by xz, of store entries (`<kind>/<digest>/...`, each with its manifest of digests)
behind `pack.json`, which lists them. A pack may come from anywhere: nothing of it lands outside the store, no link in
it is followed, and an entry is taken only when it has exactly the files of its manifest.
"""

from __future__ import annotations

import glob
import io
import json
import lzma
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from common.archives import sync
from common.commit import commit
from common.estimate import about, left_s
from images import index, tars
from images.cache import MANIFEST, Store, file_digest, first_difference, remove
from images.errors import ImageError
from images.run import TELL_S, Say

ABOUT = "pack.json"
_UNPACKING = ".unpacking-"
"""How the folder begins into which a process unpacks; its number follows."""
_ONLY_FOR_BUILDS = ("build-roots", "fetched")
_ROOTS = ("rootfs", "roots")
"""Kinds of entries with a folder `root`, in which links are meant for the guest."""
_ENTRY = re.compile(r"[a-z]+(-[a-z]+)*/[0-9a-f]{64}")
_LONGEST_ABOUT_BYTES = 1 << 20
_FORMAT = tarfile.PAX_FORMAT
_S_A_BYTE = 1 / 3e6  # xz
_DAMAGES = (tarfile.TarError, EOFError, lzma.LZMAError)


@dataclass(frozen=True)
class Contents:
    """A pack's description: the checkout's commit, its programs, what else boots of `index.KINDS`, and its entries."""

    commit: str
    programs: list[str]
    kinds: list[str]
    entries: list[str]


def pack(store: Store, say: Say, programs: Sequence[str], kinds: Sequence[str], file: Path) -> None:
    """Write the entries that the store was asked for into `file`; a failure leaves nothing half-written.

    `programs` are the names of the programs among them, `kinds` those of `index.KINDS` besides `index.BOOT`.
    """
    entries = sorted(
        str(entry.relative_to(store.root))
        for entry in store.asked_for
        if entry.parent.name not in _ONLY_FOR_BUILDS and (entry / MANIFEST).is_file()
    )
    say(f"packing {len(entries)} entries, with the programs {', '.join(sorted(programs)) or '(none)'}")
    about = json.dumps(
        {"commit": commit(), "programs": sorted(programs), "kinds": sorted(kinds), "entries": entries}, indent=1
    ).encode()
    for left in file.parent.glob(f".{glob.escape(file.name)}.*.new"):
        if not Path("/proc", left.name.split(".")[-2]).exists():  # a killed call's
            left.unlink(missing_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}.new")  # two calls may make one file
    try:
        with (
            draft.open("wb") as stream,
            lzma.open(stream, "wb", preset=lzma.PRESET_DEFAULT) as compressed,
            tarfile.open(
                fileobj=_Watched(compressed, _bytes(store, entries), say), mode="w", format=_FORMAT
            ) as archive,  # type: ignore[call-overload]
        ):
            header = tarfile.TarInfo(ABOUT)
            header.size = len(about)
            archive.addfile(header, io.BytesIO(about))
            for entry in entries:
                archive.add(store.root / entry, entry, filter=lambda member: _plain(store.root, member))
        sync(draft)
        draft.rename(file)
    finally:
        draft.unlink(missing_ok=True)
    say(f"{file}: {file.stat().st_size / 1e6:.0f} MB, SHA-256 {file_digest(file)}")


class _Watched:
    """A file that is written, and says now and then how much of `total` bytes has been, and how long the rest takes."""

    def __init__(self, file: IO[bytes], total: int, say: Say) -> None:
        self._file, self._total, self._say = file, total, say
        self._done = 0
        self._started_s = self._said_s = time.monotonic()
        self.tell = file.tell

    def write(self, data: bytes) -> int:
        """Write as a file does."""
        self._done += len(data)
        now_s = time.monotonic()
        if now_s - self._said_s > TELL_S:
            self._said_s, left = now_s, max(0, self._total - self._done)
            seconds = left_s(left, self._done, now_s - self._started_s, _S_A_BYTE, self._total / 20)
            self._say(f"packed {self._done >> 20} of {self._total >> 20} MiB, {about(seconds)} left")
        return self._file.write(data)


def _bytes(store: Store, entries: Sequence[str]) -> int:
    files = (path for entry in entries for path in (store.root / entry).rglob("*"))
    return sum(path.stat().st_size for path in files if path.is_file() and not path.is_symlink())


def unpack(store: Store, say: Say, file: Path) -> Contents:
    """Put the entries of a pack into the store, and return its description.

    Raises ImageError if the file is not a pack, is damaged, or has a member that does not belong there.
    """
    say(f"unpacking {file} (SHA-256 {file_digest(file)})")
    store.root.mkdir(parents=True, exist_ok=True)
    _remove_left(store.root)
    place = Path(tempfile.mkdtemp(dir=store.root, prefix=f"{_UNPACKING}{os.getpid()}-"))
    try:
        with file.open("rb") as stream, tars.opened_xz(stream) as archive:
            members = tars.Budget().members(archive)
            about = _about(archive, next(members, None))
            _extract(archive, members, about.entries, place)
        for entry in about.entries:
            _adopt(store, place / entry, entry)
    except (*_DAMAGES, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ImageError(f"{file} is not what `python -m images pack` writes, or is damaged: {error}") from None
    except ImageError as error:
        raise ImageError(f"{file}: {error}") from None
    finally:
        remove(place)
    return about


def _remove_left(root: Path) -> None:
    """Remove what killed calls left, which may be half a gigabyte each."""
    for left in root.glob(f"{_UNPACKING}*-*"):
        if not Path("/proc", left.name.removeprefix(_UNPACKING).partition("-")[0]).exists():
            remove(left)


def _plain(root: Path, member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Drop the owner and set-user-ID bits; a hard link becomes a file."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode &= 0o1777
    if member.islnk():
        member.type, member.linkname = tarfile.REGTYPE, ""
        member.size = (root / member.name).stat().st_size
    return member


def _about(archive: tarfile.TarFile, member: tarfile.TarInfo | None) -> Contents:
    if member is None or member.name != ABOUT or not member.isreg() or member.size > _LONGEST_ABOUT_BYTES:
        raise ValueError(f"it does not begin with {ABOUT}")
    stream = archive.extractfile(member)
    assert stream is not None  # noqa: S101 - a regular file, as seen above
    data: dict[str, Any] = json.loads(stream.read())
    programs, kinds = ([str(name) for name in data[field]] for field in ("programs", "kinds"))
    if not {*kinds} <= {*index.KINDS}:
        raise ValueError(f"{kinds!r} are not kinds of what boots")
    about = Contents(str(data["commit"]), programs, kinds, list(data["entries"]))
    for entry in about.entries:
        if not isinstance(entry, str) or not _ENTRY.fullmatch(entry):
            raise ValueError(f"{entry!r} is not the name of an entry")
    return about


def _extract(archive: tarfile.TarFile, members: Iterator[tarfile.TarInfo], entries: Sequence[str], place: Path) -> None:
    """Extract into `place`, which has no links until its last file is written, so none can be followed."""
    for entry in entries:
        (place / entry).mkdir(parents=True)
    folders: dict[Path, tarfile.TarInfo] = {}
    links: dict[Path, tarfile.TarInfo] = {}
    for member in members:
        kind, digest, *inside = [*member.name.split("/"), ""] if "/" not in member.name else member.name.split("/")
        path = place / member.name
        if f"{kind}/{digest}" not in entries or {"", ".", ".."} & {*inside} or not path.parent.is_dir():
            raise ImageError(f"its member {member.name!r} belongs to no entry that {ABOUT} lists")
        if path in links or (path.exists() and not (member.isdir() and path.is_dir())):
            raise ImageError(f"its member {member.name!r} comes twice")
        if member.isdir():
            path.mkdir(exist_ok=True)
            folders[path] = member
        elif member.isreg():
            source = archive.extractfile(member)
            assert source is not None  # noqa: S101 - a regular file
            with path.open("xb") as target:
                shutil.copyfileobj(source, target)
            path.chmod(member.mode & 0o777)
            os.utime(path, (member.mtime, member.mtime))
        elif member.issym():
            links[path] = member
        else:
            raise ImageError(f"its member {member.name!r} is neither a file, a folder nor a symbolic link")
    for path, member in links.items():
        path.symlink_to(member.linkname)
        os.utime(path, (member.mtime, member.mtime), follow_symlinks=False)
    for member in links.values():
        _check_link(place, member)
    # the deepest first, since changes in a folder change its time
    for path, member in sorted(folders.items(), key=lambda item: len(item[0].parts), reverse=True):
        path.chmod(member.mode & 0o1777)
        os.utime(path, (member.mtime, member.mtime))


def _check_link(place: Path, member: tarfile.TarInfo) -> None:
    """Raise ImageError for a link out of its entry. Links in a guest's root are the guest's, which cannot leave it."""
    kind, digest, *inside = member.name.split("/")
    entry = (place / kind / digest).resolve()
    if not (kind in _ROOTS and inside[0] == "root") and not (place / member.name).resolve().is_relative_to(entry):
        raise ImageError(f"its link {member.name!r} leads out of the entry, to {member.linkname!r}")


def _adopt(store: Store, folder: Path, entry: str) -> None:
    """Turn an extracted folder into an entry of the store, unless it exists there."""
    damaged = first_difference(folder)
    if damaged is not None:
        raise ImageError(f"{entry} is damaged: {damaged}")
    kind, digest = entry.split("/")

    def move(into: Path) -> None:
        for path in folder.iterdir():
            path.rename(into / path.name)

    store.ensure(kind, digest, move)
