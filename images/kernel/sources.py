# SPDX-License-Identifier: MIT
"""Which kernel source is built: Debian's own source package, pinned where it can be had, else the nearest tested one.

Debian keeps one or two versions at a time, so a single pin would rot. `sources.json` holds pinned candidates, best
first, and the range of versions this project was tested with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from images.cache import Store, file_digest
from images.debian import Archive, Package
from images.errors import ImageError
from images.run import Say

LIST = Path(__file__).with_name("sources.json")
PREFIX = "linux-source-"
ABOUT = "package.json"


@dataclass(frozen=True)
class Pins:
    """Pinned candidates (best first), the suites to look in, and the tested range [lowest, below)."""

    candidates: tuple[Package, ...]
    suites: tuple[str, ...]
    lowest: str
    below: str

    @classmethod
    def read(cls, path: Path = LIST) -> Pins:
        """Read sources.json."""
        data = json.loads(path.read_text())
        candidates = tuple(Package(c["package"], c["version"], c["sha256"], c["size"]) for c in data["candidates"])
        return cls(candidates, tuple(data["suites"]), data["range"]["from"], data["range"]["below"])

    def newest(self, packages: Sequence[Package]) -> Package | None:
        """Return the newest of `packages` that lies in the tested range."""
        tested = [p for p in packages if version(self.lowest) <= version(p.version) < version(self.below)]
        return max(tested, key=lambda package: (version(package.version), package.version), default=None)


def version(text: str) -> tuple[int, ...]:
    """Return the upstream part of a Debian version as numbers: `7.3.4-1~bpo13+1` is (7, 3, 4)."""
    match = re.match(r"[\d.]*\d", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def choose(
    pins: Pins, cached: Sequence[Package], available: Callable[[], Sequence[Package]]
) -> tuple[Package, str | None]:
    """Return the source to build, and a warning when it is not a pinned one.

    What is cached comes first, so that a second build needs no network; `available` is asked only after that.
    Raises ImageError when there is no version in the tested range.
    """
    for candidate in pins.candidates:
        if any(package.sha256 == candidate.sha256 for package in cached):
            return candidate, None
    other = pins.newest(cached)
    if other is not None:
        warning = f"{other.name} {other.version} from the cache is not a pinned version; remove it to look again"
        return other, warning
    offered = available()
    for candidate in pins.candidates:
        if candidate in offered:
            return candidate, None
    other = pins.newest(offered)
    if other is not None:
        return other, f"no pinned kernel source is in the archive any more: using {other.name} {other.version}"
    raise ImageError(
        f"The Debian mirror has no {PREFIX}* from {pins.lowest} up to (not including) {pins.below}: "
        f"set DEBIAN_MIRROR to a mirror that has {' or '.join(pins.suites[:2])}"
    )


def fetch(store: Store, say: Say, pins: Pins | None = None) -> tuple[Package, Path]:
    """Return the chosen source package and its .deb file, downloading it into the store when it is not there."""
    pins = pins or Pins.read()
    archive = Archive(store.root / "downloads" / "apt", list(pins.suites))

    def available() -> list[Package]:
        say("guest kernel: looking for the source in Debian's archive")
        archive.update()
        return archive.find(PREFIX)

    package, warning = choose(pins, _cached(store), available)
    if warning:
        say(f"warning: {warning}")

    def download(folder: Path) -> None:
        say(f"guest kernel: downloading {package.name} {package.version} ({package.size / 1e6:.0f} MB)")
        if not archive.ready():
            archive.update()
        path = archive.download(package, folder)
        actual = file_digest(path)
        if actual != package.sha256:
            raise ImageError(f"{path.name} is not the pinned file: its SHA-256 is {actual}, not {package.sha256}")
        path.rename(folder / "source.deb")
        (folder / ABOUT).write_text(json.dumps(asdict(package)))

    return package, store.ensure("sources", package.sha256, download) / "source.deb"


def _cached(store: Store) -> list[Package]:
    return [Package(**json.loads(path.read_text())) for path in sorted(store.root.glob(f"sources/*/{ABOUT}"))]
