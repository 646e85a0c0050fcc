# SPDX-License-Identifier: MIT
"""Build a kernel module against a guest kernel, from `images/tcp_*/`: source files, an archive of them, or both."""

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
_FILES = (".c", ".h", "Makefile", "Kbuild")
_ARCHIVE = "source.tar"
# without the archive's top folder; files that lie beside the archive win
_UNPACK = f"""
for archive in {_ARCHIVE}*; do
  [ ! -e "$archive" ] || tar --extract --skip-old-files --no-same-owner --strip-components=1 --file="$archive"
done
exec "$@"
"""


def sources(folder: Path) -> dict[str, str]:
    """Return {path: SHA-256} of what the module in `folder` is compiled from: source files, an archive, or both."""
    files = tree_digest(folder).items()
    return {path: sha for path, sha in files if path.endswith(_FILES) or path.startswith(_ARCHIVE)}


def compiling(tree: str, work: str, *variables: str) -> list[str]:
    """Return the command that unpacks an archive in the current folder and compiles the module against `tree`."""
    return ["sh", "-euc", _UNPACK, "-", "make", "-C", tree, f"M={work}", *variables, "modules"]


def take(work: Path, name: str, folder: Path) -> None:
    """Copy the modules that were compiled in `work` to `folder`. Raises ImageError if `<name>.ko` is not among them."""
    built = [file for file in sorted(work.glob("*.ko")) if not file.is_symlink()]
    if f"{name}.ko" not in (file.name for file in built):
        made = ", ".join(file.name for file in built) or "no module"
        raise ImageError(f"images/{name}: compiling gave {made}; allowed: {name}.ko, named like the folder")
    for file in built:
        shutil.copyfile(file, folder / file.name)


def build(
    store: Store, say: Say, root: BuildRoot, name: str, kernel: Kernel, home: Path | None = None
) -> tuple[Path, str]:
    """Return the .ko file of `<home>/<name>/` for `kernel`, and its digest. ImageError when it does not compile.

    `home` is images/ unless given. If the kernel has KUnit, the module's tests lie beside it as `<name>_test.ko`.
    """
    source = (home or HERE) / name
    inputs = {
        "sources": sources(source),
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
            shutil.copyfile(source / path, work / path)
        # WARN_ON in a kernel header puts the header's path into the module: the same as for the kernel's own
        command = compiling("/seen/tree", "/build", "ARCH=um", "KCFLAGS=-fmacro-prefix-map=/seen/tree/=")
        log, see = store.root / "logs" / f"{name}.log", {"/seen/tree": kernel.tree}
        root.run(command, log, f"Compiling module {name}", work=work, see=see, environment=REPRODUCIBLE)
        take(work, name, folder)
        remove(work)

    return store.ensure("modules", digest, make) / f"{name}.ko", digest
