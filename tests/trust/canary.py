"""A folder of the user's that nobody but the user may touch, and whether somebody did."""

import os
from pathlib import Path
from typing import Any

MODES = {"secret": 0o400, "locked": 0o000, "script": 0o755}


class Canary:
    """Files and folders whose modes somebody would have to change to get in; all that stat() knows is compared."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "inner" / "deep").mkdir(parents=True)
        for place in (folder, folder / "inner", folder / "inner" / "deep"):
            for name, mode in MODES.items():
                file = place / name
                file.write_text(f"the user's {name}")
                file.chmod(mode)
        os.mkfifo(folder / "inner" / "pipe", 0o600)
        (folder / "inner" / "deep").chmod(0o500)
        (folder / "inner").chmod(0o500)
        self._before = self._looked_at()

    @property
    def targets(self) -> list[Path]:
        """What a link may point at."""
        return [self.folder, self.folder / "secret", self.folder / "inner", self.folder / "inner" / "secret"]

    def assert_intact(self) -> None:
        assert self._looked_at() == self._before

    def _looked_at(self) -> dict[str, Any]:
        leaks = {}
        for path in sorted([self.folder, *self.folder.rglob("*")]):
            status = path.lstat()
            what = (
                status.st_mode,
                status.st_uid,
                status.st_gid,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
            )
            readable = path.is_file() and (os.access(path, os.R_OK))
            leaks[str(path)] = (*what, status.st_ino, status.st_nlink, path.read_bytes() if readable else None)
        return leaks
