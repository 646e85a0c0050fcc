"""Folders of this checkout that products read."""

from pathlib import Path
from typing import Final

WORKFLOWS: Final = Path(__file__).parents[1] / "workflows"
STUDIES: Final = WORKFLOWS / "studies"
REFERENCE: Final = WORKFLOWS / "reference"
"""The reference set."""
