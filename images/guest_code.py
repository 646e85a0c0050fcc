# SPDX-License-Identifier: MIT
"""The part of the project that runs in guests, compiled by the guest's own Python.

The host's Python is another version. Compiling these modules in each guest would double the time of its start.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from images.cache import Store, digest_of, file_digest, first_difference, tree_digest
from images.errors import ImageError

KIND = "code"
"""Of its entries in the store."""
_SEEN_AS = "/opt/testbed"  # in tracebacks; see engine/guest/init.c


def digest(project: Path, rootfs: str) -> str:
    """Return what names the compiled code of a checkout for the root file system with digest `rootfs`."""
    return digest_of(
        {
            "guest": tree_digest(project / "engine" / "guest", "**/*.py"),
            "topologies": tree_digest(project / "topologies", "**/*.py"),
            "rootfs": rootfs,
            "recipe": file_digest(Path(__file__)),
        }
    )


def compiled(store: Store, project: Path, rootfs: Path, rootfs_digest: str) -> Path:
    """Return the folder with `engine/guest` and `topologies` of `project` and their bytecode: a guest's /opt/testbed.

    It is named after its contents and kept in the store. Raises ImageError when it is not there and the store cannot be
    written, or a module does not compile.
    """
    name = digest(project, rootfs_digest)

    def make(folder: Path) -> None:
        sources_only = shutil.ignore_patterns("__pycache__", "*.c", "*.sh")
        for part in (Path("engine", "guest"), Path("topologies")):
            shutil.copytree(project / part, folder / part, ignore=sources_only)
        shutil.copy(project / "engine" / "__init__.py", folder / "engine")
        _compile(folder, rootfs)

    entry = store.path(KIND, name)
    if entry.exists() and first_difference(entry) is None:
        store.keep(KIND, name)
        return entry
    try:
        return store.ensure(KIND, name, make)
    except OSError as error:
        raise ImageError(
            f"what guests run of this checkout is not compiled in {store.root}, which cannot be written "
            f"({error.strerror}): `python -m images` does that where it can"
        ) from None


def _compile(folder: Path, root: Path) -> None:
    """Compile with the Python of a root file system, which this host runs when it is told the loader and libraries."""
    usr = root / "usr"
    libraries = usr / "lib" / "x86_64-linux-gnu"
    command: list[str | Path] = [libraries / "ld-linux-x86-64.so.2", "--library-path", libraries]
    command += [usr / "bin" / "python3", "-s", "-S", "-B", "-m", "compileall", "-q"]
    command += ["--invalidation-mode", "unchecked-hash", "-s", folder, "-p", _SEEN_AS, folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONHOME": str(usr)})
    except OSError as error:
        raise ImageError(f"{root} has no Python that runs ({error.strerror}): `make images` builds it again") from None
    if done.returncode:
        raise ImageError(f"guests cannot run this checkout: {done.stdout}{done.stderr}".strip())
