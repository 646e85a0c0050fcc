"""Each of the labs prints what theory says. Those with packages of their own build a root file system first."""

from pathlib import Path

import pytest

from tests.exec import collection


@pytest.mark.parametrize("lab", collection.labs(collection.LABS), ids=lambda lab: lab.stem)
def test_a_lab_prints_what_theory_says(lab: Path, tmp_path: Path) -> None:
    expected = collection.expectations(collection.LABS)[lab.stem]
    assert collection.run(lab, expected, tmp_path).failures == []
