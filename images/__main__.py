# SPDX-License-Identifier: MIT
"""`python -m images`: build everything that boots, and list it in an index in the cache (images/index.py).

`--debug` has an index of its own, so that a debug kernel makes nothing else out of date.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from common.arguments import path, wrong_shell
from images import guest_code, guest_tools, index, lab, lock, pack, programs
from images.boot import build_all, timed_say
from images.build_root import BuildRoot
from images.cache import Store, default_root, project_root
from images.errors import ImageError
from images.given import check_started, folder_of
from images.paths import refused_cache
from images.rootfs import build as rootfs
from images.run import Say
from images.steps import at_once
from images.stock import build as stock
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
    parser.add_argument("--implementation", type=path, action="append", default=[], metavar="FOLDER", help=_ELSEWHERE)
    parser.add_argument("--boot", action="store_true", help="no program")
    parser.add_argument("--all", action="store_true", help="all programs under test")
    parser.add_argument("--debug", action="store_true", help="also the kernel with KASAN and lockdep, and its module")
    parser.add_argument("--lab", action="store_true", help="also the kernel and root file system of `testbed exec`")
    parser.add_argument("--stock", action="store_true", help="also a distribution's kernel, for the backend `qemu`")
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
    say = timed_say()
    try:
        if refused := wrong_shell() or refused_cache(default_root()):
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
        boots, *_ = at_once(
            partial(_boots, store, say, (index.BOOT, *kinds)),
            *(partial(_program, store, say, name) for name in dict.fromkeys(wanted)),
            most=1 + len(os.sched_getaffinity(0)),
        )
        if options.stock:
            lock.renewing(store, say, partial(_stock, store, say))
        if options.deb:
            lab.with_debian(store, say, options.deb)
        if options.pip:
            python = lab.with_python(store, say, options.pip)
            # as hand-ins name them
            lab.with_python(store, say, [f"{name}=={about['version']}" for name, about in python.versions.items()])
        root = index.read(boots)["rootfs"]
        guest_code.compiled(store, project_root(), store.root / root["path"], root["digest"])
        if store.writable:
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


def _boots(store: Store, say: Say, kinds: Sequence[str]) -> Path:
    """Build these kinds of what boots; return the index of the last one."""
    return [lock.renewing(store, say, partial(build_all, store, say, kind)) for kind in kinds][-1]


def _stock(store: Store, say: Say) -> None:
    tools, _ = guest_tools.build(store, say, BuildRoot(store, say))
    index.write(store, index.path(store.root, index.STOCK), stock.build(store, say, rootfs.build(store, say), tools))


def _program(store: Store, say: Say, name: str) -> Path:
    with store.part() as part:
        return lock.renewing(part, say, partial(programs.build, part, say, name))


def _elsewhere(store: Store, given: Sequence[Path]) -> list[str]:
    """Let programs lie in what is given; return their names. Raises ImageError for one that has none."""
    try:
        return [homes.add(folder_of(each, store)) for each in given]
    except ValueError as error:
        raise ImageError(f"--implementation: {error}") from None


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
