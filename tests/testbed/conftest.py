"""Fixtures of all tests here."""

from tests.awkward import tmp_path  # noqa: F401
