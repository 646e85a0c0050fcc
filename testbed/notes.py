"""Notes: small files whose age tells when what they say last changed. Whether something is due goes by that age."""

import os
from pathlib import Path


def keep(file: Path, text: str) -> None:
    """Write a text to a note, whose time stays if it already holds that text."""
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}")
        partial.write_text(text)
        partial.rename(file)
