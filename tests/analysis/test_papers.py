"""docs/results/papers.md and the README say what the reference set has of each paper."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from analysis.__main__ import main as analyse
from analysis.claims import registry
from analysis.judge.of_claim import judge
from analysis.judge.verdict import Verdict
from analysis.reference.papers import of_papers
from testbed.tables import main
from tests.analysis.kept_results import REFERENCE, ROOT, STUDIES

OPTIONS = {
    "--page": "docs/results/papers.md",
    "--summary": "README.md",
    "--failing": "docs/results/failing.md",
    "--today": "docs/results/today.md",
}
PAGES = tuple(ROOT / page for page in OPTIONS.values())
PAGE = PAGES[0]


def written(pages: list[Path], studies: Path = STUDIES) -> int:
    into = [word for name, page in zip(OPTIONS, pages, strict=True) for word in (name, str(page))]
    return main(["papers", "--studies", str(studies), "--reference", str(REFERENCE), *into])


def copied(folder: Path) -> list[Path]:
    """The pages in a folder, as they lie to each other."""
    (folder / PAGE.relative_to(ROOT)).parent.mkdir(parents=True)
    return [Path(shutil.copy(page, folder / page.relative_to(ROOT))) for page in PAGES]


def test_pages_have_what_the_reference_set_has(tmp_path: Path) -> None:
    copies = copied(tmp_path)
    assert written(copies) == 0
    assert [copy.read_text() for copy in copies] == [page.read_text() for page in PAGES]


def test_both_pages_count_the_same_findings() -> None:
    papers, failing = (ROOT / OPTIONS[option] for option in ("--page", "--failing"))
    of_papers_page = re.findall(r"Of its (\d+) findings", papers.read_text())
    assert re.findall(r"^\d+ of (\d+) findings", failing.read_text(), re.MULTILINE)[:4] == of_papers_page


def test_what_says_nothing_of_a_network_counts_apart() -> None:
    views = of_papers(STUDIES, REFERENCE)
    for view in views:
        apart = {finding.name for finding in view.findings if finding.apart}
        assert apart and view.counts.total() + len(apart) == len(view.findings)
    assert [len([one for one in view.findings if one.apart]) for view in views] == [3, 9, 2, 3]


def test_a_bound_that_is_ours_is_called_so_where_it_decides() -> None:
    text = PAGE.read_text()
    for view in of_papers(STUDIES, REFERENCE):
        entries = {claim["id"]: claim for experiment in view.experiments for claim in experiment.claims}
        for finding in view.findings:
            (line,) = (line for line in text.splitlines() if line.startswith(f"| {finding.sentence} |"))
            claim = entries[finding.claim]
            is_ours = "bound" in claim.get("ours", ()) and claim["verdict"] != Verdict.UNTESTABLE
            assert ("by our bound" in line) == is_ours, line


def test_a_number_of_a_formula_is_not_met_by_half_of_it() -> None:
    judged = []
    for folder in registry.folders_of_studies(STUDIES):
        conformance = registry.load_study(folder).apart.get("conformance", [])
        for experiment in map(registry.load, registry.claims_files(folder)):
            for claim in experiment.claims:
                if claim.finding in conformance and claim.value and claim.measure and not claim.holds:
                    judgement = judge(claim, experiment.words, {1: claim.value / 2}, {})
                    judged.append((claim.id, judgement and judgement.verdict))
    assert judged and [name for name, verdict in judged if verdict != Verdict.FAILS] == []


def test_numbers_of_missed_goals_stand_on_the_pages_that_rows_name() -> None:
    goals = PAGES[2].read_text().partition("## Our own goals")[2]
    rows = [row.split(" | ") for row in goals.splitlines() if row.startswith("| ") and "](" in row]
    assert len(rows) > 10
    for row in rows:
        [page] = re.findall(r"\]\(([^)#]+)", row[0])
        text = (PAGES[2].parent / page).read_text()
        assert [number for number in re.findall(r"\d[\d.]*", row[2]) if number not in text] == [], row


def test_a_page_without_marks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text("# Papers\n")
    assert written([tmp_path / "page.md"] * 4) == 1
    assert "page.md: found no <!-- papers" in capsys.readouterr().err


def test_without_studies_nothing_is_judged_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyse(["reference", str(tmp_path), "--out", str(REFERENCE)]) == 2
    assert f"{tmp_path}/study.yaml" in capsys.readouterr().err


def test_a_folder_without_studies_leaves_the_pages_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies = copied(tmp_path)
    assert written(copies, tmp_path) == 1
    assert f"{tmp_path}: found no */study.yaml; allowed: the folder of the studies" in capsys.readouterr().err
    assert [copy.read_text() for copy in copies] == [page.read_text() for page in PAGES]
