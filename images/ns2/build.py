# SPDX-License-Identifier: MIT
"""Build ns-2.35 from the source that Debian keeps, with LEDBAT for its agent TCP/Linux, in a build root with Tcl.

An entry of the store (`ns2/<digest>/`) holds `ns`, a program for the build root, in which it is run, too.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from images import build_root, index, locked
from images.build_root import BuildRoot
from images.cache import Store, digest_of, file_digest
from images.debian import SOURCES, Archive, Package
from images.errors import ImageError
from images.run import Say

HERE = Path(__file__).parent
LOCK = HERE / "build.lock"
NAME = index.NS2
SUITE = build_root.SUITE
SOURCE = Package("ns2", "2.35+dfsg", "a3a097194c87fedbf2a7d3c8520790dc8688874cad0373af2db0ed33e463d52e", 39_407_536)
"""The source of 2011 as Debian distributes it; no release will follow."""
PACKAGES = (
    *locked.requested(build_root.PACKAGES.read_text()),
    *("libotcl1-dev", "libtclcl1-dev", "tcl8.6-dev", "tclcl"),
)
RECIPE = ("autoconf.h", "build.sh", "interface.patch", "tcp_ledbat.c")


@dataclass(frozen=True)
class Simulator:
    """A built ns-2, and the root in which it runs."""

    program: Path
    root: Path
    digest: str


def build(store: Store, say: Say) -> Simulator:
    """Return ns-2, built when the store lacks it, which takes some minutes. ImageError when it cannot be had."""
    listed = index.path(store.root, NAME)
    inside = BuildRoot(store, say, locked.read(LOCK, SUITE, PACKAGES, NAME))
    digest = digest_of(
        {
            "source": SOURCE.sha256,
            "recipe": {name: file_digest(HERE / name) for name in RECIPE},
            "build root": inside.digest,
        }
    )

    def make(folder: Path) -> None:
        source = _source(store, say)
        say("ns-2: compiling (some minutes)")
        log = store.root / "logs" / "ns2.log"
        see = {"/seen/ns2": HERE, "/seen/source.tar.xz": source}
        words = ["sh", "/seen/ns2/build.sh", str(os.cpu_count() or 1)]
        inside.run(words, log, "Compiling ns-2", work=folder, see=see)

    program = store.ensure("ns2", digest, make) / "ns"
    index.write(store, listed, {"program": {"path": str(program), "digest": digest}})
    return Simulator(program, inside.root, digest)


def _source(store: Store, say: Say) -> Path:
    folder = store.root / "downloads" / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{SOURCE.sha256}.tar.xz"
    if file.is_file() and file_digest(file) == SOURCE.sha256:
        return file
    say(f"ns-2: downloading its source ({SOURCE.size / 1e6:.0f} MB)")
    archive = Archive(store.root / "downloads" / "apt", SUITE, SOURCES, store.say)
    with archive.opened(), tempfile.TemporaryDirectory(dir=folder, prefix=".coming-") as place:
        archive.download_source(SOURCE.name, Path(place))
        for came in Path(place).iterdir():
            if file_digest(came) == SOURCE.sha256:
                return came.rename(file)
    raise ImageError(f"the source of {SOURCE.name} came with another SHA-256 than {SOURCE.sha256}")
