# SPDX-License-Identifier: MIT
"""Compile the in-guest programs: each C file of engine/guest/ becomes one static binary of the same name."""

from __future__ import annotations

from pathlib import Path

from images.build_root import BuildRoot
from images.cache import Store, digest_of, file_digest, project_root, tree_digest
from images.run import Say

SOURCES = project_root() / "engine" / "guest"
_COMPILE = 'for source in /seen/guest/*.c; do gcc "$@" -o "$(basename "$source" .c)" "$source"; done'
FLAGS = ("-O2", "-static", "-Wall", "-Wextra", "-Werror")


def build(store: Store, say: Say, root: BuildRoot, sources: Path = SOURCES) -> tuple[Path, str]:
    """Return the folder with the binaries and its digest. ImageError when a file does not compile."""
    inputs = {
        "sources": tree_digest(sources, "*.[ch]"),
        "recipe": file_digest(Path(__file__)),
        "build root": root.digest,
    }
    digest = digest_of(inputs)

    def make(folder: Path) -> None:
        say("guest tools: compiling")
        (folder / "mnt").mkdir()  # init's mount point: its root is this folder, read-only
        words = ["sh", "-euc", _COMPILE, "-", *FLAGS]
        log = store.root / "logs" / "tools.log"
        root.run(words, log, "Compiling the guest tools", work=folder, see={"/seen/guest": sources})

    return store.ensure("tools", digest, make), digest
