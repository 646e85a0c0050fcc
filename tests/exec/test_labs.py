"""Labs as strangers write them: some of tests/exec/labs here, all of them in tests/reach; and how a lab fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.exec import collection


@pytest.mark.parametrize("name", ["11-nat", "14-vlan", "34-pexpect"])
def test_a_lab_prints_what_theory_says(name: str, tmp_path: Path) -> None:
    expected = collection.expectations(collection.LABS)[name]
    assert collection.run(collection.LABS / f"{name}.py", expected, tmp_path).failures == []


def test_the_comparison_with_the_stock_kernel_starts() -> None:
    command = [sys.executable, "-m", "tests.exec.stock_labs", "--help"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.startswith("usage: ")


QUIET = """\
# without mininet
import os

os.system("nonesuch")
print("rtt 7 ms")
print("rtt 70 ms")
os.system("python3 -c 'int(str(None))'")
"""


def test_a_lab_that_hides_its_errors_fails(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(QUIET)
    (tmp_path / "expected.yaml").write_text(
        "quiet:\n  prints:\n"
        "    - {found: 'rtt (\\d+) ms', between: [5, 10], because: a link}\n    - {found: done, because: the end}\n"
    )
    [outcome] = collection.run_all(tmp_path, [], tmp_path)
    assert outcome.failures == [
        "ValueError: invalid literal for int() with base 10: 'None'",
        "missing command nonesuch",
        "rtt (\\d+) ms: 7, 70; allowed: 5 to 10",
        "done: nothing; allowed: there",
    ]


def test_an_expectation_of_a_lab_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "expected.yaml").write_text("lost: {}\n")
    with pytest.raises(ValueError, match="no lab lost in"):
        collection.expectations(tmp_path)
