# SPDX-License-Identifier: MIT
"""`python -m images`: build everything that boots, and list it in an index in the cache (images/index.py).

`--debug` has an index of its own, so that a debug kernel makes nothing else out of date.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from images import guest_code, guest_tools, index, lab, lock, module, pack, programs
from images.build_root import BuildRoot
from images.cache import Store, default_root, project_root
from images.errors import ImageError
from images.given import check_started, folder_of
from images.kernel import build as kernel
from images.kernel.trial import seccomp_works
from images.paths import refused_cache
from images.rootfs import build as rootfs
from images.run import Say
from scenarios import homes, implementations
from scenarios.errors import ScenarioError

_ELSEWHERE = (
    "a program under test outside of this checkout, called as its folder is: a folder, REPOSITORY@COMMIT:FOLDER or "
    "ARCHIVE.tar.gz@sha256:SUM; may be repeated"
)


def main() -> int:
    """Build what is missing; return 0, or 1 after one sentence about what failed."""
    parser = argparse.ArgumentParser(
        prog="python -m images",
        description="Build everything that boots in a guest.",
        epilog="In place of programs: `lock [NAME...]` locks the Debian packages that the mirror has today; "
        "`pack FILE [NAME...]` writes what boots and these programs (default: all that were built) into one file; "
        "`unpack FILE` takes it from there and builds nothing.",
    )
    parser.add_argument(
        "program", nargs="*", help="programs under test to build as well; default: renew those that were built before"
    )
    parser.add_argument("--implementation", type=Path, action="append", default=[], metavar="FOLDER", help=_ELSEWHERE)
    parser.add_argument("--boot", action="store_true", help="no program")
    parser.add_argument("--all", action="store_true", help="all programs under test")
    parser.add_argument("--debug", action="store_true", help="also the kernel with KASAN and lockdep, and its module")
    parser.add_argument("--lab", action="store_true", help="also the kernel and root file system of `testbed exec`")
    added = (
        "with --lab: {} packages that labs ask for by `testbed exec --{}`, separated by commas, so that a pack has them"
    )
    for option, whose in (("deb", "Debian"), ("pip", "Python")):
        parser.add_argument(f"--{option}", type=lab.names, default=(), help=added.format(whose, option))
    parser.add_argument("--prune", action="store_true", help="then remove what no checkout that uses the cache boots")
    options = parser.parse_args()
    verb, *words = (
        options.program if options.program[:1] in (["lock"], ["pack"], ["unpack"]) else ["", *options.program]
    )
    if (options.deb or options.pip) and not options.lab:
        parser.error("--deb and --pip name packages of labs; allowed: with --lab")
    if (verb == "pack" and not words) or (verb == "unpack" and len(words) != 1):
        parser.error(f"{verb} takes one FILE{' and names' * (verb == 'pack')}")
    file, words = (Path(words[0]), words[1:]) if verb in ("pack", "unpack") else (Path(), words)
    # as if interrupted at the keyboard, so child processes end, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = time.monotonic()

    def say(step: str) -> None:
        print(f"[{time.monotonic() - start:4.0f} s] {step}", flush=True)

    try:
        if refused := refused_cache(default_root()):
            raise ImageError(refused)
        store = Store(default_root(), say)
        words = [*words, *_elsewhere(store, options.implementation)]
        if verb in ("", "pack"):
            programs.check_names(words)
            for name in words:
                check_started(name, implementations.folders()[implementations.folder_of(name)], store)
        packed_kinds: list[str] = []
        if verb == "lock":
            lock.renew(store, say, words)
            return 0
        if verb == "unpack":
            about = pack.unpack(store, say, file)
            other = f"{file} was made by another version of the testbed (commit {about.commit or 'unknown'})"
            store = Store(store.root, say, closed=f"{other}; check that out, or run `make images`")
            wanted, packed_kinds = known(about.programs, say), about.kinds
        elif verb == "pack":
            wanted = words or ([] if options.boot else packed(store.root, say))
            packed_kinds = [index.LAB] if not words and index.path(store.root, index.LAB).exists() else []
        else:
            wanted = words or ([] if options.boot else programs.built(store.root))
            wanted = programs.names() if options.all else wanted
        kinds = [
            kind
            for kind, asked_for in ((index.DEBUG, options.debug), (index.LAB, options.lab))
            if asked_for or kind in packed_kinds or (options.prune and index.path(store.root, kind).exists())
        ]
        boots = [lock.renewing(store, say, partial(build_all, store, say, kind)) for kind in (index.BOOT, *kinds)][-1]
        for name in dict.fromkeys(wanted):
            lock.renewing(store, say, partial(programs.build, store, say, name))
        if options.deb:
            lab.with_debian(store, say, options.deb)
        if options.pip:
            python = lab.with_python(store, say, options.pip)
            # as hand-ins name them
            lab.with_python(store, say, [f"{name}=={about['version']}" for name, about in python.versions.items()])
        root = index.read(boots)["rootfs"]
        guest_code.compiled(store, project_root(), store.root / root["path"], root["digest"])
        index.register(store.root)
        if options.prune:
            prune(store)
        if verb == "pack":
            pack.pack(store, say, wanted, kinds, file)
    except KeyboardInterrupt:
        print("interrupted; what is ready is kept", file=sys.stderr)
        return 130
    except (ImageError, ScenarioError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    say(f"all images are ready: {boots}")
    return 0


def _elsewhere(store: Store, given: Sequence[Path]) -> list[str]:
    """Let programs lie in what is given; return their names. Raises ImageError for one that has none."""
    try:
        return [homes.add(folder_of(each, store)) for each in given]
    except ValueError as error:
        raise ImageError(f"--implementation: {error}") from None


def build_all(store: Store, say: Say, kind: str = index.BOOT) -> Path:
    """Build what boots, of one of `index.KINDS`, into the store, and return its index."""
    entries: dict[str, dict[str, object]] = {}
    listed = index.path(store.root, kind)
    inside = BuildRoot(store, say)
    folder, digest = guest_tools.build(store, say, inside)
    entries["tools"] = {"path": str(folder), "digest": digest}
    root = rootfs.build_lab(store, say) if kind == index.LAB else rootfs.build(store, say)
    entries["rootfs"] = {"path": str(root.root), "digest": root.digest, "packages": str(root.packages)}
    built = kernel.build(store, say, inside, kind)
    entries["kernel"] = {
        "path": str(built.program),
        "digest": built.digest,
        "release": built.release,
        "source": built.source,
        "seccomp": seccomp_works(built.program, built.probe),
    }
    made = [module.build(store, say, inside, name, built) for name in module.NAMES]
    if kind == index.LAB:  # labs of courses load it to read windows of connections
        made.append(module.build(store, say, inside, "tcp_probe", built, kernel.HERE))
    for path, digest in made:
        for file in sorted(path.parent.glob("*.ko")):
            entries[f"module:{file.stem}"] = {"path": str(file), "digest": digest}
    return index.write(store, listed, entries)


def known(names: Sequence[str], say: Say) -> list[str]:
    """Return the programs that this checkout or --implementation has; say which ones it lacks."""
    there = programs.names()
    if unknown := sorted({*names} - {*there}):
        say(f"unpacked, but unknown here: {', '.join(unknown)} (--implementation FOLDER says where one lies)")
    return [name for name in names if name in there]


def packed(root: Path, say: Say) -> list[str]:
    """Return the programs that were built from this checkout's sources; say which ones were built from others only."""
    before = programs.built(root)
    wanted = [name for name in before if index.path(root, name).exists()]
    if left := sorted({*before} - {*wanted}):
        say(f"left out, as built from other sources: {', '.join(left)} (`python -m images {left[0]}` renews it)")
    return wanted


def prune(store: Store) -> None:
    """Remove entries that no checkout using the store boots."""
    keep: set[Path] = set()
    for checkout, listing in index.in_use(store.root):
        listed = index.read(listing)
        keep.update(store.root / entry for entry in listed[index.ENTRIES])
        if "rootfs" in listed:
            keep.add(store.path(guest_code.KIND, guest_code.digest(checkout, listed["rootfs"]["digest"])))
    store.prune(keep)


if __name__ == "__main__":
    sys.exit(main())
