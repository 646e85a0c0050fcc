"""Where implementations lie: in the project's folder, and in folders elsewhere that a command names.

A command of `testbed` hands the folders on to the programs that it starts, by a variable of the environment. This
module needs nothing else of the project: the doctor, which comes before the environment does, reads it, too.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "TESTBED_IMPLEMENTATIONS"
DESCRIPTION = "implementation.yaml"


def elsewhere() -> dict[str, Path]:
    """Return the folders outside of the project, by the names of their implementations."""
    folders = os.environ.get(VARIABLE, "").split(os.pathsep)
    return {Path(folder).name: Path(folder) for folder in folders if folder}


def named() -> list[str]:
    """Return the words of a command that let the same implementations lie elsewhere."""
    return [word for folder in elsewhere().values() for word in ("--implementation", str(folder))]


def add(folder: Path) -> str:
    """Let an implementation lie in a folder elsewhere, for this process and those that it starts; return its name.

    Raises:
        ValueError: there is none, or the variable cannot hold the path; the message says what was found.
    """
    folder = folder.resolve()
    if not (folder / DESCRIPTION).is_file():
        raise ValueError(f"found {str(folder)!r}; allowed: a folder with a file {DESCRIPTION}")
    if os.pathsep in str(folder) or "\n" in str(folder):
        raise ValueError(f"found {str(folder)!r}; allowed: a path without {os.pathsep!r} and line feeds")
    known = elsewhere()
    if known.get(folder.name, folder) != folder:
        raise ValueError(f"found {str(folder)!r} and {str(known[folder.name])!r}; allowed: folders of different names")
    os.environ[VARIABLE] = os.pathsep.join(map(str, {**known, folder.name: folder}.values()))
    return folder.name
