"""What a guest leaves is foreign until it has been looked at.

hostfs makes real links, pipes and modes of whatever root in the guest makes in the run folder. A host program that
followed such a link or opened such a pipe would write elsewhere, or wait forever.
"""

import os
import stat
import subprocess
from collections.abc import Collection
from pathlib import Path

from engine.errors import EngineError
from engine.sandbox import Limits

EXPECTED = {"run.json", "guest.json", "heartbeat", "pcap", "traces", "logs"}
_DEEPEST = 10
_BLOCK_BYTES = 512  # of st_blocks, whatever the file system's own is


def over(folder: Path, limits: Limits, unseen_bytes: int = 0) -> str | None:
    """A sentence when the files below `folder` are more, or larger, than allowed; reads no file, follows no link.

    `unseen_bytes` are those of files that have lost their names already.
    """
    entries, used_bytes, waiting = 0, unseen_bytes, [(os.fspath(folder), 1)]
    largest = (unseen_bytes, "a file without a name")
    while waiting:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as found:
                for entry in found:
                    status = entry.stat(follow_symlinks=False)
                    entries += 1
                    used_bytes += status.st_blocks * _BLOCK_BYTES
                    largest = max(largest, (status.st_blocks * _BLOCK_BYTES, os.path.relpath(entry.path, folder)))
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append((entry.path, depth + 1))
                    if entries > limits.entries or depth > _DEEPEST:
                        return f"its run folder holds more than {limits.entries} files, or {_DEEPEST} levels of folders"
        except FileNotFoundError:  # gone meanwhile
            continue
        except OSError as error:
            return f"its run folder cannot be looked through ({error.strerror})"
    if used_bytes > limits.disk_bytes:
        return (
            f"its run folder takes {used_bytes >> 20} MiB, this run may take {limits.disk_bytes >> 20} MiB; "
            f"the largest file is {largest[1]!a}"
        )
    return None


def accept(folder: Path, limits: Limits, expected: Collection[str] = EXPECTED) -> None:
    """Make plain what a guest that has ended left: modes, and nothing but folders and regular files.

    `expected` are the names that may be there.

    Raises:
        EngineError: there was something else, or more than allowed; it has been removed.
    """
    too_much = over(folder, limits)
    if too_much:
        for path in folder.iterdir():
            if path.name != "logs" or over(path, limits):
                remove(path)
        raise EngineError(f"what the guest left was refused: {too_much}")
    odd = _plain(folder, expected)
    if odd:
        raise EngineError(f"what the guest left was refused: {odd!r} is no file that a run leaves")


def _plain(folder: Path, expected: Collection[str] | None = None) -> str | None:
    """Mend modes and remove what is neither file nor folder; returns the name of one that was removed."""
    odd = None
    folder.chmod(0o755)
    for path in folder.iterdir():
        kind = path.lstat().st_mode
        if expected is not None and path.name not in expected:
            remove(path)
            odd = path.name
        elif stat.S_ISDIR(kind):
            odd = _plain(path) or odd
        elif stat.S_ISREG(kind):
            path.chmod(0o644)
        else:
            path.unlink()
            odd = path.name
    return odd


def remove(path: Path) -> None:
    """Remove a folder, also one that a guest nested deeply or made unreadable; nothing happens when there is none."""
    if os.path.lexists(path):
        subprocess.run(["chmod", "--recursive", "u+rwX", "--", path], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "--recursive", "--force", "--", path], check=True)
