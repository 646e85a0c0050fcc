"""Inspects what a guest leaves; until then it is untrusted.

Whatever root in the guest creates in the run folder, hostfs creates on the host: links, pipes, modes. A host program
that followed such a link or opened such a pipe would write elsewhere or wait forever. So this module uses no path below
a run folder: it opens each folder relative to its parent and never follows a link.
"""

import os
import secrets
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from engine.errors import EngineError
from engine.sandbox import Limits

FOLDERS: Mapping[str, Collection[str] | None] = {"pcap": None, "traces": None, "logs": None}
FILES = frozenset({"run.json", "guest.json", "heartbeat"})
_DEEPEST = 10
_BLOCK_BYTES = 512  # unit of st_blocks, whatever the file system's block size
_FOLDER_MODE, _FILE_MODE = 0o755, 0o644


def over(folder: Path, limits: Limits, unseen_bytes: int = 0) -> str | None:
    """Return a sentence if the files below `folder` are too many or too large; read no file and follow no link.

    A file counts with its blocks or its length, whichever is more: a hole costs no disk, but hours to hash.
    `unseen_bytes` are those of files that have lost their names already.
    """
    return _over(folder, None, limits, unseen_bytes)


def _over(name: str | Path, parent: int | None, limits: Limits, unseen_bytes: int = 0) -> str | None:
    entries, used_bytes = 0, unseen_bytes
    largest = (unseen_bytes, "a file without a name")
    try:
        with _opened(name, parent) as top:
            for place, status, depth in _walk(top):
                size_bytes = max(status.st_blocks * _BLOCK_BYTES, status.st_size)
                entries, used_bytes = entries + 1, used_bytes + size_bytes
                largest = max(largest, (size_bytes, place))
                if entries > limits.entries or depth > _DEEPEST:
                    return f"its run folder holds more than {limits.entries} files, or {_DEEPEST} levels of folders"
    except FileNotFoundError:  # gone meanwhile
        return None
    except OSError as error:
        return f"its run folder cannot be looked through ({error.strerror})"
    if used_bytes > limits.disk_bytes:
        return (
            f"its run folder takes {used_bytes >> 20} MiB, this run may take {limits.disk_bytes >> 20} MiB; "
            f"the largest file is {largest[1]!a}"
        )
    return None


def _walk(folder: int, below: str = "", depth: int = 1) -> Iterator[tuple[str, os.stat_result, int]]:
    """Yield each entry below an open folder: its path there, status and depth."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
                yield below + entry.name, status, depth
                if stat.S_ISDIR(status.st_mode):
                    with _opened(entry.name, folder) as inner:
                        yield from _walk(inner, f"{below}{entry.name}/", depth + 1)
            except FileNotFoundError:  # gone meanwhile
                continue


def accept(
    folder: Path,
    limits: Limits,
    folders: Mapping[str, Collection[str] | None] = FOLDERS,
    files: Collection[str] = FILES,
) -> None:
    """Reduce what an ended guest left to folders and regular files with plain modes.

    `folders` and `files` are the names that may be there, and what they must be. Each folder comes with the names of
    the files that may be in it, and then it may hold no folders; None stands for anything.

    Raises:
        EngineError: there was something else, or more than allowed, which has been removed.
    """
    try:
        with _opened(folder, mend=True) as top:
            too_much = _over(".", top, limits)
            if too_much:
                for name in _names(top):
                    if name != "logs" or _over(name, top, limits):
                        _remove(name, top)
            odd = _plain(top, folders, files)
    except OSError as error:  # something still changes it, which nothing should
        raise EngineError(f"the testbed refuses what the guest left: {error.filename}: {error.strerror}") from None
    if too_much:
        raise EngineError(f"the testbed refuses what the guest left: {too_much}")
    if odd:
        raise EngineError(f"the testbed refuses what the guest left: unexpected file {odd!r} in the run folder")


def _plain(
    folder: int,
    folders: Mapping[str, Collection[str] | None] | None = None,
    files: Collection[str] | None = None,
) -> str | None:
    """Fix modes and remove what is neither file nor folder; return the name of one that was removed.

    `folders` and `files` are the only names that may be there, as what they must be (None: any); see `accept`.
    """
    odd = None
    for name in _names(folder):
        kind = os.lstat(name, dir_fd=folder).st_mode
        if stat.S_ISDIR(kind) and (folders is None or name in folders):
            inside = folders[name] if folders else None
            with _opened(name, folder, mend=True) as inner:
                odd = _plain(inner, None if inside is None else {}, inside) or odd
        elif stat.S_ISREG(kind) and (files is None or name in files):
            with _held(name, folder, os.O_NOFOLLOW) as file:
                _change_mode(file, _FILE_MODE)
        else:
            _remove(name, folder)
            odd = name
    return odd


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def remove(path: Path) -> None:
    """Remove a folder or anything else of that name, if there is one.

    A guest may have nested it deeply, made it unreadable or filled it with links, none of which is followed.
    """
    if not path.parent.is_dir():
        return
    with suppress(FileNotFoundError), _opened(path.parent, follow=True) as parent:
        _remove(path.name, parent)


def _remove(name: str, parent: int) -> None:
    """Empty a folder level by level, moving deeper entries to its top, so that no depth is too great."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        os.unlink(name, dir_fd=parent)
        return
    drawn, moved = secrets.token_hex(8), 0
    with _opened(name, parent, mend=True) as top:
        while names := _names(top):
            for entry in names:
                if not stat.S_ISDIR(os.lstat(entry, dir_fd=top).st_mode):
                    os.unlink(entry, dir_fd=top)
                    continue
                with _opened(entry, top, mend=True) as folder:
                    for inner in _names(folder):
                        if stat.S_ISDIR(os.lstat(inner, dir_fd=folder).st_mode):
                            with _opened(inner, folder, mend=True):  # to be moved, it must be writable
                                moved += 1
                            os.rename(inner, f"{drawn}-{moved}", src_dir_fd=folder, dst_dir_fd=top)
                        else:
                            os.unlink(inner, dir_fd=folder)
                os.rmdir(entry, dir_fd=top)
    os.rmdir(name, dir_fd=parent)


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """Make a folder for a guest; remove it afterwards, whatever the guest made of it."""
    folder = Path(tempfile.mkdtemp(prefix=f"testbed-{purpose}-"))
    try:
        yield folder
    finally:
        remove(folder)


@contextmanager
def _opened(name: str | Path, parent: int | None = None, *, mend: bool = False, follow: bool = False) -> Iterator[int]:
    """Open a folder for listing; `mend` first gives it the mode that this needs, `follow` allows a link."""
    with ExitStack() as opened:
        if mend:
            parent = opened.enter_context(_held(name, parent, os.O_NOFOLLOW | os.O_DIRECTORY))
            _change_mode(parent, _FOLDER_MODE)
            name = "."
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        descriptor = os.open(name, flags, dir_fd=parent)
        opened.callback(os.close, descriptor)
        yield descriptor


@contextmanager
def _held(name: str | Path, parent: int | None, flags: int) -> Iterator[int]:
    """Get a descriptor that names an entry without opening it, whatever its mode."""
    descriptor = os.open(name, os.O_PATH | os.O_CLOEXEC | flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _change_mode(held: int, mode: int) -> None:
    """Give a folder or regular file a mode unless it has that mode.

    fchmod() refuses such descriptors. A descriptor's link in /proc leads to exactly what it names.
    """
    status = os.fstat(held)
    if stat.S_IMODE(status.st_mode) != mode and (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        Path(f"/proc/self/fd/{held}").chmod(mode)
