# SPDX-License-Identifier: MIT
"""`python -m images`: build everything that boots, and write where it is to `images.json` in the cache.

What is built with `--debug` is in `debug-images.json`, so that a debug kernel puts nothing else out of date.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from engine import guest_code
from engine import images as boot
from engine.errors import EngineError
from engine.scenario import ScenarioError
from images import module, programs
from images.cache import Store, default_root
from images.errors import ImageError
from images.kernel import build as kernel
from images.kernel.trial import seccomp_works
from images.rootfs import build as rootfs
from images.run import Say
from images.tools import build as tools

INDEX = "images.json"
DEBUG_INDEX = "debug-images.json"


def main() -> int:
    """Build what is missing; return 0, or 1 after one sentence about what failed."""
    parser = argparse.ArgumentParser(prog="python -m images", description="Build everything that boots in a guest.")
    parser.add_argument(
        "program", nargs="*", help="programs under test to build as well; those built before are renewed"
    )
    parser.add_argument("--all", action="store_true", help="all programs under test")
    parser.add_argument("--debug", action="store_true", help="also the kernel with KASAN and lockdep, and its module")
    parser.add_argument("--prune", action="store_true", help="then remove what the cache has beyond that")
    options = parser.parse_args()
    # as if interrupted at the keyboard: what was started ends too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = time.monotonic()

    def say(step: str) -> None:
        print(f"[{time.monotonic() - start:4.0f} s] {step}", flush=True)

    try:
        store = Store(default_root(), say)
        index = build_all(store, say)
        if options.debug or (options.prune and (store.root / DEBUG_INDEX).exists()):
            index = build_all(store, say, debug=True)
        wanted = programs.names() if options.all else [*options.program, *programs.built(store.root)]
        for name in dict.fromkeys(wanted):
            programs.build(store, say, name)
        if options.prune:
            store.prune()
        guest_code.compiled(boot.load(), boot.PROJECT)
    except KeyboardInterrupt:
        print("interrupted; what is ready is kept", file=sys.stderr)
        return 130
    except (ImageError, EngineError, ScenarioError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    say(f"all images are ready: {index}")
    return 0


def build_all(store: Store, say: Say, *, debug: bool = False) -> Path:
    """Build into the store, with the plain or the debug kernel, and return the path of its index."""
    found: dict[str, dict[str, object]] = {}
    folder, digest = tools.build(store, say)
    found["tools"] = {"path": str(folder), "digest": digest}
    root = rootfs.build(store, say)
    found["rootfs"] = {"path": str(root.root), "digest": root.digest, "packages": str(root.packages)}
    built = kernel.build(store, say, debug=debug)
    found["kernel"] = {
        "path": str(built.program),
        "digest": built.digest,
        "release": built.release,
        "source": built.source,
        "seccomp": seccomp_works(built.program),
    }
    for name in module.NAMES:
        path, digest = module.build(store, say, name, built)
        for file in sorted(path.parent.glob("*.ko")):
            found[f"module:{file.stem}"] = {"path": str(file), "digest": digest}
    index = store.root / (DEBUG_INDEX if debug else INDEX)
    text = json.dumps(found, indent=2) + "\n"
    # left alone when nothing changed: what was made with these images is then not out of date
    if not index.exists() or index.read_text() != text:
        draft = index.with_suffix(".json.new")
        draft.write_text(text)
        draft.rename(index)
    return index


if __name__ == "__main__":
    sys.exit(main())
