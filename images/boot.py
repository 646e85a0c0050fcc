# SPDX-License-Identifier: MIT
"""Builds what boots: guest kernel, root file system, tools and modules, each beside what does not need it.

`python3 -m images.boot` does it with the standard library alone, so `make images` starts it while the environment, in
which `python -m images` runs, is still being installed.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from common.estimate import about
from images import build_root, guest_tools, index, locked, module
from images.build_root import BuildRoot
from images.cache import Store, default_root
from images.errors import ImageError
from images.kernel import build as kernel
from images.kernel import progress, sources
from images.kernel.trial import seccomp_works
from images.locked import GoneError
from images.paths import refused_cache
from images.rootfs import build as rootfs
from images.run import Say
from images.steps import at_once

_OTHERS_S = 40
"""What downloads and the steps before the kernel's compilation, and beside it, add to its time."""
Entries = dict[str, Mapping[str, object]]


def build_all(store: Store, say: Say, kind: str = index.BOOT) -> Path:
    """Build what boots, of one of `index.KINDS`, into the store, and return its index."""
    listed = index.path(store.root, kind)
    with store.part() as part:
        inside = BuildRoot(part, say)
        if part.writable and not part.has("kernels", kernel.digest_for(inside, kind)):
            whole_s = progress.expected_s(kind) + _OTHERS_S
            say(f"building the {kernel.KINDS[kind][0]} and what else boots, side by side: {about(whole_s)}")
            # the longest step begins with these, so they have the network first
            at_once(
                partial(locked.fetch, part, say, build_root.base_lock(), "build root"),
                partial(sources.fetch, part, say),
            )
        steps = (_tools, _root, _kernel_and_modules)
        made = at_once(*(partial(step, part, say, inside, kind) for step in steps))
        return index.write(part, listed, {name: entry for entries in made for name, entry in entries.items()})


def _tools(store: Store, say: Say, inside: BuildRoot, _: str) -> Entries:
    folder, digest = guest_tools.build(store, say, inside)
    return {"tools": {"path": str(folder), "digest": digest}}


def _root(store: Store, say: Say, _: BuildRoot, kind: str) -> Entries:
    root = rootfs.build_lab(store, say) if kind == index.LAB else rootfs.build(store, say)
    return {"rootfs": {"path": str(root.root), "digest": root.digest, "packages": str(root.packages)}}


def _kernel_and_modules(store: Store, say: Say, inside: BuildRoot, kind: str) -> Entries:
    built = kernel.build(store, say, inside, kind)
    modules = [(name, module.HERE) for name in module.NAMES]
    if kind == index.LAB:  # labs of courses load it to read windows of connections
        modules.append(("tcp_probe", kernel.HERE))
    made = at_once(*(partial(module.build, store, say, inside, name, built, home) for name, home in modules))
    about_kernel = {
        "path": str(built.program),
        "digest": built.digest,
        "release": built.release,
        "source": built.source,
        "seccomp": seccomp_works(built.program, built.probe),
    }
    files = {file: digest for path, digest in made for file in sorted(path.parent.glob("*.ko"))}
    named = {f"module:{file.stem}": {"path": str(file), "digest": digest} for file, digest in files.items()}
    return {"kernel": about_kernel, **named}


def timed_say() -> Say:
    """Return what prints a step with the seconds that have passed since now, as a line that no other cuts in two."""
    start = time.monotonic()
    return lambda step: print(f"[{time.monotonic() - start:4.0f} s] {step}\n", end="", flush=True)


def main() -> int:
    """Build what is missing; return 0, or 1 after one sentence about what failed."""
    # as if interrupted at the keyboard, so child processes end, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say = timed_say()
    try:
        if refused := refused_cache(default_root()):
            raise ImageError(refused)
        build_all(Store(default_root(), say), say)
    except GoneError as error:  # `python -m images`, which comes next, renews the lock
        say(error.said)
    except KeyboardInterrupt:
        print("interrupted; what is ready is kept", file=sys.stderr)
        return 130
    except (ImageError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
