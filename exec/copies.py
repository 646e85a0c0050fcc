"""A copy of a script's folder, for whoever changes it or hands it in."""

import os
import shutil
from pathlib import Path

from engine.errors import EngineError

_MOST_BYTES = 100 << 20
_LEFT_OUT = {"__pycache__", "results"}


def copy_of(folder: Path, into: Path) -> None:
    """Copy a folder without names that begin with a dot, links, empty folders, `results` and `__pycache__`.

    Raises:
        EngineError: it is too large.
    """
    into.mkdir()
    copied_bytes = 0
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not (name.startswith(".") or name in _LEFT_OUT)]
        for path in (Path(top, name) for name in names if not name.startswith(".")):
            if path.is_symlink() or not path.is_file():
                continue
            copied_bytes += path.stat().st_size
            if copied_bytes > _MOST_BYTES:
                allowed = f"at most {_MOST_BYTES >> 20} MiB"
                raise EngineError(f"{folder} is too large to copy; allowed: {allowed}; call it in a smaller folder")
            copy = into / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
