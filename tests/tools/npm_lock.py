# SPDX-License-Identifier: MIT
"""Write the `fetch` of an implementation.yaml from npm's lock file: `python -m tests.tools.npm_lock package-lock.json`.

`npm install --package-lock-only NAME@VERSION` writes such a file and installs nothing. Each package is fetched once, as
`fetch` will do it, compared with the lock's digest, and listed with its SHA-256. No package's program runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Package(NamedTuple):
    """A package as the lock has it; `digest` is its SHA-512."""

    name: str
    version: str
    digest: bytes


def packages(lock: Mapping[str, Any]) -> list[Package]:
    """Return the packages of a lock file that an installation has, by name; ValueError for what `fetch` cannot say.

    `fetch` puts packages beside each other, so there is one version of each.
    """
    if "packages" not in lock:
        raise ValueError("found no `packages`; allowed: a lock file of npm 7 or newer")
    found: dict[str, Package] = {}
    for place, about in lock["packages"].items():
        if not place or about.get("dev") or about.get("optional") or about.get("peer"):
            continue
        name = place.rpartition("node_modules/")[2]
        kind, _, digest = about.get("integrity", "").partition("-")
        if about.get("link") or kind != "sha512":
            raise ValueError(f"{name}: found no SHA-512; allowed: packages of the registry")
        package = Package(name, about["version"], base64.b64decode(digest))
        if found.setdefault(name, package).version != package.version:
            both = f"{found[name].version} and {package.version}"
            raise ValueError(f"{name}: found the versions {both}; allowed: one (`overrides` in package.json)")
    return sorted(found.values())


def sha256_of(package: Package) -> str:
    """Fetch a package and return its SHA-256; ValueError for another file than the lock's."""
    with tempfile.TemporaryDirectory() as place:
        words = ["npm", "pack", f"--pack-destination={place}", "--ignore-scripts", "--silent", "--"]
        subprocess.run([*words, f"{package.name}@{package.version}"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        [archive] = Path(place).iterdir()
        data = archive.read_bytes()
    if hashlib.sha512(data).digest() != package.digest:
        raise ValueError(f"{package.name} {package.version}: found another file than the lock's")
    return hashlib.sha256(data).hexdigest()


def entry(package: Package, sha256: str) -> str:
    """Write a package as an item of `fetch`."""
    name = json.dumps(package.name) if package.name.startswith("@") else package.name
    return f"  - registry: npm\n    package: {name}\n    version: {package.version}\n    sha256: {sha256}\n"


if __name__ == "__main__":
    try:
        listed = packages(json.loads(Path(sys.argv[1]).read_text()))
        print("fetch:\n" + "".join(entry(package, sha256_of(package)) for package in listed), end="")
    except (ValueError, IndexError) as error:
        sys.exit(f"error: {error}")
