# SPDX-License-Identifier: MIT
"""Debian's stock kernel as a distribution package, modules built against its headers, and an initial RAM disk of all.

Three entries of the store: `stock/` (a Debian root with kernel, headers and compiler, never booted), `stock-modules/`
(compiled inside that root, whatever the host is) and `initrd/` (`initrd.cpio` with the guest's root file system, both
kinds of modules and the tools: no disk is needed, whose timing would enter the results).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from images import locked, module
from images.cache import Store, digest_of, file_digest, project_root, remove, tree_digest
from images.errors import ImageError
from images.rootfs.build import SUITE, RootFileSystem, install_debian
from images.run import Say, logged

PACKAGES = ("linux-image-cloud-amd64", "linux-headers-cloud-amd64", "gcc", "libc6-dev", "make")
LOCK = Path(__file__).with_name("packages.lock")
NAME = "stock"
GUEST = project_root() / "engine" / "guest"
INIT = GUEST / "init.sh"
"""What this guest, without hostfs, has in place of the default backend's first program."""
_LIST = 'chroot "$1" dpkg-query --show >"$1/packages.txt"'
_EMPTY = ("results", "opt/testbed")


def build(store: Store, say: Say, root: RootFileSystem, tools: Path) -> dict[str, dict[str, str]]:
    """Return what is built, each part by name (`kernel`, `rootfs`, `initrd`, `module:NAME`) with its `path`.

    The kernel has its `release` and package `version`, the file systems their digests. Raises ImageError when a part or
    cpio is not to be had.
    """
    if shutil.which("cpio") is None:
        raise ImageError("cpio is not installed: sudo apt-get install cpio")
    stock = _stock(store, say)
    (vmlinuz,) = (stock / "root" / "boot").glob("vmlinuz-*")
    release = vmlinuz.name.removeprefix("vmlinuz-")
    modules = [_module(store, say, name, stock, release) for name in module.NAMES]
    digest = digest_of(
        {
            "stock": file_digest(stock / "packages.txt"),
            "modules": [file_digest(path) for path in modules],
            "rootfs": root.digest,
            "tools": tree_digest(tools),
            "init": file_digest(INIT),
            "recipe": file_digest(Path(__file__)),
        }
    )

    def make(folder: Path) -> None:
        say("stock kernel: packing the initial RAM disk")
        added = folder / "added"
        for name in _EMPTY:
            (added / name).mkdir(parents=True)
        shutil.copytree(
            stock / "root" / "usr/lib/modules" / release,
            added / "usr/lib/modules" / release,
            ignore=shutil.ignore_patterns("build", "source"),
        )
        shutil.copytree(tools, added / "opt/tools")
        (added / "opt/modules").mkdir()
        for path in modules:
            shutil.copy(path, added / "opt/modules")
        shutil.copy(INIT, added / "init")
        log = store.root / "logs" / "stock.log"
        # archives one after the other are one to the kernel
        command = (
            'for tree in "$1" "$2"; do (cd "$tree" && find . -print0 | LC_ALL=C sort -z | '
            "cpio --null --create --format=newc --owner=0:0 --reproducible --quiet); done >$3"
        )
        words = ["bash", "-euo", "pipefail", "-c", command, "-", str(root.root), str(added), "initrd.cpio"]
        logged(words, log, "Packing the initial RAM disk", cwd=folder)
        remove(added)

    initrd = store.ensure("initrd", digest, make) / "initrd.cpio"
    return {
        "kernel": {"path": str(vmlinuz), "release": release, "version": _version(stock, f"linux-image-{release}")},
        "rootfs": {"path": str(root.root), "digest": root.digest},
        "initrd": {"path": str(initrd), "digest": digest},
        **{f"module:{path.stem}": {"path": str(path)} for path in modules},
    }


def _stock(store: Store, say: Say) -> Path:
    lock = locked.read(LOCK, SUITE, PACKAGES, NAME)
    inputs = {"packages": lock.digest, "recipe": 2}

    def make(folder: Path) -> None:
        files = locked.fetch(store, say, lock, "stock kernel")
        say(f"stock kernel: installing it from Debian {SUITE}, with its headers and a compiler (2 minutes)")
        log = store.root / "logs" / "stock.log"
        install_debian(folder, lock, files, [_LIST], log, "Installing Debian's kernel")

    return store.ensure("stock", digest_of(inputs), make)


def _module(store: Store, say: Say, name: str, stock: Path, release: str) -> Path:
    sources = module.sources(module.HERE / name)
    inputs = {"sources": sources, "stock": file_digest(stock / "packages.txt"), "recipe": file_digest(Path(__file__))}

    def make(folder: Path) -> None:
        say(f"module {name}: compiling for {release}")
        work = folder / "work"
        for path in sources:
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(module.HERE / name / path, work / path)
        inside = ["bwrap", "--unshare-all", "--ro-bind", str(stock / "root"), "/", "--bind", str(work), "/mnt"]
        inside += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--chdir", "/mnt"]  # noqa: S108
        command = [*inside, *module.compiling(f"/lib/modules/{release}/build", "/mnt")]
        logged(command, store.root / "logs" / "stock.log", f"Compiling module {name} for {release}")
        module.take(work, name, folder)
        remove(work)

    return store.ensure("stock-modules", digest_of(inputs), make) / f"{name}.ko"


def _version(stock: Path, package: str) -> str:
    lines = (line.split("\t") for line in (stock / "packages.txt").read_text().splitlines())
    return next(version for name, version in lines if name.partition(":")[0] == package)
