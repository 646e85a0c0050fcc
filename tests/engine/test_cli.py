"""The commands as other programs of a shell's pipeline meet them."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import main

STUDY = "workflows/studies/explained"


@pytest.mark.parametrize(
    "command", [["testbed.cli", "plan", f"{STUDY}/ten-minutes.yaml"], ["analysis.__main__", "plan", STUDY]]
)
def test_a_command_whose_output_nobody_reads_ends_quietly(command: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    module, *words = command
    program = f"import sys; from {module} import main; sys.exit(main({words!r}))"
    try:
        done = subprocess.run([sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write)
    assert (done.stderr, done.returncode) == (b"", 128 + signal.SIGPIPE)


@pytest.mark.parametrize(
    "command",
    [
        "run workflows/studies/icccn/fig3-top.yaml --size quick",
        "compare tcp-reno tcp-cubic",
        "interop tcp-reno",
        "conformance tcp-ledbat",
        "gate --client tcp-ledbat",
        "check tcp-reno",
    ],
)
def test_a_place_that_cannot_be_written_is_named(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "into"
    into.symlink_to("nowhere/at/all")
    assert main([*command.split(), "--into", str(into)]) == 2
    assert (
        capsys.readouterr().err.splitlines(keepends=True)[-1]
        == f"--into {into}: cannot be written (File exists); choose another\n"
    )


def test_a_place_below_what_cannot_be_made_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--client", "tcp-ledbat", "--into", "/proc/a/b"]) == 2
    assert (
        capsys.readouterr().err == "--into /proc/a/b: cannot be written (No such file or directory); choose another\n"
    )


def test_standard_output_may_be_closed() -> None:
    command = f"exec {shlex.quote(sys.executable)} -P -m testbed plan workflows/studies/icccn/fig2a.yaml >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_seed_is_no_negative_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = "workflows/studies/icccn/fig2a.yaml"
    assert main(["run", scenario, "--seed", "-5", "--into", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "--seed: found -5; allowed: a whole number, at least 0\n"
