"""Gives finished files and folders their final names, so that neither a reader nor a power cut finds half of one."""

import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_AT_ONCE = 4  # the file system commits what is asked for together in one go; more threads cost more than they save


def give_name(partial: Path, name: Path, loose: Collection[str] = ()) -> None:
    """Rename a finished file or folder once all of it is on the disk.

    Files in the subfolders `loose` need not survive a power cut: they are removed soon, or are made again.
    """
    flush(partial, loose)
    partial.rename(name)
    _flush(name.parent)


def flush(path: Path, loose: Collection[str] = ()) -> None:
    """Wait until a file, or everything below a folder, is on the disk."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(_flush, _below(path, loose)))


def _below(path: Path, loose: Collection[str]) -> Iterator[Path]:
    yield path
    if path.is_dir():
        for entry in path.iterdir():
            if entry.name not in loose and not entry.is_symlink():
                yield from _below(entry, ())


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
