"""Runtimes with threads, faults, signals and processes of their own, in a guest, with both ways into its kernel."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine import syscall_mode

PROGRAMS = Path(__file__).with_name("runtimes")
TESTBED = Path(sys.executable).with_name("testbed")
PACKAGES = "default-jdk-headless,nodejs,strace"


@pytest.mark.parametrize("stubs", ["0", "1"], ids=["in-its-processes", "by-stubs"])
def test_runtimes_do_what_they_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubs: str) -> None:
    if stubs == "0" and syscall_mode.lacking():
        pytest.skip("this host has nothing but stub processes")
    monkeypatch.setenv(syscall_mode.STUBS, stubs)
    folder = shutil.copytree(PROGRAMS, tmp_path / "runtimes")
    results = tmp_path / "results"
    words = ["exec", "--deb", PACKAGES, "--memory", "2048", "--into", str(results), "runtimes.sh"]
    done = subprocess.run([TESTBED, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in (results / "stdout.txt").read_text().splitlines()] == [
        ["python", "ok"],
        ["java", "ok"],
        ["node", "ok"],
        ["node", "ok"],  # with a ring that the kernel polls
        ["strace", "ok"],
        ["python", "ok"],  # traced
    ]
