"""Which files of results are damaged or missing, by the sums in their folders."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from common import sums

PARTS: Final = (
    "crosscheck",
    "experiments",
    "report",
    "runs",
    "tables",
)  # of a folder of results, beside files of its own


def damage(results: Path) -> dict[str, str]:
    """Return what is wrong with each such file, by its path below a folder of results: `missing` or `damaged`.

    A folder that is missing with its sums is not noticed; only who planned it knows of it.
    """
    folders = list(_with_sums(results))
    with ThreadPoolExecutor() as pool:  # computing sums releases the interpreter's lock
        damages = zip(folders, pool.map(sums.damaged, folders), strict=True)
        return {
            (folder / name).relative_to(results).as_posix(): what
            for folder, damaged in damages
            for name, what in sorted(damaged.items())
        }


def _with_sums(results: Path) -> Iterator[Path]:
    """Yield the folders that have sums; hidden ones are being written."""
    if (results / sums.FILE).exists():
        yield results
    for part in PARTS:
        for folder, inside, files in os.walk(results / part):
            inside[:] = sorted(name for name in inside if not name.startswith("."))
            if sums.FILE in files:
                yield Path(folder)
