"""Roots of Ubuntu, from the archive that $UBUNTU_MIRROR names, whose keys are in $UBUNTU_KEYRING."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from images.cache import Store, default_root

_KEYS = Path(os.environ.get("UBUNTU_KEYRING", "/usr/share/keyrings/ubuntu-archive-keyring.gpg"))


def missing() -> str | None:
    """What this host lacks for such roots."""
    if "UBUNTU_MIRROR" not in os.environ:
        return "UBUNTU_MIRROR names no archive of Ubuntu"
    if not _KEYS.exists():
        return f"{_KEYS} is missing (ubuntu-keyring), and UBUNTU_KEYRING names no other"
    return "only root makes such roots" if os.geteuid() else None


def root(suite: str, packages: Sequence[str]) -> Path:
    """The root folder of a release with these packages; kept in the cache."""

    def make(folder: Path) -> None:
        words = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--components=main,universe"]
        words += [f"--keyring={_KEYS}", f"--include={','.join(packages)}"]
        subprocess.run([*words, suite, str(folder / "root"), os.environ["UBUNTU_MIRROR"]], check=True)

    return Store(default_root()).ensure("hosts", "-".join((suite, *packages)), make) / "root"
