"""Writes files so that no reader sees half of one; `common.sums` does so for those that are read again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.errors import BadInputError
from common import sums
from common.files import give_name


def check_folder(folder: Path, what: str) -> None:
    """Raise BadInputError for a folder of `what` that does not exist."""
    if not folder.is_dir():
        raise BadInputError(f"{folder}: found no such folder; allowed: a folder of {what}")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary sibling to write to; it is renamed to `path` only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # the suffix stays last, since writers of images and tables go by it
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        give_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_made(path: Path, text: str) -> None:
    """Write a text file that is read again, with its sum."""
    with sums.replacing(path.parent) as draft:
        (draft / path.name).write_text(text, encoding="utf-8")


def replace_between(page: Path, start: str, end: str, text: str) -> None:
    """Put `text` in the place of what stands between two marks of a page.

    Raises BadInputError where the page lacks one of them.
    """
    head, _, rest = page.read_text().partition(start)
    _, marker, tail = rest.partition(end)
    if not marker:
        raise BadInputError(f"{page}: found no {start} ... {end}; allowed: a page with both")
    write_text(page, f"{head}{start}\n{text}{end}{tail}")
