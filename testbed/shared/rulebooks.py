"""The rulebooks of products: their scenarios and statements as data."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / "workflows/rulebooks"
STATEMENTS: Final = "statements.yaml"
