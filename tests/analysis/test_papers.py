"""docs/results/papers.md and the README say what the reference set has of each paper."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from analysis.__main__ import main
from tests.analysis.kept_results import REFERENCE, ROOT, STUDIES

PAGE, README = ROOT / "docs/results/papers.md", ROOT / "README.md"


def written(page: Path, summary: Path) -> int:
    into = ["--page", str(page), "--summary", str(summary)]
    return main(["papers", "--studies", str(STUDIES), "--reference", str(REFERENCE), *into])


def test_pages_have_what_the_reference_set_has(tmp_path: Path) -> None:
    copies = [Path(shutil.copy(page, tmp_path)) for page in (PAGE, README)]
    assert written(*copies) == 0
    assert [copy.read_text() for copy in copies] == [PAGE.read_text(), README.read_text()]


def test_a_page_without_marks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text("# Papers\n")
    assert written(tmp_path / "page.md", tmp_path / "page.md") == 2
    assert "page.md: found no <!-- papers" in capsys.readouterr().err
