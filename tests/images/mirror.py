"""A mirror of Debian on this disk, with packages made here: apt and dpkg are the real ones."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SUITE = "trixie"


class Mirror:
    """An archive with one suite. `offer` replaces its contents."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def offer(self, packages: Mapping[str, str], content: str = "") -> None:
        """Have these packages: version by name. Files with another `content` are other files of that version."""
        place = self.root / "dists" / SUITE / "main" / "binary-amd64"
        place.mkdir(parents=True, exist_ok=True)
        stanzas = []
        for name, version in packages.items():
            file = self._package(name, version, content)
            control = subprocess.run(["dpkg-deb", "--field", file], capture_output=True, text=True, check=True).stdout
            data = file.read_bytes()
            stanzas.append(
                f"{control}Filename: {file.relative_to(self.root)}\nSize: {len(data)}\n"
                f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
            )
        index = "\n".join(stanzas).encode()
        (place / "Packages").write_bytes(index)
        (self.root / "dists" / SUITE / "Release").write_text(
            f"Suite: {SUITE}\nCodename: {SUITE}\nComponents: main\nArchitectures: amd64\nSHA256:\n"
            f" {hashlib.sha256(index).hexdigest()} {len(index)} main/binary-amd64/Packages\n"
        )

    def _package(self, name: str, version: str, content: str) -> Path:
        made = self.root / "made" / name
        (made / "DEBIAN").mkdir(parents=True, exist_ok=True)
        (made / "file").write_text(content)
        (made / "DEBIAN" / "control").write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: a trial\n"
        )
        file = self.root / "pool" / f"{name}_{version}_all.deb"
        file.parent.mkdir(exist_ok=True)
        command = ["dpkg-deb", "--build", "--root-owner-group", str(made), str(file)]
        # the same bytes whenever it is made
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
        return file
