"""The part of the project that runs in guests, compiled by their own Python.

The host's is another version. Compiling these modules anew in each guest takes as long as all else of its start.
"""

import shutil
import subprocess
from pathlib import Path

from engine.errors import EngineError
from engine.images import Images, cache_folder
from images.cache import Store, digest_of, file_digest, first_difference, tree_digest

KIND = "code"
"""Of its entries in the cache."""
_SEEN_AS = "/opt/testbed"  # in tracebacks; see engine/guest/init.c


def digest(project: Path, rootfs: str) -> str:
    """What names the compiled code of a checkout for the root file system with digest `rootfs`."""
    return digest_of(
        {
            "guest": tree_digest(project / "engine" / "guest", "**/*.py"),
            "topologies": tree_digest(project / "topologies", "**/*.py"),
            "rootfs": rootfs,
            "recipe": file_digest(project / "engine" / Path(__file__).name),
        }
    )


def compiled(images: Images, project: Path) -> Path:
    """Folder with `engine/guest` and `topologies` of `project` and their bytecode, for /opt/testbed of a guest.

    It is named after their contents and kept in the cache.

    Raises:
        EngineError: it is not there, and the cache cannot be written.
    """
    name = digest(project, images.provenance["rootfs"]["digest"])

    def make(folder: Path) -> None:
        sources_only = shutil.ignore_patterns("__pycache__", "*.c", "*.sh")
        for part in (Path("engine", "guest"), Path("topologies")):
            shutil.copytree(project / part, folder / part, ignore=sources_only)
        shutil.copy(project / "engine" / "__init__.py", folder / "engine")
        _compile(folder, images.rootfs)

    store = Store(cache_folder().resolve())
    entry = store.path(KIND, name)
    if entry.exists() and first_difference(entry) is None:
        return entry
    try:
        return store.ensure(KIND, name, make)
    except OSError as error:
        raise EngineError(
            f"what guests run of this checkout is not compiled in {store.root}, which cannot be written "
            f"({error.strerror}): `python -m images` does that where it can"
        ) from None


def _compile(folder: Path, root: Path) -> None:
    """With the Python of a root file system; this host's kernel can run it when loader and libraries are named."""
    usr = root / "usr"
    libraries = usr / "lib" / "x86_64-linux-gnu"
    command: list[str | Path] = [libraries / "ld-linux-x86-64.so.2", "--library-path", libraries]
    command += [usr / "bin" / "python3", "-s", "-S", "-B", "-m", "compileall", "-q"]
    command += ["--invalidation-mode", "unchecked-hash", "-s", folder, "-p", _SEEN_AS, folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONHOME": str(usr)})
    except OSError as error:
        raise EngineError(f"{root} has no Python that runs ({error.strerror}): `make images` builds it again") from None
    if done.returncode:
        raise EngineError(f"guests cannot run this checkout: {done.stdout}{done.stderr}".strip())
