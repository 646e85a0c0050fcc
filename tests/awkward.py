"""A fixture for tests that call commands."""

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder as awkward as folders may be: whatever is called here must quote it."""
    folder = tmp_path / "it's \"one\"\nof $HOME's Ünïcödé; #1 & *"
    folder.mkdir()
    return folder
