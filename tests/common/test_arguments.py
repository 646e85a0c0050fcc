"""What command lines and shells give: empty names of files, and umasks that take files from their owner."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "x.yaml", "--into", ""],
        ["run", "x.yaml", "--into="],
        ["run", ""],
        ["compare", "tcp-bbr", "--into", ""],
        ["archive", "--out", ""],
        ["archive", "--out", "x.zip", "--results="],
        ["verify", ""],
        ["run", "x.yaml", "--implementation", ""],
    ],
)
def test_an_empty_name_is_no_folder(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "found an empty text; allowed: the name of a file or folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["observe", "plan", "run"])
def test_an_unknown_option_shows_what_its_command_takes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "x.yaml", "--outt", "y"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: testbed {command} ")
    assert said.endswith("unrecognized arguments: --outt y\n")


def test_a_limit_of_addresses_below_what_libraries_need() -> None:
    limited = f"ulimit -v 1500000; exec {shlex.quote(sys.executable)} -c"
    code = "from testbed.cli import main; raise SystemExit(main(['plan', 'x.yaml']))"
    done = subprocess.run(["bash", "-c", f'{limited} "{code}"'], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "ulimit -v: found 1464 MiB; allowed: none, or 2800 MiB or more\n")


@pytest.mark.parametrize("mask", [0o777, 0o700, 0o400, 0o100])
def test_a_umask_that_takes_files_from_their_owner(mask: int, capsys: pytest.CaptureFixture[str]) -> None:
    os.umask(mask)
    assert main(["plan", "x.yaml"]) == 2
    assert os.umask(0o022) == mask
    found = f"umask: found {mask:04o}; allowed: one that leaves files to their owner, such as 0022\n"
    assert capsys.readouterr().err == found
