"""docs/ARTIFACT.md has what its program computes of the studies and the reference set."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testbed import artifact, tables

PAGE = Path(__file__).parents[2] / "docs/ARTIFACT.md"


def test_the_page_has_what_the_program_writes(tmp_path: Path) -> None:
    copy = Path(shutil.copy(PAGE, tmp_path))
    artifact.write(copy)
    assert copy.read_text() == PAGE.read_text()


def test_a_page_without_marks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("# An artifact\n")
    assert tables.main(["artifact", "--page", str(page)]) == 1
    assert f"{page}: found no {artifact.COSTS[0]}" in capsys.readouterr().err
