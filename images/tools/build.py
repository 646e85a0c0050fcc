# SPDX-License-Identifier: MIT
"""Compile the in-guest programs: each C file of engine/guest/ becomes one static binary of the same name."""

from __future__ import annotations

from pathlib import Path

from images.cache import Store, digest_of, file_digest, project_root, tree_digest
from images.run import Say, compiler, logged

SOURCES = project_root() / "engine" / "guest"
FLAGS = ("-O2", "-static", "-Wall", "-Wextra", "-Werror")


def build(store: Store, say: Say, sources: Path = SOURCES) -> tuple[Path, str]:
    """Return the folder with the binaries and its digest. ImageError when a file does not compile."""
    inputs = {"sources": tree_digest(sources, "*.[ch]"), "recipe": file_digest(Path(__file__)), "compiler": compiler()}
    digest = digest_of(inputs)

    def make(folder: Path) -> None:
        say("guest tools: compiling")
        (folder / "mnt").mkdir()  # init's mount point: its root is this folder, read-only
        for source in sorted(sources.glob("*.c")):
            command = ["gcc", *FLAGS, "-o", str(folder / source.stem), str(source)]
            logged(command, store.root / "logs" / "tools.log", f"Compiling {source.name}")

    return store.ensure("tools", digest, make), digest
