# SPDX-License-Identifier: MIT
"""Build a kernel module of this project against a guest kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

from images.build_root import BuildRoot
from images.cache import Store, digest_of, file_digest, remove, tree_digest
from images.kernel.build import REPRODUCIBLE, Kernel
from images.run import Say

HERE = Path(__file__).parent
NAMES = sorted(folder.name for folder in HERE.glob("tcp_*"))
SOURCE_FILES = (".c", ".h", "Makefile", "Kbuild")


def build(store: Store, say: Say, root: BuildRoot, name: str, kernel: Kernel) -> tuple[Path, str]:
    """Return the .ko file of `images/<name>/` for `kernel`, and its digest. ImageError when it does not compile.

    Where the kernel has KUnit, the module's tests lie beside it as `<name>_test.ko`.
    """
    sources = HERE / name
    inputs = {
        "sources": {path: sha for path, sha in tree_digest(sources).items() if path.endswith(SOURCE_FILES)},
        "kernel": kernel.digest,
        "recipe": file_digest(Path(__file__)),
        "build root": root.digest,
    }
    digest = digest_of(inputs)

    def make(folder: Path) -> None:
        say(f"module {name}: compiling for {kernel.release}")
        work = folder / "work"
        for path in inputs["sources"]:
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
        log, see = store.root / "logs" / f"{name}.log", {"/seen/tree": kernel.tree}
        root.run(command, log, f"Compiling module {name}", work=work, see=see, environment=REPRODUCIBLE)
        for built in work.glob("*.ko"):
            shutil.copyfile(built, folder / built.name)
        remove(work)

    return store.ensure("modules", digest, make) / f"{name}.ko", digest
