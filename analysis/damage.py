"""Which files of results are damaged or missing, or nobody vouches for, by the sums in their folders."""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from common import sums
from scenarios.run_files import FAILED

PARTS: Final = (
    "crosscheck",
    "experiments",
    "report",
    "runs",
    "tables",
)  # of a folder of results, beside files of its own
OF_ITS_OWN: Final = ("kunit.json",)
UNREAD: Final = re.compile(rf"logs|job-\d+\.done|{FAILED}.*")
"""Files and folders that are for people, or empty, or of a run that failed: its reader asks for sums of what it has."""


def damage(results: Path) -> dict[str, str]:
    """Return what is wrong with each such file, by its path below a folder of results.

    It is `missing` or `damaged`, or `without a sum`. A folder that is missing with its sums is not noticed; only who
    planned it knows of it.
    """
    folders = list(_with_sums(results))
    with ThreadPoolExecutor() as pool:  # computing sums releases the interpreter's lock
        damages = zip(folders, pool.map(sums.damaged, folders), strict=True)
        wrong = {
            (folder / name).relative_to(results).as_posix(): what
            for folder, damaged in damages
            for name, what in sorted(damaged.items())
        }
    return dict.fromkeys(_without_sum(results), sums.WITHOUT) | wrong


def _without_sum(results: Path) -> Iterator[str]:
    known = sums.known(results)
    yield from (name for name in OF_ITS_OWN if (results / name).exists() and name not in known)
    for part in PARTS:
        yield from (f"{part}/{name}" for name in sums.unvouched(results / part, UNREAD))


def _with_sums(results: Path) -> Iterator[Path]:
    """Yield the folders that have sums; hidden ones are being written."""
    if (results / sums.FILE).exists():
        yield results
    for part in PARTS:
        for folder, inside, files in os.walk(results / part):
            inside[:] = sorted(name for name in inside if not name.startswith("."))
            if sums.FILE in files:
                yield Path(folder)
