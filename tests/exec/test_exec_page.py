"""docs/howto/exec.md: its script and its commands do what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "exec.md"
BIN = Path(sys.executable).parent
# builds a root file system: tests/reach/test_labs.py has such labs
RARE = "--deb"


def blocks(language: str) -> list[str]:
    """The page's blocks of code in a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [text for kind, text in fenced if kind == language]


def commands() -> list[str]:
    """Every command of `testbed` in the page's blocks, without its comment."""
    lines = (line.partition("  #")[0].strip() for block in blocks("") for line in block.splitlines())
    return [line for line in lines if line.startswith("testbed ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's script."""
    (script,) = blocks("python")
    folder = tmp_path_factory.mktemp("class")
    (folder / "lab.py").write_text(script)
    return folder


@pytest.mark.parametrize("command", [command for command in commands() if RARE not in command])
def test_a_command_of_the_page_works(command: str, folder: Path) -> None:
    """In the page's order: the hand-in is verified."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        command.split(),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # as at a terminal
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    if command == "testbed exec lab.py":
        assert "round-trip time: 40.0 to " in done.stdout
        results = folder / "results" / "exec" / "lab"
        assert {path.name for path in (results / "files").iterdir()} == {"rtt.png", "iperf3.txt"}
    if command.startswith("testbed verify"):
        assert done.stdout.startswith("mine.zip: python3 lab.py; seed 1, ")
        assert done.stdout.endswith("\nmine.zip: identical, 3 files\n")


def test_the_page_has_the_commands_that_are_tested() -> None:
    assert len(commands()) >= 9
