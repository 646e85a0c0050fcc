"""Writing results so that a reader never meets half a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a temporary sibling to write to; it takes the name `path` only when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # the suffix stays last: writers of images and tables look at it
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file at once."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
