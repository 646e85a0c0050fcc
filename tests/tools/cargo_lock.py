# SPDX-License-Identifier: MIT
"""Write Cargo.lock with a line for each package: `python -m tests.tools.cargo_lock FILE ...`.

Cargo reads this form, too; `cargo update` and `cargo generate-lockfile` write their own again.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from images.cache import project_root


def known() -> list[Path]:
    """Return the Cargo.lock of each implementation, those of tests included."""
    return sorted(file for place in ("images", "tests") for file in (project_root() / place).rglob("Cargo.lock"))


def by_line(text: str) -> str:
    """Return what a Cargo.lock says, with a line for each package."""
    locked = tomllib.loads(text)
    packages = [", ".join(f"{key} = {json.dumps(value)}" for key, value in each.items()) for each in locked["package"]]
    return f"version = {locked['version']}\npackage = [\n" + "".join(f"  {{ {each} }},\n" for each in packages) + "]\n"


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(by_line(file.read_text()))
