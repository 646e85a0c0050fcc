# SPDX-License-Identifier: MIT
"""Which commit this code is of."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FILE: Final = "COMMIT"
"""What a wheel has in the place of git's folder: the commit that it was built from."""


@cache
def commit() -> str:
    """Return the commit, with ``-dirty`` if files differ from it; ``unknown`` without a checkout or git."""
    file = ROOT / FILE
    if file.exists():
        return file.read_text().strip()
    if shutil.which("git") is None:
        return "unknown"
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    described = subprocess.run(words, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"
