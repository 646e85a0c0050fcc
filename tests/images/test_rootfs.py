# SPDX-License-Identifier: MIT
"""The root file system holds nothing that depends on who built it, or when."""

from __future__ import annotations

import pytest

from engine import images
from images import index


@pytest.mark.parametrize("kind", [index.BOOT, index.LAB])
def test_bytecode_has_no_time_stamp(kind: str) -> None:
    # bytes 4 to 7 are flags, and 0 is a time stamp (PEP 552): Python wrote it when a package's script ran
    stamped = [str(file) for file in images.load(kind).rootfs.rglob("*.pyc") if file.read_bytes()[4:8] == bytes(4)]
    assert stamped == []
