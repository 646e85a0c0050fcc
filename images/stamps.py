# SPDX-License-Identifier: MIT
"""Stamps of a store's entries: whether a file may have changed since all bytes were compared, without reading them.

A stamp covers inode, mode, size and both times of each file and folder. The kernel sets the time of the last change of
an inode (ctime), so nobody but root can write a file and keep its stamp. What rots on the disk below the file system
keeps it, too: `make images` reads all bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path


def of(entry: Path) -> str:
    """Return the stamp of an entry as it is now."""
    states = []
    folders = [str(entry)]
    while folders:
        with os.scandir(folders.pop()) as listed:
            for file in listed:
                about = file.stat(follow_symlinks=False)
                states.append((about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
                if file.is_dir(follow_symlinks=False):
                    folders.append(file.path)
    return hashlib.sha256(repr(sorted(states)).encode()).hexdigest()


def noted(root: Path, entry: Path) -> str:
    """Return the stamp that an entry of the store at `root` had when it was whole; empty if there is none."""
    file = _file(root, entry)
    try:
        # nobody else vouches for it
        return file.read_text() if file.stat().st_uid in (os.geteuid(), entry.stat().st_uid) else ""
    except OSError:
        return ""


def note(root: Path, entry: Path, stamp: str) -> None:
    """Keep the stamp of an entry that is whole."""
    file = _file(root, entry)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):  # then the next process compares anew
        file.parent.mkdir(mode=0o755, exist_ok=True)  # those who share the store read them
        if file.parent.lstat().st_uid == os.geteuid():  # no link of another user's is followed
            draft.write_text(stamp)
            draft.rename(file)


def forget(root: Path, entry: Path) -> None:
    """Remove the stamp of an entry that is removed."""
    _file(root, entry).unlink(missing_ok=True)


def _file(root: Path, entry: Path) -> Path:
    """Return where the stamp is kept: in the store, or, if that is read-only as in a container, in an own folder."""
    own = Path(tempfile.gettempdir(), f"testbed-stamps-{os.geteuid()}")
    folder = root / "stamps" if os.access(root, os.W_OK) else own
    return folder / f"{entry.parent.name}-{entry.name}"
