# SPDX-License-Identifier: MIT
"""Build the guest kernel and the tree that modules are built against.

An entry of the store (`kernels/<digest>/`) holds `linux` (the kernel, a static program), `probe` (what a trial boot
runs), `config`, `release`, `build.log`, `modules/` (MODULE_LISTS) and `tree/`, the part of the built source that
`make -C tree M=... modules` needs.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from images import index, walls
from images.build_root import BuildRoot
from images.cache import Store, digest_of, file_digest, remove, tree_digest
from images.errors import ImageError
from images.kernel import progress, sources
from images.run import Say, logged

HERE = Path(__file__).parent
CONFIG = HERE / "config"
DEBUG_CONFIG = HERE / "debug.config"
LAB_CONFIG = HERE / "lab.config"
PATCHES = HERE / "patches"
PROBE = HERE / "probe.c"

# Kinds of guest kernels: what their builds are called, and their configurations, read in this order
KINDS = {
    index.BOOT: ("guest kernel", (CONFIG,)),
    index.DEBUG: ("debug kernel", (CONFIG, DEBUG_CONFIG)),
    index.LAB: ("lab kernel", (CONFIG, LAB_CONFIG)),
}
_PREPARED = "prepared"
"""Marks a folder whose source has been unpacked, patched and configured."""

# The same bytes from the same inputs: nothing of the builder or the hour goes in.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_VERSION": "1",
    "KBUILD_BUILD_USER": "testbed",
    "KBUILD_BUILD_HOST": "testbed",
}

# Tools whose versions the configuration would note, and that nothing here uses: as if no host had them
ABSENT = ("RUSTC=absent", "BINDGEN=absent", "PAHOLE=absent")

# Names that not every kernel in the tested range has as an option that can be set
VERSION_DEPENDENT = frozenset({"CONFIG_PROC_SYSCTL", "CONFIG_SYSCTL"})

# What depmod makes modprobe's lists of: what is built in need not be loaded
MODULE_LISTS = ("modules.builtin", "modules.builtin.modinfo", "modules.order")

# What ARCH=um never reads, below the archive's top folder: most files. Each Kconfig stays: others name it.
UNREAD = (
    "Documentation/*/*",
    "arch/[!ux]*/*.[chS]",
    "arch/[!ux]*/boot/*",
    "drivers/[!bcnpt]*/*.[chS]",
    "drivers/clk/*.[ch]",
    "drivers/net/ethernet/*.[ch]",
    "drivers/net/wireless/*.[ch]",
    "sound/*.[ch]",
    "tools/perf/*",
    "tools/testing/*",
)

# What a module build reads, as find(1) tests: see scripts/package/install-extmod-build in the kernel's source
TREE = """
{
  find Makefile Kbuild .config Module.symvers scripts/Makefile* -type f
  find include scripts ! -type d ! -name '*.o' ! -name '.*.cmd' ! -path '*/kconfig/*' ! -path '*/dtc/*'
  find arch/um arch/x86 ! -type d \\( -name 'Makefile*' -o -name 'Kbuild*' -o -name '*.h' -o -name 'module.lds*' \\)
} | sort -u | tar -c -T - | tar -x -C "$1"
"""


@dataclass(frozen=True)
class Kernel:
    """A built guest kernel; `source` is the Debian package and its version."""

    folder: Path
    digest: str
    source: str

    @property
    def program(self) -> Path:
        """The kernel itself."""
        return self.folder / "linux"

    @property
    def probe(self) -> Path:
        """The first program of a trial boot, static."""
        return self.folder / "probe"

    @property
    def tree(self) -> Path:
        """What modules are built against."""
        return self.folder / "tree"

    @property
    def release(self) -> str:
        """What `uname -r` answers in the guest."""
        return (self.folder / "release").read_text().strip()


def digest_for(root: BuildRoot, kind: str) -> str:
    """Return the digest of what a kind of kernel is built from."""
    inputs = {
        "source": sources.locked_source().sha256,
        "config": settings("".join(path.read_text() for path in KINDS[kind][1])),
        "patches": tree_digest(PATCHES),
        "probe": file_digest(PROBE),
        "recipe": file_digest(Path(__file__)),
        "build root": root.digest,
    }
    return digest_of(inputs)


def build(store: Store, say: Say, root: BuildRoot, kind: str = index.BOOT) -> Kernel:
    """Return a guest kernel, built in the build root when the store lacks it. ImageError when it cannot be had."""
    package = sources.locked_source()
    name, configs = KINDS[kind]
    digest = digest_for(root, kind)

    def make(folder: Path) -> None:
        def say_of(step: str) -> None:
            say(f"{name}: {step}")

        log = folder / "build.log"
        try:
            if (folder / _PREPARED).exists():
                say_of("going on where it was interrupted")
            else:
                deb = sources.fetch(store, say)
                _prepare(folder, deb, package.name, configs, log, say_of, root)
            _compile(folder, kind, log, say_of, root)
        except ImageError as error:  # the folder goes
            kept = store.root / "logs" / f"{name.replace(' ', '-')}.log"
            kept.parent.mkdir(exist_ok=True)
            if log.exists():
                shutil.copyfile(log, kept)
            raise ImageError(str(error).replace(str(log), str(kept))) from None

    entry = store.ensure("kernels", digest, make, goes_on=not walls.unconfined())
    return Kernel(entry, digest, f"{package.name} {package.version}")


def _make(*targets: str) -> list[str]:
    return ["make", "ARCH=um", f"-j{len(os.sched_getaffinity(0))}", *ABSENT, *targets]


def _prepare(folder: Path, deb: Path, name: str, configs: Sequence[Path], log: Path, say: Say, root: BuildRoot) -> None:
    """Unpack, patch and configure the source in `folder/source`."""
    source = folder / "source"
    remove(source)
    source.mkdir()

    def run(command: Sequence[str], what: str, see: Mapping[str, Path], **environment: str) -> None:
        root.run(command, log, what, work=source, see=see, environment=environment)

    say("unpacking the source")
    packed = 'dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "*/$2.tar.xz" >source.tar.xz'
    logged(
        ["bash", "-euo", "pipefail", "-c", packed, "-", str(deb), name], log, "Unpacking the kernel source", cwd=source
    )
    unpack = 'tar -xJf source.tar.xz --strip-components=1 --no-same-owner "$@" && rm source.tar.xz'
    unread = [f"--exclude={name}/{pattern}" for pattern in UNREAD]
    run(["sh", "-c", unpack, "-", *unread], "Unpacking the kernel source", {})
    apply = 'for patch in /seen/patches/*; do patch -p1 --forward --no-backup-if-mismatch --input="$patch"; done'
    run(["sh", "-euxc", apply], f"Applying the patches to {name}", {"/seen/patches": PATCHES})

    wanted = "".join(path.read_text() for path in configs)
    (folder / "config").write_text(wanted)
    see = {"/seen/config": folder / "config"}
    run(_make("allnoconfig"), "Configuring the kernel", see, **REPRODUCIBLE, KCONFIG_ALLCONFIG="/seen/config")
    unset = not_set(wanted, (source / ".config").read_text())
    if unset:
        raise ImageError(f"{name} did not take these settings of images/kernel/*config: {', '.join(unset)}")
    (folder / _PREPARED).touch()


def _compile(folder: Path, kind: str, log: Path, say: Say, root: BuildRoot) -> None:
    """Compile the source, which may have been compiled in part."""
    source, make = folder / "source", _make("linux", "modules")
    tell = progress.telling(kind, log.read_text(errors="replace"), say)
    root.run(make, log, "Compiling the kernel", work=source, environment=REPRODUCIBLE, tell=tell)
    (folder / _PREPARED).unlink()
    _keep(folder, source, log)
    trial = ["gcc", "-O2", "-static", "-o", "probe", "/seen/probe.c"]
    root.run(trial, log, "Compiling the trial boot's program", work=folder, see={"/seen/probe.c": PROBE})


def _keep(folder: Path, source: Path, log: Path) -> None:
    """Move what is needed out of the built source, and drop the rest."""
    shutil.copyfile(source / ".config", folder / "config")
    shutil.copyfile(source / "include/config/kernel.release", folder / "release")
    shutil.copy(source / "linux", folder / "linux")
    (folder / "modules").mkdir()
    for name in MODULE_LISTS:
        shutil.copyfile(source / name, folder / "modules" / name)
    tree = folder / "tree"
    tree.mkdir()
    logged(["bash", "-euo", "pipefail", "-c", TREE, "-", str(tree)], log, "Keeping the module tree", cwd=source)
    remove(source)


def settings(text: str) -> dict[str, str]:
    """Return {option: value} of a kernel configuration; a later line about an option replaces an earlier one."""
    return dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.MULTILINE))


def not_set(wanted: str, actual: str) -> list[str]:
    """Return the options that `wanted` asks for and `actual` (a .config) does not have so.

    Kconfig drops silently what has an unmet dependency, which would be noticed late or never.
    """
    have = settings(actual)
    return [
        f"{name}={value}"
        for name, value in settings(wanted).items()
        if have.get(name, "n") != value and name not in VERSION_DEPENDENT
    ]
