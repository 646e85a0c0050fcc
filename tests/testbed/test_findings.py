"""The folders of findings: each is complete, and the page's table is what the program writes."""

import re
from pathlib import Path

import pytest

from analysis.errors import BadInputError
from scenarios.load import read as read_document
from scenarios.resolve import expand
from testbed.findings import tables
from testbed.tables import END, START

PAGE = Path(__file__).parents[2] / "docs" / "results" / "findings.md"
FOLDER = PAGE.with_suffix("")
FILES = sorted(FOLDER.glob(f"*/{tables.FILE}"))
CASES = read_document(PAGE.parents[2] / "workflows/rulebooks/interop/cases.yaml").data


def test_the_table_is_what_the_program_writes() -> None:
    assert f"{START}\n{tables.tables([FOLDER])}{END}" in PAGE.read_text()


def test_each_section_has_a_folder_and_each_folder_a_section() -> None:
    sections = re.findall(r"(?m)^## (.*)$", PAGE.read_text())
    assert sorted(tables.read(file).section for file in FILES) == sorted(sections)
    assert {file.parent for file in FILES} == {folder for folder in FOLDER.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_what_shows_a_finding_can_be_run(file: Path) -> None:
    bug = tables.read(file)
    if bug.interop:
        assert bug.interop in CASES["cases"]
    else:
        flows = [flow for cell in expand(file.parent / tables.SCENARIO, "complete") for flow in cell.settings["flows"]]
        ends = {flow.get(field) for flow in flows for field in ("implementation", "receiver_implementation")}
        assert ends & {*bug.clients}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("clients: [nobody]", "clients: found 'nobody'; allowed: implementations"),
        ("cause: guessed", "cause: found 'guessed'; allowed: varied, not varied"),
        ("without_testbed: later", "without_testbed: found 'later', no file beside it; allowed: a file, or `no: `"),
    ],
)
def test_what_is_wrong_with_a_finding(change: str, message: str, tmp_path: Path) -> None:
    text = (FOLDER / "utp-rs-sizes" / tables.FILE).read_text()
    (tmp_path / tables.SCENARIO).write_text("")
    field = change.split(":")[0]
    (tmp_path / tables.FILE).write_text(re.sub(rf"(?m)^{field}:.*$", change, text))
    with pytest.raises(BadInputError) as error:
        tables.read(tmp_path / tables.FILE)
    assert message in str(error.value)
