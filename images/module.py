# SPDX-License-Identifier: MIT
"""Build a kernel module against a guest kernel: a folder `images/tcp_*/` of sources, of an archive of them, or of both."""

from __future__ import annotations

import shutil
from pathlib import Path

from images.build_root import BuildRoot
from images.cache import Store, digest_of, file_digest, remove, tree_digest
from images.errors import ImageError
from images.kernel.build import REPRODUCIBLE, Kernel
from images.run import Say

HERE = Path(__file__).parent
NAMES = sorted(folder.name for folder in HERE.glob("tcp_*"))
SOURCE_FILES = (".c", ".h", "Makefile", "Kbuild")
ARCHIVE = "source.tar"


def build(store: Store, say: Say, root: BuildRoot, name: str, kernel: Kernel) -> tuple[Path, str]:
    """Build `images/<name>/` for `kernel`; return its .ko file and digest. Raises ImageError if it does not compile.

    An archive `source.tar*` in the folder is unpacked first, without its top folder; the folder's own files, such as a
    Kbuild, then replace those of the archive. If the kernel has KUnit, the module's tests are built as `<name>_test.ko`.
    """
    sources = HERE / name
    digests = tree_digest(sources)
    own = {path: sha for path, sha in digests.items() if path.endswith(SOURCE_FILES)}
    archives = {path: sha for path, sha in digests.items() if path.startswith(ARCHIVE)}
    if len(archives) > 1:
        raise ImageError(f"images/{name}: found {', '.join(archives)}; a module comes from one archive")
    inputs = {
        "sources": own | archives,
        "kernel": kernel.digest,
        "recipe": file_digest(Path(__file__)),
        "build root": root.digest,
    }
    digest = digest_of(inputs)

    def make(folder: Path) -> None:
        say(f"module {name}: compiling for {kernel.release}")
        work, log = folder / "work", store.root / "logs" / f"{name}.log"
        work.mkdir()
        for archive in archives:
            unpack = ["tar", "--extract", "--no-same-owner", "--strip-components=1", f"--file=/seen/{archive}"]
            root.run(unpack, log, f"Unpacking {archive}", work=work, see={f"/seen/{archive}": sources / archive})
        for path in own:
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(sources / path, work / path)
        # WARN_ON in a kernel header puts the header's path into the module: the same as for the kernel's own
        command = [
            "make",
            "-C",
            "/seen/tree",
            "M=/build",
            "ARCH=um",
            "KCFLAGS=-fmacro-prefix-map=/seen/tree/=",
            "modules",
        ]
        see = {"/seen/tree": kernel.tree}
        root.run(command, log, f"Compiling module {name}", work=work, see=see, environment=REPRODUCIBLE)
        built = sorted(work.glob("*.ko"))
        if f"{name}.ko" not in (file.name for file in built):
            made = ", ".join(file.name for file in built) or "no module"
            raise ImageError(f"images/{name}: compiling gave {made}; the folder must be named like its module")
        for file in built:
            shutil.copyfile(file, folder / file.name)
        remove(work)

    return store.ensure("modules", digest, make) / f"{name}.ko", digest
