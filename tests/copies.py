"""A copy of the project to which a test adds something, with a cache that begins with what the project's own holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from images.cache import default_root

ROOT = Path(__file__).parents[1]
FOLDERS = ("analysis", "common", "engine", "exec", "images", "scenarios", "testbed", "topologies", "workflows")
COMMANDS = {"testbed": "testbed.cli"}


@dataclass(frozen=True)
class Copy:
    """A copy of the project in `folder`, and its own `cache`."""

    folder: Path
    cache: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs that is to be the copy's."""
        return {**os.environ, "TESTBED_CACHE": str(self.cache), "PYTHONPATH": str(self.folder)}

    def __call__(self, line: str) -> subprocess.CompletedProcess[str]:
        """Carry out a command line of `testbed` or `python` as the copy's."""
        program, *words = line.split()
        module = COMMANDS.get(program)
        call = ["-c", f"import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"] if module else []
        return subprocess.run(
            [sys.executable, *call, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


def copy_sources(folder: Path) -> None:
    """Copy what the project's programs are made of and read, but for the reference set."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(folder / "workflows/reference")
    for name in ("Snakefile", "requirements.lock"):
        shutil.copy(ROOT / name, folder)


def copied(into: Path) -> Copy:
    """Copy the project and give it a cache, which shares what the project's has but for what is built of sources."""
    folder, cache = into / "project", into / "cache"
    copy_sources(folder)
    shutil.copy(ROOT / "CITATION.cff", folder)
    cache.mkdir()
    for kind in default_root().iterdir():
        if kind.is_dir() and kind.name not in ("checkouts", "images", "locks", "logs", "programs"):
            (cache / kind.name).symlink_to(kind)
    return Copy(folder, cache)
