"""Reads products' files of results, of one version each (docs/reference/formats.md)."""

from pathlib import Path

from analysis.documents import Fields, read_made


def read_of_format(folder: Path, name: str, version: int) -> Fields:
    """Read a file of results whose sum is right.

    Raises:
        BadInputError: it is of another version.
        DamagedError: it is damaged, missing or without a sum.
    """
    document = read_made(folder, name)
    check(document, version)
    return document


def check(document: Fields, version: int) -> None:
    """Refuse a file of another version by a BadInputError."""
    if document.get("format", int) != version:
        raise document.error("format", document.data["format"], str(version))
