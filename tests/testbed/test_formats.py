"""What a product wrote in another version of its format is refused by file, version found and version read."""

import json
from pathlib import Path

import pytest

from testbed import tables
from testbed.conformance import judge as conformance
from testbed.evaluate import matrix
from testbed.evaluate import pages as evaluate
from testbed.interop import judge as interop
from tests.analysis.synthetic import vouch


@pytest.mark.parametrize(
    ("product", "file", "version"),
    [
        ("conformance", conformance.FILE, conformance.FORMAT),
        ("evaluate", matrix.DATA, evaluate.FORMAT),
        ("interop", interop.FILE, interop.FORMAT),
    ],
)
def test_tables_are_made_of_no_other_format(
    product: str, file: str, version: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / file).write_text(json.dumps({"format": version - 1}))
    vouch(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"{tables.START}\nold\n{tables.END}\n")
    assert tables.main([product, str(page), str(tmp_path)]) == 1
    said = f"error: {tmp_path / file}: format: found {version - 1}, allowed is {version}\n"
    assert capsys.readouterr().err == said
    assert "\nold\n" in page.read_text()


def test_the_matrix_leaves_out_an_evaluation_of_another_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tcp-old"
    folder.mkdir()
    (folder / matrix.DATA).write_text(json.dumps({"format": evaluate.FORMAT - 1}))
    vouch(folder)
    matrix.write(tmp_path)
    said = f"{folder / matrix.DATA}: format: found {evaluate.FORMAT - 1}, allowed is {evaluate.FORMAT}"
    assert said in capsys.readouterr().err
