# SPDX-License-Identifier: MIT
"""Build the module that only the lab has: `tcp_probe`, which labs of courses load to read windows of connections."""

from __future__ import annotations

import shutil
from pathlib import Path

from images import module
from images.build_root import BuildRoot
from images.cache import Store, digest_of, file_digest, remove, tree_digest
from images.kernel.build import REPRODUCIBLE, Kernel
from images.run import Say

NAME = "tcp_probe"
_SOURCES = Path(__file__).with_name(NAME)


def build(store: Store, say: Say, root: BuildRoot, kernel: Kernel) -> tuple[Path, str]:
    """Return the .ko file for the lab's kernel, and its digest. ImageError when it does not compile."""
    inputs = {
        "sources": tree_digest(_SOURCES),
        "kernel": kernel.digest,
        "recipe": file_digest(Path(__file__)),
        "build root": root.digest,
    }
    digest = digest_of(inputs)

    def make(folder: Path) -> None:
        say(f"module {NAME}: compiling for {kernel.release}")
        work = folder / "work"
        shutil.copytree(_SOURCES, work)
        command = module.compiling("/seen/tree", "/build", "ARCH=um", "KCFLAGS=-fmacro-prefix-map=/seen/tree/=")
        log, see = store.root / "logs" / f"{NAME}.log", {"/seen/tree": kernel.tree}
        root.run(command, log, f"Compiling module {NAME}", work=work, see=see, environment=REPRODUCIBLE)
        module.take(work, NAME, folder)
        remove(work)

    return store.ensure("modules", digest, make) / f"{NAME}.ko", digest
