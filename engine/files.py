"""Digests of files."""

import hashlib
from pathlib import Path


def file_digest(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digests(folder: Path, *parts: str) -> dict[str, str]:
    """Return {path below `folder`: SHA-256} of all files in its folders `parts`, in order of path."""
    files = sorted(path for part in parts for path in (folder / part).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}
