"""Which files of a folder docs/reference/tables.md does not list."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from analysis.tables.files import File
from common.sums import FILE as SUMS


def unlisted(folder: Path, files: Iterable[File]) -> list[str]:
    """Name the files of a folder that have none of these paths: capitals are any name, a `/` at the end all below."""
    patterns = [re.sub(r"[A-Z]{3,}(?=[./]|$)|-N\b", "*", file.path) for file in files if file.path != SUMS]
    patterns += [f"{pattern}*" for pattern in patterns if pattern.endswith("/")] + [SUMS, f"*/{SUMS}"]
    there = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    return [name for name in there if not any(fnmatchcase(name, pattern) for pattern in patterns)]
